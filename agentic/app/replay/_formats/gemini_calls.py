"""The calls that Gemini CLI records in a reply, each with its status and its result."""

from collections.abc import Sequence

from agentic.app.replay._formats._format import Entry
from agentic.app.replay._parts import make_call, make_result, read_parts
from agentic.app.replay._reading import Reading
from agentic.messages import ToolCall, ToolResult
from agentic.providers.kit import text_at

_FAILED = {"error", "cancelled"}


def recorded_calls(records: Sequence[Entry]) -> list[ToolCall]:
    """Return the calls of a reply."""
    return [
        make_call(text_at(each, "id"), text_at(each, "name"), each.get("args")) for each in records
    ]


def has_ended(call: Entry) -> bool:
    """Return whether a recorded call has a result, or has failed."""
    return call.get("result") is not None or text_at(call, "status") in _FAILED


def recorded_result(call: Entry, reading: Reading) -> ToolResult:
    """Return the result that a recorded call holds."""
    parts = read_parts(call.get("result"), reading)
    texts = [each.text for each in parts.results] + parts.texts
    media = [*parts.media, *(each for result in parts.results for each in result.media)]
    is_error = text_at(call, "status") in _FAILED
    text = "\n".join(filter(None, texts))
    return make_result(
        text_at(call, "id"), text_at(call, "name"), text, is_error=is_error, media=media
    )
