"""Conversations as providers' APIs take them: OpenAI's chat completions, Anthropic's messages.

What is read are texts, thinking, calls and results. A provider's own items are not kept: a replay
judges what was said, whoever said it.
"""

from collections.abc import Sequence
from typing import Any

import attrs

from agentic.cli.replay._reading._transcript import Damage
from agentic.cli.replay._reading._values import Value
from agentic.messages import Message, ToolFailure
from agentic.providers import anthropic, openai_chat

__all__ = [
    "is_anthropic",
    "is_chat",
    "read_anthropic",
    "read_blocks",
    "read_chat",
    "without_native",
]

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
"""Blocks that only Anthropic's messages have."""


def is_chat(data: dict[str, Any]) -> bool:
    """Tell whether an object is a message with a role."""
    return data.get("role") in _ROLES


def is_anthropic(data: dict[str, Any]) -> bool:
    """Tell whether an object is a message that only Anthropic's API takes.

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
    """Read messages of content blocks."""
    return without_native(anthropic.decode(wire))


def without_native(messages: list[Message]) -> list[Message]:
    """Leave out the providers' own items, which would be held beside what was read from them."""
    return [attrs.evolve(message, native=None) for message in messages]


def _chat_message(value: Value) -> Message:
    _check_role(value)
    [message] = without_native(openai_chat.decode([value.data]))
    if not (value.data.get("x_is_error") and message.tool_results):
        return message
    failed = [
        attrs.evolve(result, output="", error=ToolFailure(result.output))
        for result in message.tool_results
    ]
    return attrs.evolve(message, tool_results=failed)


def _check_role(value: Value) -> None:
    role = value.data.get("role")
    if role not in _ROLES:
        found = "no `role`" if role is None else f"the role {role!r}"
        raise Damage(value.line, f"found {found} where a message should be")
