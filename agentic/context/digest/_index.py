"""The lines in which identifiers were last seen, as many as fit.

An identifier is a path, a name with separators, inner capitals or digits, or a long number. It is
shown in the newest line that contains it. Lines are ranked by the number of texts that mention
their identifiers, divided by the length of the line. Texts are read from the newest back until
there is enough to choose from, so the time depends on the room and not on the conversation.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._section import Section
from agentic.context.digest._text import LINE, cut, tidy
from agentic.context.digest._turns import Called, Words

__all__ = ["Index"]

_LOOK_BACK = 20
"""The number of characters that are read for each character of room. With 10, half a point fewer of
the identifiers that are used again are shown at 2,000 tokens."""
_SAID = 3
"""The weight of a mention in a message or a call; one in an output counts 1. With equal weights,
3 points fewer of the identifiers that are used again are shown."""

_SEPARATORS = "".join(chr(code) for code in range(128) if not re.match(r"[\w./~@-]", chr(code)))
_BLANKS = str.maketrans(dict.fromkeys(_SEPARATORS, " ") | {"\n": "\n"})
_PIECE = re.compile(r".{1,4096}(?= |\Z)|[^ ]+")
"""A part of a line in which identifiers are searched for. The time grows with its square, and data
in JSON may be a single line of megabytes."""
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9_]|[^\W0-9_][0-9]|[0-9]{4}")


@attrs.define
class Index(Section):
    """The lines of a conversation; `write` selects the best when the remaining room is known."""

    heading = "Last seen, newest first"
    takes = ("request", "reply", "notice", "call")
    _texts: list[tuple[str, int]] = attrs.field(factory=list)
    """Texts, each with the weight of a mention in it."""
    _mentions: Counter[str] = attrs.field(factory=Counter)
    """The total weight of the texts that contain each word."""
    _seen: list[tuple[str, set[str]]] = attrs.field(factory=list)
    """Lines with the identifiers that were last seen in them, newest first."""

    def take(self, turn: Words | Called) -> None:
        """Add the texts of a turn."""
        if isinstance(turn, Words):
            self._texts.append((turn.text, _SAID))
            return
        values: list[Any] = [turn.arguments]
        for value in values:  # It grows meanwhile.
            if isinstance(value, str):
                self._texts.append((value, _SAID))
            elif isinstance(value, dict | list):
                values += value.values() if isinstance(value, dict) else value
        self._texts.append((turn.output or "", 1))

    def write(self, room: int, shown: str) -> str:
        """Return the best lines that together fit `room` characters, newest first, in a fence.

        Identifiers that already occur in the text `shown` are not counted. The fence is longer than
        any in the lines.
        """
        if not self._seen:
            self._read([*((line, _SAID) for line in self.known), *self._texts], room * _LOOK_BACK)
        heading, fence = f"\n\n## {self.heading}\n", "```"
        room -= len(heading) + 2 * len(fence)
        words = set(shown.translate(_BLANKS).split())
        worths = {
            at: sum([self._mentions[name] for name in names - words]) / (len(line) + 1)
            for at, (line, names) in enumerate(self._seen)
        }
        chosen = []
        for at in sorted(filter(worths.get, worths), key=lambda at: -worths[at]):
            size = len(self._seen[at][0]) + 1
            if size <= room:
                room -= size
                chosen.append(at)
        lines = list(dict.fromkeys(self._seen[at][0] for at in sorted(chosen)))
        self.known = dict.fromkeys(reversed(lines), "")
        body = "\n".join(["", *lines, ""])
        while fence in body:
            fence += "`"
        return f"{heading}{fence}{body}{fence}" if lines else ""

    def _read(self, texts: list[tuple[str, int]], left: int) -> None:
        """Find the newest line of each identifier."""
        while texts and left > 0:
            text, weight = texts.pop()
            left -= len(text)
            plain = text.translate(_BLANKS)
            words = set(plain.split())
            names = {word for word in words if word not in self._mentions and _NAMED.search(word)}
            self._mentions.update([*words] * weight)
            lines = zip(reversed(text.split("\n")), reversed(plain.split("\n")), strict=True)
            for line, spaced in lines if names else ():
                for piece in _PIECE.finditer(spaced):
                    if here := names.intersection(piece[0].split()):
                        names -= here
                        # What is shown may reach beyond the piece.
                        self._seen += _shown(line[piece.start() : piece.end() + 2 * LINE], here)


def _shown(line: str, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield a line, or pieces of a long line that each begin with an identifier."""
    line = tidy(line).strip()
    for name in sorted(names, key=lambda name: (line.find(name), name)):
        if name in names:
            shown = line if len(line) <= LINE else cut(line[line.find(name) :], LINE)
            found = {each for each in names if each in shown}
            names = names - found - {name}
            yield shown, found
