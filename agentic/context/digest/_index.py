"""Where identifiers were last seen: whole lines, as many as there is room for.

An identifier is a path, a name with joints or capitals inside, or a long number; words that one
hyphen joins may be plain words, and count less. Texts are read
from the newest back until enough is known to choose from, so that the time depends on the room and
not on the length of the conversation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import Any

import attrs

from agentic.context.digest._cut import cut, tidy
from agentic.context.digest._section import Line
from agentic.context.digest._turns import Asked, Called, Said, Summarized, Turn

__all__ = ["Index"]

_LEAST_READ, _LOOK_BACK = 200_000, 15
"""Characters that are read at least, and how many more for each character of room."""
_WIDTH = 200
"""The longest line that is shown whole, in characters."""
_HALF_LIFE = 300
"""After so many texts a mention counts half."""
_SAID = 3.0
"""What a mention counts in what was said or called, where one in an output counts 1."""
_HYPHENED = 0.1
"""What such words count: they are shown where there is room for everything."""
_LINE_COST = 8
"""Characters that a line costs beside its own: two lines must differ by more to be worth both."""
_SHORTEST, _LONGEST = 4, 120
"""Characters of an identifier: shorter ones mean nothing alone, longer ones are data."""

_SEPARATORS = "".join(chr(code) for code in range(128) if not re.match(r"[\w./~@-]", chr(code)))
_BLANKS = str.maketrans(dict.fromkeys(_SEPARATORS, " ") | {"\n": "\n"})
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9_]|[^\W0-9_][0-9]|[0-9]{4}")
_EDGES = "./~-@"
_TWO_WORDS = re.compile(r"[A-Za-z]+-[A-Za-z]+")
_PART, _CLAUSE = re.compile(r"(?<=[.;!?}\])])\s+|(?<=[}\])],)\s+"), re.compile(r"(?<=[,:])\s+")


@attrs.frozen
class _Text:
    text: str
    said: bool = True


@attrs.define(eq=False)
class _Candidate:
    place: tuple[int, int]
    """Age of its text, and number of its line there."""
    line: str
    names: set[str]


@attrs.define
class Index:
    """The lines of a conversation, of which `choose` takes the best."""

    _texts: list[_Text] = attrs.field(factory=list)
    _reader: "_Reader | None" = None
    _chosen: list[str] = attrs.field(factory=list)
    """What the last choice took."""

    def take(self, turn: Turn) -> None:
        """Take in the texts of a turn."""
        match turn:
            case Asked(text) | Said(text) | Summarized(text):
                self._texts.append(_Text(text))
            case Called():
                self._texts += [_Text(text) for text in _values(turn.arguments.values())]
                if turn.result is not None:
                    self._texts.append(_Text(turn.output, said=False))

    def to_plain(self) -> Any:
        """Return the chosen lines, oldest first."""
        return self._chosen[::-1]

    def restore(self, plain: Any) -> None:
        """Go on from the lines of a former generation."""
        for entry in plain if isinstance(plain, list) else ():
            match entry:
                case str(line):
                    self._texts.append(_Text(line))

    def choose(self, room: int, shown: str) -> list[Line]:
        """Return lines of so many characters in all, newest first, by rank the best ones.

        What stands in the text that is shown is not said twice.
        """
        if self._reader is None or self._reader.room < room:
            self._reader = _Reader(room)
            self._reader.read(self._texts)
        chosen = list(self._reader.best(room, shown))
        ranked = sorted(enumerate(chosen), key=lambda pair: pair[1].place)
        return [Line(each.line, rank=len(chosen) - at) for at, each in ranked]

    def keep(self, lines: Sequence[Line], number: int) -> None:
        """Remember that of the chosen lines the best so many found room."""
        self._chosen = [line.text for line in lines if line.rank > len(lines) - number]


@attrs.define
class _Reader:
    """What is known of the texts, read from the newest back."""

    room: int
    candidates: list[_Candidate] = attrs.field(factory=list)
    _lines: set[str] = attrs.field(factory=set)
    _ages: dict[str, int] = attrs.field(factory=dict)
    """For each word the age of the newest text that has it."""
    _said: Counter[str] = attrs.field(factory=Counter)
    _put_out: Counter[str] = attrs.field(factory=Counter)
    """How many texts of either kind have each word."""

    def read(self, texts: Sequence[_Text]) -> None:
        """Read texts back until there are enough lines to choose from."""
        left = _LEAST_READ + self.room * _LOOK_BACK
        for age, text in enumerate(reversed(texts)):
            self._read_text(age, text)
            left -= len(text.text)
            if left < 0:
                break

    def _read_text(self, age: int, text: _Text) -> None:
        plain = text.text.translate(_BLANKS)
        words = set(plain.split())
        (self._said if text.said else self._put_out).update(words)
        fresh = words.difference(self._ages)
        if not fresh:
            return
        self._ages.update(dict.fromkeys(fresh, age))
        names = set(filter(_is_name, fresh))
        if not names:
            return
        lines = text.text.split("\n")
        for at, line in zip(
            range(len(lines) - 1, -1, -1), reversed(plain.split("\n")), strict=True
        ):
            here = set(line.split())
            if not names.isdisjoint(here):
                self._offer((age, at), lines[at], here, names & here)
                names -= here
                if not names:
                    break

    def best(self, room: int, shown: str) -> Iterator[_Candidate]:
        """Yield lines by what they add for what they cost, until the room is full."""
        covered: set[str] = set()

        def worth(candidate: _Candidate) -> float:
            return sum([self._worth(name) for name in candidate.names if name not in covered])

        heap = [
            (-worth(each) / (len(each.line) + _LINE_COST), at)
            for at, each in enumerate(self.candidates)
            if not (" " in each.line and each.line in shown)
        ]
        heapify(heap)
        while heap and room > 0:
            _, at = heappop(heap)
            candidate = self.candidates[at]
            cost = len(candidate.line) + 1
            # What is covered since makes a line worth less than it was.
            value = worth(candidate)
            density = -value / (len(candidate.line) + _LINE_COST)
            if heap and density > heap[0][0]:
                if value:
                    heappush(heap, (density, at))
            elif value and cost <= room:
                room -= cost
                covered |= candidate.names
                yield candidate

    def _worth(self, name: str) -> float:
        mentions = self._said[name] * _SAID + self._put_out[name]
        worth = _HYPHENED if _TWO_WORDS.fullmatch(name.strip(_EDGES)) else 1.0
        return float(worth * mentions * 2.0 ** (-self._ages[name] / _HALF_LIFE))

    def _offer(self, place: tuple[int, int], line: str, words: set[str], names: set[str]) -> None:
        line = tidy(line).strip()
        if len(line) <= _WIDTH:
            self._put(place, line, {word for word in words if word in names or _is_name(word)})
            return
        for piece in _pieces(line):
            if here := {name for name in names if name in piece}:
                names = names - here
                shown = _window(piece, here)
                self._put(place, shown, {name for name in here if name in shown})

    def _put(self, place: tuple[int, int], line: str, names: set[str]) -> None:
        if line not in self._lines and names:
            self._lines.add(line)
            self.candidates.append(_Candidate(place, line, names))


def _pieces(line: str) -> Iterator[str]:
    """Yield the parts of a long line: sentences or objects, as many as fit in one line."""
    parts = chain.from_iterable(
        [part] if len(part) <= _WIDTH else _CLAUSE.split(part) for part in _PART.split(line)
    )
    piece = ""
    for part in parts:
        if piece and len(piece) + len(part) >= _WIDTH:
            yield piece
            piece = ""
        piece = f"{piece} {part}" if piece else part
    yield piece


def _window(piece: str, names: set[str]) -> str:
    """Return a piece; of one without any end of a clause in it, what begins with a name."""
    if len(piece) <= _WIDTH:
        return piece
    start = piece.rfind(" ", 0, min(piece.find(name) for name in names) + 1) + 1
    return cut(piece[start:], _WIDTH)


def _is_name(word: str) -> bool:
    plain = word.strip(_EDGES)
    return _SHORTEST <= len(plain) <= _LONGEST and _NAMED.search(plain) is not None


def _values(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts among values, however deep."""
    waiting = list(values)
    while waiting:
        value = waiting.pop(0)
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
