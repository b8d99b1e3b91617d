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
    "Effect", "Part", "effects", "is_path", "patch_effects", "resolve", "script_writes",
    "split_command",
]  # fmt: skip

What: TypeAlias = Literal[
    "read", "written", "changed", "touched", "deleted", "moved", "copied", "ran", "entered",
    "reverted", "cleaned", "stashed", "unstashed", "dropped", "committed",
]  # fmt: skip

MAX_PATH_CHARS = 300
"""Longest word that is taken for a path: paths of projects are far shorter, scripts are longer."""
MAX_DEPTH = 3
"""Shells called by shells that are read: recursion must end, and nobody nests them deeper."""

# The alternatives of a word are told apart by their first character and nothing follows the word,
# so that matching never goes back: the cost is linear whatever the quotes.
_TOKEN = re.compile(
    r"""[ \t\r\f\v]*(?:\\\n
    | (?P<operator>[0-9&]?>>?(?:&[0-9-]|\|)?|<<<|<<-?|[0-9]?<|&&|\|\|?&?|;;?|&|\n|[()])
    | (?P<word>(?:[^\s;&|<>()'"\\$`]+|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|\$\([^()]*\)|\\.|['"\\$`])+)
    | .)""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|\\(.)""", re.DOTALL)
_QUOTES = frozenset("'\"\\")
_NEVER_IN_PATHS = frozenset("$`{}|<>\"'()=")
_PATTERN = frozenset("*?[")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NUMBER = re.compile(r"[0-9.]+[smh]?")
_IN_PLACE = re.compile(r"-[a-zE0]*i|--in-place")

# How scripts write: open(X, "w"), Path(X).write_text(, X.open("w"), writeFile(X. Repetitions are
# bounded, or begin where a word or a line does.
_LITERAL = r"""[rb]?["']([^"'\n{}$]{1,300})["']"""
_NAME = r"\b([A-Za-z_]\w{0,60})"
_METHOD = r"""\.(?:write_(?:text|bytes)\(|open\(\s?["'][wa])"""
_WRITE = re.compile(
    rf"""\bopen\(\s?(?:{_LITERAL}|{_NAME})\s?,\s?(?:mode\s?=\s?)?["'](?:[wax]|r\+)"""
    rf"""|\bPath\({_LITERAL}\){_METHOD}"""
    rf"""|\bwriteFile(?:Sync)?\(\s?(?:{_LITERAL}|{_NAME})"""
)
_OWNED_WRITE = re.compile(f"{_NAME}{_METHOD}")
_BINDING = re.compile(
    rf"^[ \t]*(?:const |let |var )?(\w{{1,60}}) ?= ?(?:[\w.]{{0,60}}Path\()?{_LITERAL}",
    re.MULTILINE,
)
_OPENED = re.compile(rf"\b(?:open|Path|readFileSync)\({_LITERAL}")
_PATCHED = re.compile(
    r"^(?:--- (?:a/)?(\S{1,300})[^\n]*\n\+\+\+ (?:b/)?(\S{1,300})"
    r"|\*\*\* (Add|Update|Delete|Move)(?: File| to): ([^\n]{1,300}))",
    re.MULTILINE,
)


@attrs.frozen
class Effect:
    """One thing that a command does to one file."""

    path: str
    """Relative paths start where the command was run, whatever `cd` it has. `.` is everything."""
    what: What
    source: str = ""
    """Where a moved or copied file came from; of a script that is run the directory."""
    writes: tuple[str, ...] = ()
    """What the text that is written writes itself, once it is run as a script or a patch."""
    last: bool = True
    """Whether it belongs to the last part: the one that did not happen if the command failed."""


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
        wrapped = False
        for at, word in enumerate(self.words):
            wrapper = word in {"timeout", "env", "xargs"}
            option = wrapped and (word.startswith("-") or _NUMBER.fullmatch(word))
            if not (wrapper or option or word in _KEYWORDS or _ASSIGNMENT.match(word)):
                return self.words[at:]
            wrapped = wrapped or wrapper
        return []

    def add(self, word: str, redirection: str) -> None:
        """Append a word, or where the operator before it leads."""
        if redirection:
            self.redirections.append((redirection, word))
        else:
            self.words.append(word)


