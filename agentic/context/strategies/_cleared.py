"""What replaces the parts of old messages that are cleared, and where the whole can be read."""

import json
import re
from collections.abc import Iterable
from typing import Any

import attrs

from agentic.messages import Media, ToolCall, ToolError, ToolResult

_MAX_FAILURE_CHARS = 200
_MAX_ARGUMENT_CHARS = 100
"""Shorter texts in arguments are kept: a path or a command still says what the call was about."""
_KEPT_REF = re.compile(r"out-[0-9a-f]{16}")
"""The reference of an output in an output store; a tool that keeps its outputs elsewhere uses a
different form."""


def cleared_result(result: ToolResult, call: ToolCall, recall: str | None = None) -> ToolResult:
    r"""Return a result without its output, with a notice that describes the output.

    An error is kept, with its message clipped, because how a call ended matters more than what it
    printed. `recall` names the tool that reads earlier parts of the session, if there is one.

    >>> call = ToolCall("c1", "read", '{"path": "a.py"}')
    >>> cleared_result(ToolResult("c1", output="one\ntwo", ref="spill/c1"), call).notice
    '[Cleared: read gave 7 characters in 2 lines. Read them again: spill/c1]'
    >>> cleared_result(ToolResult("c1", output="one\ntwo"), call, "recall").notice
    '[Cleared: read gave 7 characters in 2 lines. Read them again: recall(ref="c1")]'
    """
    notice = f"[Cleared: {result.name or call.name} gave {_size(result)}. {_again(result, recall)}]"
    return attrs.evolve(result, output="", notice=notice, error=_clipped(result.error), media=())


def cleared_arguments(call: ToolCall) -> str | None:
    """Return the arguments of a call without their long texts, or None if they are no JSON object.

    >>> cleared_arguments(ToolCall("c1", "write", json.dumps({"path": "a.py", "text": "x" * 500})))
    '{"path": "a.py", "text": "[Cleared: 500 characters]"}'
    """
    try:
        # The shape stays: a model imitates its calls, and would learn from `{}` to pass nothing.
        arguments = {key: _clear_value(value) for key, value in call.parse().items()}
        # An escape such as \u4e2d takes several times the tokens of its character.
        text = json.dumps(arguments, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:  # half a character, which JSON can write in ASCII only
        return json.dumps(arguments)
    except (ValueError, RecursionError):
        return None
    return text


def attachments(media: Iterable[Media]) -> str:
    """Return what media are, as in a sentence.

    >>> attachments([Media("image/png")])
    '1 attachment (image/png)'
    """
    types = [part.media_type for part in media]
    return f"{_plural(len(types), 'attachment')} ({', '.join(types)})"


def place_of(result: ToolResult, recall: str | None) -> str:
    """Return where the whole output can be read: a call of the recall tool, or a reference.

    >>> place_of(ToolResult("c1", output="one"), "recall")
    'recall(ref="c1")'
    """
    if recall and (result.ref is None or _KEPT_REF.fullmatch(result.ref)):
        return f'{recall}(ref="{result.ref or result.call_id}")'
    return result.ref or ""


def _size(result: ToolResult) -> str:
    """Return what a result contains.

    >>> from agentic.messages import Media
    >>> _size(ToolResult("c1", output="one", media=[Media("image/png")] * 2))
    '3 characters in 1 line and 2 attachments (image/png, image/png)'
    """
    parts = []
    if result.output:
        characters, lines = len(result.output), _lines(result.output)
        parts.append(f"{_plural(characters, 'character')} in {_plural(lines, 'line')}")
    if result.media:
        parts.append(attachments(result.media))
    return " and ".join(parts)


def _clear_value(value: Any) -> Any:
    if isinstance(value, str):
        is_long = len(value) > _MAX_ARGUMENT_CHARS
        return f"[Cleared: {len(value):,} characters]" if is_long else value
    if isinstance(value, list):
        return [_clear_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _clear_value(item) for key, item in value.items()}
    return value


def _again(result: ToolResult, recall: str | None) -> str:
    """Return how to read an output again; the history always has it, under its call's id."""
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
