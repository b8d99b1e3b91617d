"""Convert content blocks between JSON data, boto3's data and `Media`.

On the wire and in a payload, bytes are base64 text. boto3 expects `bytes`, which it encodes itself.
It would encode a base64 text again, without raising an error. Blocks that are nested too deeply for
Python to walk through are cut.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import is_
from typing import Any

import attrs

from agentic.messages import Media
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._json import DEEPEST_ARGUMENTS, SCALARS, is_deep, is_plain, json_text
from agentic.providers.kit._media import from_base64, to_base64

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
    given = dict(plain(request))
    for field in ("messages", "system"):
        if isinstance(given.get(field), list):
            convert = _message if field == "messages" else _block
            given[field] = [convert(item) for item in given[field]]
    return given


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


def _message(message: Any) -> Any:
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
        found = at(block, kind)
        if isinstance(found, dict):
            form = text_at(found, "format")
            media_type = names.get(form) or f"{kind}/{form or 'unknown'}"
            return Media(media_type, *_source(found))
    return None


def _source(found: dict[str, Any]) -> tuple[bytes, str]:
    texts = [text_at(found, "source", "text")]
    texts += [text_at(part, "text") for part in items_at(found, "source", "content")]
    text = "\n".join(part for part in texts if part)
    data = from_base64(text_at(found, "source", "bytes")) or text.encode("utf-8", "surrogatepass")
    return data, text_at(found, "source", "s3Location", "uri")


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
    named = {"name": names.give()} if kind == "document" else {}
    return {kind: {"format": form, **named, "source": source}}


def _encode_source(media: Media) -> dict[str, Any]:
    if media.data:
        return {"bytes": to_base64(media.data)}
    # Converse fetches no other address.
    return {"s3Location": {"uri": media.url}} if media.url.startswith("s3://") else {}
