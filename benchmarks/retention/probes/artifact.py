"""Artifacts: the files that were changed, and those that come up again."""

import posixpath
from collections.abc import Iterable, Iterator

from benchmarks.retention.facts.changed import changes_of
from benchmarks.retention.facts.paths import matches, normal
from benchmarks.retention.facts.shell import simple_commands
from benchmarks.retention.facts.transcript import Call
from benchmarks.retention.probes.probe import MOST, Cut, Probe

__all__ = ["artifact_probes", "files_read_by"]

_SHOWING = frozenset(["cat", "head", "tail", "less", "nl", "bat", "sed", "awk", "grep"])
_READING_TOOLS = ("read", "view", "open", "cat")


def artifact_probes(cut: Cut) -> Iterator[Probe]:
    """Yield what asks for files."""
    before, after = changes_of(cut.past), changes_of(cut.future)
    touched = before.changed | before.perhaps | before.undone
    known = touched | {path for call in cut.past_calls for path in files_read_by(call)}
    used = {path for call in cut.future_calls for path in _words_of(call)}
    edited = [path for path in known if matches(path, after.changed)]
    created = [path for path in before.changed if _is_new(cut, path) and matches(path, used)]
    read = [
        path
        for path in known
        if matches(path, [each for call in cut.future_calls for each in files_read_by(call)])
    ]
    for kind, paths in (
        ("changed", before.changed),
        ("edited", edited),
        ("created", created),
        ("read", read),
    ):
        for path in _latest(cut, paths):
            yield Probe(kind, _naming(path, known))


def files_read_by(call: Call) -> list[str]:
    """Return the files that a call shows: a tool that reads, or a program such as `cat` or `sed`.

    >>> files_read_by(Call(0, "bash", {"command": "sed -n 1,9p src/a.py | head"}, ""))
    ['src/a.py']
    """
    if call.failed:
        return []
    if call.path and call.tool.lower().startswith(_READING_TOOLS):
        return [normal(call.path)]
    return [
        normal(word, each.folder)
        for each in simple_commands(call.command)
        if each.program in _SHOWING and "-i" not in each.words
        for word in each.operands()
        if _is_file(word)
    ]


def _is_file(word: str) -> bool:
    suffix = posixpath.splitext(posixpath.basename(word))[1]
    return suffix[1:].isalnum() and not set(word) & set("*?$'\"`(){}[]|<>=,; ")


def _words_of(call: Call) -> list[str]:
    if call.path:
        return [normal(call.path)]
    commands = simple_commands(call.command)
    return [normal(word, each.folder) for each in commands for word in each.words if _is_file(word)]


def _is_new(cut: Cut, path: str) -> bool:
    """Return whether a file was written here and not named by the user or an output before."""
    name = posixpath.basename(path)
    for message in cut.past:
        if name in str(message.get("tool_calls") or ""):
            return True
        if name in str(message.get("content") or ""):
            return message.get("role") == "assistant"
    return False


def _latest(cut: Cut, paths: Iterable[str]) -> list[str]:
    """Return the files that were named last, by their position in the past."""
    ordered = sorted(paths, key=lambda path: (cut.text.rfind(posixpath.basename(path)), path))
    return ordered[-MOST:]


def _naming(path: str, known: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Return how a line names a file: by its name alone if no other file has it."""
    folder, name = posixpath.split(path)
    others = [each for each in known if posixpath.basename(each) == name and each != path]
    if not others or not folder:
        return ((name,),)
    return ((path,), (f"{posixpath.basename(folder)}/", name))
