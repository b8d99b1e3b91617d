"""Which commands ran and how their last runs ended, and where things stand.

A command line is named by its last part, without `cd`, redirections and the filters after it. A
failure is cleared when the same words succeed later.
"""

import re
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._section import STORED_CHARS, Line, Section
from agentic.context.digest._shell import split_command
from agentic.context.digest._text import LINE, PARAGRAPH, cut, one_line
from agentic.context.digest._turns import ENDS, TRACEBACK, Called, Words, exit_code

__all__ = ["Command", "Commands", "Status", "error_line"]

LABEL_CHARS = 80
"""The length of a command's label, one line of a terminal. Commands with the same label are counted
as runs of the same command."""

# Commands that only look, or that change files as the section of files already says. A success is
# not worth reporting.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which git-add git-checkout git-diff git-log git-show git-stash
git-status"""
_LOOKS = frozenset(_LOOKING.split())
# Commands at the end of many command lines that do not characterize them: `; echo $?`, `|| true`.
_TAILS = frozenset(["echo", "true", ":", "exit", "printf"])

_NAMED_ERROR = re.compile(
    r"^[ \t]*(?:E +)?[\w.]*(?:Error|Exception|Exit|Interrupt)\b(?::.*)?$", re.MULTILINE
)
_ERROR_WORD = re.compile(
    r"\b(?:errors?|fatal|panic|failed|failure|exception|cannot|denied|refused|not found|no such|"
    r"no module|unable|undefined|unexpected|invalid|timed out)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-z_]+>")

# The keys under which to-do lists keep the text of an item, and the states of finished items.
_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}


@attrs.define
class Command:
    """How often a command ran, and how its last run ended."""

    runs: int
    outcome: str
    """The line that names the error, or otherwise the last line that was printed."""
    failed: bool
    """Whether the last run failed."""


@attrs.define
class Commands(Section[Command]):
    """The section that lists commands with their last outcome."""

    heading = "Commands"
    noun = "commands"
    takes = ("call",)
    record = Command

    def take(self, turn: Called) -> None:
        """Add a command that has a result, or another call that names no file."""
        # Files have their own section, and to-dos belong to "Where things stand".
        if turn.output is None or turn.paths or "todo" in turn.call.name:
            return
        is_run = turn.does == "run"
        if not (words := _main_words(turn.command) if is_run else [turn.label]):
            return
        label = cut(one_line(" ".join(words)).replace("`", "'"), LABEL_CHARS)
        former = self.known.pop(label, None)
        looks = is_run and not _LOOKS.isdisjoint([words[0], "-".join(words[:2])])
        error = error_line(turn.output) if turn.failed else ""
        if error or not looks:
            runs = former.runs + 1 if former else 1
            self.known[label] = Command(runs, error or _last_line(turn.output), turn.failed)

    def failing(self) -> Iterator[str]:
        """Yield commands that failed and did not succeed later, with the error, newest first."""
        for label, each in reversed(self.known.items()):
            if each.failed:
                yield f"`{label}`" + (f": {each.outcome}" if each.outcome else "")

    def lines(self) -> Iterator[Line]:
        """Yield a line for each command that succeeded, newest first."""
        for label, each in reversed(self.known.items()):
            if not each.failed:
                often = f"ran {each.runs}x; last: " if each.runs > 1 else ""
                yield Line(f"`{label}` ({often}{each.outcome or 'ok'})")


@attrs.define
class _State:
    text: str
    """The last reply, or waiting calls or to-dos, one per line."""
    ref: str = ""
    """The reference of the reply's message."""


@attrs.define
class Status(Section[_State]):
    """The last reply, the calls that wait for a result, and the open to-dos.

    The keys of `known` are `reply`, `waiting` and `todos`.
    """

    heading = "Where things stand"
    noun = "items"
    takes = ("request", "reply", "call")
    record = _State
    commands: Commands = attrs.field(kw_only=True)
    """The section that knows which commands failed and did not succeed later."""

    def take(self, turn: Words | Called) -> None:
        """Update the state from a turn."""
        if isinstance(turn, Words):
            self.known.pop("waiting", None)
            if turn.kind == "reply":
                self.known["reply"] = _State(cut(turn.text.strip(), STORED_CHARS), turn.ref)
            return
        if turn.output is None:
            waiting = self.known.setdefault("waiting", _State(""))
            waiting.text += f"Called, no result yet: {turn.label}\n"
        for value in turn.arguments.values():
            todos = [_todo(item) for item in value] if isinstance(value, list) else []
            if todos and None not in todos:
                self.known["todos"] = _State("\n".join(filter(None, todos)))

    def lines(self) -> Iterator[Line]:
        """Yield the last reply, calls without a result, open to-dos, and failed commands."""
        if reply := self.known.get("reply"):
            yield Line(reply.text, cut(one_line(reply.text), PARAGRAPH), 2, reply.ref)
        for name in ("waiting", "todos"):
            text = self.known[name].text if name in self.known else ""
            yield from (Line(line, rank=1) for line in text.split("\n") if line)
        yield from (Line(f"Failed: {each}") for each in self.commands.failing())


def _todo(item: Any) -> str | None:
    """Return the text of a to-do, empty if it is closed; None if the item is not a to-do."""
    if not isinstance(item, dict) or not isinstance(status := item.get("status"), str):
        return None
    text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
    if text is None or status.casefold() in _CLOSED:
        return text and ""
    state = "" if status == "pending" else f" ({one_line(status)})"
    return cut(f"To do: {one_line(text)}", PARAGRAPH) + state


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
    text = _TAG.sub("", output)
    # The last error of a traceback is the one that was raised. A line with a message is preferred
    # to a bare name.
    named = sorted(_NAMED_ERROR.findall(text), key=lambda line: ":" in line)
    lines = named[-1:] or [line for line in text.split("\n") if _ERROR_WORD.search(line)]
    told = (line for line in lines if TRACEBACK not in line and not _is_code(line))
    return cut(one_line(next(told, "")), LINE)


def _last_line(output: str) -> str:
    """Return the last line that a program printed; empty if that line is long."""
    lines = [line for line in output[-ENDS:].split("\n") if not _is_code(line)]
    last = next((text for line in reversed(lines) if (text := _TAG.sub("", line).strip())), "")
    return one_line(last) if len(last) <= LINE // 2 else ""


def _is_code(line: str) -> bool:
    """Return whether a line only states the exit code or that nothing was printed."""
    return line == "(no output)" or (len(line) < LINE // 2 and bool(exit_code(line)))
