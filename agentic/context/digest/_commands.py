"""Which commands ran and how they ended last, and where things stand.

A command is its last part, without `cd`, redirections and the filters behind it. A later success
of the same words clears a failure.
"""

import re
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._section import MAIN, STORED_CHARS, Line, Section
from agentic.context.digest._shell import split_command
from agentic.context.digest._text import LINE, PARAGRAPH, cut, one_line
from agentic.context.digest._turns import ENDS, TRACEBACK, Called, Words, exit_codes
from agentic.messages import ToolResult

__all__ = ["Command", "Commands", "Status", "error_line"]

LABEL_CHARS = 80
"""Characters that name a command, and that two runs of it share: a line of a terminal."""

# What only looks, or does to files what the section of files says: how it ended is no news.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which git-add git-checkout git-diff git-log git-show git-stash
git-status"""
_LOOKS = frozenset(_LOOKING.split())
# What ends many commands and says nothing of them: `; echo $?`, `|| true`.
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

# How lists of to-dos call what is to be done, and what is done.
_TEXTS = ("content", "text", "title", "task", "step", "description")
_CLOSED = {"completed", "complete", "done", "closed", "cancelled", "canceled", "skipped"}


@attrs.define
class Command:
    """How one command ended, as often as it ran."""

    runs: int
    outcome: str
    """The line that names the error, or else the last one that was printed."""
    code: str
    """The exit code, if one was stated."""
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
        looks = is_run and not _LOOKS.isdisjoint([words[0], "-".join(words[:2])])
        if turn.failed or not looks:
            outcome = error_line(turn.result) if turn.failed else _last_line(turn)
            if outcome or not looks:
                runs = former.runs + 1 if former else 1
                self.known[label] = Command(runs, outcome, turn.exit_code, turn.failed)

    def failing(self) -> Iterator[str]:
        """Yield what failed and never succeeded later, with the error, the newest first."""
        for label, each in reversed(self.known.items()):
            if each.failed:
                code = f" (exit {each.code})" if each.code.strip("0") else ""
                yield f"`{label}`{code}" + (f": {each.outcome}" if each.outcome else "")

    def lines(self) -> Iterator[Line]:
        """Yield a line for each command that succeeded, the newest first."""
        for label, each in reversed(self.known.items()):
            if not each.failed:
                often = f"ran {each.runs}x; last: " if each.runs > 1 else ""
                yield Line(f"`{label}` ({often}{each.outcome or 'ok'})")


@attrs.define
class _State:
    text: str
    """What was said last, or calls or to-dos, one a line."""
    ref: str = ""
    """The message that it is from, if that is longer than what is shown at least."""


@attrs.define
class Status(Section[_State]):
    """The last reply, the calls that wait for a result, and the open to-dos, under these names."""

    heading = "Where things stand"
    noun = "items"
    takes = ("request", "reply", "call")
    share = MAIN
    record = _State
    commands: Commands = attrs.field(kw_only=True)
    """Knows which of them failed and never succeeded later."""

    def take(self, turn: Words | Called) -> None:
        """Take in what changes the state."""
        if isinstance(turn, Words):
            self.known.pop("waiting", None)
            if turn.kind == "reply":
                ref = turn.ref if len(turn.text) > PARAGRAPH else ""
                self.known["reply"] = _State(cut(turn.text.strip(), STORED_CHARS), ref)
            return
        if turn.result is None:
            waiting = self.known.setdefault("waiting", _State(""))
            waiting.text += f"Called, no result yet: {turn.label}\n"
        for value in turn.arguments.values():
            todos = [_todo(item) for item in value] if isinstance(value, list) else []
            if todos and None not in todos:
                self.known["todos"] = _State("\n".join(filter(None, todos)))

    def lines(self) -> Iterator[Line]:
        """Yield the last words, what has no result, what is to be done, and what failed."""
        if reply := self.known.get("reply"):
            yield Line(reply.text, cut(one_line(reply.text), PARAGRAPH), 2, reply.ref)
        for name in ("waiting", "todos"):
            text = self.known[name].text if name in self.known else ""
            yield from (Line(line, rank=1) for line in text.split("\n") if line)
        yield from (Line(f"Failed: {each}") for each in self.commands.failing())


def _todo(item: Any) -> str | None:
    """Return a to-do, an empty text if it is closed; None if it is no to-do."""
    if not isinstance(item, dict) or not isinstance(status := item.get("status"), str):
        return None
    text = next((item[key] for key in _TEXTS if isinstance(item.get(key), str)), None)
    if text is None or status.casefold() in _CLOSED:
        return text and ""
    state = "" if status == "pending" else f" ({one_line(status)})"
    return cut(f"To do: {one_line(text)}", PARAGRAPH) + state


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


def error_line(result: ToolResult) -> str:
    """Return the line that names the error, if it is long the beginning; empty if none does."""
    message = result.error.message if result.error else ""
    text = _TAG.sub("", f"{result.output}\n{message}")
    # The last error of a traceback is the one that was raised; a bare name says too little.
    named = sorted(_NAMED_ERROR.findall(text), key=lambda line: ":" in line)
    lines = named[-1:] or [line for line in text.split("\n") if _ERROR_WORD.search(line)]
    told = (line for line in lines if TRACEBACK not in line and not _is_code(line))
    return cut(one_line(next(told, "")), LINE)


def _last_line(turn: Called) -> str:
    """Return the last line that a program printed, if it is a short one."""
    lines = [line for line in turn.output[-ENDS:].split("\n") if not _is_code(line)]
    last = next((text for line in reversed(lines) if (text := _TAG.sub("", line).strip())), "")
    return one_line(last) if len(last) <= LINE // 2 else ""


def _is_code(line: str) -> bool:
    """Return whether a line only states the exit code, or that nothing was printed."""
    return line == "(no output)" or (len(line) < LINE // 2 and bool(exit_codes(line)))
