"""Filters for texts: `agentic truncate` keeps their start or end, `agentic count` counts tokens.

In `truncate`, bytes are passed through unchanged, even if they are not UTF-8. If the text exceeds
the limit, each such byte counts as three, like the character that a model would receive instead.
Only what the limits keep is held in memory.

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
from typing import TYPE_CHECKING, Any

import attrs
import click

from agentic import limits, truncate
from agentic._base._validate import suggest
from agentic.app.cli._options import whole_number
from agentic.app.cli._output import describe_problem, json_line, printable, say
from agentic.app.cli._stdio import open_input
from agentic.truncate._options import Default

if TYPE_CHECKING:
    from agentic import tokens
    from agentic.tokens._models import ModelCounter

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
_PART = 1_048_576
"""The number of bytes counted at a time. A larger text is counted in parts that end with a line."""
_NO_MODEL = "default"
_ESTIMATE = "o200k_base itself is estimated, within 10 % on the texts of agents"
"""`benchmarks/estimate/check.py` measures it, on texts that the weights were not fitted to."""


class _Limit(click.ParamType):  # type: ignore[type-arg]  # generic in newer clicks only
    """A whole number from 0, or `all` for None."""

    def __init__(self, name: str, pattern: re.Pattern[str], requirement: str) -> None:
        self.name = name
        self._pattern = pattern
        self._allowed = requirement

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | Default | None:
        if isinstance(value, Default):
            return value
        if not isinstance(value, str):
            return int(value)
        if value.lower() == "all":
            return None
        match = self._pattern.fullmatch(value.strip())
        number = whole_number(match[1]) if match else None
        if match is None or number is None:
            self.fail(f"{value[:_SHOWN]!r} is not {self._allowed}", param, ctx)
        return number << _BITS[match[2].lower()]


_LINES = _Limit("number", re.compile(r"([0-9]+)()"), "a whole number, or 'all'")
_SIZE = _Limit(
    "size",
    re.compile(r"([0-9]+)\s*([kmg]?)(?:b|ib|)", re.IGNORECASE),
    "a whole size such as 800, 50KB or 1M, or 'all'",
)


@click.command("truncate")
@click.argument("file", default="-", metavar="[FILE]")
# Multiple, so that two of them can be refused: of plain flags, the last one would win silently.
@click.option("--head", "modes", flag_value="head", multiple=True, help="Keep the start.")
@click.option("--tail", "modes", flag_value="tail", multiple=True, help="Keep the end (default).")
@click.option("--middle", "modes", flag_value="middle", multiple=True, help="Keep both ends.")
@click.option(
    "-n",
    "--lines",
    type=_LINES,
    default=Default.LINES,
    show_default="2000, or all with --bytes",
    help="Lines to keep.",
)
@click.option(
    "-c",
    "--bytes",
    "size",
    type=_SIZE,
    default=Default.BYTES,
    show_default="50KB, or all with --lines",
    help="Bytes to keep.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the text and its measure as JSON.")
def truncate_command(
    *,
    file: str,
    modes: tuple[str, ...],
    lines: int | Default | None,
    size: int | Default | None,
    as_json: bool,
) -> None:
    """Keep the end of FILE, or of stdin, within a number of lines and bytes.

    A limit that is given applies alone; of two, the one that leaves less decides. 'all' is no
    limit, and 50KB are 51,200 bytes. The text goes to stdout, and a notice of what is missing to
    stderr. A file is read to its end, so that the notice is exact; from a pipe, --head reads no
    more than it needs, and ends even where the pipe does not. A limit of 0 prints nothing and
    reads nothing.

    Bytes go through as they are. A text within --bytes is never cut by it. In a larger one, each
    byte that is not valid UTF-8 counts as three bytes: those of the replacement character that a
    model would receive.

    Example: make 2>&1 | agentic truncate --lines 40
    """
    if len(set(modes)) > 1:
        raise click.UsageError(f"--{modes[0]} and --{modes[-1]} cannot be used together")
    mode = modes[0] if modes else "tail"
    nothing = 0 in {lines, size}
    # To the library a limit of 0 is a mistake; to head(1) it is a limit.
    options = truncate.Options() if nothing else truncate.Options(max_lines=lines, max_bytes=size)
    with open_input(file) as source:
        cut = _nothing(mode) if nothing else _cut(source, mode, options)
    notice = cut.notice(None if file == "-" else file)
    if as_json:
        click.echo(json_line({**cut.plain(), "notice": notice}))
        return
    output = cut.written(options.max_bytes)
    click.echo(output, nl=False)
    if notice:
        # On a terminal, the notice would continue the last line of the text.
        lacks_newline = sys.stdout.isatty() and not output.endswith(b"\n")
        click.echo("\n" * lacks_newline + printable(f"agentic: {notice}"), err=True)


@click.command("count")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option(
    "-m", "--model", default=_NO_MODEL, help="The model whose tokens are counted, such as gpt-5."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def count_command(*, files: tuple[str, ...], model: str, as_json: bool) -> int:
    """Count the tokens of each FILE, or of stdin, and of all of them.

    The counts go to stdout, one a line with the name after it as wc(1) prints them. Which counter
    it was, how exact that is, and whether the model's name is unknown, is on stderr. A byte that is
    not valid UTF-8 counts as U+FFFD.

    Example: agentic count --model claude-sonnet-4-5 *.md
    """
    # Not for `truncate`, which must start as fast as tail(1) does in a pipe.
    from agentic import tokens  # noqa: PLC0415

    counter = tokens.for_model(model)
    counts = []
    for file in files or ("-",):
        # Printed one by one, like wc(1): a pipe among the files may end late.
        try:
            with open_input(file) as source:
                counts.append(_Counted(file, *_count_tokens(source, counter)))
        except OSError as problem:  # like wc(1): report it, and continue
            say(describe_problem(problem))
            continue
        if not as_json:
            click.echo(counts[-1].line())
    _sum_up(counts, counter, as_json=as_json)
    return 0 if len(counts) == max(1, len(files)) else 1


@attrs.frozen
class _CutStream:
    """What is kept of a stream, measured in the stream's own bytes."""

    result: truncate.Result
    unread: str
    """Why the totals are unknown; empty if they are known."""

    def written(self, size: int | None) -> bytes:
        """Return what the filter prints."""
        result = self.result
        # The result ends without its last line feed, which head(1) would print, too.
        has_end = result.mode is truncate.Mode.HEAD and result.truncated and result.output_lines
        has_end = has_end and not result.first_line_over_limit
        output = _encode(result.content)
        has_room = size is None or len(output) < size
        return output + (b"\n" if has_end and has_room else b"")

    def notice(self, file: str | None) -> str:
        # The notice of the result states totals, which an end of reading leaves unknown.
        result = self.result
        if not self.unread:
            return result.notice(file)
        if not result.output_lines:
            return f"Nothing is shown: {self.unread}."
        if result.first_line_over_limit:
            size = "byte" if result.output_bytes == 1 else f"{result.output_bytes} bytes"
            be = "is" if result.output_bytes == 1 else "are"
            return f"Only the first {size} of the first line {be} shown: {self.unread}."
        size = "line is" if result.output_lines == 1 else f"{result.output_lines} lines are"
        return f"Only the first {size} shown: {self.unread}."

    def plain(self) -> dict[str, Any]:
        """Return the JSON form; an unknown total is null."""
        plain = attrs.asdict(self.result)
        plain["mode"] = self.result.mode.value
        plain["content"] = _encode(self.result.content).decode("utf-8", "replace")
        return plain | (dict.fromkeys(("total_lines", "total_bytes")) if self.unread else {})


