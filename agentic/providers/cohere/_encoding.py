"""Encode messages and tools for the wire."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentic.messages import Media, Message, ToolCall, close_open_rounds, split_rounds
from agentic.providers.cohere._decoding import NAME, decode_message, part_of
from agentic.providers.kit import (
    NameRule,
    arguments_as_text,
    native_payload,
    number_ids,
    replace_surrogates,
)
from agentic.providers.kit._json import has_object
from agentic.providers.kit._media import results_with_content, text_with_media, text_with_notes
from agentic.providers.kit._messages import (
    ensure_user_message,
    function_tools,
    is_untouched,
    join_runs,
    merge_replies,
)
from agentic.tools import ToolDefinition

if TYPE_CHECKING:
    from agentic.providers.validators import Violation

__all__ = ["TOOL_NAMES", "encode", "encode_request", "encode_tools", "validate"]

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"), 64)
"""No dashes: https://github.com/lobehub/lobehub/pull/4216 quotes the error. The length is that of
other providers; Cohere documents none."""
_GO_ON = "Go on."


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("user", "Why is the build red?")])
    [{'role': 'user', 'content': 'Why is the build red?'}]
    """
    wire: list[dict[str, Any]] = []
    for message in messages:
        payload = _sendable_payload(message)
        wire += _written(message) if payload is None else [payload]
    return wire


def encode_request(
    messages: Sequence[Message], *, system_prompt: str = "", tools: Sequence[ToolDefinition] = ()
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results and empty messages are left out. Assistant messages
    whose calls are answered together are merged.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["messages"][0]
    {'role': 'system', 'content': 'Be brief.'}
    """
    closed = join_runs(close_open_rounds(list(messages)), lambda replies: [merge_replies(replies)])
    wire = encode(_with_ids(closed))
    ensure_user_message(wire, messages, NAME, _GO_ON)
    if system_prompt:
        wire.insert(0, {"role": "system", "content": system_prompt})
    request = {"messages": replace_surrogates(wire)}
    return {**request, "tools": encode_tools(tools)} if tools else request


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the definitions of the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["function"]["name"]
    'now'
    """
    return function_tools(tools, TOOL_NAMES.wire)


def validate(request: Mapping[str, Any], /) -> "list[Violation]":
    """Return the reasons why the provider would reject the request's structure, if any.

    >>> [found.rule for found in validate({"messages": [{"role": "tool", "content": "text"}]})]
    ['orphaned_result']
    """
    from agentic.providers.validators import cohere  # noqa: PLC0415  loaded at the first call

    return cohere.validate(request)


def _sendable_payload(message: Message) -> Any:
    """Return the payload if it may be sent: it says the same, and its arguments are objects."""
    if not all(map(has_object, message.tool_calls)):
        return None
    if is_untouched(message, NAME):
        return message.native.payload if message.native else None
    return native_payload(message, NAME, decode_message, TOOL_NAMES.wire)


def _with_ids(messages: list[Message]) -> list[Message]:
    """Return a closed conversation in which no round has a call without an id of its own."""
    if not any(map(_has_unclear_ids, messages)):
        return messages
    given: list[Message] = []
    # Round by round: an id that a later round uses again goes back as it came.
    for found in split_rounds(messages):
        unclear = any(map(_has_unclear_ids, found.messages))
        given += number_ids(found.messages) if unclear else found.messages
    return given


def _has_unclear_ids(message: Message) -> bool:
    ids = [call.id for call in message.tool_calls]
    return "" in ids or len(set(ids)) < len(ids)


def _written(message: Message) -> Iterator[dict[str, Any]]:
    """Write a message from its fields."""
    if message.role == "tool":
        for result in results_with_content(message):
            text = text_with_notes(result.text, result.media)
            yield {"role": "tool", "tool_call_id": result.call_id, "content": text}
    elif message.role == "assistant":
        text = text_with_media(message)
        if message.tool_calls:
            # Next to calls, Cohere's models write their text as a plan.
            plan = {"tool_plan": text} if text else {}
            yield {"role": "assistant", **plan, "tool_calls": [*map(_call, message.tool_calls)]}
        elif text:
            yield {"role": "assistant", "content": text}
    elif message.role == "system":
        if text := text_with_media(message):
            yield {"role": "system", "content": text}
    elif message.content or message.media:
        yield {"role": "user", "content": _content(message.content, message.media)}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = arguments_as_text(call.arguments)
    function = {"name": TOOL_NAMES.wire(call.name), "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _content(text: str, media: Sequence[Media]) -> Any:
    """Return the text, or a list of parts if there are images."""
    parts = [(each, part_of(each)) for each in media]
    text = text_with_notes(text, [each for each, part in parts if part is None])
    images = [part for _, part in parts if part is not None]
    if not images:
        return text
    return [{"type": "text", "text": text}, *images] if text else images
