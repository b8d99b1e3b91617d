"""What a section of a digest is: it takes in turns one by one, and offers lines."""

from collections.abc import Iterator
from typing import Any, Protocol

import attrs

from agentic.context.digest._turns import Turn

__all__ = ["Line", "Reader", "Section"]


@attrs.frozen
class Line:
    """A line that a section offers, as plain text: whoever renders it adds marker and escapes."""

    text: str
    """The whole of it; several lines if it was quoted from several."""
    short: str = ""
    """What may stand in its place where room is scarce; empty if it is whole or not at all."""
    rank: float = 0.0
    """What it is worth beside the other lines of its section: the highest stays longest."""
    ref: str | None = None
    """If it may be cut anywhere between `short` and `text`: the message that it quotes, or an empty
    text if it is no message."""


class Reader(Protocol):
    """Reads a conversation. To merge two generations, restore the former one and go on."""

    def take(self, turn: Turn) -> None:
        """Take in the next turn of the conversation."""
        ...

    def to_plain(self) -> Any:
        """Return what the next generation needs, as plain JSON; None if there is nothing."""
        ...

    def restore(self, plain: Any) -> None:
        """Go on from what `to_plain` returned. What is damaged is passed over."""
        ...


class Section(Reader, Protocol):
    """A reader that offers lines."""

    def lines(self) -> Iterator[Line]:
        """Yield what there is to say, in the order in which it is read."""
        ...
