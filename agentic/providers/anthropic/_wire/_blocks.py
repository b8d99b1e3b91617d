"""What a content block holds, and the blocks that hold a text, a picture or a document.

The vocabulary: https://platform.claude.com/docs/en/api/messages/create (2026-11).
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from agentic.messages import Media
from agentic.providers._plain import at, text_at

__all__ = [
    "blocks_of",
    "media_block",
    "media_of",
    "text_block",
    "text_of",
]

_IMAGES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
# Stands for the type where only the address of a picture or a document is known.
_TYPES = {"image": "image/*", "document": "application/pdf"}
_WITH_TEXTS = {"search_result", "document"}


def blocks_of(content: Any) -> list[Any]:
    """Give a content as a list of blocks; a text is short for one block of it.

    >>> blocks_of("Hello.")
    [{'type': 'text', 'text': 'Hello.'}]
    """
    if isinstance(content, str):
        return [text_block(content)]
    return content if isinstance(content, list) else []


def text_block(text: str) -> dict[str, Any]:
    """Make the block of a text."""
    return {"type": "text", "text": text}


def text_of(block: Any) -> str:
    r"""Give the text that a block brings to the model, without what is binary or encrypted.

    >>> text_of({"type": "search_result", "title": "Cats", "content": [text_block("They purr.")]})
    'Cats\nThey purr.'
    """
    kind = text_at(block, "type")
    if kind in _WITH_TEXTS:
        return "\n".join(text for text in _texts(block) if text)
    return text_at(block, "text") if kind == "text" else ""


def _texts(block: Any) -> Iterator[str]:
    waiting = [block]
    while waiting:
        part = waiting.pop()
        kind = text_at(part, "type")
        if kind == "text":
            yield text_at(part, "text")
        elif kind in _WITH_TEXTS:
            yield text_at(part, "title")
            if at(part, "source", "type") == "text":
                yield text_at(part, "source", "data")
            inner = at(part, "source", "content") or at(part, "content")
            waiting += reversed(blocks_of(inner))


def media_of(block: Any) -> Media | None:
    """Read a picture or a document that is no text."""
    kind = text_at(block, "type")
    if kind not in _TYPES:
        return None
    source = at(block, "source")
    if text_at(source, "type") in {"text", "content"}:
        return None
    file_id = text_at(source, "file_id")
    return Media(
        text_at(source, "media_type") or _TYPES[kind],
        _decoded(text_at(source, "data")),
        text_at(source, "url"),
        extra={"file_id": file_id} if file_id else {},
    )


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return b""


def media_block(media: Media) -> dict[str, Any]:
    """Make the block of a medium, or a text that says what is left out: a sound, an empty picture.

    >>> media_block(Media("audio/wav", url="https://example.com/a.wav"))["text"]
    '[left out: audio/wav at https://example.com/a.wav, which this provider does not read]'
    """
    kind = "image" if media.media_type.startswith("image/") else "document"
    source = _source(media)
    if source is not None:
        return {"type": kind, "source": source}
    place = f" at {media.url}" if media.url else ""
    return text_block(f"[left out: {media.media_type}{place}, which this provider does not read]")


def _source(media: Media) -> dict[str, Any] | None:
    file_id = media.extra.get("file_id")
    if isinstance(file_id, str) and file_id:
        return {"type": "file", "file_id": file_id}
    if media.data and media.media_type in _IMAGES | {"application/pdf"}:
        data = base64.b64encode(media.data).decode("ascii")
        return {"type": "base64", "media_type": media.media_type, "data": data}
    if media.data and media.media_type == "text/plain":
        return {
            "type": "text",
            "media_type": "text/plain",
            "data": media.data.decode("utf-8", "replace"),
        }
    readable = media.media_type.startswith("image/") or media.media_type == "application/pdf"
    if readable and media.url.startswith(("http://", "https://")):
        return {"type": "url", "url": media.url}
    return None
