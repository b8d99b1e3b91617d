"""What a chat prints: in a terminal, as plain text for a screen reader, or in a pipe.

In a terminal everything is printed on stdout, and what is not a reply has another colour. In a
pipe, stdout gets the replies and the answers to commands such as /context, and stderr the rest.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

import attrs
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from agentic import events
from agentic.app.cli._output import clip, count_of, end_sentence, escape, printable
from agentic.messages import ToolCall, ToolResult
from agentic.session import Status

if TYPE_CHECKING:
    from agentic.app.chat._terminal import LiveReply

_ARGUMENTS_WIDTH = 100
_MESSAGE_WIDTH = 300
_ACTIVITY_WIDTH = 40
_LEAST_WIDTH = 10
"""In fewer columns, a call's arguments or outcome say nothing."""


def describe_size(status: Status) -> str:
    """Return the size of the context, and of the limit that it reaches first.

    The number of messages is shown from half of its limit on, if that limit is the nearer one.

    >>> describe_size(Status(summary=None, messages=2, max_messages=30, tokens=557,
    ...                      max_tokens=11_904, will_trigger=False))
    '557 / 11,904 tokens (5%)'
    >>> describe_size(Status(summary=None, messages=28, max_messages=30, tokens=557,
    ...                      max_tokens=11_904, will_trigger=True))
    '28 / 30 messages (93%), 557 tokens'
    """
    if status.messages_percent >= max(50, status.tokens_percent):
        share = f"({status.messages_percent:.0f}%)"
        return (
            f"{status.messages} / {status.max_messages} messages {share}, {status.tokens:,} tokens"
        )
    if status.max_tokens is None:
        return f"{status.tokens:,} tokens"
    return f"{status.tokens:,} / {status.max_tokens:,} tokens ({status.tokens_percent:.0f}%)"


def describe_call(call: ToolCall) -> str:
    r"""Return a call in full, one argument on a line, and what is invisible in it as an escape.

    Somebody decides by this text whether the call may run, so nothing in it may hide.

    >>> print(describe_call(ToolCall("c1", "bash", '{"command": "ls\\nrm x", "seconds": 5}')))
    bash
      command: ls
               rm x
      seconds: 5
    >>> print(describe_call(ToolCall("c1", "bash", '{"command": "ls \u202e mr"}')))
    bash
      command: ls \u202e mr
    """
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        return escape(f"{call.name}\n  {call.arguments}")
    lines = [call.name]
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        indent = "\n" + " " * (len(name) + 4)
        # chr(10), because before Python 3.12 an f-string holds no backslash.
        lines.append(f"  {name}: {indent.join(text.split(chr(10)))}")
    return escape("\n".join(lines))


