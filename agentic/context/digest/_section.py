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
STORED_CHARS, _STORED_TEXTS = 4000, 200
"""What the next generation gets at most: of one text a page, more than any section shows; and as
many texts of a section as a digest of 20,000 tokens has room for, besides the first."""


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

    def to_plain(self) -> list[list[Any]]:
        """Return what the next generation needs, as plain JSON: the first text, and the newest."""
        stored = list(self.known.items())
        del stored[1:-_STORED_TEXTS]
        return [[cut(key, STORED_CHARS), *attrs.astuple(record)] for key, record in stored]

    def restore(self, plain: object) -> None:
        """Go on from what `to_plain` returned. What is damaged is passed over."""
        types = [str, *(field.type for field in attrs.fields(self.record))]
        for entry in plain if isinstance(plain, list) else ():
            is_whole = isinstance(entry, list) and len(entry) == len(types)
            if is_whole and all(map(isinstance, entry, types)):
                self.known[entry[0]] = self.record(*entry[1:])
