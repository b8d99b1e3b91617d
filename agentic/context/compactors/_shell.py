"""Which files a shell command reads, writes, edits and deletes, as far as its words say so.

Known are redirections and the tools that every system has. What a program does by itself, and names
with wildcards or variables in them, are not known.
"""

import re
from collections.abc import Iterator, Sequence

from agentic.context.compactors._entries import FileNote

__all__ = ["files_in_command"]

_MOST = 20_000
"""No more of a command is read, in characters."""
_HEREDOC = re.compile(r"<<-?\s*(?P<quote>['\"]?)(\w+)(?P=quote)")
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|[0-9]?>>?&?|&&|\|\|?|[;&\n()]|<+|(?:[^\s\"'|&;<>()\\]|\\.)+",
    re.DOTALL,
)
_BREAKS = {"&&", "||", "|", ";", "&", "\n", "(", ")"}
_ASSIGNMENT = re.compile(r"\w+=")
_PATH = re.compile(r"(?!-)(?![0-9]+$)(?!/dev/)[^*?$`{}<>|=,;'\"\n]{2,200}")
_RANGE = re.compile(r"([0-9]+),([0-9]+)p?")

_READS = {"cat", "head", "tail", "less", "more", "nl"}
_WRITES = {"tee", "touch"}
_DELETES = {"rm", "unlink"}
_IN_PLACE = {"sed", "perl"}


def files_in_command(command: str) -> list[FileNote]:
    """Give what a command does to files, in its order.

    >>> for note in files_in_command("cd src && sed -n '3,9p' a.py && rm b.py > log.txt 2>&1"):
    ...     print(note.markdown())
    - `a.py`: 1 read, last lines 3-9
    - `log.txt`: 1 write
    - `b.py`: 1 deletion
    """
    return [note for words in _commands(command) for note in _notes(words)]


def _commands(command: str) -> Iterator[list[str]]:
    """Split a command line into simple commands, each a list of words."""
    words: list[str] = []
    for token in _TOKEN.findall(_without_heredocs(command[:_MOST])):
        if token not in _BREAKS:
            words.append(token)
        elif words:
            yield words
            words = []
    if words:
        yield words


def _without_heredocs(command: str) -> str:
    """Leave out the texts that are fed to a command."""
    if "<<" not in command:
        return command
    kept: list[str] = []
    until = ""
    for line in command.split("\n"):
        if until:
            until = "" if line.strip() == until else until
            continue
        kept.append(line)
        if opened := _HEREDOC.search(line):
            until = opened[2]
    return "\n".join(kept)


def _notes(words: list[str]) -> Iterator[FileNote]:
    plain = words
    if any(word[-1] in "<>&" for word in words):
        plain = []
        yield from _of_redirections(words, plain)
    start = 0
    while start < len(plain) and _ASSIGNMENT.match(plain[start]):
        start += 1
    start += plain[start : start + 1] in (["sudo"], ["git"])
    if plain[start:]:
        yield from _of_tool(plain[start], plain[start + 1 :])


def _of_redirections(words: list[str], plain: list[str]) -> Iterator[FileNote]:
    """Tell what redirections write, and gather the words that belong to none."""
    waiting = iter(words)
    for word in waiting:
        if word in {">", ">>", "1>", "1>>"}:
            for path in _paths([next(waiting, "")]):
                appends = int(word.endswith(">>"))
                yield FileNote(path, edits=appends, writes=1 - appends)
        elif word.endswith((">", ">>", ">&")) or word.startswith("<"):
            next(waiting, "")
        else:
            plain.append(word)


def _of_tool(tool: str, words: list[str]) -> Iterator[FileNote]:
    if tool in _IN_PLACE:
        yield from _of_editor(words)
    elif tool in _READS:
        yield from (FileNote(path, reads=1) for path in _paths(words))
    elif tool in _WRITES:
        yield from (FileNote(path, writes=1) for path in _paths(words))
    elif tool in _DELETES:
        yield from (FileNote(path, deletions=1) for path in _paths(words))
    elif tool in {"cp", "mv"}:
        *sources, target = [*_paths(words)] or [""]
        if sources:
            yield FileNote(target, writes=1)
        if tool == "mv":
            yield from (FileNote(path, deletions=1) for path in sources)


def _of_editor(words: Sequence[str]) -> Iterator[FileNote]:
    """Tell what `sed` and `perl` do: edit with `-i`, else they read; the last word is the file."""
    path = next(_paths(words[-1:]), "")
    if not path or words[:-1] == []:
        return
    options = [word for word in words if word.startswith("-")]
    if any(option.startswith(("-i", "-pi")) for option in options):
        yield FileNote(path, edits=1)
    elif "-n" in options:
        shown = [found for word in words if (found := _RANGE.fullmatch(word.strip("'\"")))]
        yield FileNote(path, reads=1, lines=f"{shown[-1][1]}-{shown[-1][2]}" if shown else "")


def _paths(words: Sequence[str]) -> Iterator[str]:
    """Give the words that can be paths, without their quotes."""
    for word in words:
        path = word[1:-1] if len(word) > 1 and word[0] == word[-1] in "'\"" else word
        if _PATH.fullmatch(path) and path.strip() == path:
            yield path
