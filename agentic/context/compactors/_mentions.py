"""Where identifiers last mattered: paths, names, ids and numbers, and the lines they stood in.

An identifier ranks by how often it was mentioned. A mention counts half as much after 200 messages,
and three times as much in what was said or called as in what a tool put out; the last mention
counts ten times more, and that fades within some 40 messages.
"""

import json
import re
from collections.abc import Iterable, Iterator
from math import exp2, fsum, log2

import attrs

from agentic.context.compactors._lines import around, verbatim
from agentic.context.compactors._ranks import Rank
from agentic.context.compactors._words import identifier, unescaped, words_of

__all__ = ["SAID", "Mention", "Mentions"]

SAID = 3.0
"""How much a mention by user or assistant counts, where one in an output counts 1."""
_HALF_LIFE = 200
_LAST_DOUBLING = 1000
"""Scores stay within a float: after 200,000 messages they decay no more."""
_FRESH = 10.0
_FRESH_HALF_LIFE = 40
_WORTH = 0.7
"""The exponent from score to worth: what is mentioned twice as often is needed less than that."""
_WHOLE_LINE = 160
_BARE = 40
_ESCAPED = re.compile(r"[\"\\\\\n\t]|[^\x00-\x7f]")
_WINDOW = 1000
"""How far around an identifier its line is looked for, in characters."""


@attrs.frozen
class Mention:
    """A line, and the label of what it stands in."""

    label: str
    line: str
    """Empty if the label says it all."""
    order: tuple[int, int]
    """The number of the text, and where the line stands in it."""
    stands: str | None = None
    """The part of it that is as it was; None for all. The rest is JSON, with its escapes."""
    told: str | None = None
    """The part of it that is long enough to say something in JSON too; None for all."""
    former: bool = False
    """It stood in a former digest, and nothing newer was said of what is in it."""


@attrs.define
class _Source:
    """A text in which identifiers stand."""

    label: str
    text: str
    weight: float
    message: int
    arguments: str = ""
    """The arguments of a call that it stands in, as the model wrote them."""
    rank: Rank | None = None
    """What a line of a former digest counted for then; None for any other text."""


class _Names(dict[str, str]):
    """The identifiers, by the words as they stand; empty for a word that is none."""

    def __missing__(self, word: str) -> str:
        name = self[word] = identifier(word)
        return name

    def in_text(self, text: str) -> set[str]:
        """Give the identifiers in a text."""
        found = set(map(self.__getitem__, words_of(text)))
        found.discard("")
        return found


