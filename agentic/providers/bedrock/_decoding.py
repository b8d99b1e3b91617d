"""Decode wire messages and content blocks; each message keeps its blocks as its payload.

The payload of a `ProviderPayload` is a wire message, or the list of blocks in `system`.

Content blocks are converted between JSON data, boto3's data and `Media`.

On the wire and in a payload, bytes are base64 text. boto3 expects `bytes`, which it encodes itself.
It would encode a base64 text again, without raising an error. Blocks that are nested too deeply for
Python to walk through are cut.

A complete reply is decoded into its message, its token usage and why it ended.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import attrs

from agentic.loop import Decision
from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.providers._bound_requests import input_transformations
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._ids import KnownIds
from agentic.providers.kit._json import (
    DEEPEST_ARGUMENTS,
    SCALARS,
    count_at,
    is_deep,
    is_plain,
    json_text,
)
from agentic.providers.kit._media import from_base64, to_base64
from agentic.providers.kit._messages import (
    Decoded,
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)
from agentic.usage import StopReason, StopWords, Usage

_WITHOUT_BYTES = SCALARS - {bytes}
_SERVER_TOOL = "server_tool_use"

# The formats of https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ImageBlock.html
# and of DocumentBlock, VideoBlock and AudioBlock in the same reference (2026-11).
_OFFICE = "application/vnd.openxmlformats-officedocument"

_TYPES = {
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{_OFFICE}.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "video": {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mka": "audio/x-matroska",
        "m4a": "audio/x-m4a",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    },
}

_FORMATS = {
    media_type: (kind, name) for kind, names in _TYPES.items() for name, media_type in names.items()
} | {"image/jpg": ("image", "jpeg"), "audio/mp3": ("audio", "mp3"), "audio/x-wav": ("audio", "wav")}
_NUMBER = re.compile(r"Document (\d{1,9})")


def as_json(item: Any) -> Any:
    """Return data from the wire or from an SDK as JSON data; JSON data is returned unchanged.

    >>> as_json({"redactedContent": b"abc", "n": [1]})
    {'redactedContent': 'YWJj', 'n': [1]}
    """
    if is_plain(item, DEEPEST_ARGUMENTS, _WITHOUT_BYTES):
        return item
    data = plain(_flat(item, DEEPEST_ARGUMENTS) if is_deep(item) else item)
    # The depth of an SDK object is only known once it is plain.
    return _without_bytes(_flat(data, DEEPEST_ARGUMENTS) if is_deep(data) else data)


def for_boto3(request: Mapping[str, Any], /) -> dict[str, Any]:
    """Convert a request's JSON data to the data for boto3, with bytes instead of base64.

    What the service sends in a reply but does not accept back is left out: reasoning without a
    signature, and the type of a call that the caller runs.

    >>> image = {"image": {"format": "png", "source": {"bytes": "YWJj"}}}
    >>> for_boto3({"messages": [{"role": "user", "content": [image]}]})["messages"][0]["content"]
    [{'image': {'format': 'png', 'source': {'bytes': b'abc'}}}]
    """
    fields = dict(plain(request))
    for field in ("messages", "system"):
        if isinstance(fields.get(field), list):
            convert = _json_message if field == "messages" else _block
            fields[field] = [convert(item) for item in fields[field]]
    return fields


def _flat(item: Any, levels: int) -> Any:
    """Return data without levels that are too deep; such arguments are kept as text."""
    if isinstance(item, list):
        return [_flat(part, levels - 1) for part in item] if levels else None
    if not isinstance(item, dict):
        return item
    if not levels:
        return None
    return {
        key: json_text(value) if key == "input" and is_deep(value) else _flat(value, levels - 1)
        for key, value in item.items()
    }


def _without_bytes(data: Any) -> Any:
    if isinstance(data, bytes | bytearray):
        return to_base64(bytes(data))
    if isinstance(data, dict):
        values = list(map(_without_bytes, data.values()))
        same = all(map(is_, values, data.values()))
        return data if same else dict(zip(data, values, strict=True))
    if isinstance(data, list):
        values = list(map(_without_bytes, data))
        return data if all(map(is_, values, data)) else values
    return data


def _json_message(message: Any) -> Any:
    content = at(message, "content")
    if not isinstance(content, list):
        return message
    blocks = [_block(block) for block in content if not _is_unsigned(block)]
    # Bedrock rejects a message without content, and leaving it out would break the alternation
    # of roles.
    return {**message, "content": blocks or [{"text": "(no text)"}]}


def _is_unsigned(block: Any) -> bool:
    # Rejected by Nova (https://github.com/can1357/oh-my-pi/pull/9086) and DeepSeek
    # (https://github.com/strands-agents/harness-sdk/issues/651).
    text = at(block, "reasoningContent", "reasoningText")
    return isinstance(text, dict) and not text.get("signature")


def _block(block: Any) -> Any:
    if not isinstance(block, dict):
        return block
    return {kind: _value(kind, value) for kind, value in block.items()}


def _value(kind: str, value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    # Only blocks hold bytes: an argument that looks like base64 is the model's own text.
    if kind in _TYPES:
        value = _with_bytes(value)
    elif kind == "guardContent":
        value = _block(value)
    elif kind == "toolResult" and isinstance(value.get("content"), list):
        value = {**value, "content": [_block(part) for part in value["content"]]}
    # The API knows no other type, though replies have some:
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
    elif kind == "toolUse" and value.get("type") != _SERVER_TOOL:
        value = {name: part for name, part in value.items() if name != "type"}
    elif kind == "reasoningContent" and isinstance(value.get("redactedContent"), str):
        value = {**value, "redactedContent": _to_bytes(value["redactedContent"])}
    return value


def _with_bytes(media: dict[str, Any]) -> dict[str, Any]:
    source = media.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("bytes"), str):
        return media
    return {**media, "source": {**source, "bytes": _to_bytes(source["bytes"])}}


def _to_bytes(text: str) -> bytes:
    data = from_base64(text)
    return text.encode("utf-8", "surrogatepass") if data is None else data


def read_media(block: Any) -> Media | None:
    """Read a block that contains media; return None for any other block.

    >>> read_media({"image": {"format": "png", "source": {"bytes": "YWJj"}}}).data
    b'abc'
    """
    if type(block) is dict and _TYPES.keys().isdisjoint(block):
        return None
    for kind, names in _TYPES.items():
        source = at(block, kind)
        if isinstance(source, dict):
            form = text_at(source, "format")
            media_type = names.get(form) or f"{kind}/{form or 'unknown'}"
            return Media(media_type, *_source(source))
    return None


def _source(source: dict[str, Any]) -> tuple[bytes, str]:
    texts = [text_at(source, "source", "text")]
    texts += [text_at(part, "text") for part in items_at(source, "source", "content")]
    text = "\n".join(part for part in texts if part)
    data = from_base64(text_at(source, "source", "bytes")) or text.encode("utf-8", "surrogatepass")
    return data, text_at(source, "source", "s3Location", "uri")


@attrs.define
class DocumentNames:
    """Generates document names that a request does not use yet."""

    # Duplicates are rejected: https://github.com/maximhq/bifrost/issues/7003. The names are
    # neutral, since the model reads them.
    _last: int = 0

    @classmethod
    def beside(cls, payloads: Iterable[Any]) -> "DocumentNames":
        """Return a generator that avoids the names in payloads, which are sent unchanged."""
        numbers = [_NUMBER.fullmatch(name) for name in _names(payloads)]
        return cls(max((int(number[1]) for number in numbers if number), default=0))

    def give(self) -> str:
        """Return the next name."""
        self._last += 1
        return f"Document {self._last}"


def _names(payloads: Iterable[Any]) -> Iterator[str]:
    for payload in payloads:
        for block in items_at(payload, "content"):
            for part in [block, *items_at(block, "toolResult", "content")]:
                yield text_at(part, "document", "name")


def is_sound(media: Media) -> bool:
    """Return whether media are audio, for which a tool result has no block.

    >>> is_sound(Media("audio/wav", b"RIFF"))
    True
    """
    # Of media, API_runtime_ToolResultContentBlock (2026-11) has images, documents and videos.
    return media.media_type.startswith("audio/")


def encode_media(media: Media, names: DocumentNames) -> dict[str, Any]:
    """Return the block for some media; a text that names them if Converse has no block for them.

    >>> encode_media(Media("image/png", url="https://example.com/a.png"), DocumentNames())
    {'text': '[image/png: https://example.com/a.png]'}
    """
    # A media type may have parameters, such as `text/plain; charset=utf-8`.
    kind, form = _FORMATS.get(media.media_type.partition(";")[0].strip().lower(), ("", ""))
    source = _encode_source(media)
    if not kind or not source:
        return {"text": f"[{media.media_type}: {media.url or f'{len(media.data)} bytes'}]"}
    name_field = {"name": names.give()} if kind == "document" else {}
    return {kind: {"format": form, **name_field, "source": source}}


def _encode_source(media: Media) -> dict[str, Any]:
    if media.data:
        return {"bytes": to_base64(media.data)}
    # Converse fetches no other address.
    return {"s3Location": {"uri": media.url}} if media.url.startswith("s3://") else {}


NAME = "bedrock"
# The most common block types. A message that has no other is not searched for media.
_NO_MEDIA = {"text", "toolUse", "reasoningContent"}
_SAYING = {"text", "guardContent", "citationsContent", "searchResult"}
# How `ToolResult.text` begins for a failure, which is how a failure is sent.
_ERROR = "Error: "


def decode(messages: Iterable[Any], /) -> list[Message]:
    """Read a request's `messages`. A user message with results and other content becomes two.

    >>> [message.role for message in decode([{"role": "user", "content": [{"text": "Hi"}]}])]
    ['user']
    """
    items = as_json(messages)
    wire = items if isinstance(items, list) else []
    return [message for group in IncrementalDecoder().read(wire) for message in group.messages]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of messages with the same result as `decode` on the whole list."""

    _names: KnownIds = attrs.field(factory=KnownIds, init=False)
    """The tool name of each call so far, by call id."""

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read the items from index `start` on; earlier calls have read the ones before it."""
        self._names.rewind(start)
        return self.read(map(as_json, messages[start:]), start)

    def read(self, items: Iterable[Any], start: int = 0, /) -> list[Decoded]:
        """Read the messages from `start` on, as JSON data."""
        result = []
        for position, item in enumerate(items, start):
            found = _decode_message(item, self._names.values)
            for message in found:
                for call in message.tool_calls:
                    self._names.add(position, call.id, call.name)
            result.append(Decoded(1, tuple(found)))
        return result


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, with its system prompt first."""
    body = as_json(request)
    system = at(body, "system")
    first = [_system(system)] if isinstance(system, list) and system else []
    if isinstance(system, str) and system:
        # Converse takes a list, so a string is not sent back as it came.
        first = [Message("system", system)]
    return first + decode(items_at(body, "messages"))


