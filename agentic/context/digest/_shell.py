"""What a shell command does to files, as far as a plain reader of the command sees it.

Nothing is run or expanded: a path that holds a variable or a substitution is nobody's. A script
that a command carries counts as run, since a script is written to be run. A patch that is only
written to a file does not count as applied: many fail, and `patch` says what it changed.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeAlias

import attrs

__all__ = [
    "Effect",
    "Part",
    "effects",
    "is_path",
    "patch_effects",
    "script_effects",
    "split_command",
]

What: TypeAlias = Literal["read", "written", "changed", "deleted", "reverted", "committed"]
Effect: TypeAlias = tuple[str, What]
"""A path and what happens to the file. An empty path stands for all files."""

MAX_PATH_CHARS = 300
"""Longest word that is taken for a path: paths of projects are far shorter, scripts are longer."""

# No alternative looks behind the next quote, `<` or line that it cannot take: the cost is linear.
_TOKEN = re.compile(
    r"""\\\n | \#[^\n]*
    | <<-?[ \t]*(?P<quote>['"]?)(?P<end>[\w.-]+)(?P=quote)(?P<rest>[^\n<]*)\n
      (?P<heredoc>(?:(?!\t*(?P=end)$)[^\n]*\n)*)[^\n]*
    | (?P<operator>[0-9&]?>>?(?:&[0-9-]|\|)?|<<?<?|&&|\|\|?&?|;;?|&|\n|[()])
    | (?P<word>(?:[^\s;&|<>()'"\\$`]+|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\$\([^()]*\)|\\.|['"\\$`])+)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
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

_DRY = frozenset(["--cached", "--staged", "--check", "--dry-run", "-b"])
"""With these options, programs do nothing to files."""
_WHATS: Mapping[str, What] = {
    **dict.fromkeys(["cat", "head", "tail", "less", "nl", "sed", "perl"], "read"),
    **dict.fromkeys(["tee", "touch", "cp", "mv", "git mv"], "written"),
    **dict.fromkeys(["rm", "git rm"], "deleted"),
    **dict.fromkeys(["git checkout", "git restore", "git reset"], "reverted"),
    "git commit": "committed",
}
"""What happens to the files that are named. A branch is no known file, and nothing to put back."""

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
    r"^(?:\+\+\+ (?:b/)?|\*\*\* (Add|Update|Delete|Move)(?: File| to): )([^\t\n]+)", re.MULTILINE
)


@attrs.define
class Part:
    """A simple command: its words without quotes, where its output goes, and its heredoc."""

    words: list[str] = attrs.field(factory=list)
    outputs: list[Effect] = attrs.field(factory=list)
    heredoc: str = ""
    piped: bool = False
    """Whether it reads what the part before it prints."""

    @property
    def command(self) -> list[str]:
        """The words from the program on, without keywords, assignments and wrappers."""
        for at, word in enumerate(self.words):
            if not _NO_PROGRAM.match(word):
                return self.words[at:]
        return []


# Two sections ask for the same command, one after the other.
@lru_cache(maxsize=1)
def split_command(command: str) -> tuple[Part, ...]:
    r"""Split a command into its simple commands, in their order.

    >>> [part.words for part in split_command("cd 'my src' && make 2>&1 | tail -3")]
    [['cd', 'my src'], ['make'], ['tail', '-3']]
    >>> split_command("cat > a.txt <<EOF\nhello\nEOF")[0].heredoc
    'hello\n'
    """
    part, redirection = Part(), ""
    parts = [part]
    for token in _tokens(command):
        kind, text = token.lastgroup, token[0]
        if kind == "word":
            word = text if _QUOTES.isdisjoint(text) else _unquote(text)
            if word is None:
                # A quotation that never ends: the shell refuses all that is not done yet.
                parts.pop()
                break
            if not redirection:
                part.words.append(word)
            elif ">" in redirection:
                part.outputs.append((word, "changed" if ">>" in redirection else "written"))
            redirection = ""
        elif kind == "heredoc":
            part.heredoc = token["heredoc"]
        elif kind == "operator" and ("<" in text or ">" in text):
            redirection = text if "&" not in text[1:] else ""
        elif kind == "operator":
            part, redirection = Part(piped=text in {"|", "|&"}), ""
            parts.append(part)
    return tuple([part for part in parts if part.words or part.outputs])


def _tokens(command: str) -> Iterator[re.Match[str]]:
    """Yield the tokens of a command; what follows `<<EOF` on its line comes after its text."""
    for token in _TOKEN.finditer(command):
        yield token
        if token.lastgroup == "heredoc":
            yield from _TOKEN.finditer(token["rest"])


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

    Relative paths start where the command was run, whatever `cd` it has.

    >>> effects("cd src && sed -i s/a/b/ a.py && rm ../b.py")
    [('src/a.py', 'changed'), ('b.py', 'deleted')]
    """
    parts = list(split_command(command))
    while failed and parts and parts.pop().piped:
        pass
    found: list[Effect] = []
    folder = ""
    for part in parts:
        words = part.command
        if words[:1] == ["cd"] and is_path(words[-1]):
            folder = _join(folder, words[-1])
            continue
        for path, what in _of_part(part, words):
            if is_path(path, patterns=what in {"deleted", "reverted"}):
                found.append((_join(folder, path), what))
            elif not path:
                found.append((path, what))
    return found


def _join(folder: str, path: str) -> str:
    below = "" if path.startswith("~") else folder
    return posixpath.normpath(posixpath.join(below, path))


def _of_part(part: Part, words: Sequence[str]) -> Iterator[Effect]:
    """Yield what a simple command does. Not every word that it names is a path."""
    program, words = (posixpath.basename(words[0]), words[1:]) if words else ("", [])
    if program == "git":
        while words and words[0].startswith("-"):
            words = words[2 if words[0] in {"-C", "-c"} else 1 :]
        program, words = " ".join(["git", *words[:1]]), words[1:]
    if program in _WHATS and _DRY.isdisjoint(words):
        yield from _of_words(program, words)
    yield from part.outputs
    for script in [part.heredoc, *(word for flag, word in pairwise(words) if flag in {"-c", "-e"})]:
        yield from script_effects(script)
    if not part.outputs:
        yield from patch_effects(part.heredoc)


def _of_words(program: str, words: Sequence[str]) -> Iterator[Effect]:
    """Yield what a known program does to the files that it is given."""
    what, operands = _WHATS[program], [word for word in words if word and word[0] != "-"]
    if program in {"sed", "perl"}:
        if any(word.startswith(("-i", "-pi", "--in-place")) for word in words):
            what = "changed"
        scripts = [word for flag, word in pairwise(words) if flag[:1] == "-" and flag[-1] == "e"]
        operands = [word for word in operands if word not in (scripts or operands[:1])]
    if program == "git commit" or "--hard" in words:
        yield "", what
    elif program in {"cp", "mv", "git mv"}:
        *sources, target = operands or [""]
        is_folder = len(sources) > 1 or target.endswith("/") or target in {".", ".."}
        for source in sources:
            name = posixpath.basename(source.rstrip("/"))
            yield posixpath.join(target, name) if is_folder else target, "written"
            if program != "cp":
                yield source, "deleted"
    elif program != "git reset":
        # Folders, scripts and numbers are read, too: only what has a suffix is taken for a file.
        for word in operands:
            if what != "read" or "." in posixpath.basename(word)[1:]:
                yield word, "changed" if program == "tee" and "-a" in words else what


def patch_effects(text: str) -> list[Effect]:
    r"""Return what a patch does to files: a diff, or the form of `apply_patch`.

    >>> patch_effects("--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@")
    [('src/a.py', 'changed')]
    """
    whats: Mapping[str, What] = {"Add": "written", "Delete": "deleted"}
    patched = _PATCHED.findall(text) if "+++ " in text or "*** " in text else []
    found = [(path.strip(), whats.get(action, "changed")) for action, path in patched]
    return [(path, what) for path, what in found if is_path(path)]


def script_effects(text: str) -> list[Effect]:
    r"""Return the files that a script opens to write, as far as it names them.

    >>> script_effects('file = "b.py"\nwith open(file, "w") as f: ...')
    [('b.py', 'changed')]
    """
    # Few texts write at all, and finding out is much faster than matching.
    written = _WRITE.findall(text) if "open(" in text or "writeFile" in text else []
    written += _WRITE_TEXT.findall(text) if ".write_" in text else []
    bound = dict(_BINDING.findall(text)) if written else {}
    named = dict.fromkeys(bound.get(each, each) for each in map("".join, written))
    paths = [each[1:-1] for each in named if each[0] in "'\""]
    return [(path, "changed") for path in paths if is_path(path)]
