"""Images and files on the wire: from content parts to `Media`, and back.

https://platform.openai.com/docs/guides/images-vision and .../guides/pdf-files: bytes travel as a
data URL. Sounds are no input of this API (types/responses/response_input_content.py of
https://github.com/openai/openai-python), so a text says that one was left out.
"""

import base64
import binascii
import mimetypes
from collections.abc import Iterable
from typing import Any

from agentic.messages import Media
from agentic.providers._plain import items_at, text_at

__all__ = ["media_in", "parts_of"]


def media_in(content: Any) -> list[Media]:
    """Read the images and files of a content; what is only named by a `file_id` is left out.

    >>> media_in([{"type": "input_image", "image_url": "data:image/png;base64,aGk="}])
    [Media(media_type='image/png', url='')]
    """
    found = (_medium(part) for part in items_at(content))
    return [medium for medium in found if medium is not None]


def parts_of(media: Iterable[Media]) -> list[dict[str, Any]]:
    """Write images and files as content parts.

    >>> parts_of([Media("image/png", url="https://example.com/a.png")])[0]["image_url"]
    'https://example.com/a.png'
    """
    return [_part(medium) for medium in media]


def _medium(part: Any) -> Media | None:
    image = text_at(part, "image_url")
    if image:
        return _at_address(image, "image/*")
    address = text_at(part, "file_data") or text_at(part, "file_url")
    if not address:
        return None
    return _at_address(address, _guess(text_at(part, "filename")) or "application/octet-stream")


def _at_address(address: str, fallback: str) -> Media:
    head, comma, body = address.partition(",")
    if not comma or not head.startswith("data:"):
        return Media(_guess(address.partition("?")[0]) or fallback, url=address)
    media_type = head.removeprefix("data:").partition(";")[0] or fallback
    try:
        return Media(media_type, base64.b64decode(body, validate=True))
    except (binascii.Error, ValueError):
        return Media(media_type, url=address)


def _part(medium: Media) -> dict[str, Any]:
    kind = medium.media_type
    address = medium.url or _data_url(medium)
    if not address or kind.startswith(("audio/", "video/")):
        where = f" at {medium.url}" if medium.url else ""
        return {"type": "input_text", "text": f"[{kind}{where} was left out]"}
    if kind.startswith("image/"):
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    if not address.startswith("data:"):
        return {"type": "input_file", "file_url": address}
    name = "file" + (mimetypes.guess_extension(kind) or "")
    return {"type": "input_file", "filename": name, "file_data": address}


def _data_url(medium: Media) -> str:
    if not medium.data:
        return ""
    return f"data:{medium.media_type};base64,{base64.b64encode(medium.data).decode('ascii')}"


def _guess(name: str) -> str | None:
    return mimetypes.guess_type(name)[0]
