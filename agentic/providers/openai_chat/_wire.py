"""Encode messages and tools for the wire, one by one, and decode wire messages.

OpenAI accepts any text as the arguments of a call, but vLLM and llama.cpp parse the arguments in
the history, and reject the whole conversation if one is not a JSON object:
https://github.com/vllm-project/vllm/issues/43995, https://github.com/ggml-org/llama.cpp/issues/25510.

A wire message is decoded to one message. The content parts are text, images, audio and files:
https://platform.openai.com/docs/api-reference/chat/create (2026-11). Mistral adds `document_url`
and `thinking` (https://docs.mistral.ai/capabilities/reasoning/).
"""

import json
import mimetypes
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolResult
from agentic.providers.kit import (
    NameRule,
    UniqueIds,
    arguments_as_text,
    at,
    items_at,
    native_payload,
    place_record,
    plain,
    replace_surrogates,
    text_at,
)
from agentic.providers.kit._adapter import ItemDecoder
from agentic.providers.kit._json import (
    arguments_of,
    has_object,
    is_blank_arguments,
    parse_object,
    with_arguments,
    with_object_text,
)
from agentic.providers.kit._media import (
    data_url,
    from_base64,
    image_part,
    part_as_it_came,
    read_data_url,
    results_with_content,
    text_with_notes,
    to_base64,
)
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
    function_tools,
    is_untouched,
    write_calls,
)
from agentic.tools import ToolDefinition

if TYPE_CHECKING:
    from agentic.messages._message import Role

NAME = "openai_chat"
MESSAGES = "messages"
"""The key of several messages in one, which are a reply of Mistral's: see `_decoded_messages`."""
# The text repeats what the signed blocks say. GitHub Copilot signs its text in `reasoning_opaque`.
BOUND_FIELDS = {
    *("thinking_blocks", "reasoning_details", "reasoning", "reasoning_content"),
    *("reasoning_text", "reasoning_opaque"),
}
_THINKING = {"reasoning_content", "reasoning", "reasoning_text", "reasoning_details"}
_UNKNOWN = "application/octet-stream"
_KINDS = {"image_url": "image/*", "video_url": "video/*", "document_url": "application/pdf"}
"""The media type to assume for a URL whose file extension does not tell it, by part type."""
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""The two audio formats that the API accepts, by media type."""


def decode(messages: Any, /) -> list[Message]:
    """Read a request's `messages`; each result keeps the wire message as its payload.

    >>> [message.role for message in decode([{"role": "developer", "content": "Be brief."}])]
    ['system']
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
    native = decoded_native(NAME, wire, holds_reasoning=_holds_bound_reasoning(wire))
    if role == "assistant":
        if MESSAGES in wire and (messages := messages_of(wire)):
            return _decoded_messages(messages, native)
        return _assistant(wire, content, native)
    text = _text_of(content)
    media = media_of(content) if isinstance(content, list) else ()
    if role in {"tool", "function"}:
        call_id, name = text_at(wire, "tool_call_id"), text_at(wire, "name")
        result = decoded_result(call_id, name, text, None, media)
        return decoded_message("tool", "", native, tool_results=[result])
    ours: Role = "system" if role in {"system", "developer"} else "user"
    return decoded_message(ours, text, native, media=media)


def _assistant(wire: Mapping[str, Any], content: Any, native: ProviderPayload) -> Message:
    """Read a reply. OpenRouter has pictures that the model made in a field beside the content.

    https://openrouter.ai/docs/features/multimodal/image-generation (2026-11)
    """
    in_parts = isinstance(content, list)
    # The model's parts are pieces of one text; other roles' are texts of their own.
    text = _text_of(content, "") if in_parts else content
    if not (text and isinstance(text, str)):
        # A refusal and a speech transcript have fields of their own; the content is null then.
        text = text_at(wire, "refusal") or text_at(wire, "audio", "transcript")
    return decoded_message(
        "assistant",
        text,
        native,
        reasoning=(in_parts and _thinking_of(content)) or _reasoning(wire),
        tool_calls=_calls(wire),
        media=media_of([*(content if in_parts else ()), *items_at(wire, "images")])
        if in_parts or "images" in wire
        else (),
    )


