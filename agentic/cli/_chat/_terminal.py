r"""Both ends of a chat: the requests that are typed or piped, and what is printed of the agent.

Requests come from a prompt or from a pipe, one per line. A line that ends with a backslash
continues in the next one. Empty lines are ignored.

In a terminal everything is printed on stdout, and what is not a reply has another colour. In a
pipe, stdout gets the replies and the answers to commands such as /context, and stderr the rest.
"""

import asyncio
import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

import attrs
from rich.console import Console
from rich.text import Text

from agentic import events
from agentic.cli._output import clip, end_sentence, printable
from agentic.session import Status

try:
    import readline
except ImportError:  # an interpreter without readline reads plain lines
    readline = None  # type: ignore[assignment]

__all__ = ["Screen", "read_pipe", "read_prompt", "remember"]

_ARGUMENTS_WIDTH = 100
_MESSAGE_WIDTH = 300


@attrs.define(eq=False)
class Screen:
    """Prints events as they happen."""

    is_terminal: bool
    """Whether a user is typing at a terminal."""
    stdout: TextIO = attrs.field(factory=lambda: sys.stdout)
    out: Console = attrs.field(init=False)
    aside: Console = attrs.field(init=False)
    gone: OSError | None = None
    """Why nothing more can be printed: the reader has closed the stream."""
    _in_line: bool = False
    """Whether a reply has begun a line that is not yet ended."""
    _streamed: bool = False

    @out.default
    def _make_out(self) -> Console:
        return _console(self.stdout)

    @aside.default
    def _make_aside(self) -> Console:
        return self.out if self.is_terminal else _console(sys.stderr)

    def show(self, _: object, event: events.Event) -> None:
        """Print one event."""
        match event:
            case events.MessageUpdate():
                self._streamed = True
                self.stream(event.delta)
            case events.MessageEnd() if event.message.role == "assistant":
                if not self._streamed:
                    self.stream(event.message.content)
                self.end_line()
                self._streamed = False
            case events.ToolExecutionStart(call=call):
                self.note(f"→ {call.name} {clip(call.arguments, _ARGUMENTS_WIDTH)}")
            case events.ToolExecutionEnd():
                self._show_result(event)
            case events.ContextCompactionEnd():
                self._show_compaction(event)

    def stream(self, text: str) -> None:
        """Print a piece of a reply."""
        if text:
            self._in_line = not text.endswith("\n")
            self._write(printable(text) if self.stdout.isatty() else text)

    def end_line(self) -> None:
        """End the line of a reply, if one is open."""
        if self._in_line:
            self._in_line = False
            self._write("\n")

    def say(self, text: str) -> None:
        """Print the answer to a command."""
        self._print(self.out, text, "")

    def note(self, text: str) -> None:
        """Print information that is not part of a reply."""
        self._print(self.aside, text, "dim")

    def warn(self, text: str) -> None:
        """Print what went wrong."""
        self._print(self.aside, text, "red")

    def show_size(self, status: Status, window: int) -> None:
        """Print the size of the context, and its share of the window if that is known."""
        size = f"{status.tokens:,} / {window:,} tokens" if window else f"{status.tokens:,} tokens"
        share = f" ({100 * status.tokens / window:.0f}%)" if window else ""
        self.note(f"[{size}{share}]")

    def check(self) -> None:
        """Raise the error that stopped a receiver from printing; by itself, it does not end a run.

        Raises:
            OSError: nothing more can be printed.
        """
        if self.gone is not None:
            raise self.gone

    def _show_result(self, event: events.ToolExecutionEnd) -> None:
        result, seconds = event.result, f"{event.seconds:.1f} s"
        if result.error:
            message = clip(result.error.message, _MESSAGE_WIDTH)
            self.warn(f"← {result.name} failed in {seconds}: {message}")
            return
        notice = f" {clip(result.notice, _MESSAGE_WIDTH)}" if result.notice else ""
        self.note(f"← {result.name}: {len(result.output):,} characters in {seconds}{notice}")

    def _show_compaction(self, event: events.ContextCompactionEnd) -> None:
        if isinstance(event.error, asyncio.CancelledError):
            self.warn("The summary was stopped, and nothing is lost.")
            return
        if event.error is not None:
            why = clip(str(event.error) or type(event.error).__name__, _MESSAGE_WIDTH)
            self.warn(end_sentence(f"No summary was made, and nothing is lost: {why}"))
            return
        if event.summary is None:  # the summary was of no use, which need not be reported
            return
        sizes = f"{event.tokens_before:,} → {event.tokens_after:,} tokens"
        self.note(f"{len(event.dropped):,} messages summarized: {sizes}")

    def _print(self, console: Console, text: str, style: str) -> None:
        self.end_line()
        try:
            console.print(Text(printable(text), style))
        except OSError as problem:
            self.gone = problem

    def _write(self, text: str) -> None:
        try:
            self.stdout.write(text)
            self.stdout.flush()
        except OSError as problem:
            self.gone = problem


def read_prompt(words: Iterable[str]) -> Iterator[str]:
    """Prompt until Ctrl-D or Ctrl-C; the Tab key completes `words`."""
    _complete(sorted(words))
    try:
        yield from _joined(iter(_prompted, None))
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")


def read_pipe(source: Iterable[bytes]) -> Iterator[str]:
    """Read the lines of a pipe; bytes that are not UTF-8 become U+FFFD."""
    yield from _joined(line.decode("utf-8", "replace").rstrip("\r\n") for line in source)


def remember(lines: Iterable[str]) -> None:
    """Make earlier requests available to the arrow keys."""
    if readline is not None:
        for line in lines:
            readline.add_history(line)


def _console(file: TextIO) -> Console:
    return Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _prompted() -> str:
    return input("> ")


def _joined(lines: Iterable[str]) -> Iterator[str]:
    r"""Join lines that continue in the next line.

    >>> list(_joined(["one \\", "two", "", "three"]))
    ['one \ntwo', 'three']
    """
    held: list[str] = []
    for line in lines:
        held.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if text := "\n".join(held).strip():
            yield text
        held = []
    if text := "\n".join(held).strip():
        yield text


def _complete(words: list[str]) -> None:
    if readline is None:
        return

    def nth(begin: str, state: int) -> str | None:
        found = [word for word in words if word.startswith(begin)] if begin else []
        return found[state] if state < len(found) else None

    readline.set_completer(nth)
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
