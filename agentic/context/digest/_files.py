"""Which files a conversation changed, and what happened to each; and which ones it read.

A failed call changes nothing. A file that was put back, or created and deleted again, is not
changed.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

import attrs

from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import Effect, What, effects, is_path, patch_effects
from agentic.context.digest._turns import Called, Turn

__all__ = ["File", "Files"]

MAX_NAMES = 10
"""Files of a folder in one line: a longer line would go as a whole for want of room."""

# Where systems put temporary files, and what belongs to the user and not to the project.
_OUTSIDE = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "~/")  # noqa: S108
_PATCHING = re.compile(r"^patching file '?([^'\n]+)", re.MULTILINE)
"""What `patch` prints: the patch itself may stand in a file that was written long before."""


@attrs.define
class File:
    """What happened to a file; nothing if it was only read."""

    state: str = ""
    """`new`, `deleted`, or empty for a file that was there before and still is."""
    edits: int = 0
    """How often it was changed after it was there."""
    is_final: bool = False
    """Whether a commit keeps it from being put back."""

    @property
    def story(self) -> str:
        """What happened to it, in a few words."""
        edited = "edited" if self.edits == 1 else f"edited {self.edits}x" if self.edits else ""
        told = [self.state] if self.state == "deleted" else [self.state, edited]
        return ", ".join(filter(None, told))


@attrs.define
class Files(Section[File]):
    """Every file that was changed or read, by its path as it was named first."""

    record = File

    def take(self, turn: Turn) -> None:
        """Take in a call that has a result; nothing else changes files."""
        if not isinstance(turn, Called) or turn.result is None:
            return
        if turn.kind == "run":
            found = effects(turn.command, failed=turn.failed)
            if not turn.failed and "patching file " in turn.output:
                found += [(path, "changed") for path in _PATCHING.findall(turn.output)]
        else:
            found = [] if turn.failed else _of_tool(turn)
        for path, what in found:
            self._apply(self._key(path) if path else "", what)

    def lines(self) -> Iterator[Line]:
        """Yield the files that were changed, a line for each folder, the newest first."""
        changed = {path: each for path, each in self.known.items() if each.story}
        return self._by_folder({path: f" ({each.story})" for path, each in changed.items()})

    def read_lines(self) -> Iterator[Line]:
        """Yield the files that were read and not changed."""
        return self._by_folder({path: "" for path, each in self.known.items() if not each.story})

    def _apply(self, path: str, what: What) -> None:
        if what == "read":
            if not (path in self.known and self.known[path].story):
                self._touch(path)
        elif what in {"written", "changed"}:
            is_new = what == "written" and path not in self.known
            file = self._touch(path)
            file.edits += not is_new
            file.state = "new" if is_new else file.state.replace("deleted", "")
        else:
            for each in self._named(path, what):
                self._undo(each, what)

    def _touch(self, path: str) -> File:
        """Return the record of a file, which is then the newest."""
        self.known[path] = self.known.pop(path, File())
        return self.known[path]

    def _undo(self, path: str, what: What) -> None:
        """Delete a file, or do to it what `git` does, which leaves new files alone."""
        file = self.known.get(path, File())
        if what == "committed":
            file.is_final = True
        elif what == "deleted" and file.state != "new":
            self._touch(path).state = "deleted"
        elif what == "deleted":
            del self.known[path]
        elif file.state != "new" and not file.is_final:
            self.known[path] = File()

    def _named(self, path: str, what: What) -> list[str]:
        """Return the known files that a path, a folder or a pattern stands for; empty for all."""
        if path in {"", "."}:
            return [each for each in self.known if not each.startswith(_OUTSIDE)]
        found = [
            each
            for each in self.known
            if each == path or each.startswith(f"{path}/") or fnmatchcase(each, path)
        ]
        # Of what was never seen, only a file that was deleted by its name is worth a word.
        is_file = is_path(path) and "." in posixpath.basename(path)[1:]
        return found or [path] * (what == "deleted" and is_file)

    def _key(self, path: str) -> str:
        """Return what a file is known by: its absolute and its relative path are one."""
        path = posixpath.normpath(path)
        if path in self.known or f"{path}/".startswith(_OUTSIDE):
            return path
        if path.startswith("/"):
            below = [path[at + 1 :] for at, mark in enumerate(path) if mark == "/"]
            return next((each for each in below if "/" in each and each in self.known), path)
        # A relative path starts in the folder of the newest absolute one, or above.
        folder = next((each for each in reversed(self.known) if each.startswith("/")), "")
        while (folder := posixpath.dirname(folder)).strip("/"):
            if (found := posixpath.normpath(f"{folder}/{path}")) in self.known:
                return found
        return path

    def _by_folder(self, stories: Mapping[str, str]) -> Iterator[Line]:
        """Yield lines that name files below the folder that all share, those outside of it last."""
        inside = [path for path in self.known if path[0] == "/" and not path.startswith(_OUTSIDE)]
        shared = {posixpath.dirname(path) for path in inside}
        base = posixpath.commonpath(shared).rstrip("/") if len(shared) > 1 else ""
        folders: dict[str, list[str]] = {}
        newest = [*stories][::-1]
        for path in sorted(newest, key=lambda path: path.startswith(_OUTSIDE)):
            shown = path.removeprefix(f"{base}/") if base else path
            folders.setdefault(posixpath.dirname(shown), []).append(path)
        rank = 0
        for folder, paths in folders.items():
            prefix = f"{folder.rstrip('/')}/: " if folder else ""
            for at in range(0, len(paths), MAX_NAMES):
                some = paths[at : at + MAX_NAMES]
                names = [posixpath.basename(path) for path in some]
                told = [name + stories[path] for name, path in zip(names, some, strict=True)]
                rank -= 1
                yield Line(prefix + ", ".join(told), prefix + ", ".join(names), rank)


def _of_tool(turn: Called) -> list[Effect]:
    """Return what a call does to files."""
    paths = [path for path in turn.paths if is_path(path)]
    if turn.kind == "edit" and not paths:
        texts = [value for value in turn.arguments.values() if isinstance(value, str)]
        return [each for text in texts or [turn.call.arguments] for each in patch_effects(text)]
    whats: Mapping[str | None, What] = {
        "read": "read", "write": "written", "edit": "changed", "delete": "deleted",
    }  # fmt: skip
    return [(path, whats[turn.kind]) for path in paths]