def _holds_bound_reasoning(wire: Any) -> bool:
    # Most messages have no reasoning at all.
    if not isinstance(wire, dict) or BOUND_FIELDS.isdisjoint(wire):
        return False
    details = any(map(_is_bound, items_at(wire, "reasoning_details")))
    proof = items_at(wire, "thinking_blocks") or text_at(wire, "reasoning_opaque")
    return details or bool(proof)


def _is_bound(detail: Any) -> bool:
    # OpenRouter names the maker of each detail:
    # https://openrouter.ai/docs/use-cases/reasoning-tokens (2026-11).
    return text_at(detail, "format").startswith(("anthropic", "openai"))


def without_bound_reasoning(wire: Any) -> Any:
    """Return a reply without the reasoning that Claude or GPT binds to its request.

    LiteLLM and OpenRouter send it on. That of other models stays: some ask for it in a tool loop.
    """
    if not _holds_bound_reasoning(wire):
        return wire
    rest = {key: value for key, value in wire.items() if key not in BOUND_FIELDS}
    details = [each for each in items_at(wire, "reasoning_details") if not _is_bound(each)]
    return {**rest, "reasoning_details": details} if details else rest


def messages_of(wire: Any) -> list[dict[str, Any]]:
    """Return the messages of a reply that consists of several; of any other none."""
    # Made by `decode_response`: a message with other fields besides is one that a server sent.
    if not isinstance(wire, dict) or wire.keys() != {"role", MESSAGES}:
        return []
    return [each for each in items_at(wire, MESSAGES) if isinstance(each, dict)]


def _decoded_messages(messages: list[dict[str, Any]], native: ProviderPayload) -> Message:
    """Read a reply of several messages as one: what the model wrote, and the calls left to answer.

    Mistral sends them where it has called tools of its own: the calls, what the tools returned, and
    what the model wrote then (`ChatCompletionChoice.messages` in mistralai 3.7; 2026-11). They go
    back to it as they came.

    >>> messages = [{"role": "tool", "content": "12 C"}, {"role": "assistant", "content": "Cold."}]
    >>> decode_message({"role": "assistant", "messages": messages}).content
    'Cold.'
    """
    results = [each for each in messages if text_at(each, "role") == "tool"]
    replies = [decode_message(each) for each in messages if each not in results]
    ids = {text_at(each, "tool_call_id") for each in results}
    return decoded_message(
        "assistant",
        "".join(reply.content for reply in replies),
        native,
        reasoning="".join(reply.reasoning for reply in replies),
        tool_calls=[call for reply in replies for call in reply.tool_calls if call.id not in ids],
        media=[each for reply in replies for each in reply.media],
    )


def _reasoning(wire: Mapping[str, Any]) -> str:
    """Return the visible thinking, from whichever field the server puts it in.

    `reasoning_content`: https://api-docs.deepseek.com/guides/thinking_mode, Qwen, z.ai, Moonshot;
    `reasoning`: Groq, Cerebras, vLLM, Ollama; with `reasoning_details`:
    https://openrouter.ai/docs/use-cases/reasoning-tokens; `reasoning_text`: GitHub Copilot
    (https://github.com/BerriAI/litellm/issues/35021, 2026-07). Some servers send the same text
    under two names.
    """
    if _THINKING.isdisjoint(wire):
        return ""
    names = ("reasoning_content", "reasoning", "reasoning_text")
    texts = next(filter(None, (text_at(wire, name) for name in names)), "")
    details = items_at(wire, "reasoning_details")
    return texts or "".join(text_at(one, "text") or text_at(one, "summary") for one in details)


def _calls(wire: Mapping[str, Any]) -> list[ToolCall]:
    if "function_call" in wire and (legacy := legacy_of(wire)):
        return [ToolCall("", text_at(legacy, "name"), arguments_of(legacy))]
    return [read_call(call) for call in items_at(wire, "tool_calls") if isinstance(call, dict)]


def read_call(call: Mapping[str, Any]) -> ToolCall:
    """Read a call; the text of a custom tool's is an argument, so that all are JSON objects."""
    custom = custom_of(call)
    if custom is not None:
        arguments = json.dumps({"input": text_at(custom, "input")}, ensure_ascii=False)
        return ToolCall(text_at(call, "id"), text_at(custom, "name"), arguments)
    function = at(call, "function")
    return decoded_call(text_at(call, "id"), text_at(function, "name"), arguments_of(function))