@attrs.define
class Mentions:
    """The identifiers of a conversation, while it is read."""

    message: int = 0
    """How many messages were read."""
    growth: float = 1.0
    """What a mention counts in the last of them, beside one in the first."""
    names: _Names = attrs.field(factory=_Names)
    scores: dict[str, float] = attrs.field(factory=dict)
    told: dict[str, int] = attrs.field(factory=dict)
    """The number of the text that mentioned each last, said by somebody or put out by a tool."""
    called: dict[str, int] = attrs.field(factory=dict)
    """The number of the last argument of a call that mentioned each."""
    sources: list[_Source] = attrs.field(factory=list)

    def go_on(self, messages: int) -> None:
        """Go on by so many messages."""
        # Growing weights rank like decaying scores, and each score is touched only when it changes.
        self.message += messages
        self.growth = exp2(min(self.message / _HALF_LIFE, _LAST_DOUBLING))

    def read(self, label: str, text: str, weight: float = 1.0) -> None:
        """Note the identifiers in what somebody said, or a tool put out."""
        found = self._score(text, weight)
        self.told.update(dict.fromkeys(found, len(self.sources)))
        self.sources.append(_Source(label, text, weight, self.message))

    def read_call(self, label: str, text: str, arguments: str) -> None:
        """Note the identifiers in an argument of a call, which stands in all its arguments."""
        found = self._score(text, SAID)
        self.called.update(dict.fromkeys(found, len(self.sources)))
        self.sources.append(_Source(label, text, SAID, self.message, arguments))

    def read_former(self, label: str, line: str, rank: Rank) -> None:
        """Note the identifiers in a line of a former digest, which says what they counted then."""
        text = line or label
        score = rank.score * self.growth
        found = self.names.in_text(unescaped(text))
        for name in found:
            self.scores[name] = max(self.scores.get(name, 0.0), score)
        self.told.update(dict.fromkeys(found, len(self.sources)))
        weight = SAID if rank.said else 1.0
        self.sources.append(_Source(label, text, weight, self.message, rank=rank))

    def rank(self, mention: Mention) -> Rank:
        """Say what the identifiers in a line count for, as a later digest needs to know it."""
        source = self.sources[mention.order[0]]
        said = source.weight > 1
        if source.rank:
            return Rank(often=source.rank.often, said=said)
        growth = exp2(min(source.message / _HALF_LIFE, _LAST_DOUBLING))
        names = self.names.in_text(unescaped(mention.line or mention.label))
        scores = [score / growth for score in map(self.scores.get, names) if score]
        return Rank.of(fsum(map(log2, scores)) / len(scores) if scores else 0.0, said=said)

    def _score(self, text: str, weight: float) -> set[str]:
        """Count a mention of each identifier in a text, and give them."""
        weight *= self.growth
        found = self.names.in_text(text)
        for name in found:
            self.scores[name] = self.scores.get(name, 0.0) + weight
        return found

    def best(self, limit: int) -> dict[str, float]:
        """Give the identifiers that rank highest, and their worth."""
        growth = self.growth
        fresh = [
            _FRESH * source.weight * exp2((source.message - self.message) / _FRESH_HALF_LIFE)
            for source in self.sources
        ]
        told, called = self.told, self.called
        ranks = [
            (score / growth + fresh[max(told.get(name, -1), called.get(name, -1))], name)
            for name, score in self.scores.items()
        ]
        ranks.sort(reverse=True)
        return {name: rank**_WORTH for rank, name in ranks[:limit]}

    def _last(self, name: str) -> int:
        """Give the number of the text or call that mentioned an identifier last."""
        return max(self.told.get(name, -1), self.called.get(name, -1))

    def lines(self, words: Iterable[str], limit: int) -> Iterator[Mention]:
        """Give the lines in which identifiers stand, and what is close around them, each once.

        Of each the last one that was told, and the last one in a call. Lines of a former digest
        come whole, all of those that nothing newer replaced.
        """
        given: set[tuple[int, int, str]] = set()
        for word in words:
            for number in (self.told.get(word, -1), self.called.get(word, -1)):
                if number >= 0 and self.sources[number].rank is None:
                    yield from self._around(word, number, limit, given)
        for number, source in enumerate(self.sources):
            if source.rank and self._stands(source.text):
                line = "" if source.text == source.label else source.text
                yield Mention(source.label, line, (number, 0), former=True)

    def _around(
        self, word: str, number: int, limit: int, given: set[tuple[int, int, str]]
    ) -> Iterator[Mention]:
        """Give the line in which a word stands last in a text, and a part of it if it is long."""
        source = self.sources[number]
        label, text = source.label, source.text
        at = text.rfind(word)
        first = max(at - _WINDOW, 0)
        start = text.rfind("\n", first, at) + 1 or first
        end = text.find("\n", at, at + _WINDOW)
        end = end if end >= 0 else at + _WINDOW
        whole = end - start <= (_BARE if source.arguments else limit)
        if (key := (number, start, "" if whole else word)) in given:
            return
        given.add(key)
        line = verbatim(text[start:end])
        shown = "" if line in label else around(line, word, limit)
        told = _piece(shown or line, word) if source.arguments else None
        yield Mention(label, shown, (number, start if shown else -1), told=told)
        if told == "" and (more := _quoted(line, word, source.arguments, limit)):
            yield Mention(label, more, (number, start), line if line in more else "")
        if shown and limit < len(line) <= _WHOLE_LINE:
            yield Mention(label, line, (number, start), told=told)

    def _stands(self, line: str) -> bool:
        """Tell whether some identifier of a former line was not mentioned again since."""
        names = self.names.in_text(unescaped(line))
        return not names or any(self.sources[self._last(name)].rank for name in names)


def _piece(line: str, word: str) -> str:
    """Give what stands around a word and is the same in JSON; nothing if that says little."""
    piece = line
    if _ESCAPED.search(line):
        before, _, after = line.rpartition(word)
        piece = f"{_ESCAPED.split(before)[-1]}{word}{_ESCAPED.split(after, maxsplit=1)[0]}"
    return piece if len(piece) >= _BARE else ""


def _quoted(line: str, word: str, arguments: str, limit: int) -> str:
    """Give what stands around a line of a call, as the model wrote it: with escapes for newlines.

    Nothing if the arguments are no JSON, or if the line is all of them.
    """
    for text in (line, json.dumps(line, ensure_ascii=False)[1:-1], json.dumps(line)[1:-1], word):
        at = arguments.rfind(text)
        if at >= 0 and arguments != line:
            start = max(at - limit, 0)
            return around(
                arguments[start : at + len(text) + limit], text, max(limit, len(text) + 8)
            )
    return ""
