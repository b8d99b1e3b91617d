"""Messages in the form of providers' APIs: chat completions, and Anthropic's messages.

The providers' adapters read them. Their native items are not kept, because a replay judges only
what was said. A kind of part that an adapter leaves in the native item is counted.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.app.replay._formats._format import Entry, Format
from agentic.app.replay._json_values import Value, objects_at
from agentic.app.replay._parts import make_result
from agentic.app.replay._reading import Reading
from agentic.messages import Message
from agentic.providers import anthropic, openai_chat
from agentic.providers.kit import text_at
from agentic.usage import Usage

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
"""Blocks that occur only in Anthropic's messages."""
_READ_BLOCKS = _BLOCKS | {"text", "image", "document", "search_result"}
_READ_PARTS = {
    *("text", "image_url", "input_audio", "file", "refusal", "thinking", "document_url"),
    *("video_url", "reference", "image", "output_text", "input_text", "input_image", "input_file"),
}
ENDING = "exit"
"""The role of a message with which mini-swe-agent ends a run; it is never sent."""


def has_role(data: Entry) -> bool:
    """Return whether an object is a message with a role."""
    return text_at(data, "role") in _ROLES


def has_blocks(data: Entry) -> bool:
    """Return whether an object is a message that only Anthropic's API accepts.

    >>> has_blocks({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]})
    True
    """
    blocks = objects_at(data, "content") if has_role(data) else []
    return any(text_at(block, "type") in _BLOCKS for block in blocks)


def read_chat(values: Sequence[Value], reading: Reading) -> None:
    """Read chat completions; `x_is_error` marks the result of a call that failed."""
    for value in values:
        if not _has_role(value, reading):
            continue
        _skip_parts(value.data, _READ_PARTS, reading)
        reading.use_model(value.data.get("model"))
        [message] = without_native(openai_chat.decode([value.data]))
        reading.add(_failed(message) if value.data.get("x_is_error") else message, value.data)


def _failed(message: Message) -> Message:
    errors = [
        make_result(each.call_id, each.name, each.output, is_error=True, media=each.media)
        for each in message.tool_results
    ]
    return attrs.evolve(message, tool_results=errors)


def _read_in_blocks(values: Sequence[Value], reading: Reading) -> None:
    wire = [value.data for value in values if _has_role(value, reading)]
    read_blocks(wire, [None] * len(wire), reading)


def read_blocks(
    wire: Sequence[dict[str, Any]], usages: Sequence[Usage | None], reading: Reading
) -> None:
    """Read messages that consist of content blocks, each with its usage."""
    results = anthropic.IncrementalDecoder().decode(wire)
    for data, usage, result in zip(wire, usages, results, strict=True):
        _skip_parts(data, _READ_BLOCKS, reading)
        for block in objects_at(data, "content"):
            if block.get("type") == "tool_result":
                _skip_parts(block, _READ_BLOCKS, reading)
        reading.use_model(data.get("model"))
        for message in without_native(result.messages):
            own = usage if message.role == "assistant" else None
            reading.add(attrs.evolve(message, usage=own), data)


def _has_role(value: Value, reading: Reading) -> bool:
    role = value.data.get("role")
    if has_role(value.data):
        return True
    if role != ENDING:
        kind = "no `role`" if role is None else f"the role {role!r}"
        message = f"found {kind} where a message should be"
        reading.skip_entry(value.line, message, value.data)
    return False


def _skip_parts(data: Entry, kinds: set[str], reading: Reading) -> None:
    for part in objects_at(data, "content"):
        kind = part.get("type")
        if not (isinstance(kind, str) and kind in kinds):
            reading.skip(f"part of the kind {kind if isinstance(kind, str) else 'none'!r}", part)


def without_native(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield messages without the providers' own items, which would take memory beside them."""
    return (attrs.evolve(message, native=None) for message in messages)


CHAT = Format(name="chat completions", recognizes=has_role, read=read_chat)
ANTHROPIC = Format(name="Anthropic messages", recognizes=has_blocks, read=_read_in_blocks)
