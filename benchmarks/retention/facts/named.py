"""The files that a text names under a heading that says that files were changed."""

import re
from collections.abc import Collection, Iterator

import attrs

__all__ = ["named_files"]

_HEADING = re.compile(r"(#{1,6})\s+(.+)|\*\*([^*]+)\*\*:?$")
_SAYS_CHANGED = re.compile(
    r"\b(?:changed|modified|edited|created|written|changes|deleted|touched|updated)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*(```|~~~)")
_MARKER = re.compile(r"[\s\u2500-\u257f|`]*(?:(?:[-*+\u2022]|[0-9]+[.)])\s+(?:\[[ xX]\]\s+)?)?")
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_NOTE = re.compile(r"\s[-\u2013\u2014]{1,2}\s|(?<=[^/\s]):\s|;\s")
_BRACES = re.compile(r"([^\s{}]*)\{([^{}]*)\}([^\s{}]*)")
_WORD = re.compile(r"`([^`]+)`|([^\s,`]+)")
_LOOKS_LIKE_PATH = re.compile(r"[\w~./@+-]*(?:/[\w.@+-]+|\w\.[A-Za-z]\w{0,9}|/\.\w+|^\.\w[\w.]*)/?")
_JOINS = {"and", "to", "->", "\u2192", "&", "+", "or"}
_FOUR_SPACES = 4


@attrs.define
class _Folders:
    """The folders that a line stands below, by their indentation."""

    open: list[tuple[int, str]] = attrs.field(factory=list)

    def at(self, indent: int) -> str:
        while self.open and self.open[-1][0] >= indent:
            self.open.pop()
        return self.open[-1][1] if self.open else ""


def named_files(view: str, known: Collection[str] = ()) -> list[str]:
    r"""Return the files named under headings for changed files, each once, in order.

    A heading is a Markdown heading, or a line in bold, outside of quoted blocks. Its section ends
    at the next heading of its level or above. On each line the names stand first, one or several;
    what follows a dash, a colon or a plain word, or stands in brackets, is about them. A line of a
    folder, `src/` or `src/:`, holds for the names behind it and the lines indented below it. A
    word is a name if it looks like a path, or is the last part of a known one (`Makefile`).

    >>> named_files("## Files changed\n- src/\n  - a.py (3 edits)\n## Files read\n- c.py")
    ['src/a.py']
    """
    plain = {path.rpartition("/")[2] for path in known}
    found: dict[str, None] = {}
    for section in _sections(view):
        folders = _Folders()
        for line in section:
            found.update(dict.fromkeys(_names(line, folders, plain)))
    return list(found)


def _sections(view: str) -> Iterator[list[str]]:
    level, fenced, section = 0, "", list[str]()
    for line in view.split("\n"):
        fence = _FENCE.match(line)
        if fence and (not fenced or fence[1] == fenced):
            fenced = "" if fenced else fence[1]
            continue
        heading = None if fenced else _HEADING.fullmatch(line.rstrip())
        if heading:
            depth = len(heading[1] or "") or 7
            if level and depth > level:
                continue
            yield section
            section = []
            level = depth if _SAYS_CHANGED.search(heading[2] or heading[3]) else 0
        elif level and not fenced:
            section.append(line)
    yield section


def _names(line: str, folders: _Folders, plain: set[str]) -> Iterator[str]:
    marker = _MARKER.match(line)
    start = marker.end() if marker else 0
    indent = len(line[:start].expandtabs(_FOUR_SPACES))
    above = folders.at(indent)
    text = _BRACES.sub(_expanded, _ASIDE.sub(" ", line[start - line[:start].endswith("`") :]))
    here = above
    for number, word in enumerate(_leading(text, plain)):
        path = word if word.startswith(("/", "~")) else here + word
        if not word.endswith("/"):
            yield path
        elif not number:
            here = path
            folders.open.append((indent, path))


def _leading(text: str, plain: set[str]) -> Iterator[str]:
    """Yield the paths that a line begins with, after a word or two such as `edited`."""
    begun = False
    head = _NOTE.split(text, maxsplit=1)
    parts = head[:1] if _paths_in(head[0], plain) else [text]
    for found in _WORD.finditer(parts[0]):
        word = (found[1] or found[2]).strip("*\"'").rstrip(":")
        word = word if word.endswith("/") else word.rstrip(".")
        if _is_path(word, plain):
            begun = True
            yield word.removeprefix("./")
        elif begun and word not in _JOINS:
            return


def _paths_in(text: str, plain: set[str]) -> bool:
    return any(
        _is_path((word[1] or word[2]).strip("*\"'").rstrip(":."), plain)
        for word in _WORD.finditer(text)
    )


def _is_path(word: str, plain: set[str]) -> bool:
    return bool(
        _LOOKS_LIKE_PATH.fullmatch(word) or word in plain or re.fullmatch(r"[\w.@+~/-]+/", word)
    )


def _expanded(found: re.Match[str]) -> str:
    return " ".join(f"{found[1]}{part.strip()}{found[3]}" for part in found[2].split(","))