def _nothing(mode: str) -> _CutStream:
    """Return an empty result without reading, as head(1) does for a limit of 0."""
    result = attrs.evolve(_BUFFERS[mode]().result(), truncated=True, mode=truncate.Mode(mode))
    return _CutStream(result, "the limit is 0, so nothing was read")


def _cut(source: BufferedReader, mode: str, options: truncate.Options) -> _CutStream:
    buffer = _Taken(mode, options.max_lines, options.max_bytes)
    enough = None
    if mode == "head" and not _has_end(source):
        enough = _Enough(options.max_lines, options.max_bytes)
    unread = ""
    # read1(), because read() would wait until a slow pipe has filled the block.
    while not unread and (block := source.read1(_BLOCK)):
        buffer.add(block)
        unread = enough.take(block, source) if enough else ""
    result = buffer.result()
    size = len(_encode(result.content))
    return _CutStream(attrs.evolve(result, total_bytes=buffer.size_read, output_bytes=size), unread)


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
            return "the rest was not read"
        return ""


def _has_end(source: BufferedReader) -> bool:
    """Return whether a source is a file, which has an end; a pipe or a device may have none."""
    try:
        return stat.S_ISREG(os.fstat(source.fileno()).st_mode)
    except OSError:  # a stream in memory
        return True


