"""What a shell command does to files, as far as a plain reader of the command sees it.

Nothing is run or expanded: a path that holds a variable or a substitution is nobody's. Whether the
command succeeded is for the caller to judge.
"""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import attrs

__all__ = ["Effect", "Part", "effects", "resolve", "script_writes", "split_command"]

What: TypeAlias = Literal[
    "read", "written", "changed", "deleted", "moved", "copied", "ran",
    "reverted", "cleaned", "stashed", "unstashed", "dropped", "committed", "touched",
]  # fmt: skip

# The alternatives of a word are told apart by their first character, and nothing follows the word,
# so that matching never goes back.
_TOKEN = re.compile(
    r"""(?P<blank>(?:[ \t\r\f\v]|\\\n)+)
    | (?P<operator>[0-9&]?>>?(?:&[0-9-]|\|)? | <<<|<<-?|[0-9]?< | &&|\|\|?&?|;;?|&|\n|[()])
    | (?P<word>(?: [^\s;&|<>()'"\\$`]+ | '[^']*' | "[^"\\]*(?:\\.[^"\\]*)*" | \$\([^()]*\)
      | \\. | ['"\\$`] )+)
    | .""",
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"""'([^']*)'|"([^"\\]*(?:\\.[^"\\]*)*)"|\\(.)""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_NUMBER = re.compile(r"[0-9.]+[smh]?")

# What a script writes. Every repetition is bounded or starts where a word or a line does.
_LITERAL = r"""[rb]?["'](?P<{}>[^"'\n{{}}$]{{1,300}})["']"""
_WRITE = re.compile(
    rf"""\bopen\(\s?(?:{_LITERAL.format("opened")}|(?P<name>[A-Za-z_]\w{{0,60}}))\s?,\s?
         (?:mode\s?=\s?)?["'](?:[wax]|r\+)
    | \bPath\({_LITERAL.format("pathlib")}\)\.(?:write_(?:text|bytes)\(|open\(\s?["'][wa])
    | \b(?P<variable>[A-Za-z_]\w{{0,60}})\.(?:write_(?:text|bytes)\(|open\(\s?["'][wa])
    | \bwriteFile(?:Sync)?\(\s?(?:{_LITERAL.format("node")}|(?P<argument>[A-Za-z_]\w{{0,60}}))
    | ^\+\+\+[ ](?:b/)?(?P<diff>[^\s]{{1,300}})
    | ^\*\*\*[ ](?:Add|Update|Delete)[ ]File:[ ](?P<patch>[^\n]{{1,300}})""",
    re.VERBOSE | re.MULTILINE,
)
_BINDING = re.compile(
    rf"^[ \t]*(?:const |let |var )?(\w{{1,60}}) ?= ?(?:[\w.]{{0,60}}Path\()?{_LITERAL.format('bound')}",
    re.MULTILINE,
)
_NAMED = re.compile(rf"\b(?:open|Path|readFileSync)\({_LITERAL.format('named')}")

_KEYWORDS = frozenset("if then else elif do while until ! { sudo time nohup command exec xargs".split())
_READERS = frozenset("cat head tail less more nl bat tac grep egrep rg".split())
_INTERPRETERS = frozenset(
    "python python3 python2 node ruby perl bash sh zsh source . tsx ts-node deno bun".split()
)
_SHELLS = frozenset({"bash", "sh", "zsh"})
_MAX_DEPTH = 3
"""Of shells called by shells: deeper ones are nobody's daily work, and recursion must end."""


@attrs.frozen
class Effect:
    """One thing that a command does to one file."""

    path: str
    """Relative paths start where the command was run, whatever `cd` it has. `.` is everything."""
    what: What
    source: str = ""
    """Where a moved or copied file came from; of a script that was run the directory."""
    writes: tuple[str, ...] = ()
    """Of a text that was written: what it writes once it is run as a script or a patch."""
    last: bool = True
    """Whether it belongs to the last part: the part that did not happen if the command failed."""


@attrs.define
class Part:
    """A simple command: its words without quotes, its redirections and the text of its heredoc."""

    words: list[str] = attrs.field(factory=list)
    redirections: list[tuple[str, str]] = attrs.field(factory=list)
    stdin: str | None = None
    piped: bool = False
    """Whether it reads what the part before it prints."""

    @property
    def command(self) -> list[str]:
        """The words without keywords, assignments and wrappers before the program."""
        at = 0
        while at < len(self.words):
            word = self.words[at]
            if word in {"timeout", "env"}:
                at += 1
                while at < len(self.words) and (
                    _NUMBER.fullmatch(self.words[at]) or self.words[at].startswith("-")
                ):
                    at += 1
            elif word in _KEYWORDS or _ASSIGNMENT.match(word):
                at += 1
            else:
                break
        return self.words[at:]


def split_command(command: str) -> list[Part]:
    r"""Split a command into its simple commands, in their order.

    >>> [part.words for part in split_command("cd 'my src' && make 2>&1 | tail -3")]
    [['cd', 'my src'], ['make'], ['tail', '-3']]
    >>> split_command("cat > a.txt <<EOF\nhello\nEOF")[0].stdin
    'hello\n'
    """
    parts = [Part()]
    waiting: list[tuple[Part, str, bool]] = []
    redirection = ""
    at = 0
    while at < len(command) and (match := _TOKEN.match(command, at)):
        at = match.end()
        if word := match["word"]:
            if redirection.startswith("<<") and redirection != "<<<":
                waiting.append((parts[-1], _unquote(word), redirection.endswith("-")))
            elif redirection:
                parts[-1].redirections.append((redirection, _unquote(word)))
            elif word.startswith("#"):
                at = command.find("\n", at) % (len(command) + 1)
            else:
                parts[-1].words.append(_unquote(word))
            redirection = ""
        elif operator := match["operator"]:
            if "<" in operator or ">" in operator:
                redirection = "" if operator[-1] in "0123456789-" and "&" in operator else operator
                continue
            redirection = ""
            if operator == "\n":
                for part, end, indented in waiting:
                    part.stdin, at = _heredoc(command, at, end, indented)
                waiting.clear()
            parts.append(Part(piped=operator.startswith("|") and operator != "||"))
            if operator in "()":
                parts[-1].words.append(operator)
                parts.append(Part())
    return [part for part in parts if part.words or part.redirections]


def _heredoc(command: str, start: int, end: str, indented: bool) -> tuple[str, int]:
    """Return the text of a heredoc that starts here, and where what follows it starts."""
    if command.startswith(f"{end}\n", start):
        return "", start + len(end)
    found = start - 1
    while (found := command.find("\n\t" if indented else f"\n{end}", found)) >= 0:
        line_end = command.find("\n", found + 1) % (len(command) + 1)
        if command[found + 1 : line_end].lstrip("\t" if indented else "") == end:
            return command[start : found + 1], line_end
        found += 1
    return command[start:], len(command)


def _unquote(word: str) -> str:
    if not any(mark in word for mark in "'\"\\"):
        return word
    return _QUOTED.sub(_plain, word)


def _plain(match: re.Match[str]) -> str:
    single, double, escaped = match.groups()
    if single is not None:
        return str(single)
    if double is not None:
        return str(double).replace('\\"', '"').replace("\\\n", "")
    return "" if escaped == "\n" else str(escaped)


def resolve(directory: str, path: str) -> str:
    """Return a path as it is seen from where the directory is relative to.

    >>> resolve("src", "../a.py"), resolve("src", "/tmp/b"), resolve("", "./c.py")
    ('a.py', '/tmp/b', 'c.py')
    """
    joined = path if path.startswith("~") else posixpath.join(directory, path)
    return posixpath.normpath(joined)


def effects(command: str, directory: str = "") -> list[Effect]:
    r"""Return what a command does to files, in its order.

    >>> [(e.path, e.what) for e in effects("cd src && sed -i s/a/b/ a.py && rm ../b.py")]
    [('src/a.py', 'changed'), ('b.py', 'deleted')]
    """
    return list(_effects(command, directory, _MAX_DEPTH))


def _effects(command: str, directory: str, depth: int) -> Iterator[Effect]:
    parts = split_command(command)
    outer: list[str] = []
    last = max((i for i, part in enumerate(parts) if not part.piped and part.words != [")"]), default=0)
    for number, part in enumerate(parts):
        words = part.command
        if words[:1] == ["("]:
            outer.append(directory)
        elif words[:1] == [")"]:
            directory = outer.pop() if outer else directory
        elif words[:1] in (["cd"], ["pushd"]) and _is_path(words[-1]):
            directory = resolve(directory, words[-1])
        else:
            for effect in _of_part(part, words, directory, depth):
                yield attrs.evolve(effect, last=number >= last)


def _of_part(part: Part, words: list[str], directory: str, depth: int) -> Iterator[Effect]:
    tool, arguments = (posixpath.basename(words[0]), words[1:]) if words else ("", [])
    found = list(_of_program(tool, arguments, part.stdin, directory, depth))
    targets = [(op, path) for op, path in part.redirections if ">" in op]
    if tool == "tee":
        targets += [(">>" if "-a" in arguments else ">", word) for word in arguments]
    for operator, path in targets:
        if _is_path(path):
            shown = next((word for word in arguments if tool == "git" and word.endswith(f":{path}")), "")
            text = part.stdin or (" ".join(arguments) if tool in {"echo", "printf"} else "")
            what: What = "reverted" if shown else "changed" if ">>" in operator else "written"
            found.append(Effect(path, what, writes=script_writes(text, path)))
    for effect in found:
        source = resolve(directory, effect.source) if effect.source else ""
        yield attrs.evolve(effect, path=resolve(directory, effect.path), source=source)


def _of_program(
    tool: str, words: list[str], stdin: str | None, directory: str, depth: int
) -> Iterator[Effect]:
    """Yield what a program does, its paths as they are written."""
    if tool in _SHELLS and depth and (script := _inline(words, stdin)):
        # Its paths are resolved once more by whoever asked, so they start here.
        yield from _effects(script, "", depth - 1)
    elif tool in _INTERPRETERS and (script := _inline(words, stdin)):
        yield from (Effect(path, "changed") for path in script_writes(script))
    elif tool == "sed" or tool == "perl":
        yield from _of_editor(tool, words)
    elif tool in _INTERPRETERS:
        yield from (Effect(path, "ran", source=".") for path in _paths(words)[:1])
    elif tool in _READERS:
        files = _paths(words)
        yield from (Effect(path, "read") for path in files[("grep" in tool or tool == "rg") :])
    elif tool == "touch":
        yield from (Effect(path, "touched") for path in _paths(words))
    elif tool in {"rm", "unlink", "rmdir"}:
        yield from (Effect(path, "deleted") for path in _paths(words, globs=True))
    elif tool in {"mv", "cp"}:
        yield from _of_move("moved" if tool == "mv" else "copied", words)
    elif tool in {"patch", "apply_patch"}:
        yield from _of_patch(words, stdin)
    elif tool == "git":
        yield from _of_git(words, stdin)
    elif "/" in tool or tool.endswith((".sh", ".py")):
        yield Effect(tool, "ran", source=".")


def _inline(words: Sequence[str], stdin: str | None) -> str:
    """Return the script that an interpreter is given as an argument or as its input."""
    for flag, script in zip(words, words[1:], strict=False):
        if flag in {"-c", "-lc", "-e"}:
            return script
    return stdin or ""


def _of_editor(tool: str, words: Sequence[str]) -> Iterator[Effect]:
    in_place = any(re.match(r"-[a-zE0]*i|--in-place", word) for word in words)
    if tool == "perl" and not in_place:
        yield from (Effect(path, "ran", source=".") for path in _paths(words)[:1])
        return
    given, files, skip = False, [], False
    for word in words:
        if skip or not word:
            skip = False
        elif word.startswith("-"):
            skip = word in {"-e", "-f", "--expression", "--file"} or (tool == "perl" and word[-1] == "e")
            given = given or skip
        else:
            files.append(word)
    what: What = "changed" if in_place else "read"
    yield from (Effect(path, what) for path in files[not given :] if _is_path(path))


def _of_move(what: What, words: Sequence[str]) -> Iterator[Effect]:
    *sources, target = _paths(words) or [""]
    # Several files, a trailing slash, or a name without a suffix for one that has some: a directory.
    folder = len(sources) > 1 or target.endswith("/") or target in {".", ".."}
    for source in sources:
        name = posixpath.basename(source.rstrip("/"))
        suffix = posixpath.splitext(name)[1]
        inside = folder or (suffix and "." not in posixpath.basename(target) and what == "moved")
        yield Effect(posixpath.join(target, name) if inside else target, what, source=source)


def _of_patch(words: Sequence[str], stdin: str | None) -> Iterator[Effect]:
    if not {"--check", "--dry-run", "--stat"}.isdisjoint(words):
        return
    text = stdin or next((word for word in words if "\n" in word), "")
    yield from (Effect(path, "changed") for path in script_writes(text))
    # Without a text of its own it applies a file that was written before, or none.
    yield from (Effect(path, "ran", source=".") for path in _paths(words) if not text)


def _of_git(words: list[str], stdin: str | None) -> Iterator[Effect]:
    while words[:1] in (["-C"], ["-c"], ["--no-pager"]):
        words = words[1 if words[0] == "--no-pager" else 2 :]
    action, rest = (words[0], words[1:]) if words else ("", [])
    files = _paths(rest, globs=True)
    if action == "mv":
        yield from _of_move("moved", rest)
    elif action == "rm" and "--cached" not in rest:
        yield from (Effect(path, "deleted") for path in files)
    elif action == "apply":
        yield from _of_patch(rest, stdin)
    elif action == "commit" and "--dry-run" not in rest:
        yield Effect(".", "committed")
    elif action == "checkout" and rest[:1] not in (["-b"], ["-B"]):
        yield from (Effect(path, "reverted") for path in files)
    elif action == "restore" and ("--staged" not in rest or "--worktree" in rest):
        yield from (Effect(path, "reverted") for path in files)
    elif action == "reset" and "--hard" in rest:
        yield Effect(".", "reverted")
    elif action == "clean" and not {"-n", "--dry-run"} & {*rest}:
        yield Effect(".", "cleaned")
    elif action == "stash":
        verb = next(iter(rest), "push")
        if verb in {"pop", "apply", "drop"}:
            yield Effect(".", "dropped" if verb == "drop" else "unstashed")
        elif verb in {"push", "save"} or verb.startswith("-"):
            named = rest[rest.index("--") + 1 :] if "--" in rest else ["."]
            yield from (Effect(path, "stashed") for path in named)


def _paths(words: Sequence[str], *, globs: bool = False) -> list[str]:
    return [word for word in words if _is_path(word, globs=globs) and not _NUMBER.fullmatch(word)]


def _is_path(word: str, *, globs: bool = False) -> bool:
    return (
        0 < len(word) <= 300
        and word[0] not in "-&+"
        and not word.startswith("/dev/")
        and not any(mark in word for mark in "\n$`{}|<>\"'" + ("" if globs else "*?["))
    )


def script_writes(text: str, name: str = "") -> tuple[str, ...]:
    r"""Return the files that a script or a patch writes: those that it names, or the one it opens.

    >>> script_writes('text = open("a.py").read()\nopen("a.py", "w").write(text)')
    ('a.py',)
    >>> script_writes('file = "b.py"\nwith open(file, "w") as f: ...')
    ('b.py',)
    """
    if name.endswith((".sh", ".bash")):
        changes = {"written", "changed", "deleted", "touched"}
        return tuple({e.path: None for e in _effects(text, "", _MAX_DEPTH) if e.what in changes})
    found: dict[str, None] = {}
    bound: dict[str, str] | None = None
    for match in _WRITE.finditer(text):
        groups = match.groupdict()
        variable = groups.pop("name") or groups.pop("variable") or groups.pop("argument")
        if variable:
            if bound is None:
                bound = {each[1]: each["bound"] for each in _BINDING.finditer(text)}
            named = {each["named"] for each in _NAMED.finditer(text)} if variable not in bound else ()
            path = bound.get(variable) or (next(iter(named)) if len(named) == 1 else "")
        else:
            path = next(filter(None, groups.values()), "")
        if _is_path(path.strip()):
            found[path.strip()] = None
    return tuple(found)