# Both sections ask for the same command, one after the other.
@lru_cache(maxsize=2)
def split_command(command: str) -> tuple[Part, ...]:
    r"""Split a command into its simple commands, in their order.

    >>> [part.words for part in split_command("cd 'my src' && make 2>&1 | tail -3")]
    [['cd', 'my src'], ['make'], ['tail', '-3']]
    >>> split_command("cat > a.txt <<EOF\nhello\nEOF")[0].stdin
    'hello\n'
    """
    parts, redirection, at = [Part()], "", 0
    heredocs: list[tuple[Part, str]] = []
    while match := _TOKEN.match(command, at):
        at = match.end()
        if match["word"]:
            word = _unquote(match["word"])
            if word is None:
                # A quotation that never ends: the shell refuses all that is not done yet.
                parts.pop()
                break
            if redirection in {"<<", "<<-"}:
                heredocs.append((parts[-1], word))
            elif word.startswith("#") and not redirection:
                at = _line_end(command, at)
            else:
                parts[-1].add(word, redirection)
            redirection = ""
        elif operator := match["operator"]:
            redirection = ""
            if "<" in operator or ">" in operator:
                redirection = operator if "&" not in operator[1:] else ""
                continue
            if operator == "\n":
                at = _take_heredocs(command, at, heredocs)
            parts.append(Part(piped=operator in {"|", "|&"}))
            if operator in "()":
                parts[-1].words.append(operator)
                parts.append(Part())
    return tuple([part for part in parts if part.words or part.redirections])


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


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
    if _QUOTES.isdisjoint(word):
        return word
    outside = _QUOTED.sub("", word)
    return None if "'" in outside or '"' in outside else _QUOTED.sub(_inner, word)


def _inner(match: re.Match[str]) -> str:
    single, double, escaped = match.groups(default="")
    return single or double.replace('\\"', '"') or escaped.strip("\n")


def resolve(directory: str, path: str) -> str:
    """Return a path as it is seen from where the directory is relative to.

    >>> resolve("src", "../a.py"), resolve("src", "/tmp/b"), resolve("", "./c.py")
    ('a.py', '/tmp/b', 'c.py')
    """
    return posixpath.normpath(path if path.startswith("~") else posixpath.join(directory, path))


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


def effects(command: str) -> list[Effect]:
    """Return what a command does to files, in its order.

    >>> [(e.path, e.what) for e in effects("cd src && sed -i s/a/b/ a.py && rm ../b.py")]
    [('src/a.py', 'changed'), ('b.py', 'deleted')]
    """
    return list(_effects(command, MAX_DEPTH))


def _effects(command: str, depth: int) -> Iterator[Effect]:
    parts = split_command(command)
    directory, outer = "", [""]
    ends = [at for at, part in enumerate(parts) if not part.piped and part.words != [")"]]
    for number, part in enumerate(parts):
        words = part.command
        if words == ["("]:
            outer.append(directory)
        elif words == [")"]:
            directory = outer.pop() if outer else ""
        elif words[:1] in (["cd"], ["pushd"]) and is_path(words[-1]):
            directory = resolve(directory, words[-1])
            if directory.startswith("/"):
                yield Effect(directory, "entered", last=False)
        else:
            for effect in _of_part(part, words, depth):
                path = resolve(directory, effect.path)
                source = resolve(directory, effect.source) if effect.source else ""
                last = bool(ends) and number >= ends[-1]
                yield Effect(path, effect.what, source, effect.writes, last)


