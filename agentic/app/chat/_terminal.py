r"""A chat in a terminal that can move its cursor: how requests are edited, and replies rendered.

A paste of many lines is one request. Alt-Enter, or a backslash before Enter, begins another line.
Ctrl-C clears the line, and on an empty line it leaves. Empty requests are ignored.

A block of Markdown is printed for good when the next one begins. The block that is still growing,
and the line below it, are drawn again several times a second and erased at the end.
"""

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import ClassVar

import attrs
from markdown_it import MarkdownIt
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle, PromptSession
from rich import markdown
from rich.console import (
    Console,
    ConsoleOptions,
    Group,
    JustifyMethod,
    RenderableType,
    RenderResult,
)
from rich.live import Live
from rich.padding import Padding
from rich.segment import Segment
from rich.syntax import Syntax
from rich.text import Text

from agentic.app.cli._output import printable

try:
    import termios
except ImportError:  # on Windows nothing is echoed while a reply arrives
    termios = None  # type: ignore[assignment]

_PROMPT = "> "
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_A_SECOND = 10
_LINES_BELOW = 2
"""The lines of the screen that the growing block leaves free."""
_PARSED_SCREENS = 4
_GROWTH = 1.25
"""How much larger a block must be before it is parsed again. To parse it at every line would take
minutes for a table of two thousand rows."""
_parser = MarkdownIt().enable("strikethrough").enable("table")
"""The same extensions as rich's Markdown, so that both see the same blocks."""


@attrs.define(eq=False)
class TerminalPrompt:
    """A prompt that can edit what is typed."""

    words: Iterable[str]
    """The slash commands that the Tab key completes; after anything else it completes files."""
    status: Callable[[], str]
    """Returns the line below the prompt."""
    # Not in a file: the session itself brings back what was typed.
    _history: InMemoryHistory = attrs.field(factory=InMemoryHistory, init=False)

    def lines(self, loop: asyncio.Runner) -> Generator[str, None, None]:
        """Yield requests until Ctrl-D, or Ctrl-C on an empty line."""
        session = PromptSession[str](
            _PROMPT,
            history=self._history,
            completer=_SlashesAndFiles(sorted(self.words)),
            complete_while_typing=False,
            complete_style=CompleteStyle.READLINE_LIKE,
            prompt_continuation=" " * len(_PROMPT),
            bottom_toolbar=self.status,
            key_bindings=_bindings(),
            # `clear_or_leave` decides what Ctrl-C does; both keys leave in the same way.
            interrupt_exception=EOFError,
        )
        while True:
            try:
                line = loop.run(session.prompt_async())
            except EOFError:
                return
            if line.strip():
                # While a reply arrives, what is typed would be drawn into it.
                with _without_echo():
                    yield line.strip()

    def remember(self, requests: Iterable[str]) -> None:
        """Make earlier requests available to the arrow keys."""
        for request in requests:
            self._history.append_string(request)

    async def ask(self, question: str) -> str | None:
        """Return the answer to a question; None if Ctrl-C or Ctrl-D is pressed instead."""
        # A session of its own, so that the arrow keys do not bring back answers as requests.
        session = PromptSession[str](question, interrupt_exception=EOFError)
        # What was typed before the question was shown does not answer it: neither what the terminal
        # still holds, nor what came with an earlier line and is kept for the next prompt.
        if termios is not None:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        clear_typeahead(session.input)
        try:
            return await session.prompt_async()
        except EOFError:
            return None


