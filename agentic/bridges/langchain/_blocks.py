"""The content of a LangChain message: a text, or a list of texts and blocks.

LangChain passes on the blocks of every provider, next to its own standard blocks, whose fields were
renamed in version 1 (https://docs.langchain.com/oss/python/langchain/messages, 2026-11). A block is
thinking, media, a call that the message lists elsewhere, or text. A block of an unknown type, such
as a search that the provider made itself, is read as its JSON text, so that it is counted and
summarized.
"""

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import attrs

from agentic.messages import Media
from agentic.providers.kit import at, text_at

Content: TypeAlias = str | list[str | dict[Any, Any]]

_Kind: TypeAlias = Literal["text", "thinking", "media", "call"]
_CALLS = frozenset(
    {"tool_call", "tool_call_chunk", "invalid_tool_call", "tool_use", "function_call"}
)
_THINKING = frozenset({"reasoning", "redacted_thinking", "thinking"})
_MEDIA_TYPES = {
    "audio": "audio/*",
    "document": "application/pdf",
    "file": "application/octet-stream",
    "image": "image/*",
    "image_url": "image/*",
    "input_audio": "audio/*",
    "input_file": "application/octet-stream",
    "input_image": "image/*",
    "media": "application/octet-stream",
    "video": "video/*",
}
"""The types of media blocks, and the media type to assume if a block has none."""
_STANDARD = ("image", "audio", "video")
_LONGEST_WORD = 256
"""A longer text without white space is encoded data, such as a signature or an image."""


@attrs.frozen
class ReadContent:
    """What the blocks of one message say."""

    text: str = ""
    thinking: str = ""
    media: tuple[Media, ...] = ()


def read_content(content: Content, separator: str) -> ReadContent:
    """Return what a content says; `separator` stands between the texts of its blocks.

    >>> read_content(["Look: ", {"type": "image", "url": "https://example.com/a.png"}], "").media
    (Media(media_type='image/*', url='https://example.com/a.png'),)
    """
    if isinstance(content, str):
        return ReadContent(content)
    texts: list[str] = []
    thoughts: list[str] = []
    media: list[Media] = []
    for block in content:
        kind = _kind_of(block)
        if kind == "text":
            texts.append(_text_of(block))
        elif kind == "thinking":
            thoughts.append(_thinking_of(block))
        elif kind == "media":
            media.append(_media_of(block))
    thinking = "\n\n".join(filter(None, thoughts))
    return ReadContent(separator.join(filter(None, texts)), thinking, tuple(media))


def with_text(content: Content, text: str) -> Content:
    """Return a content with another text. Its media, thinking and calls stay where they are.

    >>> with_text([{"type": "text", "text": "long"}, {"type": "image", "url": "a.png"}], "short")
    [{'type': 'text', 'text': 'short'}, {'type': 'image', 'url': 'a.png'}]
    """
    if isinstance(content, str):
        return text
    kinds = [_kind_of(block) for block in content]
    place = kinds.index("text") if "text" in kinds else len(kinds)
    new: Content = [{"type": "text", "text": text}] if text else []
    before = [block for block, kind in zip(content[:place], kinds, strict=False) if kind != "text"]
    after = [block for block, kind in zip(content, kinds, strict=True) if kind != "text"]
    return [*before, *new, *after[len(before) :]]


def without_thinking(content: Content) -> Content:
    """Return a content without the blocks of thinking, which a signature binds to a request.

    >>> without_thinking([{"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}, "So."])
    ['So.']
    """
    if isinstance(content, str):
        return content
    return [block for block in content if _kind_of(block) != "thinking"]


def media_block(media: Media) -> dict[str, Any]:
    """Return media as a standard block of LangChain 1.

    >>> media_block(Media("image/png", b"..."))
    {'type': 'image', 'base64': 'Li4u', 'mime_type': 'image/png'}
    """
    kind = media.media_type.partition("/")[0]
    block: dict[str, Any] = {"type": kind if kind in _STANDARD else "file"}
    if media.url:
        block["url"] = media.url
    elif file_id := media.extra.get("file_id"):
        block["file_id"] = file_id
    else:
        block["base64"] = base64.b64encode(media.data).decode("ascii")
    return {**block, "mime_type": media.media_type}


def _kind_of(block: Any) -> _Kind:
    kind = text_at(block, "type")
    if kind in _CALLS:
        return "call"
    if kind in _THINKING:
        return "thinking"
    # A document of Anthropic's may have text as its source.
    is_media = kind in _MEDIA_TYPES and at(block, "source", "type") not in {"text", "content"}
    return "media" if is_media else "text"


def _text_of(block: Any) -> str:
    """Return a text, or the JSON text of a block of another type."""
    if isinstance(block, str):
        return block
    if text_at(block, "type") in {"text", "output_text", "text-plain"}:
        return text_at(block, "text")
    if text_at(block, "type") == "refusal":
        return text_at(block, "refusal")
    return json.dumps(_without_data(block), ensure_ascii=False, default=str)


def _without_data(value: Any) -> Any:
    """Return JSON data in which encoded data is replaced by its length."""
    if isinstance(value, Mapping):
        return {str(key): _without_data(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_without_data(each) for each in value]
    if isinstance(value, str | bytes) and len(value) > _LONGEST_WORD and len(value.split()) == 1:
        return f"[{len(value):,} characters]"
    return value


def _thinking_of(block: Any) -> str:
    summary = at(block, "summary")
    parts = summary if isinstance(summary, list) else []
    texts = [text_at(block, "thinking"), text_at(block, "reasoning")]
    return "\n\n".join(filter(None, [*texts, *(text_at(part, "text") for part in parts)]))


def _media_of(block: Any) -> Media:
    """Read an image, a sound, a video or a file, whichever provider's form it has."""
    kind = text_at(block, "type")
    # The fields are in the block itself, or in an object of this name; OpenAI has an address there.
    names = ("source", kind, "image_url")
    inner = next((at(block, name) for name in names if at(block, name)), None)
    if isinstance(inner, str):
        inner = {"url": inner}
    fields = {**inner, **block} if isinstance(inner, Mapping) else dict(block)
    if isinstance(inner, Mapping) and isinstance(inner.get("type"), str):
        fields["type"] = kind
    address = _first(fields, "url", "file_url", "file_uri")
    data = _first(fields, "base64", "data", "file_data")
    media_type = _first(fields, "mime_type", "media_type")
    # OpenAI names the format of a sound, not its media type.
    if text_at(fields, "format"):
        media_type = media_type or f"{_MEDIA_TYPES[kind].partition('/')[0]}/{fields['format']}"
    for text in (address, data):
        if text.startswith("data:"):
            head, _, data = text[len("data:") :].partition(",")
            media_type, address = head.partition(";")[0], ""
    # In the standard blocks before version 1, `id` is the id of the file.
    file_id = _first(fields, "file_id", "id") if not (address or data) else ""
    return Media(
        media_type or _MEDIA_TYPES[kind],
        _decoded(data),
        address,
        extra={"file_id": file_id} if file_id else {},
    )


def _first(fields: Mapping[str, Any], *names: str) -> str:
    return next(filter(None, (text_at(fields, name) for name in names)), "")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
