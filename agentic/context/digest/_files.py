"""Which files a conversation changed, and what happened to each; and which ones it read.

A failed call changes nothing. A file that was put back, or created and deleted again, is not
changed.
"""

import posixpath
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import attrs

from agentic.context.digest._section import Line, Section
from agentic.context.digest._shell import Effect, effects, is_path, patch_effects, script_writes
from agentic.context.digest._turns import Called, Turn

__all__ = ["File", "Files"]

MAX_NAMES = 10
"""Files of a folder in one line: a longer line would go as a whole for want of room."""

# Where systems put temporary files, and what belongs to the user and not to the project.
_OUTSIDE = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "~/")  # noqa: S108


@attrs.define
class File:
    """What happened to a file."""

    state: str = ""
    """`new`, `deleted`, or empty for a file that was there before and still is."""
    origin: str = ""
    """What it was called before it was moved."""
    edits: int = 0
    """How often it was changed after it was there."""
    is_changed: bool = False
    """Whether it is not as it was; if not, it was read."""
    is_final: bool = False
    """Whether a commit keeps it from being put back."""
    is_stashed: bool = False
    """Whether it is put back for the time being."""
    writes: str = ""
    """What it writes if it is run as a script or applied as a patch, one file a line."""

    @property
    def story(self) -> str:
        """What happened to it, in a few words."""
        moved = f"moved from {self.origin}" if self.origin else ""
        edited = "edited" if self.edits == 1 else f"edited {self.edits}x" if self.edits else ""
        told = [self.state] if self.state == "deleted" else [self.state, moved, edited]
        return ", ".join(filter(None, told)) or "changed"


@attrs.define
class Files(Section[File]):
    """Every file that was changed or read, by its path: absolute as soon as that is known."""

    record = File
    root: str = ""
    """The working directory, once a command entered it by its whole path; before that the folder of
    the newest absolute path, which lies somewhere below it."""
    is_entered: bool = False

    @property
    def base(self) -> str:
        """What the paths of a listing start from: the root, or the folder that all share."""
        if self.is_entered:
            return self.root
        inside = [path for path in self.known if path.startswith("/")]
        folders = {posixpath.dirname(path) for path in inside if not path.startswith(_OUTSIDE)}
        return posixpath.commonpath(folders).rstrip("/") if len(folders) > 1 else ""

    def take(self, turn: Turn) -> None:
        """Take in a call that has a result; nothing else changes files."""
        if not isinstance(turn, Called) or turn.result is None:
            return
        if turn.kind == "run":
            found = effects(turn.command, failed=turn.failed)
        else:
            found = [] if turn.failed else _of_tool(turn)
        for effect in found:
            self._apply(effect)

    def lines(self) -> Iterator[Line]:
        """Yield the files that were changed, a line for each folder, the newest first."""
        changed = {path: each for path, each in self.known.items() if each.is_changed}
        return self._by_folder(
            {path: f" ({each.story})" for path, each in changed.items() if not each.is_stashed}
        )

    def read_lines(self) -> Iterator[Line]:
        """Yield the files that were read and not changed."""
        return self._by_folder({p: "" for p, each in self.known.items() if not each.is_changed})

    def to_plain(self) -> list[list[Any]]:
        """Return the working directory and the files."""
        return [[self.root, self.is_entered], *super().to_plain()]

    def restore(self, plain: object) -> None:
        """Go on from what `to_plain` returned. What is damaged is passed over."""
        match plain:
            case [[str(root), bool(is_entered)], *_]:
                self.root, self.is_entered = root, is_entered
        super().restore(plain)

    def matters(self, record: File) -> bool:
        """Return whether a file was changed."""
        return record.is_changed

    def _apply(self, effect: Effect) -> None:
        path = self._key(effect.path) if effect.path else ""
        if effect.what == "entered":
            self._enter(path)
        elif effect.what in {"written", "changed"}:
            self._change(path, effect)
        elif effect.what == "ran":
            writes = self.known[path].writes if path in self.known else ""
            for written in filter(None, writes.split("\n")):
                self._change(self._key(written), Effect(written, "changed"))
        elif effect.what == "moved":
            self._move(self._key(effect.source), path)
        elif effect.what == "read":
            if not (path in self.known and self.known[path].is_changed):
                self._touch(path)
        else:
            for each in self._named(path, effect.what):
                self._undo(each, effect.what)

    def _touch(self, path: str) -> File:
        """Return the record of a file, which is then the newest."""
        self.known[path] = self.known.pop(path, File())
        return self.known[path]

    def _change(self, path: str, effect: Effect) -> None:
        is_new = effect.what == "written" and path not in self.known
        file = self._touch(path)
        file.edits += not is_new
        file.state = "new" if is_new else file.state.replace("deleted", "")
        file.is_changed, file.is_stashed = True, False
        file.writes = "\n".join(effect.writes) or file.writes

    def _move(self, source: str, target: str) -> None:
        file = self.known.pop(source, File())
        if file.state != "new" and not file.origin:
            file.origin = source
        if file.origin == target:
            file.origin = ""
        file.is_changed = bool(file.origin or file.edits or file.state)
        self.known.pop(target, None)  # in its place the file would be as old as what was there
        self.known[target] = file

    def _undo(self, path: str, what: str) -> None:
        """Delete a file, or do to it what `git` does, which leaves new files alone."""
        file = self.known.get(path, File())
        if what == "deleted":
            file = self._touch(path)
            if file.state == "new":
                del self.known[path]
            file.state, file.is_changed = "deleted", True
        elif what == "committed":
            file.is_final = True
        elif what == "unstashed":
            file.is_stashed = False
        elif file.state != "new" and not file.is_final:
            if what == "stashed":
                file.is_stashed = True
            else:
                del self.known[path]
                self.known.pop(file.origin, None)
                self.known[file.origin or path] = File()

    def _named(self, path: str, what: str) -> list[str]:
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
            if not self.is_entered:
                self.root = posixpath.dirname(path)
            below = [path[at + 1 :] for at, mark in enumerate(path) if mark == "/"]
            return next((each for each in below if "/" in each and each in self.known), path)
        folder = self.root
        while folder.strip("/"):
            if (found := posixpath.normpath(f"{folder}/{path}")) in self.known:
                return found
            folder = posixpath.dirname(folder)
        return posixpath.normpath(f"{self.root}/{path}") if self.is_entered else path

    def _enter(self, folder: str) -> None:
        """Take the first folder of the project that a command enters for the working directory."""
        if not self.is_entered and not f"{folder}/".startswith(_OUTSIDE):
            self.root, self.is_entered = folder, True
            self.known = {self._key(path): file for path, file in self.known.items()}

    def _by_folder(self, stories: dict[str, str]) -> Iterator[Line]:
        """Yield lines that name files, those outside of the project last."""
        start = f"{self.base}/" if self.base else ""
        folders: dict[str, list[str]] = {}
        newest = [*stories][::-1]
        for path in sorted(newest, key=lambda path: path.startswith(_OUTSIDE)):
            shown = path.removeprefix(start)
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
    texts = [value for value in turn.arguments.values() if isinstance(value, str)]
    if turn.kind == "write":
        writes = script_writes(max(texts, key=len, default=""))
        return [Effect(path, "written", writes=writes) for path in paths]
    if turn.kind == "edit" and not paths:
        return [each for text in texts or [turn.call.arguments] for each in patch_effects(text)]
    whats: Mapping[str | None, Any] = {"read": "read", "edit": "changed", "delete": "deleted"}
    return [Effect(path, whats[turn.kind]) for path in paths]
