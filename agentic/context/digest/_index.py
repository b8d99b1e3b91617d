"""Where identifiers were last seen: whole lines, as many as there is room for.

An identifier is a path, a name with joints or capitals inside, or a long number. It stands in the
newest line that has it. Lines are chosen by how many texts mention what they show, for each
character that they take; half as much counts what is older. Texts are read from the newest back
until there is enough to choose from, so that the time depends on the room and not on the length of
the conversation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

import attrs

from agentic.context.digest._cut import LINE, cut, tidy
from agentic.context.digest._turns import Asked, Called, Said, Summarized, Turn

__all__ = ["Index"]

_LOOK_BACK = 20
"""Characters that are read for each character of room: enough to choose from."""
_HALF_LIFE = 300
"""After so many texts a mention counts half: most of what is used again was seen lately."""
_SAID = 3
"""What a mention counts in what was said or called, where one in an output counts 1."""
_SHORTEST, _LONGEST = 4, 120
"""Characters of an identifier: shorter ones mean nothing alone, longer ones are data."""

_SEPARATORS = "".join(chr(code) for code in range(128) if not re.match(r"[\w./~@-]", chr(code)))
_BLANKS = str.maketrans(dict.fromkeys(_SEPARATORS, " ") | {"\n": "\n"})
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9_]|[^\W0-9_][0-9]|[0-9]{4}")
_EDGES = "./~-@"


@attrs.frozen
class _Seen:
    """A line, and what is seen there for the last time."""

    line: str
    age: int
    """How many texts are newer."""
    names: set[str]


@attrs.define
class Index:
    """The lines of a conversation, of which `choose` takes the best."""

    _texts: list[tuple[str, int]] = attrs.field(factory=list)
    """With what a mention in it counts."""
    _mentions: Counter[str] = attrs.field(factory=Counter)
    """What the texts that have each word count together."""
    _seen: list[_Seen] = attrs.field(factory=list)
    """The newest first."""
    _chosen: list[str] = attrs.field(factory=list)

    def take(self, turn: Turn) -> None:
        """Take in the texts of a turn."""
        match turn:
            case Asked(text) | Said(text) | Summarized(text):
                self._texts.append((text, _SAID))
            case Called():
                self._texts += [(text, _SAID) for text in _values(turn.arguments.values())]
                self._texts.append((turn.output, 1))

    def to_plain(self) -> list[str]:
        """Return the lines that were chosen last, oldest first."""
        return self._chosen[::-1]

    def restore(self, plain: object) -> None:
        """Go on from the lines of a former generation."""
        lines = plain if isinstance(plain, list) else []
        self._texts += [(line, _SAID) for line in lines if isinstance(line, str)]

    def choose(self, room: int, shown: str) -> list[str]:
        """Return the best lines of so many characters in all, newest first.

        An identifier that stands in the text that is shown needs no line.
        """
        if not self._seen:
            self._read(room * _LOOK_BACK)
        words = set(shown.translate(_BLANKS).split())
        worth = {at: self._worth(seen, words) for at, seen in enumerate(self._seen)}
        left = room
        chosen: list[int] = []
        for at in sorted(filter(worth.get, worth), key=lambda at: -worth[at]):
            size = len(self._seen[at].line) + 1
            if size <= left:
                left -= size
                chosen.append(at)
        self._chosen = list(dict.fromkeys(self._seen[at].line for at in sorted(chosen)))
        return self._chosen

    def _worth(self, seen: _Seen, shown: AbstractSet[str]) -> float:
        mentions = sum([self._mentions[name] for name in seen.names - shown])
        return float(mentions * 2.0 ** (-seen.age / _HALF_LIFE) / (len(seen.line) + 1))

    def _read(self, left: int) -> None:
        """Find the newest line of each identifier."""
        for age, (text, weight) in enumerate(reversed(self._texts)):
            plain = text.translate(_BLANKS)
            words = set(plain.split())
            names = {word for word in words if word not in self._mentions and _is_name(word)}
            self._mentions.update([*words] * weight)
            lines = zip(reversed(text.split("\n")), reversed(plain.split("\n")), strict=True)
            for line, spaced in lines if names else ():
                if here := names.intersection(spaced.split()):
                    names -= here
                    self._seen += [_Seen(shown, age, found) for shown, found in _shown(line, here)]
                    if not names:
                        break
            left -= len(text)
            if left < 0:
                break


def _shown(line: str, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield what is shown of a line: all of it, or pieces of a long one that begin with a name."""
    line = tidy(line).strip()
    for name in sorted(names, key=line.find):
        if name in names:
            shown = line if len(line) <= LINE else cut(line[line.find(name) :], LINE)
            found = {each for each in names if each in shown}
            names = names - found - {name}
            yield shown, found


def _is_name(word: str) -> bool:
    plain = word.strip(_EDGES)
    return _SHORTEST <= len(plain) <= _LONGEST and _NAMED.search(plain) is not None


def _values(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts among values, however deep."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
