"""Decode wire messages, each to one message.

The content parts are text, images, audio and files:
https://platform.openai.com/docs/api-reference/chat/create (2026-11). Mistral adds `document_url`
and `thinking` (https://docs.mistral.ai/capabilities/reasoning/).
"""

import json
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from agentic.messages import Media, Message, ProviderPayload, Role, ToolCall
from agentic.providers.kit import Decoded, at, items_at, plain, text_at
from agentic.providers.kit._json import arguments_of
from agentic.providers.kit._media import (
    data_url,
    from_base64,
    image_part,
    part_as_it_came,
    read_data_url,
    to_base64,
)
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

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


class IncrementalDecoder:
    """Reads a growing list of messages with the same result as `decode` on the whole list."""

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it."""
        return [Decoded(1, (decode_message(plain(each)),)) for each in messages[start:]]


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
    signed = items_at(wire, "thinking_blocks") or text_at(wire, "reasoning_opaque")
    return details or bool(signed)


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
    kept = {key: value for key, value in wire.items() if key not in BOUND_FIELDS}
    details = [each for each in items_at(wire, "reasoning_details") if not _is_bound(each)]
    return {**kept, "reasoning_details": details} if details else kept


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
    answered = {text_at(each, "tool_call_id") for each in results}
    return decoded_message(
        "assistant",
        "".join(reply.content for reply in replies),
        native,
        reasoning="".join(reply.reasoning for reply in replies),
        tool_calls=[
            call for reply in replies for call in reply.tool_calls if call.id not in answered
        ],
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
    stated = next(filter(None, (text_at(wire, name) for name in names)), "")
    details = items_at(wire, "reasoning_details")
    return stated or "".join(text_at(one, "text") or text_at(one, "summary") for one in details)


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
    filled = bool(text_at(custom, "name")) or not text_at(call, "function", "name")
    return custom if kind == "custom" or filled else None


def legacy_of(wire: Any) -> dict[str, Any] | None:
    """Return a message's single call in the legacy format of 2023, which has no id; None if none.

    A message with the role `function` answers it:
    https://platform.openai.com/docs/api-reference/chat/object (2026-11). Snowflake sends a
    `function_call` without a name in every reply; that is not a call.

    >>> legacy_of({"tool_calls": None, "function_call": {"name": "", "arguments": ""}}) is None
    True
    """
    legacy = at(wire, "function_call")
    named = isinstance(legacy, dict) and bool(text_at(legacy, "name"))
    return legacy if named and not items_at(wire, "tool_calls") else None


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
    if found := read_data_url(url):
        return Media(found[0] or _UNKNOWN, found[1] or b"", extra=extra)
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
