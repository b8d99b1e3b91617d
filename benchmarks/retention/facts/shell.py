"""A command line as the simple commands in it, as far as a plain reader sees them."""

import posixpath
import re
from collections.abc import Iterator

import attrs

__all__ = ["Simple", "simple_commands"]

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r]+|\\\n|(?<!\S)\#[^\n]*)
    |(?P<here><<<|<<(?P<number>[0-9]+)<<)
    |(?P<into>(?:[0-9]*|&)>>?\|?(?!&))
    |(?P<other>[0-9]*>&[0-9-]*|[0-9]*<)
    |(?P<pipe>\|&?(?!\|))
    |(?P<end>\n|&&|\|\||;+|&|[()])
    |(?P<word>(?:[^\s'"\\;|&<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)
    |(?P<rest>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(r"'([^']*)'|\"((?:[^\"\\]|\\.)*)\"|\\(.)", re.DOTALL)
_PREFIX = {"sudo", "time", "nohup", "command", "exec", "then", "do", "else", "if", "!", "{"}


@attrs.define
class Simple:
    """One simple command: its words without quotes, where its output goes, and what it reads."""

    words: list[str] = attrs.field(factory=list)
    into: list[str] = attrs.field(factory=list)
    """The files that its output is redirected to."""
    body: str = ""
    """The text of its here-document."""
    folder: str = ""
    """The folder it runs in, as far as the command line changed it."""
    piped: bool = False
    """Whether it reads from the command before it."""

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return posixpath.basename(self.words[0]) if self.words else ""

    def operands(self) -> list[str]:
        """Return the words after the program that are no options."""
        return [word for word in self.words[1:] if word and not re.match(r"-.", word)]


def simple_commands(line: str) -> list[Simple]:
    r"""Return the simple commands of a command line, in order.

    >>> [each.words for each in simple_commands("cd src && FOO=1 make all 2>&1 | tail -5")]
    [['cd', 'src'], ['make', 'all'], ['tail', '-5']]
    >>> [found] = simple_commands("cat > 'a b.py' << EOF\nx = 1\nEOF")
    >>> found.into, found.body
    (['a b.py'], 'x = 1')
    """
    folder, done = "", []
    for each in _split(line):
        each.words = _without_prefix(each.words)
        each.folder = folder
        if each.words[:1] == ["cd"] and len(each.words) > 1:
            folder = posixpath.join(folder, each.words[1])
        if each.program in {"bash", "sh"} and each.words[1:2] in (["-c"], ["-lc"]):
            done += simple_commands(each.words[2] if len(each.words) > 2 else "")
        elif each.words or each.into:
            done.append(each)
    return done


def _split(line: str) -> Iterator[Simple]:
    text, bodies = _without_bodies(line)
    current, target = Simple(), False
    tokens = list(_TOKEN.finditer(text))
    if any(token[0] in {"'", '"'} for token in tokens):  # no shell takes a quote left open
        return
    for token in tokens:
        kind = token.lastgroup
        if kind in {"end", "pipe"}:
            yield current
            current, target = Simple(piped=kind == "pipe"), False
        elif kind in {"into", "other"}:
            target = kind == "into"
            if kind == "other" and token[0].endswith("<"):
                target = False
        elif kind in {"here", "number"}:
            current.body = bodies[int(token["number"])] if token["number"] else current.body
        elif kind == "word":
            (current.into if target else current.words).append(_unquoted(token[0]))
            target = False
    yield current


def _without_bodies(line: str) -> tuple[str, list[str]]:
    """Take the here-documents out, and leave the number of each in its place."""
    lines, kept, bodies = line.split("\n"), [], list[str]()
    at = 0
    while at < len(lines):
        current = lines[at]
        at += 1
        for found in list(_HEREDOC.finditer(current)):
            ends = [each.strip() for each in lines[at:]]
            if found[2] in ends:
                end = at + ends.index(found[2])
                current = current.replace(found[0], f"<<{len(bodies)}<<", 1)
                bodies.append("\n".join(lines[at:end]))
                at = end + 1
        kept.append(current)
    return "\n".join(kept), bodies


def _unquoted(word: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1] is not None:
            return found[1]
        return re.sub(r'\\(["\\$`])', r"\1", found[2]) if found[2] is not None else found[3]

    return _QUOTED.sub(plain, word)


def _without_prefix(words: list[str]) -> list[str]:
    """Drop variables, `sudo`, `timeout 30` and the like before the program."""
    while words:
        if re.fullmatch(r"\w+=.*", words[0], re.DOTALL) or words[0] in _PREFIX:
            words = words[1:]
        elif words[0] in {"timeout", "env"}:
            words = words[1:]
            while words and re.match(r"-|[0-9]+[smh]?$", words[0]):
                words = words[1:]
        else:
            break
    return words
