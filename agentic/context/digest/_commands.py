"""Which commands ran and how they ended last: what failed and never succeeded later comes first.

A command is its last part, without `cd`, redirections and the filters behind it. A later success
clears a failure if the arguments are the same, or, for what runs tests and builds, the target.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

import attrs
from attrs.validators import instance_of

from agentic.context.digest._cut import cut
from agentic.context.digest._outcome import error_line, failed, last_line
from agentic.context.digest._section import Line
from agentic.context.digest._shell import Part, split_command
from agentic.context.digest._tools import ToolTable
from agentic.context.digest._turns import Called, Turn

__all__ = ["Command", "Commands"]

MAX_COMMANDS = 60
"""Commands that are remembered: more than there is room for, failing ones the longest."""
MAX_LABEL_CHARS = 80
"""Longest name of a command: one line of a terminal."""

# What only looks, or does to files what the section of files says: how it ended is no news.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which"""
_LOOKS = frozenset(_LOOKING.split()) | {
    f"git {verb}" for verb in ("add", "checkout", "diff", "log", "show", "stash", "status")
}
# What ends many commands and says nothing of them: `; echo $?`, `|| true`.
_TAILS = frozenset(["echo", "true", ":", "exit", ")", "printf"])
# Run again and again with other options, to find out whether the same thing works by now.
_RUNNING = """bun cargo dotnet eslint go gradle jest make mvn mypy nox npm pnpm pytest ruff tox tsc
tsgo unittest vitest yarn"""
_RUNNERS = frozenset(_RUNNING.split())
_LAUNCHERS = frozenset(["python", "python3", "uv", "poetry", "npx", "bunx"])


_SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*")


@attrs.define
class Command:
    """How one command ended, as often as it ran."""

    label: str = attrs.field(validator=instance_of(str))
    """What names it for a reader."""
    kind: str = attrs.field(default="", validator=instance_of(str))
    """Its program with the subcommand: commands of one kind share a line."""
    runs: int = attrs.field(default=0, validator=instance_of(int))
    last: int = attrs.field(default=0, validator=instance_of(int))
    """When it ran last, as a number that grows."""
    failed: bool = attrs.field(default=False, validator=instance_of(bool))
    """Whether it failed the last time."""
    outcome: str = attrs.field(default="", validator=instance_of(str))
    """The line that names the error, or else the last one that was printed: see `said`."""
    turn: Called | None = None
    """The run itself, until its last line is read: most are run again before that."""

    def said(self) -> str:
        """Return the line that says how it ended; empty if none does."""
        if self.turn is not None and not self.failed:
            self.outcome = last_line(self.turn)
        self.turn = None
        return self.outcome


