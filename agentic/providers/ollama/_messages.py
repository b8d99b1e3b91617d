"""Messages of Ollama's native wire, read and written.

A message is an object with a role, a text, and where they apply `thinking`, `images` (base64) and
`tool_calls`; a result is a message of the role `tool`
(https://github.com/ollama/ollama/blob/main/docs/api.md#generate-a-chat-completion, 2026-11).
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Media, Message, ToolCall, ToolResult, close_open_rounds
from agentic.messages._message import Role
from agentic.providers.kit import (
    arguments_as_object,
    at,
    items_at,
    native_payload,
    number_ids,
    place_record,
    plain,
    replace_surrogates,
    results_with_content,
    text_at,
    text_with_media,
)
from agentic.providers.kit._ids import CallMatcher
from agentic.providers.kit._json import json_text, with_arguments
from agentic.providers.kit._media import from_base64, text_with_notes, to_base64
from agentic.providers.kit._messages import (
    Decoded,
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
    ensure_user_message,
    function_tools,
    write_calls,
)
from agentic.providers.kit._record import RecordRole
from agentic.providers.kit._templates import fit_template
from agentic.tools import ToolDefinition

NAME = "ollama"
_ROLES: dict[str, Role] = {"system": "system", "assistant": "assistant", "tool": "tool"}
_MADE_UP = re.compile(r"call_[0-9a-f]{16}_\d+_(\d+)")
_GOES_ON = "(The conversation goes on.)"
_MAGIC = {b"\xff\xd8": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
"""The first bytes of an image -> its type. The wire names none; any other image counts as PNG."""


# From the wire


def _ids(item: Any, calls: CallMatcher, salt: str = "") -> list[str]:
    """Return the ids of a message's calls or, of a result, the id of its call.

    Servers before 0.12.10 send no ids (https://github.com/ollama/ollama/pull/12956), and a result
    names its call by its tool alone. The ids made here depend on the message and on how often an
    equal one came before, so that the same history gets the same ids.
    """
    if text_at(item, "role") == "tool":
        calls.begin(has_only_results=True)
        told, name = text_at(item, "tool_call_id"), text_at(item, "tool_name")
        answered = calls.take(
            lambda call_id, call_name: call_id == told if told else name in ("", call_name)
        )
        return [answered or told]
    calls_there = items_at(item, "tool_calls")
    sent = [text_at(call, "id") for call in calls_there]
    seed = "" if all(sent) else _seed(item, salt)
    is_reply = text_at(item, "role") == "assistant"
    times = calls.begin(seed, is_reply=is_reply, has_calls=bool(calls_there))
    ids = [own or f"call_{seed}_{times}_{place}" for place, own in enumerate(sent)]
    names = [text_at(call, "function", "name") for call in calls_there]
    calls.waiting += zip(ids, names, strict=True)
    return ids


def _seed(item: Any, salt: str) -> str:
    text = json.dumps([salt, item], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def decode(messages: Any, /) -> list[Message]:
    """Read a request's `messages`; each result keeps the wire message in its payload.

    >>> [message.role for message in decode([{"role": "user", "content": "Hello."}])]
    ['user']
    """
    data, calls = plain(messages), CallMatcher()
    return [_read(item, _ids(item, calls)) for item in data] if isinstance(data, list) else []


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of messages with the same result as `decode` on the whole list."""

    _calls: CallMatcher = attrs.field(factory=CallMatcher, init=False)

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it."""
        self._calls.rewind(start)
        items = map(plain, messages[start:])
        return [Decoded(1, (_read(item, _ids(item, self._calls)),)) for item in items]


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request; its system prompt is its first message."""
    return decode(items_at(plain(request), "messages"))


def decode_reply(item: Any, salt: str) -> Message:
    """Read the message of a reply; the salt tells it from an equal reply of another time."""
    wire = {"role": "assistant", **item} if isinstance(item, dict) else {"role": "assistant"}
    return _read(wire, _ids(wire, CallMatcher(), salt))


def _read(item: Any, ids: list[str]) -> Message:
    role = _ROLES.get(text_at(item, "role"), "user")
    text = text_at(item, "content")
    # With the ids, since those made here are not in the message.
    native = decoded_native(NAME, {"message": item, "ids": ids}, holds_reasoning=False)
    images = tuple(map(_image, items_at(item, "images")))
    if role == "tool":
        result = decoded_result(ids[0], text_at(item, "tool_name"), text, media=images)
        return decoded_message("tool", "", native, tool_results=[result])
    if role != "assistant":
        return decoded_message(role, text, native, media=images)
    calls = zip(ids, items_at(item, "tool_calls"), strict=True)
    return decoded_message(
        role,
        text,
        native,
        reasoning=text_at(item, "thinking"),
        tool_calls=[_read_call(call_id, call) for call_id, call in calls],
        media=images,
    )


def _read_call(call_id: str, call: Any) -> ToolCall:
    arguments = at(call, "function", "arguments")
    # Some models wrote a text in the place of the object:
    # https://github.com/ollama/ollama/pull/12413
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments or {}, ensure_ascii=False)
    return decoded_call(call_id, text_at(call, "function", "name"), arguments)


def _image(data: Any) -> Media:
    octets = from_base64(data) if isinstance(data, str) else None
    if octets is None:
        return Media("image/png")
    kinds = (kind for magic, kind in _MAGIC.items() if octets.startswith(magic))
    return Media(next(kinds, "image/png"), octets)


