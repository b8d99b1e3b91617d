"""Which lines to show, so that the identifiers in them are worth as much as there is room for.

Greedy: each time the line whose identifiers, as far as no other line has them yet, are worth most
for what it costs. Lines with the same label stand together, and the first of them pays for it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import fsum
from operator import attrgetter

import attrs

from agentic.context.compactors._entries import CallNote
from agentic.context.compactors._mentions import Mention, words_in

__all__ = ["Cover", "Offers", "group"]

_BARE = 0.85
"""What a line is worth that says little by itself."""


@attrs.frozen
class Cover:
    """The lines that were chosen, and what they cost."""

    mentions: list[Mention]
    tokens: int


@attrs.frozen(eq=False)
class _Offer:
    """A line or a label that could be shown."""

    number: int
    mention: Mention
    terms: set[str]
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

    @property
    def wanted(self) -> int:
        """What all of them cost."""
        labels = sum(offer.cost for offer in self.labels.values())
        return labels + sum(offer.cost for offer in self.lines)

    @cached_property
    def lines(self) -> list[_Offer]:
        """The lines, without their labels."""
        return [
            _Offer(
                number,
                mention,
                words_in(mention.line) & self.worths.keys() if mention.line else set(),
                self.count(f"  {mention.line}\n") if mention.line else 0,
            )
            for number, mention in enumerate(self.mentions)
        ]

    @cached_property
    def labels(self) -> dict[str, _Offer]:
        """The labels of the lines."""
        labels = {mention.label: mention for mention in reversed(self.mentions)}
        return {
            label: _Offer(
                -1,
                mention,
                words_in(label) & self.worths.keys(),
                self.count(CallNote(label).markdown() + "\n"),
            )
            for label, mention in labels.items()
        }

    def cover(self, room: int, there: Iterable[str] = ()) -> Cover:
        """Choose lines within the room, in tokens; some words are there anyhow."""
        worths = self.worths.copy()
        for word in there:
            worths.pop(word, None)
        choice = _Choice(self, worths, room)
        choice.take_best()
        for offer in self.lines:
            if offer.mention.former and offer.number not in choice.taken:
                choice.take(offer)
        return Cover([self.mentions[number] for number in sorted(choice.taken)], room - choice.room)


@attrs.define
class _Choice:
    """What was chosen so far."""

    offers: Offers
    worths: dict[str, float]
    """Of the identifiers that no line has yet."""
    room: int
    taken: set[int] = attrs.field(factory=set)
    opened: set[str] = attrs.field(factory=set)
    """The labels that are there."""

    def take_best(self) -> None:
        """Take what pays best while there is room."""
        lines = self.offers.lines
        by_label: defaultdict[str, list[int]] = defaultdict(list)
        for offer in lines:
            by_label[offer.mention.label].append(offer.number)
        heap = [(-self._rate(offer), offer.number) for offer in lines]
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
                for other in by_label.pop(offer.mention.label, ()):
                    heappush(heap, (-self._rate(lines[other]), other))

    def take(self, offer: _Offer) -> bool:
        """Take a line if there is room."""
        label = self.offers.labels[offer.mention.label]
        opens = offer.mention.label not in self.opened
        cost = offer.cost + opens * label.cost
        if cost > self.room:
            return False
        self.room -= cost
        self.taken.add(offer.number)
        self.opened.add(offer.mention.label)
        for term in offer.terms | label.terms:
            self.worths.pop(term, None)
        return True

    def _rate(self, offer: _Offer) -> float:
        """Give what a line is worth for each token, its label included if that is new."""
        terms, cost = offer.terms, offer.cost
        if offer.mention.label not in self.opened:
            label = self.offers.labels[offer.mention.label]
            terms, cost = terms | label.terms, cost + label.cost
        worth = fsum(self.worths.get(term, 0.0) for term in terms)
        return worth * (_BARE if offer.mention.bare else 1.0) / cost if cost else 0.0


def group(mentions: Iterable[Mention]) -> dict[str, CallNote]:
    """Put lines of the same label together, all in the order of the conversation."""
    ordered = sorted(mentions, key=attrgetter("order"))
    last = {mention.label: mention.order for mention in ordered}
    labels = sorted(last, key=lambda label: last[label])
    lines: dict[str, dict[str, None]] = {label: {} for label in labels}
    for mention in ordered:
        if mention.line:
            lines[mention.label][mention.line] = None
    return {label: CallNote(label, lines=tuple(lines[label])) for label in labels}
