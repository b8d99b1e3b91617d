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

import attrs

from agentic.context.digest._section import Fact, Line, Section
from agentic.context.digest._shell import What, effects, is_path, patch_effects, split_command
from agentic.context.digest._text import LINE, cut, one_line
from agentic.context.digest._tools import ON_FILES
from agentic.context.digest._turns import ENDS, TRACEBACK, Called, Kind, exit_code, refusal

MAX_NAMES = 10
"""The most files in one line. If there is no room for a line, all of it is left out."""

_WILDCARDS = frozenset("*?[")
_PATCHING = re.compile(r"^patching file '?([^'\n]+)", re.MULTILINE)
"""What `patch` prints. The patch itself may be in a file that was written much earlier."""

_BRIEF = LINE // 2 + 20
"""So much of an error is shown where there is little room. What a success says is shorter."""

# Commands that only look, or whose changes the section of files shows: success is not reported.
_LOOKING = """awk cat cd chmod cmp cp diff find grep head less ls mkdir mv nl patch pwd rg rm sed
sleep sort tail test touch tree wc which git-add git-checkout git-diff git-log git-show git-stash
git-status"""
_LOOKS = frozenset(_LOOKING.split())
# Commands at the end of many command lines that do not characterize them: `; echo $?`, `|| true`.
_TAILS = frozenset(["echo", "true", ":", "exit", "printf"])

_ERROR = re.compile(
    r"error|exception|interrupt|abort|\b(?:fatal|panic|cannot|denied|refused|not found|no such"
    r"|no module|unable|undefined|unexpected|invalid|timed out)\b",
    re.IGNORECASE,
)
"""What a line that names an error has. It is not `failed`: the line that counts has it, too."""
# The summary lines of go test, pytest, unittest, TAP and vitest, and the forms in which compilers
# name a place (https://www.gnu.org/prep/standards/html_node/Errors.html, 2026-11).
_PLACED = re.compile(
    r"[ \t]*(?:--- FAIL\b|FAIL(?:ED)?:? \S|not ok\b|[\u2717\u2716\u00d7] |E {2,}\S"
    r"|[^\s:(]+\.\w+(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):)(?!\s*(?:warning|note|info)\b) \S)"
)
_FAILED = re.compile(
    r"^(?:--- FAIL\b|FAIL(?:ED)?\b|not ok\b|npm (?:ERR!|error)|BUILD FAILED|Traceback \(most)"
    r"|\b[1-9]\d* (?:failed|errors?)\b|\b(?:failures|errors)=[1-9]|\berror (?:TS\d|\[E\d)",
    re.MULTILINE,
)
"""How test runners and compilers say that they failed, whatever the exit code of the pipe."""
_FAILED_WORDS = ("FAIL", "fail", "error", "not ok", "npm ERR!", "Traceback")
"""Each of its forms has one of these words, which is found much faster in a long output."""
_CAPTION = re.compile(
    r"(?:(?:\w+ )?exit(?:ed)?\b[\w ]*\b(?:code|status)\W*-?\d+|return_?code\W*-?\d+|error)\W*",
    re.IGNORECASE,
)
"""A line that states an exit code, or only that there is an error, and does not name it."""
_TAG = re.compile(r"</?[a-z_]+>")


class Files(Section):
    """Paths of files that are new, edited, deleted, or only read, for which the note is empty."""

    heading = "Files changed"
    takes: ClassVar[tuple[Kind, ...]] = ("call",)
    complete: ClassVar[float] = 0.35
    share: ClassVar[float] = 0.06
    shows_changed: ClassVar[bool] = True
    _newest_absolute: str | None = None
    """Empty if no absolute path is known; None if it must be looked up."""

    def take(self, turn: Called) -> None:
        """Add the effects of a call that has a result; nothing else changes files."""
        for path, what in _effects_of(turn):
            if is_path(path):
                key = self._key(path)
                if what in {"delete", "revert"} or key in self.known or _is_file(path, what):
                    self._apply(key, what)

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

    def facts(self) -> Iterator[Fact]:
        """Yield the files that were changed, newest first."""
        for path, state in reversed(self.known.items()) if self.shows_changed else ():
            if state:
                yield Fact(f"File changed: {path} ({state})", posixpath.basename(path) or path)

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
            names = [
                each
                for each in self.known
                if fnmatchcase(each, pattern) or f"{each}/".startswith(below)
            ]
        else:
            # In ASCII, "0" follows "/". One `rm` may have thousands of names, each for this list.
            start, end = (bisect_left(self._sorted, path + mark) for mark in "/0")
            names = [each[:-1] for each in self._sorted[start:end]]
        # Of files that were not seen before, only one deleted by its name is worth reporting.
        is_file = "." in posixpath.basename(path)[1:] and "*" not in path
        return names or [path] * (what == "delete" and is_file)

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
            if not self._newest_absolute:
                return path
            above = PurePosixPath(self._newest_absolute).parents
            others = (posixpath.normpath(f"{folder}/{path}") for folder in above)
        return next((each for each in others if each in self.known), path)


class FilesRead(Files):
    """The files that were read but not changed."""

    heading = "Files read"
    takes = ()  # it shares what `Files` has read
    complete, share = 0.0, 0.02
    shows_changed = False


