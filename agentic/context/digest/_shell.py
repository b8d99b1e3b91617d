"""What a shell command does to files, as far as the text of the command shows.

Nothing is run or expanded: a path with a variable is ignored, and so is what a script in a command
does. A patch that is only written to a file is not applied; `patch` prints which files it changed.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

import attrs

from agentic.context.digest._tools import ToolKind

What: TypeAlias = ToolKind | Literal["revert"]
Effect: TypeAlias = tuple[str, What]
"""A path and what happens to that file, or to all files below that path."""

# No alternative scans past the next quote, `<` or line that it cannot match, so the cost is linear.
_HEREDOC = re.compile(
    r"(<<-?[ \t]*(['\"]?)([A-Z]\w*)\2[^\n<]*\n)(?:(?!\t*\3$)[^\n]*\n)*[^\n]*", re.MULTILINE
)
_TOKEN = re.compile(
    r"""\\\n | \#[^\n]* | ([0-9&]?>>?(?:&[0-9-]|\|)?|<<?<?-?|&&|\|\|?&?|;;?|&|\n|[()])
    | ((?:[^\s;&|<>()'"\\$`]+ | '[^']*' | "[^"\\]*(?:\\.[^"\\]*)*" | \$\([^()]*\)
        | \\. | [\\$`])+) | (['"])""",
    re.VERBOSE | re.DOTALL,
)
_LONGEST_PATH = 4_096
"""PATH_MAX of Linux, in characters: a folder with a longer path cannot be entered."""
_NEVER_IN_PATHS = frozenset("$`{}|<>\"'()=")
_DRY = frozenset(["--cached", "--staged", "--check", "--dry-run", "-b"])
"""Options with which a program does not change files."""
_WHATS: Mapping[str, What] = {
    **dict.fromkeys(["cat", "head", "tail", "less", "nl", "sed", "perl"], "read"),
    **dict.fromkeys(["tee", "touch", "cp", "mv", "git mv"], "write"),
    **dict.fromkeys(["rm", "git rm"], "delete"),
    **dict.fromkeys(["git checkout", "git restore"], "revert"),
}
"""What each program does to the files in its arguments. A branch name has no effect, because it is
not the path of a known file."""
_PROGRAMS = {"cd", "apply_patch", *(name.partition(" ")[0] for name in _WHATS)}
"""The programs that can have an effect by their arguments; all others only by redirections."""

_PATCHED = re.compile(
    r"^(?:\+\+\+ (?:b/)?|\*\*\* (Add|Update|Delete|Move)(?: File| to): )([^\t\n]+)", re.MULTILINE
)


@attrs.define
class Part:
    """A simple command: its program and the other words, without quotes, and its redirections."""

    words: list[str] = attrs.field(factory=list)
    outputs: list[Effect] = attrs.field(factory=list)
    piped: bool = False
    """Whether its input is the output of the part before it."""


# A cache of one, because two sections split the same command one after the other.
@lru_cache(maxsize=1)
def split_command(command: str) -> tuple[Part, ...]:
    """Split a command into its simple commands, in order, without its heredocs.

    >>> [part.words for part in split_command("cd 'my src' && make 2>&1 | tail -3")]
    [['cd', 'my src'], ['make'], ['tail', '-3']]
    """
    if "<<" in command:
        command = _HEREDOC.sub(r"\1", command)
    part, redirection = Part(), ""
    parts = [part]
    for operator, word, stray in _TOKEN.findall(command):
        if stray:
            # An unterminated quote: the shell rejects the part that it belongs to and what follows.
            parts.pop()
            break
        if word:
            plain = word.strip("'\"")
            if ">" in redirection:
                part.outputs.append((plain, "edit" if ">>" in redirection else "write"))
            elif not redirection:
                part.words.append(plain)
            redirection = ""
        elif "<" in operator or ">" in operator:
            redirection = operator if "&" not in operator[1:] else ""
        elif operator:
            part, redirection = Part(piped=operator in {"|", "|&"}), ""
            parts.append(part)
    return tuple([part for part in parts if part.words or part.outputs])


def is_path(word: str) -> bool:
    """Return whether a word can be the path of a file, or a pattern that matches several.

    >>> is_path("src/a.py"), is_path("*.py"), is_path("--all"), is_path("$HOME/a")
    (True, True, False, False)
    """
    is_other = not word or word.startswith(("-", "&", "+", "/dev/"))
    return not is_other and word.isprintable() and _NEVER_IN_PATHS.isdisjoint(word)


def effects(command: str, *, is_error: bool = False) -> Iterator[Effect]:
    """Yield what a command does to files, in order; if it failed, without its last part.

    Paths are relative to the folder in which the command was run, even after a `cd`.

    >>> list(effects("cd src && sed -i s/a/b/ a.py && rm ../b.py"))
    [('src/a.py', 'edit'), ('b.py', 'delete')]
    """
    parts = list(split_command(command))
    # What ran before did happen: without it, 5 points fewer of the changed files are named.
    while is_error and parts and parts.pop().piped:
        pass
    folder, patch = "", False
    for part in parts:
        program = part.words[0].rpartition("/")[2] if part.words else ""
        if program not in _PROGRAMS and not part.outputs:
            continue
        if program == "cd" and is_path(part.words[-1]):
            folder = posixpath.join(folder, part.words[-1])
            if len(folder) > _LONGEST_PATH:
                return
            continue
        # The whole command is searched for patches, so once is enough.
        is_patch = _is_patch(part)
        if is_patch and patch:
            continue
        patch = patch or is_patch
        for path, what in _of_part(part, command):
            if is_path(path):
                below = "" if path.startswith("~") else folder
                yield posixpath.normpath(posixpath.join(below, path)), what


def _is_patch(part: Part) -> bool:
    return part.words[:1] == ["apply_patch"] or part.words[:2] == ["git", "apply"]


def _of_part(part: Part, command: str) -> Iterator[Effect]:
    """Yield what a part of a command does to files; the caller must check each path."""
    is_git = part.words[:1] == ["git"]
    words = part.words[1 + is_git :]
    program = " ".join(part.words[:2]) if is_git else posixpath.basename("".join(part.words[:1]))
    if not _DRY.isdisjoint(words):
        program = ""
    if program in _WHATS:
        yield from _of_words(program, words)
    elif program in {"git apply", "apply_patch"}:
        yield from patch_effects(command)
    elif program == "git reset" and "--hard" in words:
        yield ".", "revert"
    yield from part.outputs


def _of_words(program: str, words: Sequence[str]) -> Iterator[Effect]:
    """Yield what a known program does to the files in its arguments."""
    what, operands = _WHATS[program], [word for word in words if word and word[0] != "-"]
    if program in {"sed", "perl"}:
        what = "edit" if any(word.startswith(("-i", "-pi", "--in")) for word in words) else what
        scripts = [word for flag, word in pairwise(words) if flag[:1] == "-" and flag[-1] == "e"]
        operands = [word for word in operands if word not in (scripts or operands[:1])]
    elif program in {"cp", "mv", "git mv"}:
        *sources, target = operands or [""]
        if program != "cp":
            yield from ((source, "delete") for source in sources)
        names = [posixpath.basename(source.rstrip("/")) for source in sources]
        if program == "cp" and any(
            word[1:2] in {"r", "R", "a"} for word in words if word[0:1] == "-"
        ):
            return  # of a folder, whose files are not known
        is_folder = len(sources) > 1 or target.endswith("/") or target in {".", ".."}
        operands = [posixpath.join(target, name) for name in names] if is_folder else [target]
    for word in operands:
        # The operands may be folders, scripts or numbers: only a name with a suffix counts as read.
        if what != "read" or "." in posixpath.basename(word)[1:]:
            yield word, "edit" if program == "tee" and "-a" in words else what


def patch_effects(text: str) -> list[Effect]:
    r"""Return what a patch does to files; it is a diff or in the format of `apply_patch`.

    >>> patch_effects("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@")
    [('src/a.py', 'edit')]
    """
    whats: Mapping[str, What] = {"Add": "write", "Delete": "delete"}
    paths = _PATCHED.findall(text) if "+++ " in text or "*** " in text else []
    return [(path.strip(), whats.get(action, "edit")) for action, path in paths]
