"""The positions of lines and bytes in a text that is never split or encoded as a whole.

Lines end only at a line feed. Bytes are UTF-8, with a lone surrogate as the three bytes of its
surrogatepass form. Positions are in characters.
"""

from collections.abc import Iterable
from typing import Self

_SLICE = 65_536
"""Characters measured at a time: enough to amortize a call, few enough for the CPU's cache."""

_NEAR = 4
"""This many newlines are stepped through one by one rather than searched for."""

_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes that do not begin a character in UTF-8."""


def utf8_size(text: str) -> int:
    r"""Return the number of bytes of a text in UTF-8.

    >>> utf8_size("déjà"), utf8_size("\ud800")
    (6, 3)
    """
    return sum(_sizes(text))


class Measured:
    """A text with its newlines and bytes counted per slice; each slice is read once.

    A window of a longer text is measured in the same way, and has the totals of the whole text.
    """

    __slots__ = (
        "_encoded",
        "line_feeds",
        "lines",
        "newlines",
        "size",
        "sizes",
        "text",
        "total_lines",
        "total_size",
    )

    def __init__(self, text: str) -> None:
        self.text = text
        self._encoded = b""
        self.newlines: tuple[int, ...] = ()
        self.sizes: tuple[int, ...] = ()
        # One slice is the common case: tuples would slow down a tool output of a few KB.
        if len(text) > _SLICE:
            self.newlines, self.sizes = _newlines(text), _sizes(text)
            self.line_feeds, self.size = sum(self.newlines), sum(self.sizes)
        else:
            self.line_feeds = text.count("\n")
            if text.isascii():
                self.size = len(text)
            else:
                # Kept, because a cut by bytes looks into it again.
                self._encoded = _encode(text)
                self.size = len(self._encoded)
        self.lines = self.line_feeds + (text != "" and text[-1] != "\n")
        self.total_lines = self.lines
        self.total_size = self.size

    @classmethod
    def window(cls, text: str, total_lines: int, total_size: int) -> Self:
        """Measure a part of a text with known totals."""
        measured = cls(text)
        measured.total_lines = total_lines
        measured.total_size = total_size
        return measured

    def exceeds(self, max_lines: int | None, max_bytes: int | None) -> bool:
        """Return whether the whole text exceeds either limit."""
        return (max_lines is not None and self.total_lines > max_lines) or (
            max_bytes is not None and self.total_size > max_bytes
        )

    def line_end(self, lines: int) -> int:
        """Return where the first ``lines`` lines end; there must be more lines."""
        if len(self.text) <= _SLICE:
            return _nth_newline(self.text, 0, len(self.text), self.line_feeds, lines)
        index, rest = _locate(self.newlines, lines)
        start, end = index * _SLICE, min((index + 1) * _SLICE, len(self.text))
        return _nth_newline(self.text, start, end, self.newlines[index], rest)

    def line_start(self, lines: int) -> int:
        """Return where the last ``lines`` lines start; there must be more lines."""
        closing = self.text[-1] == "\n"
        if len(self.text) <= _SLICE:
            nth = self.line_feeds + 1 - lines - closing
            return _nth_newline(self.text, 0, len(self.text), self.line_feeds, nth) + 1
        after, rest = _locate(reversed(self.newlines), lines + closing)
        index = len(self.newlines) - 1 - after
        newline = self.newlines[index]
        start, end = index * _SLICE, min((index + 1) * _SLICE, len(self.text))
        return _nth_newline(self.text, start, end, newline, newline + 1 - rest) + 1

    def byte_end(self, size: int) -> int:
        """Return where the longest prefix of at most ``size`` bytes ends; the text is longer."""
        # As many bytes as characters: the text is ASCII, and positions are offsets.
        if self.size == len(self.text):
            return size
        if self._encoded:
            return _first_characters(self._encoded, size)
        index, rest = _locate(self.sizes, size)
        start = index * _SLICE
        if self._is_single_byte(index):
            return start + rest
        return start + _first_characters(_encode(self.text[start : start + _SLICE]), rest)

    def byte_start(self, size: int) -> int:
        """Return where the longest suffix of at most ``size`` bytes starts; the text is longer."""
        if self.size == len(self.text):
            return self.size - size
        if self._encoded:
            return len(self.text) - _last_characters(self._encoded, size)
        after, rest = _locate(reversed(self.sizes), size)
        index = len(self.sizes) - 1 - after
        end = min((index + 1) * _SLICE, len(self.text))
        if self._is_single_byte(index):
            return end - rest
        return end - _last_characters(_encode(self.text[index * _SLICE : end]), rest)

    def newlines_before(self, at: int) -> int:
        """Count the newlines before a position."""
        if at <= _SLICE:
            return self.text.count("\n", 0, at)
        index = at // _SLICE
        return sum(self.newlines[:index]) + self.text.count("\n", index * _SLICE, at)

    def size_before(self, at: int) -> int:
        """Count the bytes before a position."""
        if self.size == len(self.text):
            return at
        if at == len(self.text):
            return self.size
        index = at // _SLICE
        return sum(self.sizes[:index]) + utf8_size(self.text[index * _SLICE : at])

    def _is_single_byte(self, index: int) -> bool:
        return self.sizes[index] == min(_SLICE, len(self.text) - index * _SLICE)


def _newlines(text: str) -> tuple[int, ...]:
    return tuple([text.count("\n", at, at + _SLICE) for at in range(0, len(text), _SLICE)])


def _sizes(text: str) -> tuple[int, ...]:
    if text.isascii():
        # A single sum will do: in ASCII, positions of bytes are found without sums.
        return (len(text),)
    return tuple([len(_encode(text[at : at + _SLICE])) for at in range(0, len(text), _SLICE)])


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _first_characters(octets: bytes, size: int) -> int:
    """Count the characters that are entirely within the first ``size`` bytes."""
    while size < len(octets) and octets[size] in _CONTINUATION:
        size -= 1
    return _characters(octets[:size])


def _last_characters(octets: bytes, size: int) -> int:
    """Count the characters that are entirely within the last ``size`` bytes."""
    start = len(octets) - size
    while start < len(octets) and octets[start] in _CONTINUATION:
        start += 1
    return _characters(octets[start:])


def _characters(octets: bytes) -> int:
    # Faster than decoding, which would build the text as well.
    return len(octets.translate(None, _CONTINUATION))


def _locate(amounts: Iterable[int], position: int) -> tuple[int, int]:
    """Return the slice in which the running sum reaches ``position``, and how far into it."""
    for index, amount in enumerate(amounts):
        if position <= amount:
            return index, position
        position -= amount
    # Every caller asks for less than the whole, so only a bug of ours comes here.
    raise AssertionError("more is wanted than there is")


def _nth_newline(text: str, start: int, end: int, total: int, nth: int) -> int:
    """Return the position of the nth newline, counted from 1, between two positions.

    It alternates between a guess from the mean line length and bisection, because an uneven text
    can make every guess bad. On either side of a guess, the part with fewer newlines is counted.
    """
    guess = True
    while _NEAR < nth <= total - _NEAR:
        middle = start + ((end - start) * nth // total if guess else (end - start) // 2)
        if nth * 2 < total:
            before = text.count("\n", start, middle)
        else:
            before = total - text.count("\n", middle, end)
        if before < nth:
            start, total, nth = middle, total - before, nth - before
        else:
            end, total = middle, before
        guess = not guess
    # It is near one of the two ends: the steps start from that one.
    if nth > _NEAR:
        while nth <= total:
            end = text.rfind("\n", 0, end)
            total -= 1
        return end
    while nth:
        start = text.find("\n", start) + 1
        nth -= 1
    return start - 1
