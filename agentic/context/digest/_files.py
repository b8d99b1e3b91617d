"""Which files a conversation changed, and what happened to each; and which ones it read.

Two sections share one record. A failed call changes nothing. A file that was put back, or created
and deleted again, is not changed.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import attrs
from attrs.validators import deep_iterable, instance_of

from agentic.context.digest._outcome import failed
from agentic.context.digest._section import Line
from agentic.context.digest._shell import (
    Effect,
    effects,
    is_path,
    patch_effects,
    resolve,
    script_writes,
)
from agentic.context.digest._tools import ToolTable
from agentic.context.digest._turns import Called, Turn

__all__ = ["ChangedFiles", "File", "FileRecord", "ReadFiles"]

MAX_CHANGED = 300
"""Changed files that a record holds: several times what the longest recorded sessions have."""
MAX_READ = 60
"""Read files that it holds: more than there is ever room to name."""
MAX_NAMES = 10
"""Files of a folder in one line: a longer line would go as a whole for want of room."""

# Where systems put temporary files, and what belongs to the user and not to the project.
_OUTSIDE = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "~/")  # noqa: S108
_SUFFIX = re.compile(r"\.\w+$")


def _number() -> Any:
    return attrs.field(default=0, validator=instance_of(int))


def _text() -> Any:
    return attrs.field(default="", validator=instance_of(str))


def _strings(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


# Checked where the plain form is read, not at each change.
@attrs.define(on_setattr=attrs.setters.NO_OP)
class File:
    """What happened to a file."""

    edits: int = _number()
    """How often it was changed after it was there."""
    changed: int = _number()
    """When it was last changed, as a number that grows; 0 if it is as it was."""
    read: int = _number()
    """When it was last read; 0 for never."""
    state: str = _text()
    """`new`, `deleted`, or empty for a file that was there before and still is."""
    origin: str = _text()
    """What it was called before it was moved."""
    committed: int = _number()
    """Whether a change of it was committed, so that nothing puts it back."""
    copy_of: str = _text()
    """The file that it is a copy of, as that was after so many edits: `copied`."""
    copied: int = _number()
    writes: tuple[str, ...] = attrs.field(
        default=(), converter=_strings, validator=deep_iterable(instance_of(str))
    )
    """What it writes if it is run as a script or applied as a patch."""


@attrs.define
class FileRecord:
    """Every file that was changed or read, by its path from the working directory."""

    tools: ToolTable = attrs.field(factory=ToolTable)
    root: str = ""
    """The working directory, as soon as absolute paths and `cd` have shown it."""
    clock: int = 0
    files: dict[str, File] = attrs.field(factory=dict)
    stashes: list[dict[str, File]] = attrs.field(factory=list)

    @property
    def base(self) -> str:
        """What the paths of a listing start from: the root, or the folder that all share."""
        inside = [path for path in self.files if path.startswith("/")]
        folders = {posixpath.dirname(path) for path in inside if not path.startswith(_OUTSIDE)}
        return self.root or (posixpath.commonpath(folders) if len(folders) > 1 else "")

    def take(self, turn: Turn) -> None:
        """Take in a call that has a result; nothing else changes files."""
        if not isinstance(turn, Called) or turn.result is None or turn.kind is None:
            return
        found = _effects(turn, self.tools)
        if found and failed(turn):
            # Of a command that failed, all but its last part has happened.
            found = [effect for effect in found if not effect.last]
        self.clock += bool(found)
        for effect in found:
            self._apply(effect)
        if len(self.files) > 2 * (MAX_CHANGED + MAX_READ):
            self.files = self._newest()

    def _apply(self, effect: Effect) -> None:
        path = self._key(effect.path)
        if effect.what in {"written", "changed", "touched"}:
            self._change(path, effect)
        elif effect.what in {"moved", "copied"}:
            self._transfer(self._key(effect.source), path, effect.what)
        elif effect.what == "read":
            self.files.setdefault(path, File()).read = self.clock
        elif effect.what == "entered":
            self._find_root(effect.path, entered=True)
        elif effect.what == "ran":
            for written in self.files[path].writes if path in self.files else ():
                self._apply(Effect(resolve(effect.source, written), "changed"))
        elif effect.what in {"unstashed", "dropped"}:
            stash = self.stashes.pop() if self.stashes else {}
            self.files.update(stash if effect.what == "unstashed" else {})
        else:
            self._undo(path, effect.what)

    def _change(self, path: str, effect: Effect) -> None:
        known = path in self.files
        file = self.files.setdefault(path, File())
        if effect.what == "touched" and known and file.state != "deleted":
            return
        if not known and effect.what != "changed":
            file.state = "new"
        else:
            file.edits += 1
            file.state = file.state.replace("deleted", "")
        file.changed, file.copy_of = self.clock, ""
        file.writes = effect.writes or (file.writes if effect.what == "changed" else ())

    def _undo(self, path: str, what: str) -> None:
        """Delete files, or put them back to what they were before or at the last commit."""
        stash: dict[str, File] = {}
        # Of what was never seen, only a file that was deleted by its name is worth a word.
        unseen = [path] if what == "deleted" and is_path(path) and _SUFFIX.search(path) else []
        for each in self._below(path) or unseen:
            file = self.files.setdefault(each, File())
            new = file.state == "new"
            if what == "committed":
                file.committed = file.committed or int(bool(file.changed))
            elif what == "deleted" and not new:
                file.state, file.changed = "deleted", self.clock
            elif what == "deleted" or (what == "cleaned" and new and not file.committed):
                del self.files[each]
            # A new file is put back only if the command names it.
            elif what != "cleaned" and not file.committed and (not new or each == path):
                stash[each] = self.files.pop(each)
                self.files[file.origin or each] = File(read=file.read)
        if what == "stashed":
            self.stashes.append(stash)

    def _transfer(self, source: str, target: str, what: str) -> None:
        file = self.files.get(source, File())
        former = self.files.get(target)
        if former and file.copy_of == target:
            # Put back from a copy: it is as it was when the copy was taken.
            changed = self.clock if file.copied or former.committed else 0
            self.files[target] = attrs.evolve(former, edits=file.copied, state="", changed=changed)
        elif what == "copied":
            new = (
                File(state="new")
                if former is None
                else attrs.evolve(former, edits=former.edits + 1)
            )
            edits = file.edits + (file.state == "new")
            self.files[target] = attrs.evolve(
                new, changed=self.clock, copy_of=source, copied=edits, writes=file.writes
            )
        else:
            origin = "" if file.state == "new" else file.origin or source
            back = origin == target
            self.files[target] = attrs.evolve(
                file,
                origin="" if back else origin,
                changed=0 if back and not file.edits else self.clock,
            )
        if what == "moved" and source != target:
            self.files.pop(source, None)

    def _below(self, path: str) -> list[str]:
        """Return the known files that a path, a folder or a pattern stands for."""
        if path == ".":
            return [each for each in self.files if not each.startswith(("/", "~"))]
        if path in self.files:
            return [path]
        if any(mark in path for mark in "*?["):
            return [each for each in self.files if fnmatchcase(each, path)]
        folder = f"{path}/"
        return [each for each in self.files if each.startswith(folder)]

    # A relative path and the absolute one below the working directory are the same file.

    def _key(self, path: str) -> str:
        path = posixpath.normpath(path)
        if not self.root and path not in self.files:
            self._find_root(path)
        if self.root and (path == self.root or path.startswith(f"{self.root}/")):
            return path[len(self.root) + 1 :] or "."
        return path

    def _find_root(self, path: str, *, entered: bool = False) -> None:
        """Find the working directory by a path that is known in both forms, or the first `cd`."""
        if self.root or f"{path}/".startswith(_OUTSIDE):
            return
        if path.startswith("/"):
            starts = [at for at, mark in enumerate(path) if mark == "/"]
            for at in starts:
                below = path[at + 1 :]
                if (below in self.files and "/" in below) or (entered and self._below(below)):
                    self._set_root(path[:at])
                    return
            if entered:
                self._set_root(path)
        elif "/" in path:
            for each in self.files:
                if each.startswith("/") and each.endswith(f"/{path}"):
                    self._set_root(each.removesuffix(f"/{path}"))
                    return

    def _set_root(self, root: str) -> None:
        self.root = root
        before, self.files = self.files, {}
        for path, file in before.items():
            key = self._key(path)
            other = self.files.get(key, file)
            edits = file.edits + (other.edits if other is not file else 0)
            newer = max(file, other, key=lambda each: each.changed)
            self.files[key] = attrs.evolve(newer, edits=edits, read=max(file.read, other.read))

    # The next generation

    def _newest(self) -> dict[str, File]:
        """Return the files within the bounds, in their order: the last ones of the project."""
        changed = [path for path in self.files if self.files[path].changed]
        read = [path for path in self.files if not self.files[path].changed]
        changed.sort(key=lambda path: (path.startswith(_OUTSIDE), -self.files[path].changed))
        read.sort(key=lambda path: -self.files[path].read)
        kept = {*changed[:MAX_CHANGED], *read[:MAX_READ]}
        return {path: file for path, file in self.files.items() if path in kept}

    def to_plain(self) -> Any:
        """Return the record as plain JSON; None if it is empty."""
        if not self.clock:
            return None
        stashes = [_to_plain(stash) for stash in self.stashes]
        files = _to_plain(self._newest())
        return {"root": self.root, "clock": self.clock, "files": files, "stashes": stashes}

    def restore(self, plain: Any) -> None:
        """Go on from what `to_plain` returned. What is damaged is passed over."""
        plain = plain if isinstance(plain, Mapping) else {}
        root, clock, stashes = plain.get("root"), plain.get("clock"), plain.get("stashes")
        self.root = root if isinstance(root, str) else ""
        self.clock = clock if isinstance(clock, int) else 0
        self.files = _from_plain(plain.get("files"))
        self.stashes = [
            _from_plain(each) for each in (stashes if isinstance(stashes, list) else ())
        ]


def _to_plain(files: Mapping[str, File]) -> dict[str, Any]:
    return {
        path: {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in attrs.asdict(file).items()
            if value
        }
        for path, file in files.items()
    }


def _from_plain(plain: Any) -> dict[str, File]:
    files = {}
    for path, fields in plain.items() if isinstance(plain, Mapping) else ():
        try:
            if is_path(path):
                files[path] = File(**fields)
        except (TypeError, ValueError):
            continue
    return files


def _effects(turn: Called, tools: ToolTable) -> list[Effect]:
    """Return what a call does to files if it succeeds."""
    if turn.kind == "run":
        return effects(tools.command_of(turn.arguments))
    paths = [path for path in tools.paths_of(turn.arguments) if is_path(path)]
    texts = [value for value in turn.arguments.values() if isinstance(value, str)]
    if turn.kind == "write":
        text = max(texts, key=len, default="")
        return [Effect(path, "written", writes=script_writes(text, path)) for path in paths]
    if turn.kind == "edit" and not paths:
        return [each for text in texts or [turn.call.arguments] for each in patch_effects(text)]
    whats: Mapping[str | None, Any] = {"read": "read", "edit": "changed", "delete": "deleted"}
    return [Effect(path, whats[turn.kind]) for path in paths if turn.kind in whats]


@attrs.define
class ChangedFiles:
    """The section that names every file that was changed, one line a folder, the newest first."""

    record: FileRecord

    def take(self, turn: Turn) -> None:
        """Take in a turn, for the record as a whole."""
        self.record.take(turn)

    def lines(self) -> Iterator[Line]:
        """Yield a line for each folder; files outside of the project come last."""
        files = {path: file for path, file in self.record.files.items() if file.changed}
        return _by_folder(
            {path: file.changed for path, file in files.items()},
            lambda path: f" ({_story(files[path])})",
            self.record.base,
        )

    def to_plain(self) -> Any:
        """Return the record as plain JSON."""
        return self.record.to_plain()

    def restore(self, plain: Any) -> None:
        """Go on from what `to_plain` returned."""
        self.record.restore(plain)


@attrs.define
class ReadFiles:
    """The section that names files that were read and not changed. The other keeps the record."""

    record: FileRecord

    def take(self, turn: Turn) -> None:
        """Do nothing: the other section takes in the turns."""

    def lines(self) -> Iterator[Line]:
        """Yield a line for each folder, the newest first."""
        files = self.record.files.items()
        read = {path: file.read for path, file in files if file.read and not file.changed}
        return _by_folder(read, lambda _: "", self.record.base)

    def to_plain(self) -> Any:
        """Return nothing."""

    def restore(self, plain: Any) -> None:
        """Do nothing."""


def _by_folder(newest: Mapping[str, int], story: Callable[[str], str], base: str) -> Iterator[Line]:
    folders: dict[str, list[str]] = {}
    for path in sorted(newest, key=lambda each: (each.startswith(_OUTSIDE), -newest[each], each)):
        folders.setdefault(posixpath.dirname(path), []).append(path)
    for folder, paths in folders.items():
        below = folder if folder.startswith(_OUTSIDE) else f"{folder}/".removeprefix(f"{base}/")
        prefix = f"{below.rstrip('/')}/: " if below.strip("/") else ""
        for start in range(0, len(paths), MAX_NAMES):
            shown = paths[start : start + MAX_NAMES]
            names = [posixpath.basename(path) for path in shown]
            told = [name + story(path) for name, path in zip(names, shown, strict=True)]
            text, short = (prefix + ", ".join(each) for each in (told, names))
            # What lies outside of the project counts less than anything inside.
            rank = newest[shown[0]] - (
                max(newest.values()) if f"{folder}/".startswith(_OUTSIDE) else 0
            )
            yield Line(text, short if short != text else "", rank)


def _story(file: File) -> str:
    moved = f"moved from {file.origin}" if file.origin else ""
    edited = "edited" if file.edits == 1 else f"edited {file.edits}x" if file.edits else ""
    told = [file.state] if file.state == "deleted" else [file.state, moved, edited]
    return ", ".join(filter(None, told)) or "changed"