@attrs.define
class Commands:
    """The section of commands with their last outcome."""

    tools: ToolTable = attrs.field(factory=ToolTable)
    clock: int = 0
    commands: dict[str, Command] = attrs.field(factory=dict)

    def take(self, turn: Turn) -> None:
        """Take in a command that has a result, or a call that names no file."""
        if not isinstance(turn, Called) or turn.result is None:
            return
        if turn.kind == "run":
            words, hidden = _main(split_command(self.tools.command_of(turn.arguments)))
        else:
            # Files are told by their section, and to-dos are where things stand.
            is_told = bool(turn.kind and self.tools.paths_of(turn.arguments))
            words = [] if is_told or "todo" in turn.call.name else [turn.label]
            hidden = False
        if not words:
            return
        self.clock += 1
        bare = _bare(words)
        key, kind = _key(bare), _kind(bare) if turn.kind == "run" else turn.call.name
        before = self.commands.pop(key, Command(""))
        went_wrong = failed(turn, hidden=hidden)
        looks = turn.kind == "run" and (words[0] in _LOOKS or kind in _LOOKS)
        if looks and not went_wrong:
            return
        outcome = error_line(turn) if went_wrong else ""
        if looks and not outcome:
            return
        label = cut(" ".join(words).replace("`", "'"), MAX_LABEL_CHARS)
        runs = before.runs + 1
        self.commands[key] = Command(label, kind, runs, self.clock, went_wrong, outcome, turn)
        if len(self.commands) > MAX_COMMANDS:
            succeeded = (key for key, each in self.commands.items() if not each.failed)
            del self.commands[next(succeeded, next(iter(self.commands)))]

    def failing(self) -> list[Command]:
        """Return what failed and never succeeded later and says why, the newest first."""
        found = [each for each in self.commands.values() if each.failed and each.outcome]
        return sorted(found, key=lambda each: -each.last)

    def lines(self) -> Iterator[Line]:
        """Yield one line for each kind of command, the newest first; not what is `failing`."""
        kinds: dict[tuple[bool, str], list[Command]] = {}
        for each in sorted(self.commands.values(), key=lambda each: -each.last):
            if not (each.failed and each.outcome):
                kinds.setdefault((each.failed, each.kind), []).append(each)
        for (fails, kind), found in kinds.items():
            newest, runs = found[0], sum(each.runs for each in found)
            others = f" and {len(found) - 1} more of `{kind}`" if len(found) > 1 else ""
            often = f"ran {runs}x; last: " if runs > 1 else ""
            said = "failed" if fails else newest.said() or "ok"
            yield Line(f"`{newest.label}`{others} ({often}{said})", rank=newest.last)

    def to_plain(self) -> Any:
        """Return the commands as plain JSON; None if there are none."""
        if not self.commands:
            return None
        for each in self.commands.values():
            each.said()
        return [
            [key, attrs.asdict(each, filter=lambda _, value: bool(value))]
            # What fails is at the end, where notes that grow too large are shortened last.
            for key, each in sorted(self.commands.items(), key=lambda item: item[1].failed)
        ]

    def restore(self, plain: Any) -> None:
        """Go on from what `to_plain` returned. What is damaged is passed over."""
        self.commands = {}
        for entry in plain if isinstance(plain, list) else ():
            match entry:
                case [str(key), dict(fields)]:
                    # Wrong fields, or wrong types of them.
                    with suppress(TypeError, ValueError):
                        self.commands[key] = Command(**fields)
        self.clock = max((each.last for each in self.commands.values()), default=0)


def _main(parts: Sequence[Part]) -> tuple[list[str], bool]:
    """Return the words of the part that a command is about, and whether another hides its code."""
    at = len(parts) - 1
    while at > 0 and (parts[at].piped or {*parts[at].words[:1]} & _TAILS):
        at -= 1
    words = parts[at].command if parts else []
    return [" ".join(word.split()) for word in words], at < len(parts) - 1


def _bare(words: Sequence[str]) -> list[str]:
    """Return the words from the program on that an interpreter or a launcher starts.

    >>> _bare(["python3", "-m", "pytest", "-x"]), _bare(["npx", "tsc"]), _bare(["/bin/ls"])
    (['pytest', '-x'], ['tsc'], ['ls'])
    """
    found = [posixpath.basename(words[0]), *words[1:]]
    launched = found[2:] if found[1:2] in (["-m"], ["run"]) else found[1:]
    if found[0] in {"npx", "bunx"} or (found[0] in _LAUNCHERS and launched != found[1:]):
        return _bare(launched) if launched else found
    return found


def _key(bare: Sequence[str]) -> str:
    """Return what two runs of the same command share."""
    program, *arguments = bare
    if program in _RUNNERS:
        arguments = [word for word in arguments if not word.startswith("-")]
    key = " ".join([program, *arguments])
    if len(key) <= MAX_LABEL_CHARS:
        return key
    # Scripts are arguments, too: what the next generation is handed must stay small.
    return f"{key[:MAX_LABEL_CHARS]} {crc32(key.encode(errors='surrogatepass')):x}"


def _kind(bare: Sequence[str]) -> str:
    """Return the program and its subcommand, if it has one.

    >>> _kind(["npm", "run", "check"]), _kind(["git", "-p", "log"]), _kind(["python", "a.py"])
    ('npm run check', 'git log', 'python')
    """
    program, *arguments = bare
    subcommands = [word for word in arguments if not word.startswith("-")][:2]
    if subcommands[:1] != ["run"]:
        subcommands = subcommands[:1]
    return " ".join([program, *(word for word in subcommands if _SUBCOMMAND.fullmatch(word))])
