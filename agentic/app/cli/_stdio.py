"""The standard streams: everything printed is written completely, or an error says why not.

Commands that read a file accept `-` for stdin.
"""

import contextlib
import io
import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import attrs
import click


def is_asked() -> bool:
    """Return whether somebody at a terminal can answer a question; stdin may even be closed."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextlib.contextmanager
def open_input(file: str) -> Iterator[io.BufferedReader]:
    """Open a file, or use stdin for `-`, which is not closed."""
    if not file:
        raise click.UsageError("the name of a file is empty: name one, or - for stdin")
    if file != "-":
        with Path(file).open("rb") as source:
            yield source
    elif sys.stdin is None:
        raise click.UsageError("stdin is closed: name a file")
    else:
        yield cast("io.BufferedReader", sys.stdin.buffer)


class _Whole(io.RawIOBase):
    """A descriptor that writes everything, even if a system call writes only a part."""

    def __init__(self, descriptor: int, problem: OSError | None = None) -> None:
        self._descriptor = descriptor
        self._problem = problem
        self._is_lost = False

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return self._problem is None and os.isatty(self._descriptor)

    def write(self, data: Any, /) -> int:
        # As bytes, because len() of any other view counts items.
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while rest and not self._is_lost:
                rest = rest[self._write_some(rest) :]
        except OSError:
            # What follows is discarded: each later flush, also that of Python's exit, would fail.
            self._is_lost = True
            raise
        return size

    def _write_some(self, data: memoryview) -> int:
        if self._problem is not None:
            raise self._problem
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:  # the pipe was made non-blocking by its reader
            select.select([], [self._descriptor], [])
            return 0


@contextlib.contextmanager
def whole_streams() -> Iterator[None]:
    """Write stdout and stderr completely in this block, with `?` for unencodable characters."""
    # Of a write that a full disk or a pipe takes in part, Python's own streams can lose the rest.
    before = sys.stdout, sys.stderr
    sys.stdout = _made_whole(before[0], OSError("stdout is closed: nothing can be printed"))
    sys.stderr = _made_whole(before[1])
    try:
        yield
    finally:
        _flush(sys.stdout)
        _flush(sys.stderr)
        sys.stdout, sys.stderr = before


@attrs.frozen
class CapturedStdio:
    """The standard streams, reserved for a conversation."""

    source: BinaryIO | tuple[()]
    """Where requests come from; empty if stdin is closed."""
    out: TextIO
    """Where replies are written."""


@contextlib.contextmanager
def captured_stdio() -> Iterator[CapturedStdio]:
    """Reserve stdin and stdout for the caller; other code finds stdin empty and prints on stderr.

    This also applies to processes that are started.
    """
    with contextlib.ExitStack() as stack:
        stdio = CapturedStdio(_capture_source(stack), _capture_out(stack))
        nothing = stack.enter_context(Path(os.devnull).open(encoding="utf-8"))
        stack.callback(setattr, sys, "stdin", sys.stdin)
        sys.stdin = nothing
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        yield stdio


def _capture_source(stack: contextlib.ExitStack) -> BinaryIO | tuple[()]:
    if sys.stdin is None:
        return ()
    descriptor = _descriptor(sys.stdin)
    if descriptor is None:
        return sys.stdin.buffer
    source = stack.enter_context(os.fdopen(os.dup(descriptor), "rb"))
    nothing = os.open(os.devnull, os.O_RDONLY)
    stack.callback(os.dup2, source.fileno(), descriptor)
    # Replace the descriptor as well as `sys.stdin`: processes that a tool starts inherit it.
    os.dup2(nothing, descriptor)
    os.close(nothing)
    return source


def _capture_out(stack: contextlib.ExitStack) -> TextIO:
    descriptor, instead = _descriptor(sys.stdout), _descriptor(sys.stderr)
    if descriptor is None or instead is None:
        return sys.stdout
    # What is buffered belongs to stdout, and would come out on stderr.
    sys.stdout.flush()
    raw = getattr(cast("io.BufferedWriter", sys.stdout.buffer), "raw", None)
    copy = os.dup(descriptor)
    # Undone in reverse: the replies are flushed, stdout is put back, the copy is closed.
    stack.callback(os.close, copy)
    stack.callback(os.dup2, copy, descriptor)
    # This keeps the output of tools, and of the processes they start, out of the replies.
    os.dup2(instead, descriptor)
    problem = raw._problem if isinstance(raw, _Whole) else None  # noqa: SLF001  our own class
    out = _text(_Whole(copy, problem), sys.stdout)
    stack.callback(_flush, out)
    return out


def _made_whole(stream: TextIO | None, problem: OSError | None = None) -> TextIO:
    if stream is None:  # keep the descriptor occupied, or the next file opened would get it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        return io.TextIOWrapper(io.BufferedWriter(_Whole(nowhere, problem)), encoding="utf-8")
    raw = getattr(stream, "buffer", None)
    raw = getattr(raw, "raw", raw)
    if isinstance(raw, io.FileIO) and not raw.closed:
        stream.flush()
        return _text(_Whole(raw.fileno()), stream)
    # A program that runs the command may have put a stream in memory here.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    return stream


def _text(raw: _Whole, like: TextIO) -> TextIO:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        like.encoding,
        "replace",
        line_buffering=bool(getattr(like, "line_buffering", False)),
    )


def _flush(stream: TextIO) -> None:
    with contextlib.suppress(OSError):
        stream.flush()


def _descriptor(stream: TextIO) -> int | None:
    """Return the stream's descriptor; None for a stream in memory."""
    try:
        return stream.fileno()
    except (OSError, ValueError):
        return None
