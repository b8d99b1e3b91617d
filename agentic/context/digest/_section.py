"""The base class of the sections of a digest, which read turns one by one and offer lines."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from agentic.context.digest._text import PARAGRAPH, cut
from agentic.context.digest._turns import Kind

__all__ = ["STORED_CHARS", "Line", "Quote", "Section"]

STORED_CHARS = 4000
"""The largest length of a text in the notes: a page, which is more than any section shows."""


@attrs.frozen
class Line:
    """A line that a section offers, as plain text. `_fit.py` adds the list marker and escapes."""

    text: str
    """The full text; it has several lines if the quoted text has."""
    short: str = ""
    """A short form for when there is little room; empty if only the full text may be shown."""
    rank: float = 0.0
    """The priority within its section: higher ranks are shown first, and earlier lines first among
    equals."""
    ref: str | None = None
    """None if the text may not be cut. Otherwise it may be cut anywhere between `short` and `text`,
    and this is the reference of the quoted message, or empty if it is not a message."""


@attrs.define
class Quote:
    """What is known of a quoted text besides the text itself."""

    ref: str = ""
    """The reference of its message, if it is the text of one."""


R = TypeVar("R", bound=attrs.AttrsInstance)


@attrs.define
class Section(Generic[R]):
    """Reads a conversation into records.

    To continue from a former digest, restore its records and then read the new turns.
    """

    known: dict[str, R] = attrs.field(factory=dict)
    """A record of strings, numbers and booleans for each known text; the newest is last."""
    heading: ClassVar[str]
    noun: ClassVar[str]
    """What its lines are called, in the plural."""
    takes: ClassVar[tuple[Kind, ...]]
    """The kinds of turns that it reads."""
    record: ClassVar[type[Any]] = Quote
    is_complete: ClassVar[bool] = False
    """Whether a successor needs every line, at least in short form."""

    def take(self, turn: Any) -> None:
        """Read the next turn of the conversation."""
        raise NotImplementedError

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the section in reading order."""
        raise NotImplementedError

    def to_plain(self, max_chars: int) -> list[list[Any]]:
        """Return the records for the next digest as plain JSON: the first, and the newest ones.

        Of the texts between these two a paragraph is kept, and as many as `max_chars` allows.
        """
        ends = {0, len(self.known) - 1}
        entries = [
            [cut(text, STORED_CHARS if at in ends else PARAGRAPH), *attrs.astuple(record)]
            for at, (text, record) in enumerate(self.known.items())
        ]
        sizes = accumulate(len(text) for text, *_ in reversed(entries))
        kept = sum(size <= max_chars for size in sizes)
        return entries[:1] + entries[1:][-max(kept, 1) :]

    def restore(self, plain: object) -> None:
        """Restore the records that `to_plain` returned; damaged ones are skipped."""
        types = [str, *(field.type for field in attrs.fields(self.record))]
        for entry in plain if isinstance(plain, list) else ():
            is_whole = isinstance(entry, list) and len(entry) == len(types)
            if is_whole and all(map(isinstance, entry, types)):
                self.known[entry[0]] = self.record(*entry[1:])
