"""The base class of the sections of a digest, which read turns one by one and offer lines."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, ClassVar

import attrs

from agentic.context.digest._text import PARAGRAPH, cut
from agentic.context.digest._turns import Kind

__all__ = ["STORED_CHARS", "Line", "Section"]

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
    """Higher ranks are shown first, and earlier lines first among equals."""
    ref: str | None = None
    """The reference of the quoted message, empty if the quoted text is not one. The text may be cut
    anywhere beyond `short`; if this is None, it may not be cut."""


@attrs.define
class Section:
    """Reads a conversation into texts, each with a note."""

    known: dict[str, str] = attrs.field(factory=dict)
    """Each known text with what else is known of it, if anything; the newest is last. A section
    that takes no turns shares the texts of another one, and shows the rest of them."""
    heading: ClassVar[str]
    noun: ClassVar[str]
    """What its lines are called, in the plural."""
    takes: ClassVar[tuple[Kind, ...]]
    """The kinds of turns that it reads."""
    is_complete: ClassVar[bool] = False
    """Whether a successor needs every line, at least in short form."""

    def take(self, turn: Any) -> None:
        """Read the next turn of the conversation."""
        raise NotImplementedError

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the section in reading order."""
        raise NotImplementedError

    def add(self, text: str, note: str = "") -> None:
        """Add a text; if it is known already, it moves to the end."""
        self.known.pop(text, None)
        self.known[text] = note

    def to_plain(self, max_chars: int) -> list[list[str]]:
        """Return the first and the newest texts for the next digest as plain JSON.

        Of those between these two a paragraph is kept, and as many as `max_chars` allows.
        """
        ends = {0, len(self.known) - 1}
        entries = [
            [cut(text, STORED_CHARS if at in ends else PARAGRAPH), note]
            for at, (text, note) in enumerate(self.known.items())
        ]
        sizes = accumulate(len(text) for text, _ in reversed(entries))
        kept = sum(size <= max_chars for size in sizes)
        return entries[:1] + entries[1:][-max(kept, 1) :]

    def restore(self, plain: object) -> None:
        """Restore what `to_plain` returned; damaged entries are skipped."""
        for entry in plain if isinstance(plain, list) else ():
            match entry:
                case [str(text), str(note)]:
                    self.known[text] = note
