"""What the calls of a conversation did: which files they changed or read, which commands ran.

A file that was restored, or created and then deleted, does not count as changed. A command line is
named by its last part, without `cd`, redirections and the filters after it, as far as half a line
has room for it. A failure is cleared when the same name succeeds later.
"""

import posixpath
import re
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import PurePosixPath
from typing import ClassVar

from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import What, effects, is_path, patch_effects, split_command
from agentic.context.digest._text import LINE, cut, one_line
from agentic.context.digest._turns import ENDS, TRACEBACK, Called, Kind, exit_code

MAX_NAMES = 10
"""The most files in one line. If there is no room for a line, all of it is left out."""

_WILDCARDS = frozenset("*?[")
_PATCHING = re.compile(r"^patching file '?([^'\n]+)", re.MULTILINE)
"""What `patch` prints. The patch itself may be in a file that was written much earlier."""

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


class Files(Section):
    """Paths of files that are new, edited, deleted, or only read, for which the note is empty."""

    heading = "Files changed"
    takes: ClassVar[tuple[Kind, ...]] = ("call",)
    is_complete = True
    shows_changed: ClassVar[bool] = True
    _newest_absolute: str | None = None
    """Empty if no absolute path is known; None if it must be looked up."""

    def take(self, turn: Called) -> None:
        """Add the effects of a call that has a result; nothing else changes files."""
        for path, what in _effects_of(turn):
            if is_path(path):
                self._apply(self._key(path), what)

    def lines(self) -> Iterator[Line]:
        """Yield lines with the files of a folder, newest first."""
        folders = defaultdict(list)
        for path, state in reversed(self.known.items()):
            if bool(state) == self.shows_changed:
                folder, name = posixpath.split(path)
                folders[folder].append(f"{name} ({state})" if state else name)
        for folder, names in folders.items():
            prefix = f"{folder.rstrip('/')}/: " if folder else ""
            for at in range(0, len(names), MAX_NAMES):
                yield Line(prefix + ", ".join(names[at : at + MAX_NAMES]))

    def add(self, text: str, note: str = "") -> None:
        """Add a path with its state; if it is known already, it becomes the newest."""
        if text not in self.known:
            insort(self._sorted, f"{text}/")
        if text.startswith("/"):
            self._newest_absolute = text
        super().add(text, note)

    def _apply(self, path: str, what: What) -> None:
        if what in {"delete", "revert"}:
            for each in self._named(path, what):
                if each not in self.known:
                    self.add(each, "deleted")
                elif self.known[each] != "new":
                    self.known[each] = "deleted" if what == "delete" else ""
                elif what == "delete":
                    # Only then from `known`, which the list is made from when it is first used.
                    del self._sorted[bisect_left(self._sorted, f"{each}/")], self.known[each]
                    if each == self._newest_absolute:
                        self._newest_absolute = None
            return
        state = self.known.get(path, "new" if what == "write" else "")
        self.add(path, state if what == "read" or state == "new" else "edited")

    @cached_property
    def _sorted(self) -> list[str]:
        """The known paths in order, each with a slash after it."""
        return sorted(f"{each}/" for each in self.known)

    def _named(self, path: str, what: What) -> list[str]:
        """Return the known files that match a path, a folder or a pattern."""
        if path == "." or not _WILDCARDS.isdisjoint(path):
            pattern, below = "*" if path == "." else path, f"{path}/"
            found = [
                each
                for each in self.known
                if fnmatchcase(each, pattern) or f"{each}/".startswith(below)
            ]
        else:
            # In ASCII, "0" follows "/". One `rm` may have thousands of names, each for this list.
            start, end = (bisect_left(self._sorted, path + mark) for mark in "/0")
            found = [each[:-1] for each in self._sorted[start:end]]
        # Of files that were not seen before, only one deleted by its name is worth reporting.
        is_file = "." in posixpath.basename(path)[1:] and "*" not in path
        return found or [path] * (what == "delete" and is_file)

    def _key(self, path: str) -> str:
        """Return the path by which a file is known, so that absolute and relative paths match."""
        path = posixpath.normpath(path)
        if path in self.known:
            return path
        if path.startswith("/"):
            below = (path[at + 1 :] for at, mark in enumerate(path) if mark == "/")
            others = (each for each in below if "/" in each)
        else:
            # It is taken to start in the folder of the newest absolute one, or above it.
            if self._newest_absolute is None:
                newest_first = reversed(self.known)
                self._newest_absolute = next((p for p in newest_first if p.startswith("/")), "")
            above = PurePosixPath(self._newest_absolute).parents
            others = (posixpath.normpath(f"{folder}/{path}") for folder in above)
        return next((each for each in others if each in self.known), path)


class FilesRead(Files):
    """The files that were read but not changed."""

    heading = "Files read"
    takes = ()  # it shares what `Files` has read
    is_complete = False
    shows_changed = False


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
        # The line shows it as code, which a backtick in it would end.
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


def _effects_of(turn: Called) -> Iterator[tuple[str, What]]:
    if turn.output is None:
        return
    if turn.does == "run":
        yield from effects(turn.command, failed=turn.failed)
        if "patching file " in turn.output and not turn.failed:
            yield from ((path, "edit") for path in _PATCHING.findall(turn.output))
    elif not turn.failed:
        yield from ((path, turn.does) for path in turn.paths if turn.does)
        # `apply_patch` names its files in the patch alone.
        if turn.does == "edit" and not turn.paths:
            yield from patch_effects("\n".join(map(str, turn.arguments.values())))


def _main_words(command: str) -> list[str]:
    """Return the words of the main part of a command."""
    parts = list(split_command(command))
    while len(parts) > 1 and (parts[-1].piped or {*parts[-1].words[:1]} & _TAILS):
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
