"""What stands in place of a cleared tool output."""

import attrs

from agentic.messages import ToolCall, ToolFailure, ToolResult

__all__ = ["cleared"]

_MAX_FAILURE_CHARS = 200


def cleared(result: ToolResult, call: ToolCall) -> ToolResult:
    r"""Give a result without its output, and a notice of what the output was.

    The failure stays, its message clipped: how a call ended is worth more than what it printed.

    >>> call = ToolCall("c1", "read", '{"path": "a.py"}')
    >>> cleared(ToolResult("c1", output="one\ntwo", ref="spill/c1"), call).notice
    '[Cleared: read gave 7 characters in 2 lines. Read them again: spill/c1]'
    """
    size = f"{_plural(len(result.output), 'character')} in {_plural(_lines(result.output), 'line')}"
    again = f"Read them again: {result.ref}" if result.ref else "Call it again if you need them."
    notice = f"[Cleared: {result.name or call.name} gave {size}. {again}]"
    return attrs.evolve(result, output="", notice=notice, error=_clipped(result.error))


def _clipped(failure: ToolFailure | None) -> ToolFailure | None:
    if failure is None or len(failure.message) <= _MAX_FAILURE_CHARS:
        return failure
    return attrs.evolve(failure, message=f"{failure.message[: _MAX_FAILURE_CHARS - 3]}...")


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
