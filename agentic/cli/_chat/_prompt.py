r"""The prompt of a terminal: editing, history, completion, and a status line below.

A paste of many lines is one request. Alt-Enter, or a backslash before Enter, begins another line.
Ctrl-C clears the line, and on an empty line it leaves. Empty requests are ignored.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Generator, Iterable, Iterator

import attrs
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input.typeahead import clear_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.shortcuts import CompleteStyle, PromptSession

try:
    import termios
except ImportError:  # on Windows nothing is echoed while a reply arrives
    termios = None  # type: ignore[assignment]

__all__ = ["TerminalPrompt"]

_PROMPT = "> "


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
        found = [word for word in self.words if text and word.startswith(text)]
        if found:
            yield from (Completion(word, start_position=-len(text)) for word in found)
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
