"""What a shell command does to files, where a plain reader sees it."""

import posixpath
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

import attrs

from benchmarks.retention.facts.paths import normal
from benchmarks.retention.facts.shell import Simple

__all__ = ["Effect", "effects_of", "patched_files", "written_by_script"]

Deed: TypeAlias = Literal[
    "write", "edit", "delete", "move", "copy", "run", "revert", "stash", "unstash", "commit",
    "clean", "perhaps",
]  # fmt: skip
_PATCHED = re.compile(
    r"^(?:\+\+\+ (?:b/)?|\*\*\* (?:Update|Add|Delete) File: )([^\t\n]+)", re.MULTILINE
)
_PATCHING = re.compile(
    r"^(?:patching file|Applied patch to) '?([^'\n]+?)'?(?: cleanly\.)?$", re.MULTILINE
)
_WRITES = re.compile(
    r"open\([^)\n]*,\s*(?:mode=)?['\"][wa]|\.write|write_?text|writeFile", re.IGNORECASE
)
_OPENED = re.compile(r"open\(\s*['\"]([^'\"\s]+)['\"],\s*(?:mode=)?['\"][wa]", re.IGNORECASE)
_LITERAL = re.compile(r"['\"]([^'\"\s()\\]*/[^'\"\s()\\]*\w\.\w+|[\w-]+\.[a-z]{1,4})['\"]")
_INLINE = {"-c", "-e", "-"}
_SUBSTITUTED = re.compile(r"[$*?{}`<>]")
_GIT_OPTIONS_WITH_VALUE = {"-C", "-c"}


@attrs.frozen
class Effect:
    """Something done to a file; `path` is empty where it is done to all of them."""

    deed: Deed
    path: str = ""
    source: str = ""
    """What was moved or copied; the folder that a script was run in."""
    redirected: bool = False
    """Whether the shell itself wrote it, which it does even if the command then fails."""
    whole_folder: bool = False
    text: str = ""
    """What was written, where it is plain."""


def effects_of(each: Simple, output: str = "") -> Iterator[Effect]:
    """Yield what a simple command does to files.

    >>> from benchmarks.retention.facts.shell import simple_commands
    >>> [each] = simple_commands("sed -i s/a/b/ a.py b.py")
    >>> [(effect.deed, effect.path) for effect in effects_of(each)]
    [('edit', 'a.py'), ('edit', 'b.py')]
    """
    for path in each.into:
        if not path.startswith("/dev/"):
            yield from _on(each, "write", [path], redirected=True, text=each.body)
    if re.match(r"python|node|ruby|bash|sh$|perl", each.program):
        yield from _script(each)
    handler = _PROGRAMS.get(each.program)
    if handler:
        yield from handler(each, output)


def patched_files(text: str) -> list[str]:
    """Return the files that a patch in the text changes."""
    found = [path.strip() for path in _PATCHED.findall(text)]
    return [path for path in found if path != "/dev/null"]


def written_by_script(text: str, folder: str = "") -> Iterator[Effect]:
    """Yield what a script does to files: plainly where it opens it or names no other.

    >>> [(each.deed, each.path) for each in written_by_script("open('a.py', 'w').write(x)")]
    [('edit', 'a.py')]
    """
    if _WRITES.search(text):
        opened, named = set(_OPENED.findall(text)), set(_LITERAL.findall(text))
        only = {path for path in named if len(named) == 1 and "/" in path}
        plain = opened or only
        for path in sorted(plain | named):
            yield Effect("edit" if path in plain else "perhaps", normal(path, folder))


def _script(each: Simple) -> Iterator[Effect]:
    inline = _INLINE.intersection(each.words)
    at = each.words.index(inline.pop()) if inline else 0
    given = each.body or (" ".join(each.words[at + 1 : at + 2]) if at else "")
    if given:
        yield from written_by_script(given, each.folder)
    else:
        for path in each.operands()[:1]:
            yield Effect("run", normal(path, each.folder), each.folder)


def _on(
    each: Simple, deed: Deed, paths: list[str], *, redirected: bool = False, text: str = ""
) -> Iterator[Effect]:
    for path in paths:
        if path and not _SUBSTITUTED.search(path):
            yield Effect(deed, normal(path, each.folder), redirected=redirected, text=text)


def _tee(each: Simple, _: str) -> Iterator[Effect]:
    yield from _on(each, "write", each.operands())


