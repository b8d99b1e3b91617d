"""Which commands ran and how they ended last: what failed and never succeeded later comes first.

A command is its last part, without `cd`, redirections and the filters behind it. A later success
of the same words clears a failure.
"""

from collections.abc import Iterator

import attrs

from agentic.context.digest._outcome import error_line, last_line
from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import split_command
from agentic.context.digest._text import cut
from agentic.context.digest._turns import Called

__all__ = ["Command", "Commands"]

LABEL_CHARS = 80
"""Characters that name a command, and that two runs of the same share: a line of a terminal."""

# What only looks, or does to files what the section of files says: how it ended is no news.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which git-add git-checkout git-diff git-log git-show git-stash
git-status"""
_LOOKS = frozenset(_LOOKING.split())
# What ends many commands and says nothing of them: `; echo $?`, `|| true`.
_TAILS = frozenset(["echo", "true", ":", "exit", "printf"])


@attrs.define
class Command:
    """How one command ended, as often as it ran."""

    runs: int
    outcome: str
    """The line that names the error, or else the last one that was printed."""
    failed: bool
    """Whether it failed the last time."""


@attrs.define
class Commands(Section[Command]):
    """The section of commands with their last outcome."""

    heading = "Commands"
    noun = "commands"
    takes = ("call",)
    record = Command

    def take(self, turn: Called) -> None:
        """Take in a command that has a result, or a call that names no file."""
        # Files are told by their section, and to-dos are where things stand.
        if turn.result is None or turn.paths or "todo" in turn.call.name:
            return
        is_run = turn.does == "run"
        if not (words := _main_words(turn.command) if is_run else [turn.label]):
            return
        label = cut(" ".join(words).replace("`", "'"), LABEL_CHARS)
        former = self.known.pop(label, None)
        outcome = error_line(turn.result) if turn.failed else last_line(turn.result)
        looks = is_run and not _LOOKS.isdisjoint([words[0], "-".join(words[:2])])
        if not looks or (turn.failed and outcome):
            self.known[label] = Command(former.runs + 1 if former else 1, outcome, turn.failed)

    def failing(self) -> Iterator[tuple[str, str]]:
        """Yield what failed and never succeeded later, with the error, the newest first."""
        for label, each in reversed(self.known.items()):
            if each.failed:
                yield label, each.outcome

    def lines(self) -> Iterator[Line]:
        """Yield a line for each command that succeeded, the newest first."""
        for label, each in reversed(self.known.items()):
            if not each.failed:
                often = f"ran {each.runs}x; last: " if each.runs > 1 else ""
                yield Line(f"`{label}` ({often}{each.outcome or 'ok'})")


def _main_words(command: str) -> list[str]:
    """Return the words of the part that a command is about.

    >>> _main_words("cd src && make test 2>&1 | tail -3; echo $?")
    ['make', 'test']
    """
    parts = list(split_command(command))
    while parts[1:] and (parts[-1].piped or {*parts[-1].words[:1]} & _TAILS):
        parts.pop()
    words = parts[-1].words if parts else []
    return [" ".join(word[:LABEL_CHARS].split()) for word in words]
