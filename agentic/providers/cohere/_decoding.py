"""Decode wire messages, each to one message.

The roles and parts are those of https://docs.cohere.com/reference/chat (2026-11): an assistant has
`tool_plan`, `tool_calls`, `content` (a string, or parts of type text and thinking) and `citations`;
a user's parts are text and image_url, a tool's are text and document.
"""

import json
import mimetypes
from collections.abc import Mapping, Sequence
from typing import Any

from agentic.messages import Media, Message, Role, ToolCall
from agentic.providers.kit import Decoded, at, items_at, plain, text_at
from agentic.providers.kit._json import arguments_of
from agentic.providers.kit._media import image_part, part_as_it_came, read_data_url
from agentic.providers.kit._messages import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
)

__all__ = [
    "NAME",
    "PLAN_END",
    "IncrementalDecoder",
    "decode",
    "decode_message",
    "decode_request",
    "part_of",
]

NAME = "cohere"
PLAN_END = "\n\n"
"""Between the plan and the content of a reply that has both."""


def decode(messages: Any, /) -> list[Message]:
    """Read a request's `messages`; each result keeps the wire message as its payload.

    >>> decode([{"role": "assistant", "tool_plan": "I will look.", "tool_calls": []}])[0].content
    'I will look.'
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
    role, content, native = text_at(wire, "role"), at(wire, "content"), decoded_native(NAME, wire)
    if role == "assistant":
        # Cohere's own examples show the plan to the user, as other models' words before a call:
        # https://docs.cohere.com/docs/tool-use-overview (2026-11).
        said = [text for text in (text_at(wire, "tool_plan"), _text_of(content, "")) if text]
        return decoded_message(
            "assistant",
            PLAN_END.join(said),
            native,
            reasoning="".join(text_at(part, "thinking") for part in _parts(content)),
            tool_calls=_calls(wire),
        )
    text = _text_of(content, "\n")
    if role == "tool":
        result = decoded_result(text_at(wire, "tool_call_id"), "", text)
        return decoded_message("tool", "", native, tool_results=[result])
    ours: Role = "system" if role == "system" else "user"
    return decoded_message(ours, text, native, media=_images(content))


def _calls(wire: Any) -> list[ToolCall]:
    return [
        decoded_call(
            text_at(call, "id"),
            text_at(call, "function", "name"),
            arguments_of(at(call, "function")),
        )
        for call in items_at(wire, "tool_calls")
        if isinstance(call, dict)
    ]


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


def _text_of(content: Any, separator: str) -> str:
    r"""Join the texts of a message's content, which is a string or a list of parts.

    >>> document = {"type": "document", "document": {"data": {"title": "Tides"}}}
    >>> _text_of([{"type": "text", "text": "Two found:"}, document], "\n")
    'Two found:\n{"title": "Tides"}'
    """
    if isinstance(content, str):
        return content
    return separator.join(filter(None, map(_part_text, _parts(content))))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    document = at(part, "document", "data")
    if document is None:
        return text_at(part, "text")
    return document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)


def _images(content: Any) -> list[Media]:
    """Read the parts that are images; each result keeps its part in `extra`."""
    return [_image(part) for part in _parts(content) if at(part, "image_url") is not None]


def _image(part: dict[str, Any]) -> Media:
    extra = {NAME: part}
    url = text_at(part, "image_url", "url") or text_at(part, "image_url")
    if found := read_data_url(url):
        return Media(found[0] or "image/*", found[1] or b"", extra=extra)
    kind = mimetypes.guess_type(url.partition("?")[0])[0] or "image/*"
    return Media(kind, url=url, extra=extra)


def part_of(media: Media) -> dict[str, Any] | None:
    """Return the content part for an image; None for media that the wire has no part for.

    If the image came from a part, that part is returned, with its `detail`.
    """
    return part_as_it_came(media, NAME, _image) or image_part(media)