# To the wire


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Write messages as they were received, or from their fields; a result is a message each.

    >>> encode([Message("user", "Hello.")])
    [{'role': 'user', 'content': 'Hello.'}]
    """
    return _encode(place_record(messages))


def _encode(messages: Sequence[Message]) -> list[dict[str, Any]]:
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return [item for message in messages for item in _items(message, names)]


def _items(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    payload = native_payload(message, NAME, _read_payload, edit=_edit)
    if payload is not None:
        return [_with_arguments(payload["message"], with_arguments)]
    return _write_results(message, names) if message.role == "tool" else _write(message)


def _edit(payload: Any, message: Message) -> Any | None:
    """Return the payload of a reply with the message's calls, and without images it lost."""
    item = at(payload, "message")
    calls = write_calls(items_at(item, "tool_calls"), message.tool_calls, _edit_call)
    if calls is None:
        return None
    copy = {**item, "tool_calls": calls} if calls else item
    if "images" in item and not message.media:
        rest = {key: value for key, value in copy.items() if key != "images"}
        copy = {**rest, "content": message.content}
    return {**payload, "message": copy, "ids": [call.id for call in message.tool_calls]}


def _edit_call(wire: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    copy = {**wire, **_sent_id("id", call.id)}
    if _read_call("", wire).arguments != call.arguments:
        arguments = arguments_as_object(call.arguments)
        copy["function"] = {**wire["function"], "arguments": arguments}
    return copy


def _with_arguments(item: Any, change: Callable[..., Any]) -> Any:
    """Return the wire message with `change` applied to the `function` of each call."""
    calls = items_at(item, "tool_calls")
    result = [
        {**call, "function": change(call["function"], "arguments", {})}
        if isinstance(at(call, "function"), dict)
        else call
        for call in calls
    ]
    return item if result == calls else {**item, "tool_calls": result}


def _as_object(function: dict[str, Any], key: str, empty: dict[str, Any]) -> dict[str, Any]:
    value = function.get(key) or empty
    if isinstance(value, dict):
        return {**function, key: value}
    return {**function, key: arguments_as_object(json_text(value))}


def _read_payload(payload: Any) -> Message | None:
    item, ids = at(payload, "message"), items_at(payload, "ids")
    places = 1 if text_at(item, "role") == "tool" else len(items_at(item, "tool_calls"))
    fits = isinstance(item, dict) and len(ids) == places and all(isinstance(i, str) for i in ids)
    return _read(item, ids) if fits else None


def _write(message: Message) -> list[dict[str, Any]]:
    text = (
        _content(message.content, message.media)
        if message.role == "user"
        else {"content": text_with_media(message)}
    )
    item: dict[str, Any] = {"role": message.role, **text}
    if message.tool_calls:
        item["tool_calls"] = [
            {
                **_sent_id("id", call.id),
                "function": {"name": call.name, "arguments": arguments_as_object(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return [item] if item["content"] or len(item) > len(("role", "content")) else []


def _write_results(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Write the results of a round; what else the message holds is in the last one.

    A result without an id is known by its position, so these are in the order of their calls.
    """
    return [
        {
            "role": "tool",
            # Most histories of other providers name the tool in the call alone, but a template
            # needs it here, too: https://github.com/agentscope-ai/agentscope/pull/2006 (2026-11).
            "tool_name": result.name or names.get(result.call_id, ""),
            **_sent_id("tool_call_id", result.call_id),
            # The wire has no mark for an error: its text says that it is one.
            **_content(result.text, result.media),
        }
        for result in sorted(results_with_content(message), key=_place)
    ]


def _sent_id(name: str, call_id: str) -> dict[str, str]:
    """Return the field with an id; one that was made here is not sent, since its call has none."""
    return {} if _MADE_UP.fullmatch(call_id) else {name: call_id}


def _place(result: ToolResult) -> int:
    match = _MADE_UP.fullmatch(result.call_id)
    return int(match[1]) if match else 0


def _content(text: str, media: Iterable[Media]) -> dict[str, Any]:
    """Return the text and the images of a message; other media are named in the text.

    A URL is not accepted as an image: https://github.com/BerriAI/litellm/issues/30313.
    """
    images, others = [], []
    for part in media:
        if part.data and part.media_type.startswith("image/"):
            images.append(to_base64(part.data))
        else:
            others.append(part)
    content = {"content": text_with_notes(text, others)}
    return {**content, "images": images} if images else content


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Write the tools that the model may call."""
    return function_tools(tools)


def encode_request(
    messages: Sequence[Message],
    /,
    *,
    system_prompt: str = "",
    tools: Sequence[ToolDefinition] = (),
    model: str = "",
    strict_roles: bool | None = None,
    record_role: RecordRole = "user",
) -> dict[str, Any]:
    """Write the part of a request that is the conversation, whatever happened to it before.

    A summary is a message of the `record_role`. For a model whose chat template is known to demand
    it, or if `strict_roles` is true, there is one system message at the most, at the start, and the
    other roles alternate.

    >>> encode_request([Message("user", "Hi.")], system_prompt="Be brief.")["messages"][0]
    {'role': 'system', 'content': 'Be brief.'}
    """
    # Closed first: an orphan would be taken for the answer to a call of the same id.
    sound = number_ids(close_open_rounds(list(messages), answer_async=True))
    history = place_record(sound, record_role)
    items = [_with_arguments(item, _as_object) for item in _encode(history)]
    ensure_user_message(items, messages, NAME, _GOES_ON)
    if system_prompt:
        items.insert(0, {"role": "system", "content": system_prompt})
    body = {"messages": items, **({"tools": encode_tools(tools)} if tools else {})}
    whole: dict[str, Any] = replace_surrogates(body)
    return fit_template(whole, model, strict_roles=strict_roles)