def decode_payload(payload: Any) -> Message | None:
    """Return the message for one payload; None if it is not one of this adapter."""
    if isinstance(payload, list):
        return _system(payload)
    message = _decode_message(payload, {})
    # A payload belongs to one message; results with words next to them are two.
    return message[0] if len(message) == 1 else None


def _decode_message(item: Any, names: Mapping[str, str]) -> list[Message]:
    """Read one wire message. `names` maps the id of each call so far to its tool."""
    content = at(item, "content")
    blocks = [{"text": content}] if isinstance(content, str) else items_at(item, "content")
    role, kinds = at(item, "role"), _kinds_of(blocks)
    if role == "assistant":
        return [_assistant(item, blocks, kinds)]
    if role == "system":
        return [decoded_message("system", _texts(blocks), decoded_native(NAME, item))]
    end = _end_of_results(blocks) if "toolResult" in kinds else 0
    if end == 0:
        return [_user(item, blocks, kinds)]
    if end == len(blocks):
        return [_tool(item, blocks, names)]
    return [
        _tool({**item, "content": blocks[:end]}, blocks[:end], names),
        _user({**item, "content": blocks[end:]}, blocks[end:], kinds, joins_previous=True),
    ]


def without_reasoning(payload: Any) -> Any:
    """Return a payload without its blocks of reasoning."""
    content = at(payload, "content")
    if not isinstance(content, list):
        return payload
    return {**payload, "content": [b for b in content if at(b, "reasoningContent") is None]}


