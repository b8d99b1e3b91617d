"""The ends of a stream, held in memory bounded by the limits.

A window holds the whole stream until it exceeds a limit. From then on it holds enough of one end to
exceed a limit by itself, so that the cut falls inside the window. A character has at least one
byte, so ``max_bytes + 1`` characters are always enough.
"""

import io
from typing import Protocol

from agentic.truncate._cut import cut_head, cut_tail
from agentic.truncate._measure import Measured

__all__ = ["Ends", "Prefix", "Suffix", "Window"]

_ROOM = 65_536
"""How many characters a suffix may hold before it discards what it no longer needs."""


class Window(Protocol):
    """The part of a stream that contains the cut."""

    def __init__(self, max_lines: int | None, max_bytes: int | None) -> None: ...

    def add(self, text: str, over: bool) -> None:
        """Add the next text; ``over`` says whether the stream now exceeds a limit."""

    def wanted(self, chunk: bytes) -> bytes:
        """Return the part of an ASCII chunk that may be needed, so that the rest is not decoded."""

    def text(self) -> str:
        """Return the held text."""


class Prefix:
    """The start of a stream."""

    def __init__(self, max_lines: int | None, max_bytes: int | None) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._held = io.StringIO()
        self._full = False

    @property
    def full(self) -> bool:
        """Whether the stream continued after the held text."""
        return self._full

    def add(self, text: str, over: bool) -> None:
        """Hold the text until the stream exceeds a limit, and nothing after that."""
        if self._full:
            return
        self._held.write(text if self._max_bytes is None else text[: self._room()])
        if over:
            self._full = True
            self._shrink()

    def wanted(self, chunk: bytes) -> bytes:
        """Return the start of the chunk, as far as there is room."""
        if self._full:
            return b""
        return chunk if self._max_bytes is None else chunk[: self._room()]

    def text(self) -> str:
        """Return the start of the stream."""
        return self._held.getvalue()

    def _room(self) -> int:
        # `tell` of a StringIO is a number of characters, and costs nothing.
        return (self._max_bytes or 0) + 1 - self._held.tell()

    def _shrink(self) -> None:
        held = self.text()
        cut = cut_head(Measured(held), self._max_lines, self._max_bytes)
        if cut.truncated_by == "lines":
            # With the newline at the cut and one character more, it still exceeds the limit.
            self._held = _holding(held[: len(cut.content) + 2])


class Suffix:
    """The end of a stream."""

    def __init__(self, max_lines: int | None, max_bytes: int | None) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._held = io.StringIO()
        self._room = _ROOM

    def add(self, text: str, over: bool) -> None:
        """Hold the text, and from time to time discard the text that it displaces."""
        if self._max_bytes is not None and len(text) > self._max_bytes:
            self._held = _holding(text[-self._max_bytes - 1 :])
            return
        self._held.write(text)
        if over and self._held.tell() > self._room:
            self._shrink()

    def wanted(self, chunk: bytes) -> bytes:
        """Return the end of the chunk."""
        return chunk if self._max_bytes is None else chunk[-self._max_bytes - 1 :]

    def text(self) -> str:
        """Return the end of the stream."""
        return self._held.getvalue()

    def _shrink(self) -> None:
        held = self.text()
        if self._max_bytes is not None and len(held) > self._max_bytes:
            held = held[-self._max_bytes - 1 :]
        else:
            cut = cut_tail(Measured(held), self._max_lines, self._max_bytes)
            if cut.truncated_by == "lines":
                # The same at this end: a newline and one character more.
                held = held[-len(cut.content) - 2 :]
        self._held = _holding(held)
        # Twice as much, so that each character of a long stream is copied a few times only.
        self._room = max(_ROOM, 2 * len(held))


class Ends:
    """Both ends of a stream, joined where text between them was discarded."""

    def __init__(self, max_lines: int | None, max_bytes: int | None) -> None:
        self._prefix = Prefix(max_lines, max_bytes)
        self._suffix = Suffix(max_lines, max_bytes)

    def add(self, text: str, over: bool) -> None:
        """Hold the text at both ends."""
        self._prefix.add(text, over)
        self._suffix.add(text, over)

    def wanted(self, chunk: bytes) -> bytes:
        """Return the whole chunk, because either end may need it."""
        return chunk

    def text(self) -> str:
        """Return the whole stream, or its start and its end."""
        if self._prefix.full:
            return self._prefix.text() + self._suffix.text()
        return self._prefix.text()


def _holding(text: str) -> io.StringIO:
    held = io.StringIO()
    held.write(text)
    return held
