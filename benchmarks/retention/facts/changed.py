"""Fact: the files that were changed, by tools and by the shell, and not put back."""

import fnmatch
import re
from collections.abc import Sequence

import attrs

from benchmarks.retention.facts.effects import (
    Effect,
    effects_of,
    patched_files,
    written_by_script,
)
from benchmarks.retention.facts.named import named_files
from benchmarks.retention.facts.paths import matches
from benchmarks.retention.facts.paths import normal as normal_path
from benchmarks.retention.facts.shell import simple_commands
from benchmarks.retention.facts.transcript import Call, Raw, calls_of

__all__ = ["Changes", "changes_of", "kept_changes", "right_changes"]

_CREATES = {"create", "write", "save"}
_EDITS = {"edit", "multiedit", "replace", "insert", "patch", "append", "update", "notebook"}
_DELETES = {"delete", "remove"}
_NAME_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OPEN_FILE = re.compile(r"^\[File: (.+?) \(", re.MULTILINE)
_APPLIED = ("File updated", "Text replaced", "has been edited")
_CANNOT = re.compile(r"no such file|cannot|can't|did not match|permission denied", re.IGNORECASE)


@attrs.frozen
class Changes:
    """What became of the files that a conversation touched."""

    changed: frozenset[str]
    perhaps: frozenset[str]
    """Neither asked for nor wrong: the old name of a moved file, a path in a script that writes
    some file, a call with no output yet, a deleted file that nothing else had named."""
    undone: frozenset[str]
    """Changed and put back, or created and deleted."""


def changes_of(messages: Sequence[Raw]) -> Changes:
    """Return the files that were changed, as a plain reader of the transcript would list them.

    A file counts from the first successful write or edit of it, by a tool with a path or by a
    shell command that names it: a redirection, `tee`, `touch`, `sed -i`, `perl -i`, `mv`, `cp`,
    `rm`, `patch`, `git apply`, `git mv`, `git rm`, or a script that is shown and opens it by name
    or names no other. It counts no longer once it was put back by
    `git checkout`, `restore`, `stash`, `reset --hard` or from a copy taken before, unless it was
    committed; nor once it was deleted if it had been created on the way. Two spellings are one
    file if one is the end of the other and of no third.
    """
    ledger = _Ledger()
    for call in calls_of(messages):
        ledger.read(call)
    changed = frozenset(ledger.changed)
    return Changes(changed, frozenset(ledger.perhaps - changed), frozenset(ledger.undone - changed))


def kept_changes(changes: Changes, view: str) -> tuple[int, int]:
    """Count the changed files that a view names under a heading for them, and all of them.

    A name counts if it is the path or the end of it, and of no other file that was touched.
    """
    touched = changes.changed | changes.perhaps | changes.undone
    named: set[str] = set()
    for name in named_files(view, touched):
        meant = matches(name, touched)
        named.update(meant if len(meant) == 1 else ())
    return len(named & changes.changed), len(changes.changed)


def right_changes(changes: Changes, view: str) -> tuple[int, int]:
    """Count the names under such headings that are changed files, and all names.

    A name that can mean a changed file counts as one. One of a file that was perhaps changed is
    left out of both counts.
    """
    right = wrong = 0
    for name in named_files(view, changes.changed | changes.perhaps | changes.undone):
        if matches(name, changes.changed):
            right += 1
        elif not matches(name, changes.perhaps):
            wrong += 1
    return right, right + wrong


