"""Which commands ran and how their last runs ended.

A command line is named by its last part, without `cd`, redirections and the filters after it, as
far as half a line has room for it. A failure is cleared when the same name succeeds later.
"""

import re
from collections.abc import Iterator
from typing import ClassVar

from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import split_command
from agentic.context.digest._text import LINE, cut, one_line
from agentic.context.digest._turns import ENDS, TRACEBACK, Called, Kind, exit_code

__all__ = ["Commands", "Failures", "error_line"]

# Commands that only look, or whose changes the section of files shows: success is not reported.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which git-add git-checkout git-diff git-log git-show git-stash
git-status"""
_LOOKS = frozenset(_LOOKING.split())
# Commands at the end of many command lines that do not characterize them: `; echo $?`, `|| true`.
_TAILS = frozenset(["echo", "true", ":", "exit", "printf"])

_ERROR = re.compile(
    r"error|exception|interrupt|\b(?:fatal|panic|cannot|denied|refused|not found|no such|no module"
    r"|unable|undefined|unexpected|invalid|timed out)\b",
    re.IGNORECASE,
)
"""What a line that names an error has. It is not `failed`: the line that counts has it, too."""
_TAG = re.compile(r"</?[a-z_]+>")


class Commands(Section):
    """Commands with the outcome of their last run, of which this section shows successes."""

    heading = "Commands"
    takes: ClassVar[tuple[Kind, ...]] = ("call",)
    shows: ClassVar[str] = " ("
    """The beginning of the outcomes that it shows."""

    def take(self, turn: Called) -> None:
        """Add a command that has a result, or another call that names no file."""
        # Files have their own section, and to-dos belong to "Where things stand".
        if turn.output is None or turn.paths or "todo" in turn.call.name:
            return
        words = _main_words(turn.command) if turn.does == "run" else [turn.label]
        if not words:
            return
        label = cut(one_line(" ".join(words)).replace("`", "'"), LINE // 2)
        self.known.pop(label, None)
        looks = turn.does == "run" and not _LOOKS.isdisjoint([words[0], "-".join(words[:2])])
        error = error_line(turn.output) if turn.failed else ""
        if error or not looks:
            told = error or _last_line(turn.output)
            self.known[label] = f": {told or 'failed'}" if turn.failed else f" ({told or 'ok'})"

    def lines(self) -> Iterator[Line]:
        """Yield a line for each command, newest first."""
        for label, outcome in reversed(self.known.items()):
            if outcome.startswith(self.shows):
                yield Line(f"`{label}`{outcome}")


class Failures(Commands):
    """Commands that failed and did not succeed later, with the line that names the error."""

    heading = "Commands that still fail"
    takes = ()
    shows = ":"


def _main_words(command: str) -> list[str]:
    """Return the words of the main part of a command.

    >>> _main_words("cd src && make test 2>&1 | tail -3; echo $?")
    ['make', 'test']
    """
    parts = list(split_command(command))
    while parts[1:] and (parts[-1].piped or {*parts[-1].words[:1]} & _TAILS):
        parts.pop()
    return parts[-1].words if parts else []


def error_line(output: str) -> str:
    """Return the line that names the error, shortened if it is long; empty if there is none."""
    lines = [line for line in _TAG.sub("", output).split("\n") if _ERROR.search(line)]
    # The last error of a traceback was raised; the first one of a compiler explains the others.
    told = lines[-1:] if TRACEBACK in output else lines[:1]
    return cut(one_line("".join(told)), LINE)


def _last_line(output: str) -> str:
    """Return the last line that a program printed; empty if that line is long."""
    lines = (line for line in reversed(output[-ENDS:].split("\n")) if not exit_code(line))
    texts = (_TAG.sub("", line).strip() for line in lines)
    last = next((text for text in texts if text not in {"", "(no output)"}), "")
    return one_line(last) if len(last) <= LINE // 2 else ""
