"""Messages in the form of providers' APIs, and in agentic's own forms.

From OpenAI's chat completions and Anthropic's messages, the texts, thinking, calls and results are
read. A provider's own items are not kept, because a replay judges only what was said.

Of a store's or an export's entries, only those that append a message are read: together they are
the archive. Views that replaced it are left out, so that a policy sees the original conversation.
"""

from collections.abc import Sequence
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages import Message, ToolError, from_plain
from agentic.providers import anthropic, openai_chat
from agentic.replay._json_values import Damage, Value

__all__ = [
    "is_anthropic",
    "is_chat",
    "is_plain",
    "is_store_entry",
    "read_anthropic",
    "read_blocks",
    "read_chat",
    "read_plain",
    "read_store_entries",
]

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
"""Blocks that occur only in Anthropic's messages."""
_VIEWS = {"replace", "restore"}


def is_chat(data: dict[str, Any]) -> bool:
    """Return whether an object is a message with a role."""
    return data.get("role") in _ROLES


def is_anthropic(data: dict[str, Any]) -> bool:
    """Return whether an object is a message that only Anthropic's API accepts.

    >>> is_anthropic({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1"}]})
    True
    """
    content = data.get("content")
    blocks = content if is_chat(data) and isinstance(content, list) else []
    return any(isinstance(block, dict) and block.get("type") in _BLOCKS for block in blocks)


def read_chat(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read chat completions; `x_is_error` marks the result of a call that failed."""
    return [_chat_message(value) for value in values], []


def read_anthropic(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read Anthropic's messages."""
    for value in values:
        _check_role(value)
    return read_blocks([value.data for value in values]), []


def read_blocks(wire: list[dict[str, Any]]) -> list[Message]:
    """Read messages that consist of content blocks."""
    return _without_native(anthropic.decode(wire))


def is_store_entry(data: dict[str, Any]) -> bool:
    """Return whether an object is an entry of a store.

    >>> is_store_entry({"v": 1, "type": "message", "message": {}})
    True
    >>> is_store_entry({"v": 1, "role": "user"})
    False
    """
    return isinstance(data.get("v"), int) and data.get("type") in {"message", *_VIEWS}


def is_plain(data: dict[str, Any]) -> bool:
    """Return whether an object is a message in the form of `messages.to_plain`."""
    return isinstance(data.get("v"), int) and isinstance(data.get("role"), str)


def read_store_entries(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read the messages that were appended, in order."""
    views = sum(value.data.get("type") == "replace" for value in values)
    messages = [
        _message(value.data.get("message"), value.line)
        for value in values
        if value.data.get("type") == "message"
    ]
    if not views:
        return messages, []
    was = "compaction is" if views == 1 else "compactions are"
    return messages, [f"{views} stored {was} passed over: the originals are replayed"]


def read_plain(values: Sequence[Value]) -> tuple[list[Message], list[str]]:
    """Read messages, one per line."""
    return [_message(value.data, value.line) for value in values], []


def _without_native(messages: list[Message]) -> list[Message]:
    """Remove the providers' own items, which would take memory next to what was read from them."""
    return [attrs.evolve(message, native=None) for message in messages]


def _chat_message(value: Value) -> Message:
    _check_role(value)
    [message] = _without_native(openai_chat.decode([value.data]))
    if not (value.data.get("x_is_error") and message.tool_results):
        return message
    failed = [
        attrs.evolve(result, output="", error=ToolError(result.output))
        for result in message.tool_results
    ]
    return attrs.evolve(message, tool_results=failed)


def _check_role(value: Value) -> None:
    role = value.data.get("role")
    if role not in _ROLES:
        found = "no `role`" if role is None else f"the role {role!r}"
        raise Damage(value.line, f"found {found} where a message should be")


def _message(data: Any, line: int) -> Message:
    try:
        return from_plain(data)
    except ConfigError as problem:
        raise Damage(line, str(problem)) from problem