def custom_of(call: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the `custom` field of a call to a custom tool; None for a call to a function.

    Snowflake sends an empty `custom` with every `function`. The call's type decides, or else the
    names.

    >>> custom_of({"type": "function", "function": {"name": "f"}, "custom": {"name": ""}}) is None
    True
    """
    custom, kind = call.get("custom"), call.get("type")
    if not isinstance(custom, dict) or kind == "function":
        return None
    has_name = bool(text_at(custom, "name")) or not text_at(call, "function", "name")
    return custom if kind == "custom" or has_name else None


def legacy_of(wire: Any) -> dict[str, Any] | None:
    """Return a message's single call in the legacy format of 2023, which has no id; None if none.

    A message with the role `function` answers it:
    https://platform.openai.com/docs/api-reference/chat/object (2026-11). Snowflake sends a
    `function_call` without a name in every reply; that is not a call.

    >>> legacy_of({"tool_calls": None, "function_call": {"name": "", "arguments": ""}}) is None
    True
    """
    legacy = at(wire, "function_call")
    has_name = isinstance(legacy, dict) and bool(text_at(legacy, "name"))
    return legacy if has_name and not items_at(wire, "tool_calls") else None


def _text_of(content: Any, separator: str = "\n") -> str:
    r"""Join the texts of a message's content, which is a string or a list of parts.

    >>> _text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"])
    'a\nb'
    """
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = (
        # Mistral's references, which have neither field, are not text.
        part if isinstance(part, str) else text_at(part, "text") or text_at(part, "refusal")
        for part in content
    )
    return separator.join(filter(None, texts))


def _thinking_of(content: list[Any]) -> str:
    """Join the thinking in content parts, where Mistral's models put it.

    >>> _thinking_of([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}])
    'Hm.'
    """
    return "".join(_text_of(at(part, "thinking"), "") for part in content)


def media_of(content: list[Any]) -> list[Media]:
    """Read the parts that are neither text nor thinking; each result keeps its part in `extra`."""
    return [
        _media(part)
        for part in content
        if isinstance(part, dict) and not ({"text", "thinking", "refusal"} & part.keys())
    ]


def _media(part: dict[str, Any]) -> Media:
    extra = {NAME: part}
    audio = part.get("input_audio")
    if isinstance(audio, dict):
        kind = f"audio/{text_at(audio, 'format') or 'wav'}"
        return Media(kind, from_base64(text_at(audio, "data")) or b"", extra=extra)
    url = _address(part)
    if octets := read_data_url(url):
        return Media(octets[0] or _UNKNOWN, octets[1] or b"", extra=extra)
    # A signed address ends with its query, not with the extension of the file.
    kind = mimetypes.guess_type(url.partition("?")[0])[0] or _KINDS.get(text_at(part, "type"), "")
    return Media(kind or _UNKNOWN, url=url, extra=extra)


def _address(part: dict[str, Any]) -> str:
    """Return the URL in a part. Mistral accepts a string where OpenAI has an object."""
    for key in ("image_url", "video_url", "document_url"):
        if key in part:
            return text_at(part, key) or text_at(part, key, "url")
    return text_at(part, "file", "file_data")


def part_of(media: Media) -> dict[str, Any] | None:
    """Return the content part for some media; None if the wire format has none for it.

    If the media came from a part, that part is returned, with its `detail` and cache marks.

    >>> part_of(Media("image/png", url="https://example.com/a.png"))
    {'type': 'image_url', 'image_url': {'url': 'https://example.com/a.png'}}
    >>> part_of(Media("video/mp4", url="https://example.com/a.mp4")) is None
    True
    """
    if part := part_as_it_came(media, NAME, _media):
        return part
    if media.data and media.media_type in _AUDIO_FORMATS:
        audio = {"data": to_base64(media.data), "format": _AUDIO_FORMATS[media.media_type]}
        return {"type": "input_audio", "input_audio": audio}
    if media.data and media.media_type == "application/pdf":
        file = {"filename": "document.pdf", "file_data": data_url(media)}
        return {"type": "file", "file": file}
    return image_part(media)


MAX_ID_CHARS = 40
"""https://github.com/camel-ai/camel/issues/2215 quotes the error for a longer id."""
TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""https://platform.openai.com/docs/api-reference/chat/create (2026-11)."""
_FROM_TOOLS = "The tools also gave:"
_REASONING = (
    *("reasoning_content", "reasoning", "reasoning_text", "reasoning_opaque"),
    *("reasoning_details", "thinking_blocks"),
)