def _of_part(part: Part, words: list[str], depth: int) -> Iterator[Effect]:
    """Yield what a simple command does, its paths as they are written."""
    program, arguments = (posixpath.basename(words[0]), words[1:]) if words else ("", [])
    script = _script(arguments, part.stdin) if program in _INTERPRETERS else ""
    if script and program in _SHELLS:
        yield from _effects(script, depth - 1) if depth else ()
    elif script:
        yield from (Effect(path, "changed") for path in script_writes(script))
    elif program in _PROGRAMS:
        yield from _PROGRAMS[program](arguments, part)
    elif program in _INTERPRETERS:
        yield from _each("ran", _paths(arguments)[:1])
    elif words and is_path(words[0]) and ("/" in words[0] or program.endswith((".sh", ".py"))):
        yield Effect(words[0], "ran", ".")
    targets = [redirection for redirection in part.redirections if ">" in redirection[0]]
    if program == "tee":
        targets += [(">>" if "-a" in arguments else ">", word) for word in arguments]
    for operator, path in targets:
        if is_path(path):
            what: What = "changed" if ">>" in operator else "written"
            if program == "git" and f":{path}" in " ".join(arguments):
                what = "reverted"
            yield Effect(path, what, writes=_writes(part, program, arguments, path))


def _writes(part: Part, program: str, arguments: list[str], path: str) -> tuple[str, ...]:
    if program == "git" and arguments[:1] == ["diff"]:
        return tuple(_paths(arguments[1:]))
    return script_writes(part.stdin or " ".join(arguments), path)


def _script(words: Sequence[str], stdin: str) -> str:
    """Return the script that an interpreter is given as an argument or as its input."""
    flags = {"-c", "-lc", "-e"}
    return next((script for flag, script in pairwise(words) if flag in flags), stdin)


def _paths(words: Sequence[str], *, patterns: bool = False) -> list[str]:
    return [
        word for word in words if is_path(word, patterns=patterns) and not _NUMBER.fullmatch(word)
    ]


def _each(what: What, paths: Sequence[str]) -> Iterator[Effect]:
    return (Effect(path, what, "." if what == "ran" else "") for path in paths)


def _of_reader(words: list[str], _part: Part) -> Iterator[Effect]:
    """Folders, patterns and options are words too: only what has a suffix is taken for a file."""
    return _each("read", [path for path in _paths(words) if "." in posixpath.basename(path)[1:]])


def _of_search(words: list[str], part: Part) -> Iterator[Effect]:
    """The first word that is no option is what is looked for."""
    return _of_reader([word for word in words if not word.startswith("-")][1:], part)


def _of_editor(words: list[str], _part: Part) -> Iterator[Effect]:
    in_place = any(_IN_PLACE.match(word) for word in words)
    scripts = [word for flag, word in pairwise(words) if flag in {"-e", "-f"} or flag[-2:] == "pe"]
    files = [word for word in words if word and not word.startswith("-") and word not in scripts]
    files = files if scripts else files[1:]
    # A quotation that ends too early leaves words of its text: no blanks, and a dot or a slash.
    sound = [path for path in files if " " not in path and ("/" in path or "." in path[:-1])]
    return _each("changed" if in_place else "read", _paths(sound if len(files) > 1 else files))


def _of_move(words: list[str], _part: Part, what: What = "moved") -> Iterator[Effect]:
    *sources, target = _paths(words) or [""]
    folder = len(sources) > 1 or target.endswith("/") or target in {".", ".."}
    for source in sources:
        name = posixpath.basename(source.rstrip("/"))
        yield Effect(posixpath.join(target, name) if folder else target, what, source)


def _of_copy(words: list[str], part: Part) -> Iterator[Effect]:
    return _of_move(words, part, "copied")


def _of_removal(words: list[str], _part: Part) -> Iterator[Effect]:
    return _each("deleted", _paths(words, patterns=True) if "--cached" not in words else ())


