"""Convert images, documents, videos and audio between Converse's blocks and `Media`."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from agentic.messages import Media
from agentic.providers.kit import at, items_at, text_at
from agentic.providers.kit._media import from_base64, to_base64

__all__ = ["DocumentNames", "encode_media", "is_sound", "read_media"]

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
    """Generates document names that a request does not use yet: duplicates are rejected.

    https://github.com/maximhq/bifrost/issues/7003. The names are neutral, since the model reads
    them.
    """

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

    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolResultContentBlock.html
    (2026-11)

    >>> is_sound(Media("audio/wav", b"RIFF"))
    True
    """
    return media.media_type.startswith("audio/")


def encode_media(media: Media, names: DocumentNames) -> dict[str, Any]:
    """Return the block for some media; a text that names them if Converse has no block for them.

    Converse fetches URLs only from S3.

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
    return {"s3Location": {"uri": media.url}} if media.url.startswith("s3://") else {}
