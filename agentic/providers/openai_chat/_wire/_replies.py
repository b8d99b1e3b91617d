"""Which of a conversation's messages go back as they came, and which replies are sent as one."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentic.messages import Message
from agentic.providers._native import native_payload
from agentic.providers._plain import items_at
from agentic.providers._runs import join_runs, written_as_one
from agentic.providers.openai_chat._wire._calls import (
    TOOL_NAMES,
    has_object,
    legacy_of,
    with_objects,
)
from agentic.providers.openai_chat._wire._decode import decode_message
from agentic.providers.openai_chat._wire._name import NAME

__all__ = ["join_replies", "sendable_payload"]

_TEXTS = {"content", "reasoning_content", "reasoning", "refusal"}


def sendable_payload(message: Message) -> Any:
    """Find what may be sent back as it came, or as `decode_response` mended it."""
    whole = native_payload(message, NAME, decode_message, TOOL_NAMES.wire)
    if whole is None and message.tool_calls and not all(map(has_object, message.tool_calls)):
        return native_payload(with_objects(message), NAME, decode_message, TOOL_NAMES.wire)
    return whole


def join_replies(messages: list[Message]) -> list[Message]:
    """Return a closed conversation with one assistant message a round.

    Results have to follow the message that made the calls (see `validate`), so that the calls of
    two messages cannot both be answered after the second.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> calls = [Message("assistant", tool_calls=[ToolCall(name, "run")]) for name in ("a", "b")]
    >>> results = Message("tool", tool_results=[ToolResult("a", "run"), ToolResult("b", "run")])
    >>> [len(message.tool_calls) for message in join_replies([*calls, results])]
    [2, 0]
    """
    return join_runs(messages, _join)


def _join(replies: Sequence[Message]) -> list[Message]:
    payloads = [sendable_payload(reply) for reply in replies]
    calls = [call for reply in replies for call in reply.tool_calls]
    if all(map(_has_separate_calls, payloads)) and len({call.id for call in calls}) == len(calls):
        return [decode_message(_join_payloads(payloads))]
    return [written_as_one(replies)]


def _has_separate_calls(payload: Any) -> bool:
    return isinstance(payload, dict) and legacy_of(payload) is None


def _join_payloads(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join texts and lists; of any other field the first counts."""
    joined: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            before = joined.get(key)
            if not before:
                joined[key] = value
            elif isinstance(before, list) or isinstance(value, list):
                joined[key] = [*_parts(before), *_parts(value)]
            elif key in _TEXTS and value:
                joined[key] = f"{before}\n\n{value}"
    return joined


def _parts(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [{"type": "text", "text": value}]
    return items_at({"": value}, "")