def _encode(content: str) -> bytes:
    # The inverse of the decoder in `_Taken`: bytes that are not UTF-8 go out as they came in.
    return content.encode("utf-8", "surrogateescape")


@attrs.frozen
class _Counted:
    """The size of one text."""

    file: str
    tokens: int
    bytes: int

    def line(self) -> str:
        """Return the line that is printed, in the format of wc(1)."""
        name = "" if self.file == "-" else f" {printable(self.file)}"
        return f"{self.tokens:>9}{name}"


def _sum_up(counts: list[_Counted], counter: "ModelCounter", *, as_json: bool) -> None:
    total = _Counted(
        "total", sum(each.tokens for each in counts), sum(each.bytes for each in counts)
    )
    if as_json:
        plain = {
            "model": counter.model,
            "known": _is_known(counter),
            "counter": counter.description,
            "exact": counter.is_exact and counter.model != _NO_MODEL,
            "tokens": total.tokens,
            "files": [attrs.asdict(each) for each in counts],
        }
        click.echo(json_line(plain))
        return
    if len(counts) > 1:
        click.echo(total.line())
    if counts:
        say(_describe_counter(counter))


def _describe_counter(counter: "ModelCounter") -> str:
    """Return which counter it is, how exact, and whether the model's name is unknown.

    >>> from agentic import tokens
    >>> _describe_counter(tokens.for_model("gpt-4o"))
    'exact: o200k_base by quicktok'
    >>> _describe_counter(tokens.for_model("clod-opus-4-5")).partition(": ")[0]
    "unknown model 'clod-opus-4-5' (did you mean 'claude-opus-4-5'?)"
    """
    text = counter.description
    if counter.model == _NO_MODEL:
        by = text.removeprefix("exact: ")
        return f"{by}; no model was named: with --model NAME it is counted for that model"
    if not counter.is_exact and text.startswith("estimated: "):
        text = f"{text}; {_ESTIMATE}"
    if _is_known(counter):
        return text
    hint = suggest(counter.model.lower(), limits.CONTEXT_LIMITS)
    return f"unknown model {counter.model!r}{f' ({hint})' if hint else ''}: {text}"


def _is_known(counter: "ModelCounter") -> bool:
    """Return whether the name is that of a model or a family in the catalog, or of a vocabulary."""
    return counter.is_exact or limits.lookup(counter.model).usable


def _count_tokens(source: BufferedReader, counter: "tokens.Counter") -> tuple[int, int]:
    """Return the tokens and the bytes of a stream."""
    decode = _decoder("replace").decode
    block = source.read(_PART)
    pending, total, size = decode(block), 0, len(block)
    while block := source.read(_PART):
        # After a line feed, where a tokenizer divides a text as well.
        cut = pending.rfind("\n") + 1 or len(pending)
        total += counter.count(pending[:cut])
        pending, size = pending[cut:] + decode(block), size + len(block)
    return total + counter.count(pending + decode(b"", final=True)), size