def _edit_in_place(each: Simple, _: str) -> Iterator[Effect]:
    """Read `sed -i` and `perl -pi`: the files stand behind the script, or behind `-e script`."""
    if not any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in each.words[1:]):
        return
    operands, words = list[str](), iter(each.words[1:])
    has_script = False
    for word in words:
        if re.fullmatch(r"-[a-hj-zA-Z]*[ef]|-p?ie|-pi?e|--expression", word):
            next(words, "")
            has_script = True
        elif word and not re.match(r"-.", word):
            operands.append(word)
    yield from _on(each, "edit", operands if has_script else operands[1:])


def _move(each: Simple, _: str) -> Iterator[Effect]:
    yield from _to_target(each, "move", each.operands())


def _copy(each: Simple, _: str) -> Iterator[Effect]:
    whole_folder = any(re.match(r"-\w*[rRa]", word) for word in each.words[1:])
    yield from _to_target(each, "perhaps" if whole_folder else "copy", each.operands())


def _to_target(each: Simple, deed: Deed, operands: list[str]) -> Iterator[Effect]:
    *sources, target = operands or [""]
    for source in sources:
        if _SUBSTITUTED.search(source + target):
            continue
        name = posixpath.basename(source)
        is_folder = len(sources) > 1 or target.endswith("/") or target in {".", ".."}
        is_folder = is_folder or ("." in name and "." not in posixpath.basename(target))
        path = posixpath.join(target, name) if is_folder else target
        yield Effect(deed, normal(path, each.folder), normal(source, each.folder))


def _delete(each: Simple, _: str) -> Iterator[Effect]:
    whole_folder = any(re.match(r"-\w*[rR]", word) for word in each.words[1:])
    for path in each.operands():
        if "$" not in path:
            yield Effect("delete", normal(path, each.folder), whole_folder=whole_folder)


def _patch(each: Simple, output: str) -> Iterator[Effect]:
    undo = any(word in {"-R", "--reverse"} for word in each.words)
    dry = any(word in {"--check", "--stat", "--dry-run"} for word in each.words)
    if not dry:
        named = patched_files(each.body) or _PATCHING.findall(output)
        yield from _on(each, "revert" if undo else "edit", named)


def _git(each: Simple, output: str) -> Iterator[Effect]:
    words = each.words[1:]
    folder = each.folder
    while words and words[0].startswith("-"):
        if words[0] == "-C":
            folder = posixpath.join(folder, *words[1:2])
        words = words[2:] if words[0] in _GIT_OPTIONS_WITH_VALUE else words[1:]
    inner = Simple(words, body=each.body, folder=folder)
    handler = _GIT.get(inner.program)
    if handler:
        yield from handler(inner, output)


def _checkout(each: Simple, _: str) -> Iterator[Effect]:
    if any(word in {"-b", "-B", "--orphan"} for word in each.words):
        return
    if "--staged" in each.words and "--worktree" not in each.words:
        return
    yield from (_all_or_path(each, path) for path in each.operands())


def _all_or_path(each: Simple, path: str) -> Effect:
    return Effect("revert", "" if path in {".", ":/"} else normal(path, each.folder))


def _stash(each: Simple, _: str) -> Iterator[Effect]:
    verb = next(iter(each.operands()), "push")
    if verb in {"pop", "apply"}:
        yield Effect("unstash")
    elif verb in {"push", "save"}:
        yield Effect("stash")
        if any(word in {"-u", "--include-untracked", "-a", "--all"} for word in each.words):
            yield Effect("clean")


def _reset(each: Simple, _: str) -> Iterator[Effect]:
    if "--hard" in each.words:
        yield Effect("revert")


def _clean(each: Simple, _: str) -> Iterator[Effect]:
    if any(re.match(r"-\w*f", word) for word in each.words[1:]) and "-n" not in each.words:
        yield Effect("clean")


def _commit(_each: Simple, _: str) -> Iterator[Effect]:
    yield Effect("commit")


_GIT = {
    "apply": _patch,
    "checkout": _checkout,
    "clean": _clean,
    "commit": _commit,
    "mv": _move,
    "reset": _reset,
    "restore": _checkout,
    "rm": _delete,
    "stash": _stash,
}
_PROGRAMS = {
    "apply_patch": _patch,
    "cp": _copy,
    "git": _git,
    "mv": _move,
    "patch": _patch,
    "perl": _edit_in_place,
    "rm": _delete,
    "sed": _edit_in_place,
    "gsed": _edit_in_place,
    "tee": _tee,
    "touch": _tee,
    "unlink": _delete,
}
