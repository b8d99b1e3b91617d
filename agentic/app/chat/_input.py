r"""What a user types: requests, at a plain prompt or in a pipe, and whether a tool may run.

A line that ends with a backslash continues in the next one. Empty lines are ignored.
"""

import asyncio
import re
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Protocol

import attrs

from agentic.app.chat._screen import Screen, describe_call
from agentic.app.cli._output import printable
from agentic.messages import ToolCall
from agentic.protocols import ToolDefinition
from agentic.tools import Approval

try:
    # Importing it is also what gives `input` its editing.
    import readline
except ImportError:  # an interpreter without readline reads plain lines
    readline = None  # type: ignore[assignment]

_HINT = "(Ctrl-C again leaves)\n"
_ANSWER = re.compile(
    r"(?P<once>o|once|y|yes)|(?P<always>a|always)|(?:n|no)\b[\s,:.]*(?:because\b)?[\s:]*(?P<no>.*)",
    re.IGNORECASE | re.DOTALL,
)
_EXPLANATION = "Answer once, always (for this tool, in this chat), or no, because ..."
_FIRST = "always allows this tool in this chat. `approve: never` in the agent's file allows all."
_STOPPED = "the user stopped the run"


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


@attrs.define(eq=False)
class ChatApprover:
    """Shows a call in full, and asks whether it may run."""

    screen: Screen
    prompt: Prompt
    stop: Callable[[], None]
    """Stops the run: what Ctrl-C does at a question, too."""
    _always: set[str] = attrs.field(factory=set, init=False)
    """The tools that are not asked about again."""
    _has_asked: bool = attrs.field(default=False, init=False)
    """Whether the answers have been explained."""
    _asking: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)
    """The calls of one turn wait for one another: there is one keyboard."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Return what the user answers."""
        async with self._asking:
            # Within the lock: an answer to a call before this one may be `always`.
            if call.name in self._always:
                return Approval(allowed=True)
            with self.screen.paused():
                kind, reason = await self._ask(call)
        if kind == "always":
            self._always.add(call.name)
        return Approval(kind in {"once", "always"}, reason)

    async def _ask(self, call: ToolCall) -> tuple[str, str]:
        self.screen.say(describe_call(call))
        if not self._has_asked:
            self._has_asked = True
            self.screen.note(_FIRST)
        question = printable(f"Run {call.name}? [once / always / no, because ...] ")
        while (line := await self.prompt.ask(question)) is not None:
            if answer := _read_answer(line):
                return answer
            self.screen.note(_EXPLANATION)
        # Ctrl-C at a question refuses this call and ends the run, as it does everywhere else.
        self.stop()
        return "no", _STOPPED


def _read_answer(text: str) -> tuple[str, str] | None:
    """Return `once`, `always` or `no`, with the reason; None if it is none of them.

    >>> _read_answer("once"), _read_answer("No, because the build is red.")
    (('once', ''), ('no', 'the build is red.'))
    >>> _read_answer("no"), _read_answer("nothing"), _read_answer("")
    (('no', ''), None, None)
    """
    match = _ANSWER.fullmatch(text.strip())
    if match is None:
        return None
    kind = str(match.lastgroup)
    return kind, match["no"] or ""


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
    pieces: list[str] = []
    for line in lines:
        if line is None:
            pieces.clear()
            continue
        pieces.append(line.removesuffix("\\"))
        if line.endswith("\\"):
            continue
        if text := "\n".join(pieces).strip():
            yield text
        pieces.clear()
    if text := "\n".join(pieces).strip():
        yield text


def _complete(words: list[str]) -> None:
    if readline is None:
        return

    def nth(begin: str, state: int) -> str | None:
        matches = [word for word in words if word.startswith(begin)] if begin else []
        return matches[state] if state < len(matches) else None

    readline.set_completer(nth)
    # By default a slash begins a new word.
    readline.set_completer_delims(" ")
    readline.parse_and_bind("tab: complete")
