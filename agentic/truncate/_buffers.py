"""Truncating a stream as it arrives, or a file, in memory bounded by the limits.

Chunks are all `str` or all `bytes`. Bytes are decoded as UTF-8, and invalid bytes become U+FFFD
exactly as if everything were decoded at once. A result equals that of `head` or `tail` on the whole
text so far, wherever the chunks were split.

A window holds the whole stream until it exceeds a limit. From then on it holds enough of one end to
exceed a limit by itself, so that the cut falls inside the window. A character has at least one
byte, so ``max_bytes + 1`` characters are always enough; at the start one more, because the two
characters that end a line may follow.
"""

import codecs
import io
import os
from typing import BinaryIO, ClassVar, Self

from agentic.truncate._cut import CUTS, Mode, Result, cut_head, cut_tail
from agentic.truncate._measure import Measured, utf8_size
from agentic.truncate._options import Default, Options, applied_limits, check_options, refusal

_decoder = codecs.getincrementaldecoder("utf-8")
_BLOCK = 262_144
"""The number of bytes read at a time."""
_DEFAULTS = Options()
_ROOM = 65_536
"""How many characters a suffix may hold before it discards what it no longer needs."""


class _Window:
    """What the windows at one end have in common."""

    def __init__(self, max_lines: int | None, max_bytes: int | None) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._held = io.StringIO()

    def text(self) -> str:
        """Return the held text."""
        return self._held.getvalue()


class Prefix(_Window):
    """The start of a stream."""

    full = False
    """Whether the stream continued after the held text."""

    def add(self, text: str, over: bool) -> None:
        """Hold the text until the stream exceeds a limit, and nothing after that.

        `over` says whether it exceeds one by now.
        """
        if self.full or not text:
            return
        piece = text if self._max_bytes is None else text[: self._room()]
        self._held.write(piece)
        if over and not (piece.endswith("\r") and self._ends_at_cut()):
            self.full = True
            self._shrink()

    def _ends_at_cut(self) -> bool:
        """Return whether the bytes decide, and leave out only the last character.

        If that is a carriage return, the next character tells whether a line ends there.
        """
        content, most = self.text(), self._max_bytes
        return most is not None and utf8_size(content[:-1]) <= most < utf8_size(content)

    def wanted(self, chunk: bytes) -> bytes:
        """Return the part of an ASCII chunk that may be needed, so that no more is decoded."""
        if self.full:
            return b""
        return chunk if self._max_bytes is None else chunk[: self._room()]

    def _room(self) -> int:
        # `tell` of a StringIO is a number of characters, and costs nothing.
        return (self._max_bytes or 0) + 2 - self._held.tell()

    def _shrink(self) -> None:
        content = self.text()
        cut = cut_head(Measured(content), self._max_lines, self._max_bytes)
        if cut.truncated_by == "lines":
            # With the line end at the cut and one character more, it still exceeds the limit.
            self._held = _holding(content[: len(cut.content) + 3])


class Suffix(_Window):
    """The end of a stream."""

    _room = _ROOM

    def add(self, text: str, over: bool) -> None:
        """Hold the text, and from time to time discard the text that it displaces."""
        # It displaces all that is held.
        if self._max_bytes is not None and len(text) > self._max_bytes:
            self._held = _holding(text[-self._max_bytes - 1 :])
            return
        self._held.write(text)
        if over and self._held.tell() > self._room:
            self._shrink()

    def wanted(self, chunk: bytes) -> bytes:
        """Return the end of the chunk."""
        return chunk if self._max_bytes is None else chunk[-self._max_bytes - 1 :]

    def _shrink(self) -> None:
        content = self.text()
        if self._max_bytes is not None and len(content) > self._max_bytes:
            content = content[-self._max_bytes - 1 :]
        else:
            cut = cut_tail(Measured(content), self._max_lines, self._max_bytes)
            if cut.truncated_by == "lines":
                # The same at this end: a newline and one character more.
                content = content[-len(cut.content) - 2 :]
        self._held = _holding(content)
        # Twice as much, so that each character of a long stream is copied a few times only.
        self._room = max(_ROOM, 2 * len(content))


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
        # Until then the prefix is the whole stream, and the suffix would repeat its end.
        if self._prefix.full:
            return self._prefix.text() + self._suffix.text()
        return self._prefix.text()


def _holding(text: str) -> io.StringIO:
    buffer = io.StringIO()
    buffer.write(text)
    return buffer