@attrs.define(eq=False)
class Screen:
    """Prints events as they happen."""

    is_terminal: bool
    """Whether a user is typing at a terminal."""
    stdout: TextIO = attrs.field(factory=lambda: sys.stdout)
    live: "LiveReply | None" = None
    """Shows replies as they grow; None for plain text, in a pipe and for a screen reader."""
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

    def make_live(self) -> None:
        """Render Markdown from now on, and show what is being waited for."""
        # Imported here: a pipe renders nothing.
        from agentic.app.chat._terminal import LiveReply  # noqa: PLC0415

        self.live = LiveReply(self.out)

    @property
    def is_plain(self) -> bool:
        """Whether only text and line ends are printed, as a screen reader prefers."""
        return self.is_terminal and self.live is None

    def working(self) -> contextlib.AbstractContextManager[None]:
        """Show, while the block runs, that it does."""
        return contextlib.nullcontext() if self.live is None else self.live.working()

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Stop showing that something runs, while the user is asked."""
        return contextlib.nullcontext() if self.live is None else self.live.paused()

    def show(self, event: events.Event, number: int = 0) -> None:
        """Print one event; `number` is that of its tool call."""
        if self.live is not None:
            self._follow(self.live, event)
        match event:
            case events.MessageUpdate():
                self._streamed = True
                self.stream(event.delta)
            case events.MessageEnd() if event.message.role == "assistant":
                # A decider that does not stream sends its reply only now.
                if not self._streamed:
                    self.stream(event.message.content)
                self.end_line()
                self._streamed = False
            case events.ToolExecutionStart(call=call) if self.live is None:
                sign = "calls" if self.is_plain else "→"
                self.note(f"{sign} {call.name} {clip(call.arguments, _ARGUMENTS_WIDTH)}")
            case events.ToolExecutionEnd():
                self.show_outcome(event.call, event.result, number, event.seconds)
            case events.ContextCompactionEnd():
                self._show_compaction(event)

    def stream(self, text: str) -> None:
        """Print a piece of a reply."""
        if text and self.live is not None:
            self._guard(self.live.add, text)
        elif text:
            self._in_line = not text.endswith("\n")
            # A terminal would obey what the reply contains; a pipe gets it as it is.
            self._guard(self._write, printable(text) if self.stdout.isatty() else text)

    def end_line(self) -> None:
        """End a reply, whole or broken off."""
        if self.live is not None:
            self._guard(self.live.finish)
        if self._in_line:
            self._in_line = False
            self._guard(self._write, "\n")

    def say(self, text: str) -> None:
        """Print the answer to a command."""
        self._print(self.out, text, "")

    def note(self, text: str) -> None:
        """Print information that is not part of a reply."""
        self._print(self.aside, text, "dim")

    def warn(self, text: str) -> None:
        """Print what went wrong."""
        self._print(self.aside, text, "red")

    def show_outcome(self, call: ToolCall, result: ToolResult, number: int, seconds: float) -> None:
        """Print what became of a tool call: one line in a terminal, which /open NUMBER opens."""
        took = f"{seconds:.1f} s"
        if self.live is not None:
            self._show_block(call, result, number, took)
            return
        sign = "" if self.is_plain else "← "
        if result.error:
            message = clip(result.error.message, _MESSAGE_WIDTH)
            self.warn(f"{sign}{result.name} failed in {took}: {message}")
            return
        notice = f" {clip(result.notice, _MESSAGE_WIDTH)}" if result.notice else ""
        size = count_of(len(result.output), "character")
        self.note(f"{sign}{result.name}: {size} in {took}{notice}")

    def check(self) -> None:
        """Raise the error that stopped a receiver from printing.

        Raises:
            OSError: nothing more can be printed.
        """
        if self.gone is not None:
            raise self.gone

    def _show_block(self, call: ToolCall, result: ToolResult, number: int, took: str) -> None:
        is_error = result.error is not None
        size = count_of(len(result.output), "character")
        message = result.error.message if result.error else size
        name = clip(call.name, max(_LEAST_WIDTH, self.out.width // 3))
        begin = f"{'✗' if is_error else '▸'} {number} {name}"
        room = self.out.width - cell_len(f"{begin}  ·  · {took}")
        outcome = clip(message, max(_LEAST_WIDTH, 2 * room // 3))
        room -= cell_len(outcome)
        arguments = f" {clip(call.arguments, room)}" if room >= _LEAST_WIDTH else ""
        line = f"{begin}{arguments} · {outcome} · {took}"
        (self.warn if is_error else self.note)(clip(line, self.out.width))

    def _follow(self, live: "LiveReply", event: events.Event) -> None:
        """Take over what the line below a growing reply says."""
        match event:
            case events.TurnStart():
                live.sent, live.received = event.context_tokens, 0
                live.activity = ""
            case events.ToolExecutionStart(call=call):
                live.activity = clip(f"{call.name} {call.arguments}", _ACTIVITY_WIDTH)
            case events.ContextCompactionStart():
                live.activity = "summarizing"
            case events.ContextCompactionEnd() | events.ToolExecutionEnd():
                live.activity = ""

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
        sign = "to" if self.is_plain else "→"
        sizes = f"{event.tokens_before:,} {sign} {event.tokens_after:,} tokens"
        self.note(f"{count_of(len(event.dropped), 'message')} summarized: {sizes}")

    def _print(self, console: Console, text: str, style: str) -> None:
        self.end_line()
        # What is not an answer is wrapped between words; an answer may be copied as it is.
        wraps = self.live is not None and bool(style)
        self._guard(console.print, Text(printable(text), style), soft_wrap=not wraps)

    def _guard(self, do: Callable[..., object], *arguments: object, **options: object) -> None:
        try:
            do(*arguments, **options)
        except OSError as problem:
            # Kept for `check`: what a receiver of events raises is only logged.
            self.gone = problem

    def _write(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _console(file: TextIO) -> Console:
    # A reply may contain [brackets] and :words: that are not meant for rich.
    return Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)
