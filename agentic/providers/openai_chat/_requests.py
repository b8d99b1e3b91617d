"""Encode a whole request: a conversation in a form that the provider accepts, whatever it is."""

from collections.abc import Mapping, Sequence
from typing import Any

from agentic.messages import Message, close_open_rounds
from agentic.providers.kit import items_at, replace_surrogates, text_at
from agentic.providers.kit._messages import join_runs, merge_replies
from agentic.providers.openai_chat._decoding import NAME, decode_message, legacy_of
from agentic.providers.openai_chat._encoding import encode, encode_tools, sendable_payload
from agentic.tools import ToolDefinition

__all__ = ["encode_request"]

_TEXTS = {"content", "reasoning_content", "reasoning", "refusal"}
_GO_ON = "Go on."


def encode_request(
    messages: Sequence[Message], *, system_prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results and empty messages are left out. Assistant messages
    whose calls are answered together are merged.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["messages"][0]
    {'role': 'system', 'content': 'Be brief.'}
    """
    closed = _join_replies(close_open_rounds(list(messages)))
    wire = [each for each in encode(closed) if not _says_nothing(each)]
    # What the caller sent without a user message before may be sent so again.
    untouched = all(message.native and message.native.provider == NAME for message in messages)
    if not (wire and untouched) and not any(text_at(each, "role") == "user" for each in wire):
        # The chat templates of local models raise if there is no user message:
        # https://github.com/vllm-project/vllm/issues/36432
        wire.insert(_first_other(wire), {"role": "user", "content": _GO_ON})
    if system_prompt:
        wire.insert(0, {"role": "system", "content": system_prompt})
    request = {"messages": replace_surrogates(wire)}
    return {**request, "tools": encode_tools(tools)} if tools else request


def _join_replies(messages: list[Message]) -> list[Message]:
    """Return a closed conversation with one assistant message per round.

    Results have to follow the message that made the calls (see `validate`), so the calls of two
    messages cannot both be answered after the second one.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> calls = [Message("assistant", tool_calls=[ToolCall(name, "run")]) for name in ("a", "b")]
    >>> results = Message("tool", tool_results=[ToolResult("a", "run"), ToolResult("b", "run")])
    >>> [len(message.tool_calls) for message in _join_replies([*calls, results])]
    [2, 0]
    """
    return join_runs(messages, _join)


def _join(replies: Sequence[Message]) -> list[Message]:
    payloads = [sendable_payload(reply) for reply in replies]
    calls = [call for reply in replies for call in reply.tool_calls]
    if all(map(_has_separate_calls, payloads)) and len({call.id for call in calls}) == len(calls):
        return [decode_message(_join_payloads(payloads))]
    return [merge_replies(replies)]


def _has_separate_calls(payload: Any) -> bool:
    return isinstance(payload, dict) and legacy_of(payload) is None


def _join_payloads(payloads: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join payloads: texts and lists are joined; of any other field the first value is kept."""
    joined: dict[str, Any] = {}
    for payload in payloads:
        for key, value in payload.items():
            before = joined.get(key)
            # The first value that says something: of an id, a time or a model there is only one.
            if not before:
                joined[key] = value
            # A text beside a list of parts becomes a part.
            elif isinstance(before, list) or isinstance(value, list):
                joined[key] = [*_parts(before), *_parts(value)]
            elif key in _TEXTS and value:
                joined[key] = f"{before}\n\n{value}"
    return joined


def _parts(value: Any) -> list[Any]:
    if isinstance(value, str) and value:
        return [{"type": "text", "text": value}]
    return items_at({"": value}, "")


def _says_nothing(wire: Any) -> bool:
    """Return whether a reply is empty: null content without calls is rejected in a request."""
    empty = isinstance(wire, dict) and not any(
        value for key, value in wire.items() if key != "role"
    )
    return empty and wire.get("role") == "assistant" and wire.get("content") is None


def _first_other(wire: list[dict[str, Any]]) -> int:
    others = (i for i, each in enumerate(wire) if text_at(each, "role") != "system")
    return next(others, len(wire))
