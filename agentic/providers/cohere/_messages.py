"""Messages of Cohere's wire, read and written.

The roles and parts are those of https://docs.cohere.com/reference/chat (2026-11): an assistant has
`tool_plan`, `tool_calls`, `content` (a string, or parts of type text and thinking) and `citations`;
a user's parts are text and image_url, a tool's are text and document.
"""

import json
import mimetypes
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentic.messages import Media, Message, ToolCall, close_open_rounds, split_rounds
from agentic.providers.kit import (
    NameRule,
    arguments_as_text,
    at,
    items_at,
    native_payload,
    number_ids,
    place_record,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._adapter import ItemDecoder
from agentic.providers.kit._json import arguments_of, with_object_text
from agentic.providers.kit._media import (
    image_part,
    part_as_it_came,
    read_data_url,
    results_with_content,
    text_with_media,
    text_with_notes,
)
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
    ensure_user_message,
    function_tools,
    join_runs,
    merge_replies,
    write_calls,
)
from agentic.providers.kit._record import RecordRole
from agentic.tools import ToolDefinition

if TYPE_CHECKING:
    from agentic.messages._message import Role

NAME = "cohere"
PLAN_END = "\n\n"
"""Between the plan and the content of a reply that has both."""
TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}"), 64)
"""No dashes: https://github.com/lobehub/lobehub/pull/4216 quotes the error. The length is that of
other providers; Cohere documents none."""
_GO_ON = "Go on."


# From the wire


def decode(messages: Any, /) -> list[Message]:
    """Read a request's `messages`; each result keeps the wire message as its payload.

    >>> decode([{"role": "assistant", "tool_plan": "I will look.", "tool_calls": []}])[0].content
    'I will look.'
    """
    data = plain(messages)
    return [decode_message(each) for each in data] if isinstance(data, list) else []


class IncrementalDecoder(ItemDecoder):
    """Reads a growing list of messages with the same result as `decode` on the whole list."""

    def __init__(self) -> None:
        super().__init__(decode)


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first."""
    return decode(items_at(plain(request), "messages"))


def decode_message(wire: Any) -> Message:
    """Read one message. Whatever it is, the result encodes to the same message again."""
    role, content = text_at(wire, "role"), at(wire, "content")
    native = decoded_native(NAME, wire, holds_reasoning=False)
    if role == "assistant":
        # Cohere's own examples show the plan to the user, as other models' words before a call:
        # https://docs.cohere.com/docs/tool-use-overview (2026-11).
        texts = [text for text in (text_at(wire, "tool_plan"), _text_of(content, "")) if text]
        return decoded_message(
            "assistant",
            PLAN_END.join(texts),
            native,
            reasoning="".join(text_at(part, "thinking") for part in _parts(content)),
            tool_calls=_calls(wire),
        )
    text = _text_of(content, "\n")
    if role == "tool":
        result = decoded_result(text_at(wire, "tool_call_id"), "", text)
        return decoded_message("tool", "", native, tool_results=[result])
    # Also a role that this version does not know; its payload is sent back as it came.
    ours: Role = "system" if role == "system" else "user"
    # Each image keeps its part in `extra`.
    media = [_image(part) for part in _parts(content) if at(part, "image_url") is not None]
    return decoded_message(ours, text, native, media=media)


def _calls(wire: Any) -> list[ToolCall]:
    return [
        decoded_call(
            text_at(call, "id"),
            text_at(call, "function", "name"),
            arguments_of(at(call, "function")),
        )
        for call in items_at(wire, "tool_calls")
        if isinstance(call, dict)
    ]


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _text_of(content: Any, separator: str) -> str:
    r"""Join the texts of a message's content, which is a string or a list of parts.

    >>> document = {"type": "document", "document": {"data": {"title": "Tides"}}}
    >>> _text_of([{"type": "text", "text": "Two found:"}, document], "\n")
    'Two found:\n{"title": "Tides"}'
    """
    if isinstance(content, str):
        return content
    return separator.join(filter(None, map(_part_text, _parts(content))))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    document = at(part, "document", "data")
    if document is None:
        return text_at(part, "text")
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)


def _image(part: dict[str, Any]) -> Media:
    extra = {NAME: part}
    url = text_at(part, "image_url", "url") or text_at(part, "image_url")
    if parts := read_data_url(url):
        return Media(parts[0] or "image/*", parts[1] or b"", extra=extra)
    kind = mimetypes.guess_type(url.partition("?")[0])[0] or "image/*"
    return Media(kind, url=url, extra=extra)


# To the wire


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("user", "Why is the build red?")])
    [{'role': 'user', 'content': 'Why is the build red?'}]
    """
    return _encode(place_record(messages))


def _encode(messages: Sequence[Message]) -> list[dict[str, Any]]:
    wire: list[dict[str, Any]] = []
    for message in messages:
        payload = native_payload(message, NAME, decode_message, TOOL_NAMES.wire, edit=_edit)
        wire += _written(message) if payload is None else [_with_objects(payload)]
    return wire


def _with_objects(wire: Any) -> Any:
    """Return the wire message with the text of an object as the arguments of each call."""
    calls = items_at(wire, "tool_calls")
    objects = [
        {**call, "function": with_object_text(at(call, "function"))}
        if isinstance(at(call, "function"), dict)
        else call
        for call in calls
    ]
    return wire if objects == calls else {**wire, "tool_calls": objects}


def _edit(payload: Any, message: Message) -> Any | None:
    """Return the payload of a reply with the message's calls, which keeps its thinking."""
    calls = write_calls(items_at(payload, "tool_calls"), message.tool_calls, _edit_call)
    return {**payload, "tool_calls": calls} if calls else None


def _edit_call(wire: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    function = {**wire["function"], "arguments": call.arguments}
    return {**wire, "id": call.id, "function": function}


def encode_request(
    messages: Sequence[Message],
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    record_role: RecordRole = "user",
) -> dict[str, Any]:
    """Return the request fields for a conversation, in a form that the provider accepts.

    Open rounds are closed; orphaned results and empty messages are left out. Assistant messages
    whose calls are answered together are merged. A summary is a message of the `record_role`.

    >>> encode_request([Message("user", "Hello.")], system_prompt="Be brief.")["messages"][0]
    {'role': 'system', 'content': 'Be brief.'}
    """
    # A result has to follow the message with its call, so two of them cannot share their results.
    history = close_open_rounds(list(messages), answer_async=True)
    history = join_runs(history, lambda replies: [merge_replies(replies)])
    wire = _encode(place_record(_with_ids(history), record_role))
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


def _with_ids(messages: list[Message]) -> list[Message]:
    """Return a closed conversation in which no round has a call without an id of its own."""
    if not any(map(_has_unclear_ids, messages)):
        return messages
    result: list[Message] = []
    # Round by round: an id that a later round uses again goes back as it came.
    for group in split_rounds(messages):
        unclear = any(map(_has_unclear_ids, group.messages))
        result += number_ids(group.messages) if unclear else group.messages
    return result


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
    # The part that an image came from has its `detail`.
    parts = [(each, part_as_it_came(each, NAME, _image) or image_part(each)) for each in media]
    text = text_with_notes(text, [each for each, part in parts if part is None])
    images = [part for _, part in parts if part is not None]
    if not images:
        return text
    return [{"type": "text", "text": text}, *images] if text else images
