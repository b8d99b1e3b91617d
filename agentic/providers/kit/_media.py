"""Media on the wire: base64, data URLs, image parts, and texts that name what has no part."""

import base64
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import attrs

from agentic.messages import Media, Message, ToolResult


def to_base64(data: bytes) -> str:
    """Encode bytes as base64 text.

    >>> to_base64(b"abc")
    'YWJj'
    """
    return base64.b64encode(data).decode("ascii")


def from_base64(text: str) -> bytes | None:
    r"""Decode base64 text, which may have line breaks; return None if it is invalid.

    >>> from_base64("YW\nJj"), from_base64("?")
    (b'abc', None)
    """
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        return None


def data_url(media: Media) -> str:
    """Return the URL that contains the bytes of media; empty if there are none.

    >>> data_url(Media("image/png", b"abc"))
    'data:image/png;base64,YWJj'
    """
    return f"data:{media.media_type};base64,{to_base64(media.data)}" if media.data else ""


def read_data_url(url: str) -> tuple[str, bytes | None] | None:
    """Return the media type and the bytes in a data URL; None for any other address.

    The type is empty if the URL names none, and the bytes are None if they cannot be read.

    >>> read_data_url("data:image/png;base64,YWJj"), read_data_url("data:text/plain,a%20b")
    (('image/png', b'abc'), ('text/plain', b'a b'))
    """
    if not url.startswith("data:"):
        return None
    head, comma, body = url.removeprefix("data:").partition(",")
    media_type, *parameters = head.split(";")
    if not comma:
        return media_type, None
    # https://datatracker.ietf.org/doc/html/rfc2397: without this word, the body is percent-encoded.
    if "base64" in parameters:
        return media_type, from_base64(body)
    # Bytes, because the function encodes a text strictly, and half a character makes it raise.
    return media_type, unquote_to_bytes(body.encode("utf-8", "surrogatepass"))


def image_part(media: Media) -> dict[str, Any] | None:
    """Return the part for an image in OpenAI's format; None for other media.

    >>> image_part(Media("image/png", url="https://example.com/a.png"))
    {'type': 'image_url', 'image_url': {'url': 'https://example.com/a.png'}}
    """
    url = data_url(media) or media.url
    if not url or not media.media_type.startswith("image/"):
        return None
    return {"type": "image_url", "image_url": {"url": url}}


def part_as_it_came(
    media: Media, provider: str, read: Callable[[dict[str, Any]], Media]
) -> dict[str, Any] | None:
    """Return the part in `extra` that media came from, with all its fields; None if it is stale."""
    part = media.extra.get(provider)
    if not isinstance(part, dict):
        return None
    found = read(part)
    # An edited copy still has the part that its original came from.
    same = (found.media_type, found.data, found.url) == (media.media_type, media.data, media.url)
    return part if same else None


def media_note(media: Media) -> str:
    """Return a text that names media that cannot be sent.

    >>> media_note(Media("image/png", url="https://example.com/a.png"))
    '[image/png: https://example.com/a.png]'
    """
    return f"[{media.media_type}{': ' + media.url if media.url else ''}]"


def text_with_notes(text: str, media: Iterable[Media]) -> str:
    r"""Return a text, followed by the names of media.

    >>> text_with_notes("Look:", [Media("image/png")])
    'Look:\n[image/png]'
    """
    return "\n".join(filter(None, (text, *map(media_note, media))))


def text_with_media(message: Message) -> str:
    """Return a message's text, followed by the names of its media.

    >>> text_with_media(Message("assistant", media=[Media("image/png")]))
    '[image/png]'
    """
    return text_with_notes(message.content, message.media)


def results_with_content(message: Message) -> tuple[ToolResult, ...]:
    r"""Return a tool message's results; the message's own text and media are added to the last.

    >>> spoken = Message("tool", "Mind the gap.", tool_results=[ToolResult("c1", output="train")])
    >>> results_with_content(spoken)[0].text
    'train\nMind the gap.'
    """
    results = message.tool_results
    if not results or not (message.content or message.media):
        return results
    last = results[-1]
    # As a part of the notice it comes last, even behind the message of an error.
    notice = "\n".join(filter(None, (last.notice, message.content)))
    media = (*last.media, *message.media)
    return (*results[:-1], attrs.evolve(last, notice=notice, media=media))
