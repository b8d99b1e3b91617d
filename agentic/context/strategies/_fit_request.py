"""Keeping a request within what a provider takes on the wire: its bytes, and how many images.

Bytes are those of the messages as JSON: their texts in UTF-8 with what has to be escaped, media in
base64, and an allowance for the keys around them. Where a message still has the provider's own
payload, its bytes count if they are more, because it may hold signatures and encrypted reasoning.
"""

import json
import operator
from collections.abc import Iterator
from typing import Any, ClassVar

import attrs

from agentic._base._validate import share, whole
from agentic.context.strategies._fit_window import FitContextWindow
from agentic.messages import Media, Message, ToolResult, split_rounds
from agentic.messages._landmarks import find_task

_MESSAGE_BYTES, _PART_BYTES = 60, 100
"""What the keys, quotes and brackets of a message and of a part in it take, in any wire."""
LEAST_BYTES = 1_000
"""A request cannot be kept within less."""
_NARROWER = 0.9
"""The next room to try, as a share of one in which the rounds did not fit after all."""
_IMAGE = "image/"


@attrs.define(eq=False)
class FitRequest:
    """Keep the messages within a number of bytes and of images.

    The oldest images are left out first, each with a line that says so. If the request is then
    still too large, all other media go in the same way, and then the oldest rounds, as with
    `FitContextWindow`. Images of the newest round and of the task are the last to go.

    >>> photo = Media("image/png", b"pixels")
    >>> talk = [Message("user", f"Photo {number}.", media=[photo]) for number in range(3)]
    >>> for message in FitRequest(max_images=2, low_watermark=1.0).compact(talk):
    ...     print(message.content, len(message.media))
    Photo 0. 1
    [Left out: 1 attachment (image/png).]
    Photo 1. 0
    Photo 2. 1
    """

    bounds_request: ClassVar[bool] = True
    """Every request is kept within the limits: a View begins an epoch when one would exceed it."""

    max_bytes: int | None = attrs.field(default=None, validator=whole(LEAST_BYTES, optional=True))
    max_images: int | None = attrs.field(default=None, validator=whole(0, optional=True))
    low_watermark: float = attrs.field(default=0.75, kw_only=True, validator=share)
    """The share of a limit that remains after a cut, so that not every request is cut anew."""
    beside_bytes: int = attrs.field(default=0, kw_only=True, validator=whole(0))
    """The bytes of what is sent with the messages: the system prompt and the tools."""
    _bytes: "_Sums" = attrs.field(init=False, repr=False)
    _images: "_Sums" = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._bytes, self._images = _Sums(count_bytes), _Sums(_count_images)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if it is within the limits."""
        if not self.exceeds(messages):
            return messages
        view = self._without_images(messages)
        if self.max_bytes is None or not self._has_too_many_bytes(view):
            return view
        room = max(LEAST_BYTES, self.max_bytes - self.beside_bytes)
        view = self._without_media(view, int(room * self.low_watermark))
        if not self._has_too_many_bytes(view):
            return view
        return self._without_rounds(view, room)

    def exceeds(self, messages: list[Message], /) -> bool:
        """Return whether messages are over a limit."""
        return self._has_too_many_bytes(messages) or self._has_too_many_images(messages)

    def measure(self, messages: list[Message], /) -> tuple[int, int]:
        """Return the bytes of a request, with what is sent beside it, and its images."""
        return self.beside_bytes + self._bytes.total(messages), self._images.total(messages)

    def for_conversation(self, *, recall: str | None = None) -> "FitRequest":
        """Return a copy for one conversation, with its own cache."""
        del recall
        return attrs.evolve(self)

    def _has_too_many_bytes(self, messages: list[Message]) -> bool:
        if self.max_bytes is None:
            return False
        return self.beside_bytes + self._bytes.total(messages) > self.max_bytes

    def _has_too_many_images(self, messages: list[Message]) -> bool:
        return self.max_images is not None and self._images.total(messages) > self.max_images

    def _without_images(self, messages: list[Message]) -> list[Message]:
        if self.max_images is None or not self._has_too_many_images(messages):
            return messages
        excess = self._images.total(messages) - int(self.max_images * self.low_watermark)
        view = messages.copy()
        for at in _oldest_first(messages):
            if excess <= 0:
                break
            number = min(excess, _count_images(messages[at]))
            if number:
                view[at], excess = _leave_out(messages[at], number, images=True), excess - number
        return view

    def _without_rounds(self, messages: list[Message], room: int) -> list[Message]:
        view, within = messages, room
        # The window's strategy does not see what surrounds each part, nor payloads.
        while self._has_too_many_bytes(view) and within >= LEAST_BYTES:
            fit = FitContextWindow(
                within,
                _ByteCounter(),
                per_message_overhead=_MESSAGE_BYTES,
                tokens_per_media=None,
                low_watermark=self.low_watermark,
            )
            view, within = fit.compact(messages), int(within * _NARROWER)
        return view

    def _without_media(self, messages: list[Message], most: int) -> list[Message]:
        size, view = self._bytes.total(messages), messages.copy()
        for at in _oldest_first(messages):
            if size <= most:
                break
            number = len(messages[at].all_media)
            if number:
                view[at] = _leave_out(messages[at], number, images=False)
                size -= count_bytes(messages[at]) - count_bytes(view[at])
        return view


def count_bytes(message: Message) -> int:
    r"""Return how many bytes a message takes in the JSON of a request, about.

    >>> count_bytes(Message("user", "one\ntwo")), count_bytes(Message("user", "\u4e2d"))
    (68, 63)
    """
    size = _MESSAGE_BYTES + sum(_escaped(text) for text in _texts_of(message))
    size += sum(_media_bytes(media) + _PART_BYTES for media in message.all_media)
    size += _PART_BYTES * (len(message.tool_calls) + len(message.tool_results))
    if message.native is not None and not message.all_media:
        size = max(size, _payload_bytes(message.native.payload))
    return size


def _texts_of(message: Message) -> Iterator[str]:
    yield message.content
    yield message.reasoning
    for call in message.tool_calls:
        yield from (call.id, call.name, call.arguments)
    for result in message.tool_results:
        yield from (result.call_id, result.name, result.text)


def _escaped(text: str) -> int:
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size + text.count("\n") + text.count('"') + text.count("\\")


def _media_bytes(media: Media) -> int:
    return -(-len(media.data) // 3) * 4 + len(media.url)


def _payload_bytes(payload: Any) -> int:
    try:
        return len(json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    except (TypeError, ValueError, RecursionError):  # objects of an SDK: their texts were counted
        return 0


def _count_images(message: Message) -> int:
    return sum(media.media_type.startswith(_IMAGE) for media in message.all_media)


def _oldest_first(messages: list[Message]) -> Iterator[int]:
    """Yield positions in the order in which their media are given up; never those of pinned ones.

    The newest round and the task come last: without their images there is still a request.
    """
    rounds = split_rounds(messages)
    late = {*find_task(messages), *(rounds[-1].positions if rounds else ())}
    free = [at for at in range(len(messages)) if not messages[at].pinned]
    yield from (at for at in free if at not in late)
    yield from (at for at in free if at in late)


def _leave_out(message: Message, number: int, *, images: bool) -> Message:
    """Return a message without its first media, as many as said, and a line for them."""
    left = number

    def part(media: tuple[Media, ...]) -> tuple[list[Media], str]:
        nonlocal left
        kept: list[Media] = []
        gone: list[Media] = []
        for each in media:
            goes = left > 0 and (not images or each.media_type.startswith(_IMAGE))
            (gone if goes else kept).append(each)
            left -= goes
        return kept, _line_about(gone)

    kept, line = part(message.media)
    changes: dict[str, Any] = {}
    if line:
        changes = {"media": kept, "content": f"{line}\n{message.content}".rstrip("\n")}
    results: list[ToolResult] = []
    for result in message.tool_results:
        kept, line = part(result.media)
        notice = f"{result.notice}\n{line}".lstrip("\n")
        results.append(attrs.evolve(result, media=kept, notice=notice) if line else result)
    if any(map(operator.is_not, results, message.tool_results)):
        changes["tool_results"] = results
    return message.edit(**changes)


def _line_about(gone: list[Media]) -> str:
    if not gone:
        return ""
    types = ", ".join(dict.fromkeys(each.media_type for each in gone))
    return f"[Left out: {len(gone)} {'attachment' if len(gone) == 1 else 'attachments'} ({types}).]"


@attrs.frozen
class _ByteCounter:
    """Counts bytes where others count tokens."""

    def count(self, text: str, /) -> int:
        """Return the bytes of a text as JSON."""
        return _escaped(text)

    def count_media(self, media: Media, /) -> int:
        """Return the bytes of media in base64."""
        return _media_bytes(media) + _PART_BYTES


@attrs.define(eq=False)
class _Sums:
    """Adds up a number of each message; of a list that has grown, only what is new."""

    count: Any
    _seen: list[Message] = attrs.field(factory=list, init=False)
    _total: int = attrs.field(default=0, init=False)

    def total(self, messages: list[Message]) -> int:
        """Return the sum over a list."""
        seen = len(self._seen)
        if seen > len(messages) or not all(map(operator.is_, self._seen, messages)):
            self._seen, self._total, seen = [], 0, 0
        fresh = messages[seen:]
        self._seen += fresh
        self._total += sum(map(self.count, fresh))
        return self._total