@attrs.define(eq=False)
class LiveReply:
    """The part of the screen that changes while a model replies or a tool runs."""

    console: Console
    activity: str = ""
    """What is being waited for."""
    sent: int | None = None
    """The tokens of the request; None if they were not counted."""
    received: int = 0
    """The tokens of the reply so far, estimated."""
    _live: Live | None = None
    _next: asyncio.TimerHandle | None = None
    """The next time that the line is drawn."""
    _started: float = 0.0
    _growing: str = ""
    """The text that is not printed for good yet."""
    _parsed: int = 0
    """The length of the growing text when it was last parsed."""
    _has_blocks: bool = False
    """Whether a block of this reply has been printed."""

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """Show the line while the block runs, in an event loop."""
        self._started, self.activity, self.sent, self.received = time.monotonic(), "", None, 0
        self._show()
        try:
            yield
        finally:
            self.finish()
            self._hide()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the screen to somebody else, and do not count the time."""
        is_shown, since = self._live is not None, time.monotonic()
        self._hide()
        try:
            yield
        finally:
            self._started += time.monotonic() - since
            if is_shown:
                self._show()

    def add(self, text: str) -> None:
        """Show a piece of the reply; print the blocks that it completes."""
        self._growing += text
        # Only a new line can complete a block.
        if "\n" not in text or len(self._growing) < _GROWTH * self._parsed:
            return
        length = _complete_length(self._growing)
        complete, self._growing = self._growing[:length], self._growing[length:]
        self._parsed = len(self._growing)
        if complete:
            self._print(complete)

    def finish(self) -> None:
        """Print the rest of a reply, which is complete or was broken off."""
        rest, self._growing, self._parsed = self._growing, "", 0
        if rest.strip():
            self._print(rest)
        self._has_blocks = False

    def _print(self, text: str) -> None:
        if self._has_blocks:
            self.console.print()
        self._has_blocks = True
        self.console.print(_Blocks(text), soft_wrap=False)

    def _show(self) -> None:
        self._live = Live(
            console=self.console,
            get_renderable=self._draw,
            auto_refresh=False,
            transient=True,
        )
        self._live.start()
        self._tick()

    def _tick(self) -> None:
        """Draw now, and again in a moment.

        In the thread that prints: rich would draw in a thread of its own, and what both do to the
        place of the cursor is not locked as a whole (rich 15.0, `Live.process_renderables`).
        """
        if self._live is not None:
            self._live.refresh()
            self._next = asyncio.get_running_loop().call_later(1 / _FRAMES_A_SECOND, self._tick)

    def _hide(self) -> None:
        if self._next is not None:
            self._next.cancel()
        if self._live is not None:
            live, self._live = self._live, None
            live.stop()

    def _draw(self) -> RenderableType:
        growing = self._growing
        status = Text(self._describe(), "dim", no_wrap=True, overflow="ellipsis")
        if not growing.strip():
            return status
        lead = [Text("")] if self._has_blocks else []
        return Group(*lead, _Blocks(growing, max(1, self.console.height - _LINES_BELOW)), status)

    def _describe(self) -> str:
        seconds = time.monotonic() - self._started
        parts = [f"{seconds:.0f} s"]
        parts += [] if self.sent is None else [f"{self.sent:,} tokens sent"]
        parts += [f"~{self.received:,} received"] if self.received else []
        parts += [self.activity] if self.activity else []
        frame = _FRAMES[int(seconds * _FRAMES_A_SECOND) % len(_FRAMES)]
        return f"{frame} {' · '.join(parts)}"


@attrs.frozen
class _SlashesAndFiles(Completer):
    """Completes slash commands at the start of a request, and files anywhere."""

    words: list[str]
    _files: PathCompleter = attrs.field(factory=lambda: PathCompleter(expanduser=True))

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield what the word before the cursor may become."""
        text = document.text_before_cursor
        matches = [word for word in self.words if text and word.startswith(text)]
        if matches:
            yield from (Completion(word, start_position=-len(text)) for word in matches)
            return
        word = text.rpartition(" ")[2].rpartition("\n")[2].removeprefix("@")
        with contextlib.suppress(OSError, RuntimeError):  # an unreadable folder, an unknown ~user
            yield from self._files.get_completions(Document(word), complete_event)


def _bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    @keys.add("<sigint>")
    def clear_or_leave(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=EOFError, style="class:aborting")

    @keys.add("escape", "enter")
    def begin_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    return keys


@contextlib.contextmanager
def _without_echo() -> Iterator[None]:
    if termios is None:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _complete_length(text: str) -> int:
    r"""Return how many characters of a growing text are blocks that can no longer change.

    >>> text = "# Title\n\nOne\ntwo\n\n- thr"
    >>> text[:_complete_length(text)]
    '# Title\n\nOne\ntwo\n\n'
    >>> _complete_length("| a |\n| - |\n| 1 |\n")
    0
    """
    starts = [each.map[0] for each in _parser.parse(text) if each.level == 0 and each.map]
    if not starts or starts[-1] == 0:
        return 0
    lines = text.split("\n")
    return len("\n".join(lines[: starts[-1]])) + 1


@attrs.frozen
class _Blocks:
    """Rendered Markdown without empty lines around it, of which rich puts some before a list."""

    text: str
    height: int | None = None
    """How many of its last lines are shown; None for all."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = console.render_lines(self._rendered(), options, pad=False)
        while lines and _is_blank(lines[0]):
            del lines[0]
        while lines and _is_blank(lines[-1]):
            del lines[-1]
        for line in lines if self.height is None else lines[-self.height :]:
            yield from line
            yield Segment.line()

    def _rendered(self) -> RenderableType:
        text = printable(self.text)
        if self.height is not None:
            lines = text.split("\n")
            # What is far larger than the screen, such as a long listing, is not parsed each time.
            if len(lines) > _PARSED_SCREENS * self.height:
                return Text("\n".join(lines[-self.height :]))
        # An address stays visible next to its text, so that no link hides where it leads.
        return _Markdown(text, code_theme="ansi_dark", hyperlinks=False)


def _is_blank(line: list[Segment]) -> bool:
    return not any(segment.text.strip() for segment in line)


class _Heading(markdown.Heading):
    """A heading that begins where other text begins."""

    # rich centers one of the first level.
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _Code(markdown.CodeBlock):
    """Code that is set in, without the empty lines that rich puts around it."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        markup = Syntax(code, self.lexer_name, theme=self.theme).highlight(code)
        markup.rstrip()
        yield Padding(markup, (0, 0, 0, 2))


class _Markdown(markdown.Markdown):
    elements: ClassVar[dict[str, type[markdown.MarkdownElement]]] = {
        **markdown.Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }
