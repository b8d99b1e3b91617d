"""`agentic truncate`: a filter that keeps the start, the end or both ends of a text.

Bytes are passed through unchanged, even if they are not UTF-8. If the text exceeds the limit, each
such byte counts as three, like the character that a model would receive instead. Only what the
limits keep is held in memory.

A limit is written as `2000`, `50KB`, `1M`, or `all`. A kilobyte is 1,024 bytes however it is
written, as in an agent's file.
"""

import codecs
import os
import re
import select
import stat
import sys
from collections.abc import Mapping
from io import BufferedReader
from typing import Any

import attrs
import click

from agentic import truncate
from agentic.cli._options import whole_number
from agentic.cli._output import json_line, printable
from agentic.cli._stdio import open_input

__all__ = ["truncate_command"]

_BLOCK = 262_144
"""The number of bytes read at a time."""
_PATIENCE_SECONDS = 0.1
"""How long a pipe that has delivered enough may take to show whether it continues."""
_Buffer = truncate.HeadBuffer | truncate.TailBuffer | truncate.MiddleBuffer
_BUFFERS: Mapping[str, type[_Buffer]] = {
    "head": truncate.HeadBuffer,
    "tail": truncate.TailBuffer,
    "middle": truncate.MiddleBuffer,
}
_decoder = codecs.getincrementaldecoder("utf-8")
_BITS = {"": 0, "k": 10, "m": 20, "g": 30}
_SHOWN = 18