def _of_patch(words: list[str], part: Part) -> Iterator[Effect]:
    """A patch is its input or its argument, or a file that was written before."""
    if {"--check", "--dry-run", "--stat"}.isdisjoint(words):
        yield from patch_effects(part.stdin or "\n".join(words))
        if not part.stdin:
            yield from _each(
                "ran", _paths(words) + [path for op, path in part.redirections if op == "<"]
            )


def _of_git(words: list[str], part: Part) -> Iterator[Effect]:
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in {"-C", "-c"} else 1 :]
    action, rest = (words[0], words[1:]) if words else ("", [])
    if action in _GIT_PROGRAMS:
        yield from _GIT_PROGRAMS[action](rest, part)
    elif action in {"checkout", "restore"}:
        # What is no known file, as a branch, is nothing to put back; nor is what is only unstaged.
        if not {"-b", "--staged"} & {*rest}:
            yield from _each("reverted", _paths(rest, patterns=True))
    elif action == "reset" and "--hard" in rest:
        yield Effect(".", "reverted")
    elif action in {"commit", "clean"} and not {"-n", "--dry-run"} & {*rest}:
        yield Effect(".", "committed" if action == "commit" else "cleaned")
    elif action == "stash":
        verbs: Mapping[str, What] = {"pop": "unstashed", "apply": "unstashed", "drop": "dropped"}
        if rest[:1] in ([], ["push"], ["save"]) or rest[0].startswith("-"):
            yield from _each("stashed", rest[rest.index("--") + 1 :] if "--" in rest else ["."])
        elif rest[0] in verbs:
            yield Effect(".", verbs[rest[0]])


_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "do",
        "while",
        "until",
        "!",
        "{",
        "sudo",
        "time",
        "nohup",
        "exec",
    ]
)
_SHELLS = frozenset(["bash", "sh", "zsh"])
_INTERPRETERS = _SHELLS | {"python", "python3", "node", "ruby", "tsx", "source", "."}
_GIT_PROGRAMS: Mapping[str, Callable[[list[str], Part], Iterator[Effect]]] = {
    "mv": _of_move, "rm": _of_removal, "apply": _of_patch,
}  # fmt: skip
_PROGRAMS: Mapping[str, Callable[[list[str], Part], Iterator[Effect]]] = {
    **dict.fromkeys(["cat", "head", "tail", "less", "more", "nl"], _of_reader),
    **dict.fromkeys(["grep", "egrep", "rg", "awk"], _of_search),
    **dict.fromkeys(["sed", "perl"], _of_editor),
    **dict.fromkeys(["rm", "unlink", "rmdir"], _of_removal),
    **dict.fromkeys(["patch", "apply_patch"], _of_patch),
    "mv": _of_move,
    "cp": _of_copy,
    "git": _of_git,
    "touch": lambda words, _part: _each("touched", _paths(words)),
}


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


def script_writes(text: str, name: str = "") -> tuple[str, ...]:
    r"""Return the files that a script or a patch writes: those that it names, or the one it opens.

    >>> script_writes('text = open("a.py").read()\nopen("a.py", "w").write(text)')
    ('a.py',)
    >>> script_writes('file = "b.py"\nwith open(file, "w") as f: ...')
    ('b.py',)
    """
    if name.endswith((".sh", ".bash")):
        return tuple({e.path: 0 for e in effects(text) if e.what not in {"read", "ran", "entered"}})
    found = [effect.path for effect in patch_effects(text)]
    # Few texts write at all, and finding out is much faster than matching.
    writes = _WRITE.findall(text) if "open(" in text or "write" in text else []
    if ".write_" in text or ".open(" in text:
        writes += [("", name, "", "", "") for name in _OWNED_WRITE.findall(text)]
    bound = dict(_BINDING.findall(text)) if writes else {}
    opened = {*_OPENED.findall(text)} if writes else set()
    only = opened.pop() if len(opened) == 1 else ""
    for literal, variable, pathlib, node, argument in writes:
        found.append(literal or pathlib or node or bound.get(variable or argument, only))
    return tuple(dict.fromkeys(path for path in found if is_path(path)))