@attrs.define
class _Ledger:
    changed: set[str] = attrs.field(factory=set)
    created: set[str] = attrs.field(factory=set)
    perhaps: set[str] = attrs.field(factory=set)
    undone: set[str] = attrs.field(factory=set)
    committed: set[str] = attrs.field(factory=set)
    copies: dict[str, str] = attrs.field(factory=dict)
    """Copies of files that were as they had been found, and what they are copies of."""
    stashes: list[set[str]] = attrs.field(factory=list)
    scripts: dict[str, str] = attrs.field(factory=dict)
    """What was written into files, for when they are run."""
    heard: list[str] = attrs.field(factory=list)
    """The outputs so far: what is named there was not created here."""
    asked: list[str] = attrs.field(factory=list)

    def read(self, call: Call) -> None:
        for effect in self._effects(call):
            if call.output is None:
                self.perhaps.update(filter(None, [effect.path] if effect.deed != "run" else []))
            elif not self._is_refused(effect.path, call.output):
                self._apply(effect)
        self.heard.append(call.output or "")
        self.asked.append(call.command or call.path)

    def _effects(self, call: Call) -> list[Effect]:
        return self._shell(call) if call.command else self._tool(call)

    def _tool(self, call: Call) -> list[Effect]:
        kinds = {part.lower() for part in _NAME_PART.findall(call.tool)}
        if call.failed or not kinds & (_CREATES | _EDITS | _DELETES):
            return []
        if not call.path:
            patches = "\n".join(str(value) for value in call.arguments.values())
            return [Effect("edit", normal_path(path)) for path in patched_files(patches)]
        path, verb = normal_path(call.path), call.arguments.get("command")
        if verb in {"view", "undo_edit"}:
            return [Effect("perhaps", path)] if verb == "undo_edit" else []
        if kinds & _DELETES:
            return [Effect("delete", path)]
        creates = verb == "create" or (not verb and bool(kinds & _CREATES))
        text = str(call.arguments.get("content", ""))
        return [Effect("write" if creates else "edit", path, text=text)]

    def _shell(self, call: Call) -> list[Effect]:
        editor = self._editor(call)
        if editor is not None:
            return editor
        commands = simple_commands(call.command)
        effects: list[Effect] = []
        for number, each in enumerate(commands, 1):
            found = list(effects_of(each, call.output or ""))
            if call.failed and number == len(commands):  # its status is that of the last command
                found = [Effect("perhaps", each.path) for each in found if each.redirected]
            effects += found
        return effects

    def _editor(self, call: Call) -> list[Effect] | None:
        """Read the editor of an agent that acts in text: `create name`, `edit ... end_of_edit`."""
        verb, _, rest = call.command.partition(" ")
        shown = _OPEN_FILE.search(call.output or "")
        if call.tool != "shell" or not shown:
            return None
        if verb == "create" and rest.strip():
            return [Effect("write", normal_path(shown[1]))]
        if call.command.startswith("edit"):
            applied = any(sign in (call.output or "") for sign in _APPLIED)
            return [Effect("edit", normal_path(shown[1]))] if applied else []
        return None

    def _is_refused(self, path: str, output: str) -> bool:
        name = path.rpartition("/")[2]
        lines = output.split("\n") if name and name in output else ()
        return any(name in line and _CANNOT.search(line) for line in lines if len(line) < 300)

    def _apply(self, effect: Effect) -> None:
        match effect.deed:
            case "write":
                self._write(effect.path)
                self.scripts[effect.path] = effect.text or self.scripts.get(effect.path, "")
            case "run":
                for each in written_by_script(self._script(effect.path), effect.source):
                    self._apply(each)
            case "edit":
                self._change(self._file(effect.path))
            case "perhaps":
                self.perhaps.add(self._file(effect.path))
            case "delete":
                self._delete(effect.path, whole_folder=effect.whole_folder)
            case "move" | "copy":
                self._transfer(effect)
            case _:
                self._version_control(effect)

    def _version_control(self, effect: Effect) -> None:
        match effect.deed:
            case "commit":
                self.committed |= self.changed
            case "clean":
                self._undo(self.created - self.committed)
            case "revert":
                self._undo(self._tracked(effect.path))
            case "stash":
                self.stashes.append(self._tracked(""))
                self._undo(self.stashes[-1])
            case "unstash":
                for path in self.stashes.pop() if self.stashes else ():
                    self._change(path)

    def _file(self, path: str) -> str:
        """Return the known file that a path means, or the path."""
        known = self.changed | self.undone | self.perhaps
        meant = matches(path, known)
        return meant[0] if len(meant) == 1 else path

    def _script(self, path: str) -> str:
        meant = matches(path, self.scripts)
        return self.scripts[meant[0]] if len(meant) == 1 else ""

    def _write(self, path: str) -> None:
        file = self._file(path)
        if file not in self.changed and not any(path in text for text in self.heard):
            self.created.add(file)
        self._change(file)

    def _change(self, file: str) -> None:
        self.changed.add(file)
        self.undone.discard(file)

    def _delete(self, path: str, *, whole_folder: bool) -> None:
        meant = {self._file(path)} | {
            each for each in self.changed if fnmatch.fnmatch(each, path) or _is_below(each, path)
        }
        for file in meant:
            if file in self.created:
                self._undo({file})
            elif file not in self.changed:
                was_used = any(path in text for text in self.asked) and not whole_folder
                (self.changed if was_used else self.perhaps).add(file)

    def _transfer(self, effect: Effect) -> None:
        source, file = self._file(effect.source), self._file(effect.path)
        if self.copies.get(source) == file:
            self._undo({file})
        else:
            if source not in self.changed:
                self.copies[file] = source
            self._write(effect.path)
        if effect.deed == "move":
            if source in self.created:
                self._undo({source})
            else:
                self.changed.discard(source)
                self.perhaps.add(source)

    def _tracked(self, path: str) -> set[str]:
        """Return the changed files that version control would put back."""
        files = self.changed - self.created - self.committed
        if not path:
            return set(files)
        return {each for each in files if each == self._file(path) or _is_below(each, path)}

    def _undo(self, files: set[str]) -> None:
        self.changed -= files
        self.created -= files
        self.undone |= files


def _is_below(file: str, folder: str) -> bool:
    return f"/{folder.strip('/')}/" in f"/{file}"