class _Limit(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A whole number from 0, `all` for None, or omitted for the default."""

    def __init__(self, name: str, pattern: re.Pattern[str], allowed: str) -> None:
        self.name = name
        self._pattern = pattern
        self._allowed = allowed

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | truncate.Default | None:
        """Return the number."""
        if isinstance(value, truncate.Default):
            return value
        if not isinstance(value, str):
            return int(value)
        if value.lower() == "all":
            return None
        found = self._pattern.fullmatch(value.strip())
        number = whole_number(found[1]) if found else None
        if found is None or number is None:
            self.fail(f"{value[:_SHOWN]!r} is not {self._allowed}", param, ctx)
        return number << _BITS[found[2].lower()]


_LINES = _Limit("number", re.compile(r"([0-9]+)()"), "a whole number, or 'all'")
_SIZE = _Limit(
    "size",
    re.compile(r"([0-9]+)\s*([kmg]?)(?:b|ib|)", re.IGNORECASE),
    "a whole size such as 800, 50KB or 1M, or 'all'",
)


@click.command("truncate")
@click.argument("file", default="-", metavar="[FILE]")
@click.option("--head", "modes", flag_value="head", multiple=True, help="Keep the start.")
@click.option("--tail", "modes", flag_value="tail", multiple=True, help="Keep the end (default).")
@click.option("--middle", "modes", flag_value="middle", multiple=True, help="Keep both ends.")
@click.option(
    "-n",
    "--lines",
    type=_LINES,
    default=truncate.Default.LINES,
    show_default="2000, or all with --bytes",
    help="Lines to keep.",
)
@click.option(
    "-c",
    "--bytes",
    "size",
    type=_SIZE,
    default=truncate.Default.BYTES,
    show_default="50KB, or all with --lines",
    help="Bytes to keep.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the text and its measure as JSON.")
def truncate_command(
    *,
    file: str,
    modes: tuple[str, ...],
    lines: int | truncate.Default | None,
    size: int | truncate.Default | None,
    as_json: bool,
) -> None:
    """Keep the end of FILE, or of stdin, within a number of lines and bytes.

    A limit that is given applies alone; of two, the one that leaves less decides. 'all' is no
    limit, and 50KB are 51,200 bytes. The text goes to stdout, and what is missing of it is told on
    stderr. A file is read to its end, so that this is exact; from a pipe, --head reads no more than
    it needs, and ends even where the pipe does not. A limit of 0 prints nothing and reads nothing.

    Bytes go through as they are. A text within --bytes is never cut by it; in a larger one each
    byte that is no UTF-8 counts as three, as what a model would get in its place.

    Example: make 2>&1 | agentic truncate --lines 40
    """
    if len(set(modes)) > 1:
        raise click.UsageError(f"--{modes[0]} and --{modes[-1]} cannot be used together")
    mode = modes[0] if modes else "tail"
    nothing = 0 in {lines, size}
    # To the library a limit of 0 is a mistake; to head(1) it is a limit.
    limits = truncate.Options() if nothing else truncate.Options(max_lines=lines, max_bytes=size)
    with open_input(file) as source:
        cut = _nothing(mode) if nothing else _cut(source, mode, limits)
    notice = cut.notice(None if file == "-" else file)
    if as_json:
        click.echo(json_line({**cut.plain(), "notice": notice}))
        return
    written = cut.written(limits.max_bytes)
    click.echo(written, nl=False)
    if notice:
        # On a terminal, the notice would continue the last line of the text.
        glued = sys.stdout.isatty() and not written.endswith(b"\n")
        click.echo("\n" * glued + printable(f"agentic: {notice}"), err=True)


@attrs.frozen
class _Cut:
    """What is kept of a stream, measured in the stream's own bytes."""

    result: truncate.Result
    unread: str
    """Why the totals are unknown; empty if they are known."""

    def written(self, size: int | None) -> bytes:
        """Return what the filter prints: whole lines at the start keep their line ends."""
        result = self.result
        ended = result.mode is truncate.Mode.HEAD and result.truncated and result.output_lines
        ended = ended and not result.first_line_over_limit
        written = _encode(result.content)
        has_room = size is None or len(written) < size
        return written + (b"\n" if ended and has_room else b"")

    def notice(self, file: str | None) -> str:
        """Return what is missing; empty if nothing is missing."""
        result = self.result
        if not self.unread:
            return result.notice(file)
        if not result.output_lines:
            return f"Nothing is shown: {self.unread}."
        if result.first_line_over_limit:
            shown = "byte" if result.output_bytes == 1 else f"{result.output_bytes} bytes"
            be = "is" if result.output_bytes == 1 else "are"
            return f"Only the first {shown} of the first line {be} shown: {self.unread}."
        shown = "line is" if result.output_lines == 1 else f"{result.output_lines} lines are"
        return f"Only the first {shown} shown: {self.unread}."

    def plain(self) -> dict[str, Any]:
        """Return the JSON form; an unknown total is null."""
        plain = attrs.asdict(self.result)
        plain["mode"] = self.result.mode.value
        plain["content"] = _encode(self.result.content).decode("utf-8", "replace")
        return plain | (dict.fromkeys(("total_lines", "total_bytes")) if self.unread else {})


def _nothing(mode: str) -> _Cut:
    """Return an empty result without reading, as head(1) does for a limit of 0."""
    result = attrs.evolve(_BUFFERS[mode]().result(), truncated=True, mode=truncate.Mode(mode))
    return _Cut(result, "the limit is 0, so nothing was read")


def _cut(source: BufferedReader, mode: str, limits: truncate.Options) -> _Cut:
    taken = _Taken(mode, limits.max_lines, limits.max_bytes)
    enough = None
    if mode == "head" and not _has_end(source):
        enough = _Enough(limits.max_lines, limits.max_bytes)
    unread = ""
    # read1(), because read() would wait until a slow pipe has filled the block.
    while not unread and (block := source.read1(_BLOCK)):
        taken.add(block)
        unread = enough.take(block, source) if enough else ""
    result = taken.result()
    size = len(_encode(result.content))
    return _Cut(attrs.evolve(result, total_bytes=taken.size_read, output_bytes=size), unread)


@attrs.define
class _Taken:
    """What has been read of a stream, as far as the limits may keep it."""

    mode: str
    lines: int | None
    size: int | None
    size_read: int = 0
    _held: list[bytes] = attrs.field(factory=list)
    """Everything read, while that is within the limit on bytes."""
    _buffer: _Buffer | None = None
    """Takes over once the limit on bytes is exceeded."""
    _decoder: codecs.IncrementalDecoder = attrs.field(factory=lambda: _decoder("surrogateescape"))

    def add(self, block: bytes) -> None:
        """Add the next block."""
        self.size_read += len(block)
        if self._buffer is None:
            self._held.append(block)
            if self.size is None or self.size_read > self.size:
                self._buffer = self._release(self.size)
        else:
            self._buffer.feed(self._decoder.decode(block))

    def result(self) -> truncate.Result:
        """Return the result; text within the byte limit is not cut by it, however bytes count."""
        buffer = self._buffer or self._release(None)
        buffer.feed(self._decoder.decode(b"", final=True))
        return buffer.result()

    def _release(self, size: int | None) -> _Buffer:
        buffer = _BUFFERS[self.mode](max_lines=self.lines, max_bytes=size)
        for block in self._held:
            buffer.feed(self._decoder.decode(block))
        self._held.clear()
        return buffer


@attrs.define
class _Enough:
    """Determines when the start of a stream is complete."""

    lines: int | None
    size: int | None
    newlines_read: int = 0
    size_read: int = 0

    def take(self, block: bytes, source: BufferedReader) -> str:
        """Count a block; return why no further block is read, or "" if one is needed."""
        self.newlines_read += block.count(b"\n")
        self.size_read += len(block)
        full = self.newlines_read == self.lines or self.size_read == self.size
        over = self.lines is not None and self.newlines_read > self.lines
        over = over or (self.newlines_read == self.lines and not block.endswith(b"\n"))
        if over or (self.size is not None and self.size_read > self.size):
            return "the rest was not read, so it is not known how much is missing"
        if full and not select.select([source], [], [], _PATIENCE_SECONDS)[0]:
            return "whatever follows was not read"
        return ""


def _has_end(source: BufferedReader) -> bool:
    """Return whether a source is a file, which has an end; a pipe or a device may have none."""
    try:
        return stat.S_ISREG(os.fstat(source.fileno()).st_mode)
    except OSError:  # a stream in memory
        return True


def _encode(content: str) -> bytes:
    return content.encode("utf-8", "surrogateescape")