class Buffer:
    """What all modes have in common: checking, decoding, counting and spilling."""

    _mode: ClassVar[Mode]
    _window_type: ClassVar[type[Prefix | Suffix | Ends]]

    def __init__(
        self,
        *,
        max_lines: int | Default | None = Default.LINES,
        max_bytes: int | Default | None = Default.BYTES,
        spill: str | os.PathLike[str] | None = None,
    ) -> None:
        self._max_lines, self._max_bytes = applied_limits(max_lines, max_bytes)
        self._window = self._window_type(self._max_lines, self._max_bytes)
        self._decoder = _decoder("replace")
        self._kind: type[str | bytes] | None = None
        self._newlines = 0
        self._size = 0
        self._in_line = False
        self._closed = False
        self._spill = None if spill is None else _create(spill)

    def feed(self, chunk: str | bytes) -> None:
        """Add the next chunk of the stream, of any size.

        Raises:
            ConfigError: the chunk is neither `str` nor `bytes`, is of another type than the chunks
                before it, or comes after `close`.
            OSError: the spill cannot be written; the chunk is counted nevertheless.
        """
        self._check(chunk)
        if isinstance(chunk, str):
            self._add(chunk)
        # Most output of tools is ASCII: what the limits throw away is then never decoded. If the
        # former chunk ended inside a character, the decoder has to see this one.
        elif chunk.isascii() and not self._pending():
            self._add_ascii(chunk)
        else:
            self._add(self._decoder.decode(chunk))
        # Last, so that a full disk loses the spill only, and not the result.
        if self._spill is not None:
            raw = chunk.encode("utf-8", "surrogatepass") if isinstance(chunk, str) else chunk
            self._spill.write(raw)

    def result(self) -> Result:
        """Return the result for the stream so far, as if it ended here; more chunks may follow.

        It can be called at any time, also after `close`.
        """
        # The start of a character that has not arrived whole; if nothing follows, it is U+FFFD.
        rest = self._pending().decode("utf-8", "replace")
        lines = self._newlines + (self._in_line or bool(rest))
        size = self._size + utf8_size(rest)
        text = Measured.window(self._window.text() + rest, lines, size)
        return CUTS[self._mode](text, self._max_lines, self._max_bytes)

    def close(self) -> None:
        """Accept no more chunks, and close the spill, if there is one."""
        self._closed = True
        if self._spill is not None:
            self._spill.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, chunk: object) -> None:
        if self._closed:
            raise refusal("chunk", chunk, "fed before close()", "feed it before closing")
        kind = str if isinstance(chunk, str) else bytes
        if not isinstance(chunk, kind):
            raise refusal("chunk", chunk, "str or bytes", "convert it, as in bytes(chunk)")
        if self._kind is not kind and self._kind is not None:
            remedy = f"continue with {self._kind.__name__}, or use a buffer for each kind"
            raise refusal("chunk", chunk, f"{self._kind.__name__}, as before", remedy)
        self._kind = kind

    def _pending(self) -> bytes:
        return self._decoder.getstate()[0]

    def _add(self, text: str) -> None:
        self._count(text.count("\n"), utf8_size(text))
        if text:
            self._in_line = text[-1] != "\n"
        self._window.add(text, self._is_over())

    def _add_ascii(self, chunk: bytes) -> None:
        self._count(chunk.count(b"\n"), len(chunk))
        if chunk:
            self._in_line = chunk[-1:] != b"\n"
        self._window.add(self._window.wanted(chunk).decode("ascii"), self._is_over())

    def _count(self, newlines: int, size: int) -> None:
        self._newlines += newlines
        self._size += size

    def _is_over(self) -> bool:
        lines = self._newlines + self._in_line
        return (self._max_lines is not None and lines > self._max_lines) or (
            self._max_bytes is not None and self._size > self._max_bytes
        )


class HeadBuffer(Buffer):
    r"""The start of a stream.

    Holds at most ``max_bytes`` characters and one chunk. Without a byte limit it holds
    ``max_lines`` lines however long they are, and without any limit the whole stream.

    With ``spill``, the raw stream is also written to that file (a `str` as UTF-8 with
    surrogatepass), which is created or emptied, readable and writable only by its owner. Leaving
    the context closes it.

    >>> with HeadBuffer(max_lines=2) as buffer:
    ...     for chunk in (b"on", b"e\ntwo\nth", b"ree"):
    ...         buffer.feed(chunk)
    >>> buffer.result().content
    'one\ntwo'
    """

    _mode = Mode.HEAD
    _window_type = Prefix


class TailBuffer(Buffer):
    r"""The end of a stream.

    Holds at most twice ``max_bytes`` characters, or 65,536 if that is more, and one chunk. Without
    a byte limit it holds twice the last ``max_lines`` lines however long they are, and without any
    limit the whole stream.

    ``spill`` is as for `HeadBuffer`.

    >>> with TailBuffer(max_lines=2) as buffer:
    ...     for chunk in (b"on", b"e\ntwo\nth", b"ree"):
    ...         buffer.feed(chunk)
    >>> buffer.result().content
    'two\nthree'
    """

    _mode = Mode.TAIL
    _window_type = Suffix


class MiddleBuffer(Buffer):
    """Both ends of a stream, in the memory of a HeadBuffer and a TailBuffer together.

    ``spill`` is as for `HeadBuffer`.
    """

    _mode = Mode.MIDDLE
    _window_type = Ends


def _create(path: str | os.PathLike[str]) -> BinaryIO:
    return open(path, "wb", opener=_open_private)


def _open_private(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, 0o600)
    if hasattr(os, "fchmod"):  # not on Windows; without it, an existing file would keep its mode
        os.fchmod(descriptor, 0o600)
    return descriptor


_BUFFERS: dict[Mode, type[Buffer]] = {
    Mode.HEAD: HeadBuffer,
    Mode.TAIL: TailBuffer,
    Mode.MIDDLE: MiddleBuffer,
}


def read_file(path: str | os.PathLike[str], options: Options = _DEFAULTS) -> Result:
    """Truncate the content of a file, as `options.apply` would truncate its decoded text.

    Every byte is read once, in blocks of 256 KiB: nothing less would yield exact totals. Only what
    the limits keep is held in memory. Bytes that are not UTF-8 become U+FFFD.

    Raises:
        ConfigError: `options` is not an `Options`.
        OSError: the file cannot be read.
    """
    check_options(options)
    # Unbuffered: the blocks are larger than a buffer.
    with open(path, "rb", buffering=0) as source:  # noqa: PTH123  # pathlib slows the import
        return _read(source, options)


def _read(source: BinaryIO, options: Options) -> Result:
    buffer = _BUFFERS[options.mode](max_lines=options.max_lines, max_bytes=options.max_bytes)
    while block := source.read(_BLOCK):
        buffer.feed(block)
    return buffer.result()
