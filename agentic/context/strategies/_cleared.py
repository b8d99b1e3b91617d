"""What stands in place of a cleared tool output."""

import re

import attrs

from agentic.messages import ToolCall, ToolError, ToolResult

__all__ = ["cleared"]

_MAX_FAILURE_CHARS = 200
_KEPT_REF = re.compile(r"out-[0-9a-f]{16}")
"""How a store names an output that it keeps; any other reference is a place of the tool's own."""


def cleared(result: ToolResult, call: ToolCall, recall: str | None = None) -> ToolResult:
    r"""Return a result without its output, and a notice of what the output was.

    The failure stays, its message clipped: how a call ended is worth more than what it printed.
    `recall` names the tool that reads a session's own past back, if the model has one.

    >>> call = ToolCall("c1", "read", '{"path": "a.py"}')
    >>> cleared(ToolResult("c1", output="one\ntwo", ref="spill/c1"), call).notice
    '[Cleared: read gave 7 characters in 2 lines. Read them again: spill/c1]'
    >>> cleared(ToolResult("c1", output="one\ntwo"), call, "recall").notice
    '[Cleared: read gave 7 characters in 2 lines. Read them again: recall(ref="c1")]'
    """
    size = f"{_plural(len(result.output), 'character')} in {_plural(_lines(result.output), 'line')}"
    notice = f"[Cleared: {result.name or call.name} gave {size}. {_again(result, recall)}]"
    return attrs.evolve(result, output="", notice=notice, error=_clipped(result.error))


def place_of(result: ToolResult, recall: str | None) -> str:
    """Return where the whole of an output can be read: a call of the tool, or its reference.

    >>> place_of(ToolResult("c1", output="one"), "recall")
    'recall(ref="c1")'
    """
    if recall and (result.ref is None or _KEPT_REF.fullmatch(result.ref)):
        return f'{recall}(ref="{result.ref or result.call_id}")'
    return result.ref or ""


def _again(result: ToolResult, recall: str | None) -> str:
    """Return how to read an output again; the history holds it under its call's id in any case."""
    place = place_of(result, recall)
    return f"Read them again: {place}" if place else "Call it again if you need them."


def _clipped(failure: ToolError | None) -> ToolError | None:
    if failure is None or len(failure.message) <= _MAX_FAILURE_CHARS:
        return failure
    return attrs.evolve(failure, message=f"{failure.message[: _MAX_FAILURE_CHARS - 3]}...")


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n"))


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
