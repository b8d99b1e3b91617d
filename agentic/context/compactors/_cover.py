"""Which lines to show, so that the identifiers in them are worth as much as there is room for.

Greedy: each time the line whose identifiers, as far as no other line has them yet, are worth most
for what it costs. Lines with the same label stand together, and the first of them pays for it.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from operator import attrgetter

import attrs

from agentic.context.compactors._mentions import Mention
from agentic.context.compactors._offers import Offer, Offers

__all__ = ["Cover", "cover", "group"]


@attrs.frozen
class Cover:
    """The lines that were chosen, and what they cost."""

    mentions: list[Mention]
    tokens: int


def cover(offers: Offers, room: int, there: Iterable[str] = ()) -> Cover:
    """Choose lines within the room, in tokens; some identifiers are there anyhow.

    >>> lines = [Mention("grep x", text, (0, at)) for at, text in enumerate(["a.py", "a.py b.py"])]
    >>> offers = Offers(lines, {"a.py": 1.0, "b.py": 1.0}, len)
    >>> [mention.line for mention in cover(offers, 30).mentions]
    ['a.py b.py']
    """
    choice = _Choice(offers, room)
    choice.settle(there)
    choice.take_best()
    for offer in offers.lines:
        if offer.mention.former and offer.number not in choice.taken:
            choice.take(offer)
    return Cover([offers.mentions[number] for number in sorted(choice.taken)], room - choice.room)


@attrs.define
class _Choice:
    """What was chosen so far."""

    offers: Offers
    room: int
    worths: dict[str, int] = attrs.field(init=False)
    """Of the identifiers; 0 once a line has them."""
    taken: set[int] = attrs.field(factory=set)

    def __attrs_post_init__(self) -> None:
        """Begin with nothing."""
        self.worths = dict(self.offers.units)
        for each in self.offers.parts:
            each.worth = sum(map(self.worths.__getitem__, each.terms))
        for label in self.offers.labels.values():
            label.price = label.cost

    def settle(self, terms: Iterable[str]) -> None:
        """Note that identifiers are there: another line is worth nothing for having them."""
        for term in terms:
            if worth := self.worths[term]:
                self.worths[term] = 0
                for holder in self.offers.holders.get(term, ()):
                    holder.worth -= worth

    def take_best(self) -> None:
        """Take what pays best while there is room."""
        lines = self.offers.lines
        heap = [(-rate, offer.number) for offer in lines if (rate := _rate(offer))]
        heapify(heap)
        while heap:
            _, number = heappop(heap)
            offer = lines[number]
            if not (rate := _rate(offer)):
                continue
            if heap and -rate > heap[0][0]:
                heappush(heap, (-rate, number))
                continue
            opens = bool(offer.label.price)
            if self.take(offer) and opens:
                for other in offer.label.lines:
                    if rate := _rate(other):
                        heappush(heap, (-rate, other.number))

    def take(self, offer: Offer) -> bool:
        """Take a line if there is room."""
        label = offer.label
        cost = offer.cost + label.price
        if cost > self.room:
            return False
        self.room -= cost
        self.taken.add(offer.number)
        label.price = 0
        self.settle(offer.terms)
        self.settle(label.terms)
        return True


def _rate(offer: Offer) -> float:
    """Give what a line is worth for each token, its label included if that is new."""
    label = offer.label
    cost = offer.cost + label.price
    return (offer.worth + label.worth) / cost if cost else 0.0


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
