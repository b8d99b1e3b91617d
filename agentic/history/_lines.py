r"""The lines of a file that grows at its end only: forwards, or backwards block by block.

A line ends at `\n` and nowhere else. What follows the last `\n` is no line: whoever wrote it was
interrupted. Offsets are bytes from the start of the file.
"""

import os
from collections.abc import Iterator
from typing import BinaryIO

import attrs

__all__ = ["Line", "find_end", "read_backwards", "read_forwards"]

_BLOCK_BYTES = 64 * 1024


@attrs.frozen
class Line:
    """One complete line."""

    offset: int
    """Where it begins."""
    text: bytes
    """Without the newline."""


def find_end(file: BinaryIO) -> int:
    r"""Find where the last complete line ends; 0 if there is none.

    >>> import io
    >>> find_end(io.BytesIO(b"one\ntwo\nthr"))
    8
    """
    position = file.seek(0, os.SEEK_END)
    while position > 0:
        start = max(0, position - _BLOCK_BYTES)
        newline = _read_at(file, start, position - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0


def read_forwards(file: BinaryIO) -> Iterator[Line]:
    r"""Read the complete lines, first to last.

    >>> import io
    >>> [line.text for line in read_forwards(io.BytesIO(b"one\ntwo\nthr"))]
    [b'one', b'two']
    """
    offset = file.seek(0)
    for text in file:
        if text.endswith(b"\n"):
            yield Line(offset, text[:-1])
        offset += len(text)


def read_backwards(file: BinaryIO, end: int, *, block_bytes: int = _BLOCK_BYTES) -> Iterator[Line]:
    r"""Read the lines before `end`, last to first, and no block that nobody asked for.

    `end` is 0 or stands right after a newline.

    >>> import io
    >>> [line.text for line in read_backwards(io.BytesIO(b"one\ntwo\nthr"), 8)]
    [b'two', b'one']
    """
    position = end - 1
    later: list[bytes] = []  # the end of a line whose start is not read yet, last block first
    while position > 0:
        start = max(0, position - block_bytes)
        block = _read_at(file, start, position - start)
        right = len(block)
        while (newline := block.rfind(b"\n", 0, right)) >= 0:
            later.append(block[newline + 1 : right])
            yield Line(start + newline + 1, b"".join(reversed(later)))
            later.clear()
            right = newline
        later.append(block[:right])
        position = start
    if end > 0:
        yield Line(0, b"".join(reversed(later)))


def _read_at(file: BinaryIO, start: int, size: int) -> bytes:
    """Read a block, however many reads it takes; less only where the file ends."""
    file.seek(start)
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