def _end_of_results(blocks: list[Any]) -> int:
    """Count the blocks up to the last result, including blocks without content after it."""
    # A cache mark after the results, for example, is not a message of the user's.
    end = 0
    for position, block in enumerate(blocks):
        if _is_result(block) or (end == position and end and not _says(block)):
            end = position + 1
    says = any(_says(block) for block in blocks[end:])
    return end if says or not end else len(blocks)


def _says(block: Any) -> bool:
    return bool(_block_text(block) or _block_media([block]))


def _assistant(item: Any, blocks: list[Any], kinds: set[str]) -> Message:
    calls = map(read_call, blocks) if "toolUse" in kinds else ()
    others = [] if kinds <= _NO_MEDIA else [block for block in blocks if not _is_result(block)]
    return decoded_message(
        "assistant",
        "".join(map(_block_text, blocks)),
        decoded_native(NAME, item, holds_reasoning="reasoningContent" in kinds),
        reasoning="".join(map(_read_reasoning, blocks)) if "reasoningContent" in kinds else "",
        tool_calls=[call for call in calls if call is not None],
        media=_block_media(others),
    )


def _tool(item: Any, blocks: list[Any], names: Mapping[str, str]) -> Message:
    results = [_read_result(block, names) for block in blocks if _is_result(block)]
    native = decoded_native(NAME, item)
    media = _block_media(blocks)
    return decoded_message("tool", _texts(blocks), native, tool_results=results, media=media)


