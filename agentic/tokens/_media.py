"""How many tokens media take: from bytes to pixels, pages and seconds, and by a model's costs.

The size of an image is in the first bytes of its file, which is all that is read. Of a PDF the
pages are counted where they are written plainly; those of a compressed one are estimated from its
size. A recording's length is in the header of a WAV file, and otherwise estimated from its size.
"""

import re
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agentic.messages import Media

if TYPE_CHECKING:
    from agentic.limits._media_costs import MediaCosts

# A page of a PDF that has no plain page objects: between one of text and one of a scan.
_PAGE_BYTES = 50_000
_PDF_PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")
# 128 kbit/s of sound, and 1 Mbit/s of film: usual rates of files that are sent by a network.
_SOUND_BYTES = 16_000
_FILM_BYTES = 125_000
_UNKNOWN_SECONDS = 60
"""What a recording is taken for that only an address names."""
# Of JPEG: starts of a frame, but for three of that range, which are tables and an extension.
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_MARK = 0xFF
_BARE = frozenset({0x01, *range(0xD0, 0xDA)})
"""Marks without a length."""


def count_media(media: Media, costs: "MediaCosts", count_text: Callable[[str], int]) -> int:
    """Return the tokens of an image, a document, a recording or a file of text.

    >>> from agentic.limits._lookup import media_costs
    >>> photo = Media("image/jpeg", url="https://example.com/photo.jpg")
    >>> count_media(photo, media_costs("claude-opus-4-8"), len)
    4784
    """
    kind, _, subtype = media.media_type.lower().partition("/")
    if kind == "image":
        size = image_size(media.data)
        return costs.image.count(*size, _detail(media)) if size else costs.image.unknown_tokens
    if kind == "audio":
        return _seconds(media, _SOUND_BYTES) * costs.audio_second_tokens
    if kind == "video":
        return _seconds(media, _FILM_BYTES) * costs.video_second_tokens
    if kind == "text" and media.data:
        return count_text(media.data.decode("utf-8", "replace"))
    pages = len(_PDF_PAGE.findall(media.data)) if subtype == "pdf" else 0
    return (pages or 1 + len(media.data) // _PAGE_BYTES) * costs.pdf_page_tokens


def image_size(data: bytes) -> tuple[int, int] | None:
    r"""Return the width and the height of a PNG, JPEG, GIF or WebP, in pixels.

    None if it is anything else, or too damaged to tell.

    >>> image_size(b"GIF89a\x20\x03\x58\x02"), image_size(b"<svg/>")
    ((800, 600), None)
    """
    try:
        width, height = _read_size(data)
    except (struct.error, IndexError):
        return None
    return (width, height) if width > 0 and height > 0 else None


def _read_size(data: bytes) -> tuple[int, int]:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        width, height = struct.unpack_from(">II", data, 16)
    elif data.startswith((b"GIF87a", b"GIF89a")):
        width, height = struct.unpack_from("<HH", data, 6)
    elif data.startswith(b"\xff\xd8"):
        width, height = _jpeg_size(data)
    elif data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        width, height = _webp_size(data)
    else:
        return (0, 0)
    return width, height


def _jpeg_size(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        if data[at] != _MARK:
            return (0, 0)
        mark = data[at + 1]
        if mark in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        # A mark may be preceded by any number of these bytes.
        if mark == _MARK:
            at += 1
        elif mark in _BARE:
            at += 2
        else:
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]


def _webp_size(data: bytes) -> tuple[int, int]:
    chunk = data[12:16]
    if chunk == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if chunk == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if chunk == b"VP8X":
        low, high, low_height, high_height = struct.unpack_from("<HBHB", data, 24)
        return (high << 16 | low) + 1, (high_height << 16 | low_height) + 1
    return (0, 0)


def _detail(media: Media) -> str:
    """Return the `detail` that the part which the image came from asks for, or a field of it."""
    for part in media.extra.values():
        if isinstance(part, Mapping):
            for fields in (part, *part.values()):
                detail = fields.get("detail") if isinstance(fields, Mapping) else None
                if isinstance(detail, str):
                    return detail
    return ""


def _seconds(media: Media, bytes_per_second: int) -> int:
    data = media.data
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE" and data[12:16] == b"fmt ":
        rate = int.from_bytes(data[28:32], "little")
        bytes_per_second = rate or bytes_per_second
    return 1 + len(data) // bytes_per_second if data else _UNKNOWN_SECONDS
