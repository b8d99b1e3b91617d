"""What a shell command does to files, as far as a plain reader of the command sees it.

Nothing is run or expanded: a path that holds a variable or a substitution is nobody's. Whether the
command succeeded is for the caller to judge.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

import attrs

__all__ = [
    "Effect", "Part", "effects", "is_path", "patch_effects", "script_writes", "split_command",
]  # fmt: skip

What: TypeAlias = Literal[
    "read", "written", "changed", "moved", "ran", "entered",
    "deleted", "reverted", "committed", "stashed", "unstashed",
]  # fmt: skip

MAX_PATH_CHARS = 300
"""Longest word that is taken for a path: paths of projects are far shorter, scripts are longer."""

# The alternatives of a word are told apart by their first character and nothing follows the word,
# so that matching never goes back: the cost is linear whatever the quotes.
_TOKEN = re.compile(
    r"""[ \t\r\f\v]*(?:\\\n|\#[^\n]*
    | (?P<operator>[0-9&]?>>?(?:&[0-9-]|\|)?|<<<|<<-?|[0-9]?<|&&|\|\|?&?|;;?|&|\n|[()])
    | (?P<word>(?:[^\s;&|<>()'"\\$`]+|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\$\([^()]*\)|\\.|['"\\$`])+)
    | .)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|\\(.)""", re.DOTALL)
_QUOTES = frozenset("'\"\\")
_NEVER_IN_PATHS = frozenset("$`{}|<>\"'()=")
_PATTERN = frozenset("*?[")
_NO_PROGRAM = re.compile(
    r"[A-Za-z_]\w*=|-|[0-9.]+[smh]?$"
    r"|(?:if|then|else|elif|do|while|until|!|\{|sudo|time|nohup|exec|timeout|env|xargs)$"
)
"""Keywords, assignments, wrappers and their options stand before the program."""

# How scripts write: open(X, "w"), writeFile(X, X.write_text( where X is a name or Path("...").
_LITERAL = r"""["'][^"'\n{}$]+["']"""
_WRITE = re.compile(
    rf"""\bopen\(({_LITERAL}|\w+), ?(?:mode ?= ?)?["'](?:[wax]|r\+)"""
    rf"""|\bwriteFile(?:Sync)?\(({_LITERAL}|\w+)"""
)
_WRITE_TEXT = re.compile(rf"""(?:\bPath\(({_LITERAL})\)|\b(\w+))\.write_(?:text|bytes)\(""")
_BINDING = re.compile(
    rf"^[ \t]*(?:const |let |var )?(\w+) ?= ?(?:[\w.]*Path\()?({_LITERAL})", re.MULTILINE
)
_PATCHED = re.compile(
    r"^(?:--- (?:a/)?(\S+)(?:\s[^\n]*)?\n\+\+\+ (?:b/)?(\S+)"
    r"|\*\*\* (Add|Update|Delete|Move)(?: File| to): ([^\n]+))",
    re.MULTILINE,
)


@attrs.frozen
class Effect:
    """One thing that a command does to one file."""

    path: str
    """Relative paths start where the command was run, whatever `cd` it has; empty for all files."""
    what: What
    source: str = ""
    """Where a moved file came from."""
    writes: tuple[str, ...] = ()
    """What the text that is written writes itself, once it is run as a script or a patch."""


@attrs.define
class Part:
    """A simple command: its words without quotes, its redirections and the text of its heredoc."""

    words: list[str] = attrs.field(factory=list)
    redirections: list[tuple[str, str]] = attrs.field(factory=list)
    stdin: str = ""
    piped: bool = False
    """Whether it reads what the part before it prints."""

    @property
    def command(self) -> list[str]:
        """The words from the program on, without keywords, assignments and wrappers."""
        for at, word in enumerate(self.words):
            if not _NO_PROGRAM.match(word):
                return self.words[at:]
        return []

    def add(self, word: str, redirection: str) -> None:
        """Append a word, or where the operator before it leads."""
        if redirection:
            self.redirections.append((redirection, word))
        else:
            self.words.append(word)


# Two sections ask for the same command, one after the other.
@lru_cache(maxsize=1)
def split_command(command: str) -> tuple[Part, ...]:
    r"""Split a command into its simple commands, in their order.

    >>> [part.words for part in split_command("cd 'my src' && make 2>&1 | tail -3")]
    [['cd', 'my src'], ['make'], ['tail', '-3']]
    >>> split_command("cat > a.txt <<EOF\nhello\nEOF")[0].stdin
    'hello\n'
    """
    part = Part()
    parts, redirection, at = [part], "", 0
    heredocs: list[tuple[Part, str]] = []
    while match := _TOKEN.match(command, at):
        at = match.end()
        operator, word = match.groups()
        if word:
            if not _QUOTES.isdisjoint(word) and (word := _unquote(word)) is None:
                # A quotation that never ends: the shell refuses all that is not done yet.
                parts.pop()
                break
            if redirection.startswith("<<"):
                heredocs.append((part, word))
            else:
                part.add(word, redirection)
            redirection = ""
        elif operator:
            redirection = ""
            if "<" in operator or ">" in operator:
                redirection = operator if "&" not in operator[1:] else ""
                continue
            if operator == "\n" and heredocs:
                at = _take_heredocs(command, at, heredocs)
            part = Part(piped=operator in {"|", "|&"})
            parts.append(part)
    return tuple([part for part in parts if part.words or part.redirections])


def _take_heredocs(command: str, at: int, heredocs: list[tuple[Part, str]]) -> int:
    """Give the parts that wait for them their texts; without its last line, a text is the rest."""
    for part, end in heredocs:
        found = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(command, at)
        part.stdin = command[at : found.start() if found else None]
        at = found.end() if found else len(command)
    heredocs.clear()
    return at


def _unquote(word: str) -> str | None:
    """Return a word without its quotes; None if one is left open."""
    outside = _QUOTED.sub("", word)
    return None if "'" in outside or '"' in outside else _QUOTED.sub(_inner, word)


def _inner(match: re.Match[str]) -> str:
    single, double, escaped = match.groups(default="")
    return single or double.replace('\\"', '"') or escaped.strip("\n")


def is_path(word: str, *, patterns: bool = False) -> bool:
    """Return whether a word can be the path of one file, or with `patterns` of several.

    >>> is_path("src/a.py"), is_path("--all"), is_path("$HOME/a"), is_path("*.py", patterns=True)
    (True, False, False, True)
    """
    return (
        0 < len(word) <= MAX_PATH_CHARS
        and word[0] not in "-&+"
        and not word.startswith("/dev/")
        and word.isprintable()
        and _NEVER_IN_PATHS.isdisjoint(word)
        and (patterns or _PATTERN.isdisjoint(word))
    )


def effects(command: str, *, failed: bool = False) -> list[Effect]:
    """Return what a command does to files, in its order; if it failed, all but its last part.

    >>> [(e.path, e.what) for e in effects("cd src && sed -i s/a/b/ a.py && rm ../b.py")]
    [('src/a.py', 'changed'), ('b.py', 'deleted')]
    """
    parts = list(split_command(command))
    while failed and parts and parts.pop().piped:
        pass
    found, directory = [], ""
    for part in parts:
        words = part.command
        if words[:1] == ["cd"] and is_path(words[-1]):
            directory = _join(directory, words[-1])
            if directory.startswith("/"):
                found.append(Effect(directory, "entered"))
        else:
            for each in _of_part(part, words):
                path, source = _join(directory, each.path), _join(directory, each.source)
                found.append(Effect(path, each.what, source, each.writes))
    return found


def _join(directory: str, path: str) -> str:
    below = "" if path.startswith("~") else directory
    return posixpath.normpath(posixpath.join(below, path)) if path else ""


def _of_part(part: Part, words: list[str]) -> Iterator[Effect]:
    """Yield what a simple command does, its paths as they are written."""
    program, arguments = (posixpath.basename(words[0]), words[1:]) if words else ("", [])
    if program == "git":
        while arguments and arguments[0].startswith("-"):
            arguments = arguments[2 if arguments[0] in {"-C", "-c"} else 1 :]
        program, arguments = " ".join(["git", *arguments[:1]]), arguments[1:]
    if _DRY.isdisjoint(arguments):
        yield from _PROGRAMS.get(program, _of_any)(program, arguments, part)
    for operator, path in part.redirections:
        if ">" in operator and is_path(path):
            written: What = "changed" if ">>" in operator else "written"
            back = program == "git show" and f":{path}" in " ".join(arguments)
            yield Effect(path, "reverted" if back else written, writes=script_writes(part.stdin))


def _of_any(program: str, words: list[str], _part: Part) -> Iterator[Effect]:
    what = "changed" if program == "tee" and "-a" in words else _WHATS.get(program)
    patterns = what in {"deleted", "reverted"}
    return _each(what, _paths(words, patterns=patterns))


def _of_reader(_program: str, words: list[str], _part: Part) -> Iterator[Effect]:
    """Folders, scripts and numbers are words too: only what has a suffix is taken for a file."""
    return _each("read", [path for path in _paths(words) if "." in posixpath.basename(path)[1:]])


def _of_editor(program: str, words: list[str], part: Part) -> Iterator[Effect]:
    if not any(word.startswith(("-i", "-pi", "--in-place")) for word in words):
        return _of_reader(program, words, part)
    scripts = [word for flag, word in pairwise(words) if flag.endswith("e") and flag[0] == "-"]
    files = [word for word in words if word and not word.startswith("-") and word not in scripts]
    return _each("changed", _paths(files if scripts else files[1:]))


def _of_interpreter(_program: str, words: list[str], part: Part) -> Iterator[Effect]:
    """A script is an argument, or the input; or a file that was written before."""
    script = next((script for flag, script in pairwise(words) if flag in {"-c", "-e"}), part.stdin)
    return _each("changed", script_writes(script)) if script else _each("ran", _paths(words)[:1])


def _of_shell(_program: str, words: list[str], _part: Part) -> Iterator[Effect]:
    for flag, script in pairwise(words):
        if flag in {"-c", "-lc"}:
            yield from effects(script)


def _of_move(program: str, words: list[str], _part: Part) -> Iterator[Effect]:
    *sources, target = _paths(words) or [""]
    folder = len(sources) > 1 or target.endswith("/") or target in {".", ".."}
    for source in sources:
        path = posixpath.join(target, posixpath.basename(source.rstrip("/"))) if folder else target
        yield Effect(path, "written" if program == "cp" else "moved", source)


def _of_patch(_program: str, words: list[str], part: Part) -> Iterator[Effect]:
    """A patch is its input or its argument, or a file that was written before."""
    yield from patch_effects(part.stdin or "\n".join(words))
    inputs = [path for operator, path in part.redirections if operator == "<"]
    yield from _each("ran", _paths([*words, *inputs]))


def _of_git(program: str, words: list[str], _part: Part) -> Iterator[Effect]:
    """What git does to all files at once: reset, stash and commit."""
    verbs = [word for word in words if word == "--hard" or not word.startswith("-")]
    what = _WHATS.get(" ".join([program, *verbs[:1]]) if program != "git commit" else program)
    return _each(what, [""])


_DRY = frozenset(["--cached", "--staged", "--check", "--dry-run", "-b"])
"""With these options, programs do nothing to files."""
_WHATS: Mapping[str, What] = {
    **dict.fromkeys(["rm", "git rm"], "deleted"),
    **dict.fromkeys(["git checkout", "git restore", "git reset --hard"], "reverted"),
    **dict.fromkeys(["tee", "touch"], "written"),
    **dict.fromkeys(["git stash", "git stash push", "git stash save"], "stashed"),
    **dict.fromkeys(["git stash pop", "git stash apply"], "unstashed"),
    "git commit": "committed",
}
"""What happens to the files that are named. A branch is no known file, and nothing to put back."""
_PROGRAMS: Mapping[str, Callable[[str, list[str], Part], Iterator[Effect]]] = {
    **dict.fromkeys(["cat", "head", "tail", "less", "nl"], _of_reader),
    **dict.fromkeys(["sed", "perl"], _of_editor),
    **dict.fromkeys(["python", "python3", "node", "ruby", "tsx"], _of_interpreter),
    **dict.fromkeys(["bash", "sh", "zsh"], _of_shell),
    **dict.fromkeys(["mv", "git mv", "cp"], _of_move),
    **dict.fromkeys(["patch", "apply_patch", "git apply"], _of_patch),
    **dict.fromkeys(["git reset", "git stash", "git commit"], _of_git),
}


def _paths(words: Sequence[str], *, patterns: bool = False) -> list[str]:
    return [word for word in words if is_path(word, patterns=patterns)]


def _each(what: What | None, paths: Sequence[str]) -> Iterator[Effect]:
    return (Effect(path, what) for path in paths if what)


def patch_effects(text: str) -> list[Effect]:
    r"""Return what a patch does to files: a diff, or the form of `apply_patch`.

    >>> [(e.path, e.what) for e in patch_effects("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@")]
    [('src/a.py', 'changed')]
    """
    found: list[Effect] = []
    if "\n+++ " not in text and "*** " not in text:
        return found
    whats: Mapping[str, What] = {"Add": "written", "Delete": "deleted", "/dev/null": "written"}
    for before, after, action, path in _PATCHED.findall(text):
        if action == "Move":
            found.append(Effect(path.strip(), "moved", found.pop().path if found else ""))
        elif after == "/dev/null":
            found.append(Effect(before, "deleted"))
        else:
            found.append(Effect((path or after).strip(), whats.get(action or before, "changed")))
    return found


def script_writes(text: str) -> tuple[str, ...]:
    r"""Return the files that a script or a patch writes, as far as it names them.

    >>> script_writes('text = open("a.py").read()\nopen("a.py", "w").write(text)')
    ('a.py',)
    >>> script_writes('file = "b.py"\nwith open(file, "w") as f: ...')
    ('b.py',)
    """
    found = [effect.path for effect in patch_effects(text)]
    # Few texts write at all, and finding out is much faster than matching.
    written = _WRITE.findall(text) if "open(" in text or "writeFile" in text else []
    written += _WRITE_TEXT.findall(text) if ".write_" in text else []
    bound = dict(_BINDING.findall(text)) if written else {}
    named = [bound.get(each, each) for each in map("".join, written)]
    found += [each[1:-1] for each in named if each[0] in "'\""]
    return tuple(dict.fromkeys(path for path in found if is_path(path)))