def _user(
    item: Any, blocks: list[Any], kinds: set[str], *, joins_previous: bool = False
) -> Message:
    text = item if isinstance(item, str) else _texts(blocks)
    native = decoded_native(NAME, item, joins_previous=joins_previous)
    media = [] if kinds <= _NO_MEDIA else _block_media(blocks)
    return decoded_message("user", text, native, media=media)


def _system(blocks: list[Any]) -> Message:
    return decoded_message("system", _texts(blocks), decoded_native(NAME, blocks))


def _texts(blocks: list[Any]) -> str:
    return "\n".join(filter(None, map(_block_text, blocks)))


def _kinds_of(blocks: list[Any]) -> set[str]:
    """Return the types of the blocks: each block has one key, which is its type."""
    return {kind for block in blocks if isinstance(block, dict) for kind in block}


def _block_text(block: Any) -> str:
    """Return a block's text; empty for calls, results and blocks that are not text.

    >>> _block_text({"guardContent": {"text": {"text": "Check me."}}})
    'Check me.'
    """
    if type(block) is dict and _SAYING.isdisjoint(block):
        return ""
    # By far the most frequent, so it is looked for first.
    if isinstance(text := at(block, "text"), str):
        return text
    if isinstance(text := at(block, "guardContent", "text", "text"), str):
        return text
    for kind in ("citationsContent", "searchResult"):
        if isinstance(at(block, kind), dict):
            return "".join(text_at(part, "text") for part in items_at(block, kind, "content"))
    return ""


def _block_media(blocks: list[Any]) -> list[Media]:
    return [media for media in map(read_media, blocks) if media is not None]


def _read_reasoning(block: Any) -> str:
    return text_at(block, "reasoningContent", "reasoningText", "text")


def read_call(block: Any) -> ToolCall | None:
    """Read a call that the caller has to execute; None for one that the provider has run.

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html

    >>> read_call({"toolUse": {"toolUseId": "t1", "name": "now", "input": {}}}).arguments
    '{}'
    """
    call = at(block, "toolUse")
    # Its result is in the same reply, so a call in the history would be closed as unanswered.
    if not isinstance(call, dict) or call.get("type") == "server_tool_use":
        return None
    arguments = json_text(call.get("input"))
    return decoded_call(text_at(call, "toolUseId"), text_at(call, "name"), arguments)


def _is_result(block: Any) -> bool:
    return isinstance(at(block, "toolResult"), dict)


def _read_result(block: Any, names: Mapping[str, str]) -> ToolResult:
    result = block["toolResult"]
    content = items_at(result, "content")
    text, media = "\n".join(filter(None, map(_result_text, content))), _block_media(content)
    call_id = text_at(result, "toolUseId")
    name = names.get(str(result.get("toolUseId")), "")
    if result.get("status") == "error":
        return decoded_result(call_id, name, "", ToolError(text.removeprefix(_ERROR)), media)
    return decoded_result(call_id, name, text, None, media)


