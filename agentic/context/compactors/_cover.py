"""Which lines to show, so that the identifiers in them are worth as much as there is room for.

Greedy: each time the line whose identifiers, as far as no other line has them yet, are worth most
for what it costs. Lines with the same label stand together, and the first of them pays for it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from heapq import heapify, heappop, heappush
from operator import attrgetter

import attrs

from agentic.context.compactors._entries import CallNote
from agentic.context.compactors._mentions import Mention
from agentic.context.compactors._words import unescaped, words_in, words_of

__all__ = ["Cover", "Offers", "group"]

_CONTEXT = 0.35
"""What it is worth to show an identifier not only in a bare piece of a call."""
_UNIT = 1 << 20
"""What a worth of 1 is, in whole numbers."""
_RANK = "0"
"""What every line costs beside itself."""


@attrs.frozen
class Cover:
    """The lines that were chosen, and what they cost."""

    mentions: list[Mention]
    tokens: int


@attrs.define(eq=False)
class _Label:
    """What stands above lines."""

    terms: set[str]
    cost: int


@attrs.define(eq=False)
class _Offer:
    """A line that could be shown."""

    number: int
    mention: Mention
    label: _Label
    terms: set[str]
    """The identifiers in it that its label lacks."""
    cost: int


@attrs.define(slots=False)
class Offers:
    """The lines that could be shown.

    >>> lines = [Mention("grep x", text, (0, at)) for at, text in enumerate(["a.py", "a.py b.py"])]
    >>> offers = Offers(lines, {"a.py": 1.0, "b.py": 1.0}, len)
    >>> [mention.line for mention in offers.cover(30).mentions]
    ['a.py b.py']
    """

    mentions: list[Mention]
    worths: dict[str, float]
    """What the identifiers are worth."""
    count: Callable[[str], int]
    _ranked: dict[str, set[str]] = attrs.field(factory=dict, init=False, repr=False)
    """The identifiers that are worth something, by the words that hold them."""

    @property
    def wanted(self) -> int:
        """What all of them cost."""
        labels = sum(label.cost for label in self.labels.values())
        return labels + sum(offer.cost for offer in self.lines)

    @property
    def text(self) -> str:
        """All of them, together."""
        labels = (CallNote(label).markdown() for label in self.labels)
        return "".join(
            f"{line}\n"
            for line in (*labels, *(f"  {each.line}" for each in self.mentions if each.line))
        )

    @cached_property
    def lines(self) -> list[_Offer]:
        """The lines, without their labels."""
        return [
            self._offer(number, mention, self.labels[mention.label])
            for number, mention in enumerate(self.mentions)
        ]

    @cached_property
    def labels(self) -> dict[str, _Label]:
        """The labels of the lines."""
        told: defaultdict[str, list[str]] = defaultdict(list)
        for mention in self.mentions:
            if not mention.line:
                told[mention.label].append(mention.label if mention.told is None else mention.told)
        return {
            label: _Label(
                self._terms(label, "\n".join(told[label])),
                self.count(f"{CallNote(label).markdown()}{_RANK}\n"),
            )
            for label in {mention.label: None for mention in self.mentions}
        }

    @cached_property
    def bare(self) -> set[str]:
        """The identifiers in pieces of calls, some of which say little by themselves."""
        pieces = (each.line or each.label for each in self.mentions if each.told is not None)
        return self.terms_in("\n".join(pieces))

    def terms_in(self, text: str) -> set[str]:
        """Give the identifiers in a text that are worth something, parts of longer ones too."""
        found: set[str] = set()
        for word in set(words_of(text)):
            terms = self._ranked.get(word)
            if terms is None:
                parts = {word} if word.isalnum() else words_in(word)
                terms = self._ranked[word] = parts & self.worths.keys()
            found |= terms
        return found

    def cover(self, room: int, there: str = "") -> Cover:
        """Choose lines within the room, in tokens; a text is there anyhow."""
        # Whole numbers add up to the same in any order, and a set has none.
        worths = {term: round(worth * _UNIT) for term, worth in self.worths.items()}
        worths.update({_context(term): int(worths[term] * _CONTEXT) for term in self.bare})
        worths.update(dict.fromkeys(self.terms_in(there), 0))
        choice = _Choice(self, worths, room)
        choice.take_best()
        for offer in self.lines:
            if offer.mention.former and offer.number not in choice.taken:
                choice.take(offer)
        return Cover([self.mentions[number] for number in sorted(choice.taken)], room - choice.room)

    def _offer(self, number: int, mention: Mention, label: _Label) -> _Offer:
        if not mention.line:
            return _Offer(number, mention, label, set(), 0)
        line = mention.line
        stands = unescaped(line) if mention.former else line
        terms = self._terms(
            stands if mention.stands is None else mention.stands,
            unescaped(line) if mention.told is None else mention.told,
        )
        cost = self.count(f"  {line}{_RANK}\n")
        return _Offer(number, mention, label, terms - label.terms, cost)

    def _terms(self, stands: str, told: str) -> set[str]:
        """Give the identifiers that stand there, and those of which enough is told."""
        terms = self.terms_in(stands)
        if not told:
            return terms
        enough = (terms if told == stands else self.terms_in(told)) & self.bare
        return terms.union(map(_context, enough))


@attrs.define
class _Choice:
    """What was chosen so far."""

    offers: Offers
    worths: dict[str, int]
    """Of the identifiers; 0 once a line has them."""
    room: int
    taken: set[int] = attrs.field(factory=set)
    opened: set[_Label] = attrs.field(factory=set)
    """The labels that are there."""

    def take_best(self) -> None:
        """Take what pays best while there is room."""
        lines = self.offers.lines
        by_label: defaultdict[_Label, list[int]] = defaultdict(list)
        for offer in lines:
            by_label[offer.label].append(offer.number)
        heap = [(-rate, offer.number) for offer in lines if (rate := self._rate(offer))]
        heapify(heap)
        while heap:
            _, number = heappop(heap)
            offer = lines[number]
            rate = 0.0 if number in self.taken else self._rate(offer)
            if not rate:
                continue
            if heap and -rate > heap[0][0]:
                heappush(heap, (-rate, number))
            elif self.take(offer):
                for other in by_label.pop(offer.label, ()):
                    heappush(heap, (-self._rate(lines[other]), other))

    def take(self, offer: _Offer) -> bool:
        """Take a line if there is room."""
        opens = offer.label not in self.opened
        cost = offer.cost + opens * offer.label.cost
        if cost > self.room:
            return False
        self.room -= cost
        self.taken.add(offer.number)
        self.opened.add(offer.label)
        for term in offer.terms:
            self.worths[term] = 0
        for term in offer.label.terms if opens else ():
            self.worths[term] = 0
        return True

    def _rate(self, offer: _Offer) -> float:
        """Give what a line is worth for each token, its label included if that is new."""
        worth = sum(map(self.worths.__getitem__, offer.terms))
        cost = offer.cost
        if offer.label not in self.opened:
            worth += sum(map(self.worths.__getitem__, offer.label.terms))
            cost += offer.label.cost
        return worth / cost if cost else 0.0


def _context(term: str) -> str:
    """Give the name under which it is noted that an identifier has something around it."""
    return f"{term}\n"


def group(mentions: Iterable[Mention]) -> dict[str, dict[str, Mention]]:
    """Put lines of the same label together, all in the order of the conversation."""
    ordered = sorted(mentions, key=attrgetter("order"))
    last = {mention.label: mention.order for mention in ordered}
    lines: dict[str, dict[str, Mention]] = {
        label: {} for label in sorted(last, key=last.__getitem__)
    }
    for mention in ordered:
        lines[mention.label][mention.line] = mention
    for each in lines.values():
        if len(each) > 1:
            each.pop("", None)
    return lines