_VISIBLE = ("reasoning_content", "reasoning_text")
"""Where servers have the text of the reasoning that do not have it in `reasoning`."""


def encode(messages: Sequence[Message], /) -> list[dict[str, Any]]:
    """Return a request's `messages`. A truncated history is not repaired; see `encode_request`.

    >>> encode([Message("user", "Why is the build red?")])
    [{'role': 'user', 'content': 'Why is the build red?'}]
    """
    return encode_placed(place_record(messages))


def encode_placed(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages on the wire, each in its role and at its place."""
    # Reserved ahead, so that an id made for an early call is not the own id of a later one.
    own = {call.id for message in messages for call in message.tool_calls}
    writer = _WireWriter(UniqueIds(accept=is_call_id, stem=_id_stem, first=1, reserved=own))
    for message in messages:
        # An untouched message costs a microsecond: see `write_as_it_came`.
        if not (is_untouched(message, NAME) and writer.write_as_it_came(message)):
            writer.write(message)
    writer.write_tool_media()
    return writer.wire


def encode_tools(tools: Sequence[ToolDefinition], /) -> list[dict[str, Any]]:
    """Return the definitions of the tools that the model may call.

    >>> encode_tools([ToolDefinition("now", "Tell the time.")])[0]["function"]["name"]
    'now'
    """
    return function_tools(tools, TOOL_NAMES.wire)


def is_call_id(call_id: str) -> bool:
    """Return whether OpenAI accepts the id of a call."""
    return 0 < len(call_id) <= MAX_ID_CHARS and replace_surrogates(call_id) == call_id


def _id_stem(call_id: str) -> str:
    return str(replace_surrogates(call_id))[:30] or "call"


def with_objects_on_the_wire(wire: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wire message with JSON objects as the arguments of its calls.

    All other fields are unchanged.

    >>> call = {"name": "read", "arguments": "{oops"}
    >>> with_objects_on_the_wire({"role": "assistant", "function_call": call})["function_call"]
    {'name': 'read', 'arguments': '{"unparsed_arguments": "{oops"}'}
    """
    return _with_functions(wire, with_object_text)


def _with_functions(wire: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the wire message with `change` applied to the `function` of each of its calls."""
    copy: dict[str, Any] = dict(wire)
    if messages := messages_of(wire):
        copy[MESSAGES] = [_with_functions(each, change) for each in messages]
    if legacy := legacy_of(wire):
        copy["function_call"] = change(legacy)
    if calls := items_at(wire, "tool_calls"):
        copy["tool_calls"] = [
            {**call, "function": change(call["function"])}
            if isinstance(at(call, "function"), dict) and custom_of(call) is None
            else call
            for call in calls
        ]
    return copy


def sendable_payload(message: Message) -> Any:
    """Return the payload if it may be sent, as it came or as `decode_response` fixed it."""
    if not all(map(has_object, message.tool_calls)):
        whole = _native(message)
        if whole is not None:
            return whole
        # `decode_response` rewrote the arguments in the payload only, so the message has to be
        # compared with what it would say with them. Evolved, not replaced: that would drop the
        # payload.
        calls = [
            call
            if has_object(call)
            else attrs.evolve(call, arguments=arguments_as_text(call.arguments))
            for call in message.tool_calls
        ]
        message = attrs.evolve(message, tool_calls=calls)
    return _native(message)


def _native(message: Message) -> Any:
    return native_payload(
        message, NAME, decode_message, TOOL_NAMES.wire, without_bound_reasoning, edit=_edit
    )


def _edit(payload: Any, message: Message) -> Any | None:
    """Return a copy of a reply with the message's calls, and without media that were removed."""
    calls = write_calls(items_at(payload, "tool_calls"), message.tool_calls, _edit_call)
    if calls is None or legacy_of(payload) is not None:
        return None
    copy = {**payload, "tool_calls": calls} if calls else payload
    content = at(payload, "content")
    has_media = "images" in payload or (isinstance(content, list) and media_of(content))
    if message.media or not has_media:
        return copy
    # Mistral has the thinking among the parts.
    thoughts = [part for part in items_at(content) if at(part, "thinking")]
    text = [{"type": "text", "text": message.content}] if thoughts else message.content
    rest = {key: value for key, value in copy.items() if key != "images"}
    return {**rest, "content": [*thoughts, *text] if thoughts else text}


def _edit_call(wire: dict[str, Any], call: ToolCall) -> Any:
    copy = wire if text_at(wire, "id") == call.id else {**wire, "id": call.id}
    if read_call(wire).arguments == call.arguments:
        return copy
    custom = custom_of(wire)
    if custom is None:
        return {**copy, "function": {**wire["function"], "arguments": call.arguments}}
    text = text_at(parse_object(call.arguments), "input")
    return {**copy, "custom": {**custom, "input": text}}


@attrs.define
class _WireWriter:
    """Writes wire messages, and tracks the ids of the last assistant message's calls in them."""

    ids: UniqueIds
    wire: list[dict[str, Any]] = attrs.field(factory=list)
    asked: dict[str, deque[str]] = attrs.field(factory=dict)
    """The unanswered calls of the last assistant message: from our id to the wire ids, in order."""
    legacy: str = ""
    """The name of the last call if it was written in the legacy format of 2023, which its answer
    then uses."""
    media: list[Media] = attrs.field(factory=list)
    keeps_ids: bool = True
    """Whether the calls of the last assistant message were written under their own ids."""
    as_they_came: list[Message] = attrs.field(factory=list)
    """Messages written whose calls and answers are not recorded in `asked` and `ids` yet."""

    def write_as_it_came(self, message: Message) -> bool:
        """Write an untouched message; return False if earlier messages may require changes in it.

        Calls and answers are recorded later, and only if a message follows that needs them: a
        conversation that is untouched as a whole costs one microsecond per message.
        """
        payload: Any = message.native.payload if message.native else None
        role = message.role
        if role == "tool":
            is_answer = self.keeps_ids and payload["role"] == "tool"
            # Any other id may hold half a character, which `write` replaces.
            if not (is_answer and message.tool_results[0].call_id.isascii()):
                return False
        elif payload is None:
            return False
        else:
            if role == "assistant":
                # Audio is sent back by its id alone, a legacy call decides how its answer is
                # written, and a reply may be several messages. Blank arguments are filled in.
                if "audio" in payload or "function_call" in payload or MESSAGES in payload:
                    return False
                for call in message.tool_calls:
                    if not call.arguments.strip():
                        return False
                self.keeps_ids = True
            if self.media:
                self.write_tool_media()
        self.wire.append(payload)
        self.as_they_came.append(message)
        return True

    def _catch_up(self) -> None:
        for message in self.as_they_came:
            if message.role == "assistant":
                self._note_calls(message)
            for result in message.tool_results:
                self._answered(result.call_id)
        self.as_they_came = []

    def _note_calls(self, message: Message) -> None:
        self.asked, self.legacy = {}, ""
        for call in message.tool_calls:
            self.ids.used.add(call.id)
            self.asked.setdefault(call.id, deque()).append(call.id)

    def write(self, message: Message) -> None:
        self._catch_up()
        payload = sendable_payload(message)
        if message.role == "tool":
            self._write_results(message, payload)
            return
        self.write_tool_media()
        if message.role == "assistant":
            self._write_assistant(message, payload)
        elif payload is not None:
            self.wire.append(payload)
        elif message.content or message.media:
            content = _content(message.content, message.media, message.role)
            self.wire.append({"role": message.role, "content": content})

    def write_tool_media(self) -> None:
        """Write media from tools as a user message after the round: tools send only text."""
        if self.media:
            content = _content(_FROM_TOOLS, self.media, "user")
            self.wire.append({"role": "user", "content": content})
        self.media = []

    def _write_assistant(self, message: Message, payload: Any) -> None:
        self.keeps_ids = False
        if payload is not None:
            self._note_calls(message)
            self.legacy = text_at(legacy_of(payload), "name")
            if _has_blank_call(message):
                payload = _with_functions(payload, with_arguments)
            self.wire += messages_of(payload) or [_with_audio_by_id(payload)]
            return
        self.asked, self.legacy = {}, ""
        # All servers accept ""; Ollama and LM Studio, among others, reject null:
        # https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261
        wire = {"role": "assistant", "content": _content(message.content, message.media, "")}
        wire |= _own_reasoning(message)
        if message.tool_calls:
            wire["tool_calls"] = [self._call(call) for call in message.tool_calls]
        if wire["content"] or message.tool_calls:
            self.wire.append(wire)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        fresh = self.ids.take(call.id)
        self.asked.setdefault(call.id, deque()).append(fresh)
        function = {
            "name": TOOL_NAMES.wire(call.name),
            "arguments": arguments_as_text(call.arguments),
        }
        return {"id": fresh, "type": "function", "function": function}

    def _write_results(self, message: Message, payload: Any) -> None:
        is_legacy = text_at(payload, "role") == "function"
        if is_legacy and (self.legacy or not self.asked.get(message.tool_results[0].call_id)):
            self.wire.append(payload)
            return
        if payload is None or is_legacy:
            self.media += message.all_media
            self.wire += [self._result(result) for result in results_with_content(message)]
            return
        call_id = message.tool_results[0].call_id
        fresh = self._answered(call_id)
        self.wire.append(payload if fresh == call_id else {**payload, "tool_call_id": fresh})

    def _result(self, result: ToolResult) -> dict[str, Any]:
        text, call_id = replace_surrogates(result.text), self._answered(result.call_id)
        if self.legacy:
            return {"role": "function", "name": self.legacy, "content": text}
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    def _answered(self, call_id: str) -> str:
        waiting = self.asked.get(call_id)
        return waiting.popleft() if waiting else str(replace_surrogates(call_id))


def _has_blank_call(message: Message) -> bool:
    return any(is_blank_arguments(call.arguments) for call in message.tool_calls)


def _own_reasoning(message: Message) -> dict[str, Any]:
    """Return the reasoning fields of the original payload for a message that is rebuilt.

    In thinking mode, Kimi and DeepSeek reject a conversation whose calls have lost their reasoning:
    https://github.com/cloudwego/eino-ext/issues/700, https://github.com/mastra-ai/mastra/issues/12592,
    https://github.com/MoonshotAI/kimi-agent-sdk/issues/169,
    https://github.com/QwenLM/qwen-code/issues/3724. If the reasoning was edited, the edited text is
    returned.
    """
    origin = message.origin
    payload = origin.payload if origin and origin.provider == NAME else None
    if origin and origin.without_reasoning:
        payload = without_bound_reasoning(payload)
    if not isinstance(payload, dict):
        return {}
    fields = {key: payload[key] for key in _REASONING if payload.get(key) is not None}
    if not fields or decode_message(payload).reasoning == message.reasoning:
        return fields
    field = next((name for name in fields if name in _VISIBLE), "reasoning")
    return {field: message.reasoning} if message.reasoning else {}


def _content(text: str, media: Sequence[Media], role: str) -> Any:
    """Return the text, or a list of parts if there are media that the role may send."""
    parts = [(each, part_of(each) if role == "user" else None) for each in media]
    notes = text_with_notes(text, [each for each, part in parts if part is None])
    text = replace_surrogates(notes)
    content = [part for _, part in parts if part is not None]
    if not content:
        return text
    return [{"type": "text", "text": text}, *content] if text else content


def _with_audio_by_id(payload: Any) -> Any:
    """Replace the model's audio by its id, as the API expects; the sound itself is not sent.

    https://platform.openai.com/docs/guides/audio (multi-turn conversations, 2026-11)
    """
    audio = payload.get("audio")
    if not isinstance(audio, dict) or not audio.get("id") or len(audio) == 1:
        return payload
    return {**payload, "audio": {"id": audio["id"]}}
