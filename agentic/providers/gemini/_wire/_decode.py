"""From the API's contents to messages.

One content is one message, but for a content that holds results beside other parts: its results are
a tool message and the rest is a message after it. Each carries in its native payload the whole
content, so that together they become that content again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from agentic.messages import Message, Native, Role
from agentic.providers._incremental import Decoded
from agentic.providers._native import decoded_message, decoded_native
from agentic.providers._plain import plain
from agentic.providers.gemini._wire._fields import (
    ANSWERS,
    CALLS,
    WITH_MEDIA,
    content_of,
    contents_of,
    field,
    has_field,
    is_object,
    keys_of,
    parts_of,
    text_of,
)
from agentic.providers.gemini._wire._ids import CallNames
from agentic.providers.gemini._wire._name import NAME
from agentic.providers.gemini._wire._read import (
    read_calls,
    read_media,
    read_results,
    read_text,
)

__all__ = [
    "REST",
    "RESULTS",
    "IncrementalDecoder",
    "decode",
    "decode_request",
    "read_message",
    "shared_parts",
]

RESULTS, REST = "results", "rest"
"""The two shares of a content that is two messages."""
_ROLES: dict[str, Role] = {"model": "assistant", "system": "system"}


def decode(contents: Iterable[Any], /) -> list[Message]:
    """Read a request's `contents`; one that holds results beside other parts is two messages.

    >>> [message.role for message in decode([{"role": "model", "parts": [{"text": "Hello."}]}])]
    ['assistant']
    """
    found = IncrementalDecoder().read(contents_of(contents))
    return [message for each in found for message in each.messages]


@attrs.define
class IncrementalDecoder:
    """Reads a growing list of contents, giving what `decode` gives for the whole."""

    _names: CallNames = attrs.field(factory=CallNames, init=False)

    def decode(self, contents: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read what stands from `start` on; what stands before was read by earlier calls."""
        self._names.rewind(start)
        before = content_of(contents[start - 1]) if start else None
        return self.read(map(content_of, contents[start:]), before)

    def read(self, contents: Iterable[Any], before: Any = None, /) -> list[Decoded]:
        """Read plain contents; `before` is the one that stands before them."""
        decoded = []
        for content in contents:
            parts = parts_of(content)
            keys = keys_of(parts)
            ids = self._names.ids(content, [] if keys.isdisjoint(CALLS | ANSWERS) else parts)
            payload = {"content": content, **({"ids": ids} if ids else {}), **_place(before)}
            messages = []
            for share in _shares(parts, keys):
                native = _native({**payload, "share": share} if share else payload)
                messages.append(_read(content, parts, keys, native, ids=ids, share=share))
            decoded.append(Decoded(1, tuple(messages)))
            before = content
        return decoded


def _native(payload: dict[str, Any]) -> Native | None:
    """Keep a payload; a bare text is the SDK's shorthand and no content."""
    if not is_object(payload["content"]):
        return None
    return decoded_native(NAME, payload, joins_previous=payload.get("share") == REST)


def _place(before: Any) -> dict[str, bool]:
    """Note what a model's content may not follow, and did: what was sent so may be sent again."""
    if before is None:
        return {"first": True}
    return {"after_model": True} if text_of(before, "role") == "model" else {}


def _shares(parts: list[Any], keys: set[str]) -> list[str | None]:
    """Say of which messages a content consists."""
    if keys.isdisjoint(ANSWERS):
        return [None]
    answers = [has_field(part, "functionResponse") for part in parts]
    if any(answers) and not all(answers):
        return [RESULTS, REST]
    return [None]


def read_message(payload: Any, native: Native | None = None) -> Message:
    """Read the native payload of one message, as the message that it is the payload of."""
    content, ids = field(payload, "content"), field(payload, "ids") or ()
    parts = parts_of(content)
    share = field(payload, "share")
    return _read(content, parts, keys_of(parts), native, ids=ids, share=share)


def _read(
    content: Any,
    every: list[Any],
    keys: set[str],
    native: Native | None,
    *,
    ids: Iterable[str],
    share: str | None,
) -> Message:
    """Read a share of a content, of which all parts are given, their keys, and their ids."""
    parts = _shared(every, share)
    results = [] if keys.isdisjoint(ANSWERS) else read_results(every, iter(ids))
    media = [] if keys.isdisjoint(WITH_MEDIA) else read_media(parts)
    if results and share != REST:
        return decoded_message("tool", "", native, tool_results=results, media=media)
    role = _ROLES.get(text_of(content, "role"), "user")
    model = role == "assistant"
    return decoded_message(
        role,
        read_text(parts, between="" if model else "\n"),
        native,
        reasoning=read_text(parts, thought=True) if "thought" in keys else "",
        tool_calls=read_calls(every, iter(ids)) if model and not keys.isdisjoint(CALLS) else (),
        media=() if model else media,
    )


def shared_parts(payload: Any) -> list[Any]:
    """Give the parts of a payload's content that belong to its message."""
    return _shared(parts_of(field(payload, "content")), field(payload, "share"))


def _shared(parts: list[Any], share: Any) -> list[Any]:
    if share is None:
        return parts
    return [part for part in parts if has_field(part, "functionResponse") is (share == RESULTS)]


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, its system prompt first.

    Arguments of the SDK's call are understood too, with the instruction in `config`.
    """
    data = plain(request)
    return [*_instructions(data), *decode(field(data, "contents"))]


def _instructions(request: Any) -> list[Message]:
    """Read the system instruction, which is one message that leads the others."""
    for holder in (request, field(request, "config")):
        for key in ("systemInstruction", "system_instruction"):
            found = holder.get(key) if isinstance(holder, Mapping) else None
            if found is not None:
                native = Native(NAME, {"instruction": found, "key": key})
                text = read_text(parts_of(found), between="\n")
                return [decoded_message("system", text, native)]
    return []
