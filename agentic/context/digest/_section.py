"""What a section of a digest is: it takes in turns one by one, and offers lines."""

from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from agentic.context.digest._text import cut
from agentic.context.digest._turns import Kind

__all__ = ["MAIN", "STORED_CHARS", "Line", "Section"]

R = TypeVar("R", bound=attrs.AttrsInstance)

MAIN, SIDE = 0.18, 0.04
"""Shares of the room. Main sections seldom need all of theirs: what any leaves is the index's."""
STORED_CHARS = 4000
"""The most of one text that the next generation gets: a page, more than any section shows."""


@attrs.frozen
class Line:
    """A line that a section offers, as plain text: whoever renders it adds marker and escapes."""

    text: str
    """The whole of it; several lines if it was quoted from several."""
    short: str = ""
    """What may stand in its place where room is scarce; empty if it is whole or not at all."""
    rank: float = 0.0
    """What it is worth beside the other lines of its section: the highest stays longest, of two
    that are equal the first."""
    ref: str | None = None
    """If it may be cut anywhere between `short` and `text`: the message that it quotes, or an empty
    text if it is no message."""


@attrs.define
class Section(Generic[R]):
    """Reads a conversation into records. To merge two generations, restore the former and go on."""

    known: dict[str, R] = attrs.field(factory=dict)
    """A record of texts, numbers and booleans for each text that it knows; the newest is last."""
    heading: ClassVar[str]
    noun: ClassVar[str]
    """What its lines are, in the plural."""
    takes: ClassVar[tuple[Kind, ...]]
    """The kinds of turns that it takes in."""
    record: ClassVar[type[Any]]
    share: ClassVar[float] = SIDE
    is_complete: ClassVar[bool] = False
    """Whether a successor needs every line of it, if only in short."""

    def take(self, turn: Any) -> None:
        """Take in the next turn of the conversation."""
        raise NotImplementedError

    def lines(self) -> Iterator[Line]:
        """Yield what there is to say, in the order in which it is read."""
        raise NotImplementedError

    def to_plain(self, max_chars: int) -> list[list[Any]]:
        """Return what the next generation needs, as plain JSON: the first text, and the newest.

        Of those between, as many of the newest as `max_chars` characters have room for.
        """
        if not self.known:
            return []
        first, *others = [[key, *attrs.astuple(record)] for key, record in self.known.items()]
        kept: list[list[Any]] = []
        for text, *record in reversed(others):
            stored = self.shorten(text, is_newest=not kept)
            max_chars -= len(stored)
            if kept and max_chars < 0:
                break
            kept.append([stored, *record])
        return [[cut(first[0], STORED_CHARS), *first[1:]], *reversed(kept)]

    def shorten(self, text: str, *, is_newest: bool) -> str:
        """Return so much of a text, which is not the first one, as the next generation needs."""
        del is_newest
        return cut(text, STORED_CHARS)

    def restore(self, plain: object) -> None:
        """Go on from what `to_plain` returned. What is damaged is passed over."""
        types = [str, *(field.type for field in attrs.fields(self.record))]
        for entry in plain if isinstance(plain, list) else ():
            is_whole = isinstance(entry, list) and len(entry) == len(types)
            if is_whole and all(map(isinstance, entry, types)):
                self.known[entry[0]] = self.record(*entry[1:])
