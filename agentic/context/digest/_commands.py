"""Which commands ran and how they ended last: what failed and never succeeded later comes first.

A command is its last part, without `cd`, redirections and the filters behind it. A later success
clears a failure if the arguments are the same, or, for what runs tests and builds, the target.
"""

import posixpath
from collections.abc import Iterator, Sequence
from itertools import dropwhile

import attrs

from agentic.context.digest._cut import cut
from agentic.context.digest._outcome import error_line, exit_code, last_line, shows_error
from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import Part, split_command
from agentic.context.digest._turns import Called, Turn

__all__ = ["Command", "Commands"]

MAX_COMMANDS = 60
"""Commands that are remembered: more than there is room for, failing ones the longest."""
MAX_LABEL_CHARS = 80
"""Characters that name a command, and that two runs of the same share: a line of a terminal."""

# What only looks, or does to files what the section of files says: how it ended is no news.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which"""
_LOOKS = frozenset(_LOOKING.split()) | {
    f"git {verb}" for verb in ("add", "checkout", "diff", "log", "show", "stash", "status")
}
# What ends many commands and says nothing of them: `; echo $?`, `|| true`.
_TAILS = frozenset(["echo", "true", ":", "exit", "printf"])
# Run again and again with other options, to find out whether the same thing works by now.
_RUNNING = """bun cargo dotnet eslint go gradle jest make mvn mypy nox npm pnpm pytest ruff tox tsc
tsgo unittest vitest yarn"""
_RUNNERS = frozenset(_RUNNING.split())
# What starts another program that is then named.
_LAUNCHERS = frozenset(["python", "python3", "uv", "poetry", "npx", "bunx", "run", "-m"])


@attrs.define
class Command:
    """How one command ended, as often as it ran."""

    label: str
    """What names it for a reader."""
    runs: int
    outcome: str
    """The line that names the error, or else the last one that was printed."""
    code: int
    """The exit code, if one was stated."""
    failed: bool
    """Whether it failed the last time."""


@attrs.define
class Commands(Section[Command]):
    """The section of commands with their last outcome."""

    record = Command

    def take(self, turn: Turn) -> None:
        """Take in a command that has a result, or a call that names no file."""
        if not isinstance(turn, Called) or turn.result is None:
            return
        went_wrong, looks = turn.failed, False
        if turn.kind == "run":
            words, is_filtered = _main(split_command(turn.command))
            went_wrong = went_wrong or (is_filtered and shows_error(turn.result))
            looks = not _LOOKS.isdisjoint([*words[:1], " ".join(words[:2])])
        elif "todo" in turn.call.name or turn.paths:
            # Files are told by their section, and to-dos are where things stand.
            return
        else:
            words = [turn.label]
        if not words:
            return
        key = _key(words)
        before = self.known.pop(key, None)
        if looks and not went_wrong:
            return
        outcome = error_line(turn.result) if went_wrong else last_line(turn.result)
        if looks and not outcome:
            return
        label = cut(" ".join(words).replace("`", "'"), MAX_LABEL_CHARS)
        runs = before.runs + 1 if before else 1
        code = (exit_code(turn.result) or 0) if went_wrong else 0
        self.known[key] = Command(label, runs, outcome, code, went_wrong)
        if len(self.known) > MAX_COMMANDS:
            succeeded = (key for key, each in self.known.items() if not each.failed)
            del self.known[next(succeeded, next(iter(self.known)))]

    def failing(self) -> Iterator[Command]:
        """Yield what failed and never succeeded later, the newest first."""
        return (each for each in reversed(self.known.values()) if each.failed)

    def lines(self) -> Iterator[Line]:
        """Yield a line for each command that succeeded, the newest first."""
        succeeded = [each for each in self.known.values() if not each.failed]
        for age, each in enumerate(reversed(succeeded)):
            often = f"ran {each.runs}x; last: " if each.runs > 1 else ""
            yield Line(f"`{each.label}` ({often}{each.outcome or 'ok'})", rank=-age)


def _main(parts: Sequence[Part]) -> tuple[list[str], bool]:
    """Return the words of the part that a command is about, and whether another hides its code."""
    at = len(parts) - 1
    while at > 0 and (parts[at].piped or {*parts[at].words[:1]} & _TAILS):
        at -= 1
    words = parts[at].command if parts else []
    return [" ".join(word[:MAX_LABEL_CHARS].split()) for word in words], at < len(parts) - 1


def _key(words: Sequence[str]) -> str:
    """Return what two runs of the same command share.

    >>> _key(["python3", "-m", "pytest", "-x"]), _key(["npx", "tsc"]), _key(["/bin/ls", "-l"])
    ('pytest', 'tsc', 'ls -l')
    """
    program, *arguments = list(dropwhile(_LAUNCHERS.__contains__, words)) or words
    program = posixpath.basename(program)
    if program in _RUNNERS:
        arguments = [word for word in arguments if not word.startswith("-")]
    return " ".join([program, *arguments])[:MAX_LABEL_CHARS]
