"""The parts of a message's content: text, images, audio, files.

https://platform.openai.com/docs/api-reference/chat/create (2026-11). Mistral adds `document_url`
and `thinking` (https://docs.mistral.ai/capabilities/reasoning/).
"""

import base64
import binascii
import mimetypes
from typing import Any

from agentic.messages import Media
from agentic.providers._plain import at, text_at
from agentic.providers.openai_chat._wire._name import NAME

__all__ = ["media_of", "part_of", "text_of", "thinking_of"]

_UNKNOWN = "application/octet-stream"
_KINDS = {"image_url": "image/*", "video_url": "video/*", "document_url": "application/pdf"}
"""What is known of an address whose ending says nothing."""
_AUDIO_FORMATS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""The two formats that the API takes, by media type."""


def text_of(content: Any, separator: str = "\n") -> str:
    r"""Join the texts of a content, which is a text or a list of parts.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "image_url"}, "b"])
    'a\nb'
    """
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = (part if isinstance(part, str) else _part_text(part) for part in content)
    return separator.join(text for text in texts if text)


def _part_text(part: Any) -> str:
    """Read a part of text or of refusal; Mistral's references are no text."""
    return text_at(part, "text") or text_at(part, "refusal")


def thinking_of(content: Any) -> str:
    """Join what Mistral's models think in the parts of their content.

    >>> thinking_of([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}])
    'Hm.'
    """
    thoughts = (at(part, "thinking") for part in content) if isinstance(content, list) else ()
    return "".join(text_of(thought, "") for thought in thoughts)


def media_of(content: Any) -> list[Media]:
    """Read the parts that are neither text nor thinking; each keeps its part in `extra`."""
    parts = content if isinstance(content, list) else []
    return [
        _media(part)
        for part in parts
        if isinstance(part, dict) and not ({"text", "thinking", "refusal"} & part.keys())
    ]


def _media(part: dict[str, Any]) -> Media:
    extra = {NAME: part}
    audio = part.get("input_audio")
    if isinstance(audio, dict):
        kind = f"audio/{text_at(audio, 'format') or 'wav'}"
        return Media(kind, _decoded(text_at(audio, "data")), extra=extra)
    url = _address(part)
    if url.startswith("data:"):
        head, _, body = url.partition(",")
        kind = head.removeprefix("data:").partition(";")[0] or _UNKNOWN
        return Media(kind, _decoded(body), extra=extra)
    kind = mimetypes.guess_type(url.partition("?")[0])[0] or _KINDS.get(text_at(part, "type"), "")
    return Media(kind or _UNKNOWN, url=url, extra=extra)


def _address(part: dict[str, Any]) -> str:
    """Find the address; Mistral takes it as a text in the place of an object."""
    for key in ("image_url", "video_url", "document_url"):
        if key in part:
            return text_at(part, key) or text_at(part, key, "url")
    return text_at(part, "file", "file_data")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""


def part_of(media: Media) -> dict[str, Any] | None:
    """Make the part that carries some media; None where the wire has none for it.

    A part that the media came from is sent as it was, `detail` and cache marks included.

    >>> part_of(Media("image/png", url="https://example.com/a.png"))
    {'type': 'image_url', 'image_url': {'url': 'https://example.com/a.png'}}
    >>> part_of(Media("video/mp4", url="https://example.com/a.mp4")) is None
    True
    """
    part = media.extra.get(NAME)
    if isinstance(part, dict):
        read = _media(part)
        if (read.media_type, read.data, read.url) == (media.media_type, media.data, media.url):
            return part
    body = base64.b64encode(media.data).decode("ascii")
    if media.data and media.media_type in _AUDIO_FORMATS:
        audio = {"data": body, "format": _AUDIO_FORMATS[media.media_type]}
        return {"type": "input_audio", "input_audio": audio}
    inline = f"data:{media.media_type};base64,{body}"
    if media.media_type.startswith("image/") and (media.data or media.url):
        return {"type": "image_url", "image_url": {"url": inline if media.data else media.url}}
    if media.data and media.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": inline}}
    return None
