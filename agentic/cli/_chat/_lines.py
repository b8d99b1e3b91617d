r"""Requests one a line, from a pipe or typed at a plain prompt.

A line that ends with a backslash continues in the next one. Empty lines are ignored.
"""

import asyncio
import signal
import sys
from collections.abc import Generator, Iterable, Iterator
from typing import Protocol

import attrs

try:
    # Importing it is also what gives `input` its editing.
    import readline
except ImportError:  # an interpreter without readline reads plain lines
    readline = None  # type: ignore[assignment]

__all__ = ["PlainPrompt", "Prompt", "read_pipe"]

_HINT = "(Ctrl-C again leaves)\n"


class Prompt(Protocol):
    """Where somebody at a terminal types."""

    def lines(self, loop: asyncio.Runner) -> Generator[str, None, None]:
        """Yield requests until the user leaves."""
        ...

    def remember(self, requests: Iterable[str]) -> None:
        """Make earlier requests available to the arrow keys."""
        ...

    async def ask(self, question: str) -> str | None:
        """Return the answer to a question; None if Ctrl-C or Ctrl-D is pressed instead."""
        ...


@attrs.define(eq=False)
class PlainPrompt:
    """A prompt that prints nothing but text: for TERM=dumb, and for screen readers."""

    words: Iterable[str]
    """What the Tab key completes."""

    def lines(self, loop: asyncio.Runner) -> Generator[str, None, None]:
        """Yield requests until Ctrl-D, or Ctrl-C twice; the first one clears the line."""
        _complete(sorted(self.words))
        return _joined(_typed())

    def remember(self, requests: Iterable[str]) -> None:
        """Make earlier requests available to the arrow keys."""
        if readline is not None:
            for request in requests:
                readline.add_history(request)

    async def ask(self, question: str) -> str | None:
        """Return the answer to a question; None if Ctrl-C or Ctrl-D is pressed instead."""
        # `input` would go on after a Ctrl-C that only cancels the task that waits for it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return input(question)  # noqa: ASYNC250  the run waits for the answer anyway
        except (EOFError, KeyboardInterrupt):
            sys.stdout.write("\n")
            return None
        finally:
            signal.signal(signal.SIGINT, before)


def read_pipe(source: Iterable[bytes]) -> Generator[str, None, None]:
    """Read the lines of a pipe; bytes that are not UTF-8 become U+FFFD."""
    yield from _joined(line.decode("utf-8", "replace").rstrip("\r\n") for line in source)


def _typed() -> Iterator[str | None]:
    """Yield what is typed; None where Ctrl-C takes back what was begun."""
    was_cleared = False
    while True:
        try:
            yield input("> ")
            was_cleared = False
        except EOFError:
            break
        except KeyboardInterrupt:
            if was_cleared:
                break
            was_cleared = True
            sys.stdout.write(f"\n{_HINT}")
            yield None
    sys.stdout.write("\n")


def _joined(lines: Iterable[str | None]) -> Generator[str, None, None]:
    r"""Join lines that continue in the next line; None takes back those that are not complete.

    >>> list(_joined(["one \\", "two", "", "three \\", None, "four"]))
    ['one \ntwo', 'four']
    """
    held: list[str] = []
    for line in lines:
        if line is None:
            held.clear()
            continue
        held.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if text := "\n".join(held).strip():
            yield text
        held.clear()
    if text := "\n".join(held).strip():
        yield text


def _complete(words: list[str]) -> None:
    if readline is None:
        return

    def nth(begin: str, state: int) -> str | None:
        found = [word for word in words if word.startswith(begin)] if begin else []
        return found[state] if state < len(found) else None

    readline.set_completer(nth)
    # By default a slash begins a new word.
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