@attrs.define
class Commands(Section):
    """Commands with the outcome of their last run, of which this section shows successes."""

    heading = "Commands"
    takes: ClassVar[tuple[Kind, ...]] = ("call",)
    shows: ClassVar[str] = " ("
    """The beginning of the outcomes that it shows."""

    _runs: dict[str, tuple[str, bool, bool, bool]] = attrs.field(factory=dict)
    """Of the newest run of each command: its output, and whether it failed, its output went to
    another command, and it only looks."""

    def take(self, turn: Called) -> None:
        """Add a command that has a result, or another call that names no file.

        One that the user refused has not run.
        """
        # Files, answers and to-dos have their own sections, and a search is no step of the work.
        if turn.output is None or turn.does not in {None, "run"}:
            return
        if turn.failed and refusal(turn.output) is not None:
            return
        words, is_piped = _main_words(turn.command) if turn.does == "run" else ([turn.label], False)
        if not words:
            return
        # The line shows it as code, which a backtick in it would end.
        label = cut(one_line(" ".join(words)).replace("`", "'"), LINE // 2)
        looks = turn.does == "run" and not _LOOKS.isdisjoint([words[0], "-".join(words[:2])])
        self.known.pop(label, None)
        self._runs.pop(label, None)
        self._runs[label] = turn.output, turn.failed, is_piped, looks

    def finish(self) -> None:
        """Look in the outputs of the newest runs for what they say."""
        for label, (output, failed, is_piped, looks) in self._runs.items():
            # The exit code is that of the last command of a pipe, such as `tail`.
            fails = failed or (is_piped and not looks and _says_failed(output))
            error = error_line(output) if fails else ""
            if error or not looks:
                words = error or _last_line(output)
                self.known[label] = f": {words or 'failed'}" if fails else f" ({words or 'ok'})"
        self._runs.clear()

    def lines(self) -> Iterator[Line]:
        """Yield a line for the commands that ended alike, or a few of them, newest first."""
        newest: dict[str, list[str]] = {}
        every: list[tuple[list[str], str]] = []
        for label, outcome in self.outcomes():
            if outcome not in newest or len(", ".join([*newest[outcome], label])) > LINE:
                newest[outcome] = []
                every.append((newest[outcome], outcome))
            newest[outcome].append(f"`{label}`")
        for labels, outcome in every:
            names = ", ".join(labels)
            yield Line(f"{names}{outcome}", f"{names}{cut(outcome, _BRIEF)}")

    def outcomes(self) -> Iterator[tuple[str, str]]:
        """Yield the commands that the section shows, each with its outcome, newest first."""
        for label, outcome in reversed(self.known.items()):
            if outcome.startswith(self.shows):
                yield label, outcome


class Failures(Commands):
    """Commands that failed and did not succeed later, with the line that names the error."""

    heading = "Commands that still fail"
    takes = ()
    complete, share = 0.12, 0.08
    shows = ":"

    def facts(self) -> Iterator[Fact]:
        """Yield what still fails, newest first."""
        for label, outcome in self.outcomes():
            yield Fact(f"Still fails: `{label}`{outcome}")


def _is_file(path: str, what: What) -> bool:
    """Return whether a path names a file rather than a folder or several files.

    >>> [_is_file(path, "read") for path in ("a.py", "Makefile", ".env", "src", "src/", "*.ts")]
    [True, True, True, False, False, False]
    """
    name = posixpath.basename(path)
    if not _WILDCARDS.isdisjoint(path) or name in {"", ".", ".."}:
        return False
    # What is written may be a script without a suffix; what is read without one may be a folder.
    return what != "read" or "." in name or not name.islower()


def _effects_of(turn: Called) -> Iterator[tuple[str, What]]:
    if turn.output is None:
        return
    if turn.does == "run":
        yield from effects(turn.command, is_error=turn.failed)
        if "patching file " in turn.output and not turn.failed:
            yield from ((path, "edit") for path in _PATCHING.findall(turn.output))
    elif not turn.failed:
        yield from ((path, turn.does) for path in turn.paths if turn.does in ON_FILES)
        # `apply_patch` names its files in the patch alone.
        if turn.does == "edit" and not turn.paths:
            yield from patch_effects("\n".join(map(str, turn.arguments.values())))


def _says_failed(output: str) -> bool:
    return any(word in output for word in _FAILED_WORDS) and bool(_FAILED.search(output))


def _main_words(command: str) -> tuple[list[str], bool]:
    """Return the words of the main part of a command, and whether its output goes to another."""
    parts = list(split_command(command))
    is_piped = False
    while len(parts) > 1 and (parts[-1].piped or {*parts[-1].words[:1]} & _TAILS):
        is_piped = parts.pop().piped or is_piped
    return (parts[-1].words if parts else []), is_piped


def error_line(output: str) -> str:
    r"""Return the line that names the error, shortened if it is long; empty if there is none.

    >>> error_line("Exit code 1\nthe error was seen\n--- FAIL: TestParse (0.00s)")
    '--- FAIL: TestParse (0.00s)'
    """
    lines = _TAG.sub("", output).split("\n")
    # The last error of a traceback was raised; the first one of a compiler explains the others.
    if TRACEBACK in output:
        line = next(filter(_names_error, reversed(lines)), "")
    else:
        line = next(filter(_PLACED.match, lines), "") or next(filter(_names_error, lines), "")
    return cut(one_line(line), LINE)


def _names_error(line: str) -> bool:
    return bool(_ERROR.search(line)) and not _CAPTION.fullmatch(line.strip())


def _last_line(output: str) -> str:
    """Return the last line that a program printed; empty if that line is long."""
    lines = (line for line in reversed(output[-ENDS:].split("\n")) if not exit_code(line))
    texts = (_TAG.sub("", line).strip() for line in lines)
    last = next((text for text in texts if text not in {"", "(no output)"}), "")
    return one_line(last) if len(last) <= LINE // 2 else ""