def _result_text(part: Any) -> str:
    if isinstance(part, dict) and "json" in part:
        return json.dumps(part["json"], ensure_ascii=False)
    return _block_text(part)


def is_blank(block: Any) -> bool:
    """Return whether a block is a text of only white space."""
    is_text = isinstance(block, dict) and block.keys() == {"text"}
    return is_text and isinstance(block["text"], str) and not block["text"].strip()


STOP_WORDS = StopWords(
    NAME,
    {
        "end_turn": StopReason.STOP,
        "stop_sequence": StopReason.STOP,
        "tool_use": StopReason.TOOL,
        "max_tokens": StopReason.MAX_TOKENS,
        "model_context_window_exceeded": StopReason.MAX_TOKENS,
        "guardrail_intervened": StopReason.CONTENT_FILTER,
        "content_filtered": StopReason.CONTENT_FILTER,
        "malformed_model_output": StopReason.ERROR,
        "malformed_tool_use": StopReason.ERROR,
    },
)
"""All words in
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html
(2026-11). Malformed output is output by the model that the service could not parse."""


def decode_response(response: Any, /) -> Decision:
    """Read a reply, which may be JSON data or boto3's response.

    >>> said = {"output": {"message": {"role": "assistant", "content": [{"text": "Hi."}]}}}
    >>> decode_response(said).reply
    'Hi.'
    """
    data = as_json(response)
    message = _message(data)
    return Decision(
        message.content,
        message.tool_calls,
        usage=usage(data) if isinstance(_used(data), dict) else None,
        stop_reason=_stop_reason(data, message),
        native=message.native,
        stop_word=text_at(data, "stopReason"),
        reasoning=message.reasoning,
        media=message.media,
        provider=NAME,
        # AWS's id of the request: a reply has none of its own, nor the name of a model.
        response_id=text_at(data, "ResponseMetadata", "RequestId"),
        # Only if the caller asks for it by `additionalModelResponseFieldPaths`.
        input_transformations=input_transformations(at(data, "additionalModelResponseFields")),
    )


def _message(data: Any) -> Message:
    payload_message = at(data, "output", "message")
    if not isinstance(payload_message, dict) or not items_at(payload_message, "content"):
        return Message("assistant")
    payload = (
        payload_message
        if payload_message.get("role") == "assistant"
        else {**payload_message, "role": "assistant"}
    )
    message = decode_payload(payload) or Message("assistant")
    return message.replace(native=ProviderPayload(NAME, payload))


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended; a normal stop with calls is TOOL, whatever the model's word.

    >>> stop_reason({"stopReason": "max_tokens"})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    data = as_json(response)
    return _stop_reason(data, _message(data))


def _stop_reason(data: Any, message: Message) -> StopReason:
    word = at(data, "stopReason")
    text = None if word is None else str(word)
    return STOP_WORDS.reason(text, has_tool_calls=bool(message.tool_calls))


def usage(response: Any, /) -> Usage:
    """Return a reply's usage. The provider counts cached tokens separately; `input` includes them.

    https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html

    >>> usage({"usage": {"inputTokens": 2, "outputTokens": 5, "cacheReadInputTokens": 90}})
    Usage(input=92, output=5, total=0, cache_read=90, cache_write=0, reasoning=0)
    """
    tokens = _used(as_json(response))
    details = items_at(tokens, "cacheDetails")
    read = count_at(tokens, "cacheReadInputTokens") or count_at(tokens, "cacheReadInputTokenCount")
    cache_write = count_at(tokens, "cacheWriteInputTokens") or count_at(
        tokens, "cacheWriteInputTokenCount"
    )
    cache_write = cache_write or sum(count_at(detail, "inputTokens") for detail in details)
    return Usage(
        input=count_at(tokens, "inputTokens") + read + cache_write,
        output=count_at(tokens, "outputTokens"),
        total=count_at(tokens, "totalTokens"),
        cache_read=read,
        cache_write=cache_write,
    )


def _used(data: Any) -> Any:
    """Return the token counts in a reply, or in the last event of a stream."""
    tokens_at = at(data, "usage")
    return at(data, "metadata", "usage") if tokens_at is None else tokens_at
