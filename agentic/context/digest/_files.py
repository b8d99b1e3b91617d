"""Which files a conversation changed, what happened to each, and which files it only read.

A failed call changes nothing. A file that was restored, or created and then deleted, does not count
as changed.
"""

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import ClassVar

from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import Effect, What, effects, is_path, patch_effects
from agentic.context.digest._turns import Called, Kind

__all__ = ["Files", "FilesRead"]

MAX_NAMES = 10
"""The most files in one line. If there is no room for a line, all of it is left out."""

_PATCHING = re.compile(r"^patching file '?([^'\n]+)", re.MULTILINE)
"""What `patch` prints. The patch itself may be in a file that was written much earlier."""


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

    def _apply(self, path: str, what: What) -> None:
        if what in {"delete", "revert"}:
            for each in self._named(path, what):
                if self.known.get(each) != "new":
                    self.known[each] = "deleted" if what == "delete" else ""
                elif what == "delete":
                    del self.known[each]
            self._newest_absolute = None
            return
        is_new = what == "write" and path not in self.known
        state = self.known.get(path, "")
        if what != "read":
            state = "new" if is_new or state == "new" else "edited"
        self.add(path, state)
        if path.startswith("/"):
            self._newest_absolute = path

    def _named(self, path: str, what: What) -> list[str]:
        """Return the known files that match a path, a folder or a pattern."""
        pattern, below = "*" if path == "." else path, f"{path}/"
        found = [
            each
            for each in self.known
            if f"{each}/".startswith(below) or fnmatchcase(each, pattern)
        ]
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
    takes = ()
    is_complete = False
    shows_changed = False


def _effects_of(turn: Called) -> Iterator[Effect]:
    if turn.output is None:
        return
    if turn.does == "run":
        yield from effects(turn.command, failed=turn.failed)
        if "patching file " in turn.output and not turn.failed:
            yield from ((path, "edit") for path in _PATCHING.findall(turn.output))
    elif not turn.failed:
        yield from ((path, turn.does) for path in turn.paths if turn.does)
        if turn.does == "edit" and not turn.paths:
            yield from patch_effects("\n".join(map(str, turn.arguments.values())))
