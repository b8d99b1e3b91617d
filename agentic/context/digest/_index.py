"""Where identifiers were last seen: whole lines, as many as there is room for.

An identifier is a path, a name with joints or capitals inside, or a long number. It stands in the
newest line that has it. Lines are chosen by how many texts mention what they show, for each
character that they take. Texts are read from the newest back until there is enough to choose from,
so that the time depends on the room and not on the length of the conversation.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.context.digest._section import Line, Section
from agentic.context.digest._text import LINE, cut, tidy
from agentic.context.digest._turns import Called, Words

__all__ = ["Index"]

_LOOK_BACK = 20
"""Characters that are read for each character of room. With 10, what is used again is shown 0.5
points less often at 2,000 tokens, and no less at 8,000."""
_SAID = 3
"""What a mention counts in what was said or called, where one in an output counts 1. Counted alike,
3 points less is shown of what is used again."""

_SEPARATORS = "".join(chr(code) for code in range(128) if not re.match(r"[\w./~@-]", chr(code)))
_BLANKS = str.maketrans(dict.fromkeys(_SEPARATORS, " ") | {"\n": "\n"})
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9_]|[^\W0-9_][0-9]|[0-9]{4}")


@attrs.frozen
class _Chosen:
    """A line that was chosen needs no more than itself."""


@attrs.define
class Index(Section[_Chosen]):
    """The lines of a conversation, of which `choose` takes the best."""

    heading = "Last seen, newest first"
    noun = "lines"
    takes = ("request", "reply", "summary", "call")
    record = _Chosen
    _texts: list[tuple[str, int]] = attrs.field(factory=list)
    """With what a mention in it counts."""
    _mentions: Counter[str] = attrs.field(factory=Counter)
    """What the texts that have each word count together."""
    _seen: list[tuple[str, set[str]]] = attrs.field(factory=list)
    """Lines, and what is seen there for the last time; the newest first."""

    def take(self, turn: Words | Called) -> None:
        """Take in the texts of a turn."""
        if isinstance(turn, Called):
            self._texts += [(text, _SAID) for text in _texts_in([turn.arguments])]
            self._texts.append((turn.output, 1))
        else:
            self._texts.append((turn.text, _SAID))

    def lines(self) -> Iterator[Line]:
        """Yield nothing: the index has the room that is left, and knows how to fill it."""
        return iter(())

    def choose(self, room: int, shown: str) -> list[str]:
        """Return the best lines of so many characters in all, newest first.

        An identifier that stands in the text that is shown needs no line.
        """
        if not self._seen:
            former = [(line, _SAID) for line in self.known]
            self._read([*former, *self._texts], room * _LOOK_BACK)
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
        self.known = {line: _Chosen() for line in reversed(lines)}
        return lines

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
                if here := names.intersection(spaced.split()):
                    names -= here
                    self._seen += _shown(line, here)


def _shown(line: str, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield what is shown of a line: all of it, or pieces of a long one that begin with a name."""
    line = tidy(line).strip()
    for name in sorted(names, key=lambda name: (line.find(name), name)):
        if name in names:
            shown = line if len(line) <= LINE else cut(line[line.find(name) :], LINE)
            found = {each for each in names if each in shown}
            names = names - found - {name}
            yield shown, found


def _texts_in(values: list[Any]) -> Iterator[str]:
    """Yield the texts among values, however deep."""
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
