"""The lines that could be shown: what they cost, and which identifiers they have.

A bare piece of a call has an identifier only in part: that something is shown around it is worth
something too, and goes by a name of its own.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator
from functools import cached_property
from itertools import chain

import attrs

from agentic.context.compactors._entries import CallNote
from agentic.context.compactors._mentions import Mention
from agentic.context.compactors._words import unescaped, words_in, words_of

__all__ = ["Label", "Offer", "Offers"]

_CONTEXT = 0.35
"""What it is worth to show an identifier not only in a bare piece of a call."""
_UNIT = 1 << 20
"""What a worth of 1 is, in whole numbers."""
_RANK = "0"
"""What every line costs beside itself."""


@attrs.define(eq=False)
class Label:
    """What stands above lines."""

    markdown: str
    terms: set[str]
    cost: int
    lines: "list[Offer]" = attrs.field(factory=list)
    price: int = 0
    """What it costs yet: nothing once it is there."""
    worth: int = 0
    """What those of its identifiers are worth that nothing chosen has."""


@attrs.define(eq=False)
class Offer:
    """A line that could be shown."""

    number: int
    mention: Mention
    label: Label
    terms: tuple[str, ...]
    """The identifiers in it that its label lacks."""
    cost: int
    worth: int = 0
    """What those of its identifiers are worth that nothing chosen has."""


class _Terms(dict[str, tuple[str, ...]]):
    """The identifiers that are worth something, by the words that hold them."""

    def __init__(self, worths: Container[str]) -> None:
        super().__init__()
        self._worths = worths

    def __missing__(self, word: str) -> tuple[str, ...]:
        parts = (word,) if word.isalnum() else words_in(word)
        terms = self[word] = tuple([part for part in parts if part in self._worths])
        return terms

    def in_text(self, text: str) -> set[str]:
        """Give the identifiers in a text, parts of longer ones too."""
        return set(chain.from_iterable(map(self.__getitem__, words_of(text))))


@attrs.define(slots=False)
class Offers:
    """The lines that could be shown."""

    mentions: list[Mention]
    worths: dict[str, float]
    """What the identifiers are worth."""
    count: Callable[[str], int]

    @property
    def parts(self) -> Iterator[Label | Offer]:
        """The labels, then the lines."""
        return chain(self.labels.values(), self.lines)

    @cached_property
    def wanted(self) -> int:
        """What all of them cost."""
        return sum(each.cost for each in self.parts)

    def least(self, there: Container[str]) -> int:
        """Give what lines cost at least that have every identifier, but for those that are there.

        That is what the lines cost that alone have one.
        """
        alone = {
            holders[0]
            for term, holders in self.holders.items()
            if len(holders) == 1 and self.units[term] and term not in there
        }
        return sum(each.cost for each in alone if isinstance(each, Offer))

    @property
    def text(self) -> str:
        """All of them, together."""
        labels = [f"{label.markdown}\n" for label in self.labels.values()]
        return "".join(labels + [f"  {each.line}\n" for each in self.mentions if each.line])

    @cached_property
    def lines(self) -> list[Offer]:
        """The lines, without their labels."""
        offers = list(map(self._offer, range(len(self.mentions)), self.mentions))
        for offer in offers:
            offer.label.lines.append(offer)
        return offers

    @cached_property
    def labels(self) -> dict[str, Label]:
        """The labels of the lines."""
        told: defaultdict[str, list[str]] = defaultdict(list)
        for mention in self.mentions:
            if not mention.line:
                told[mention.label].append(mention.label if mention.told is None else mention.told)
        labels = {mention.label: CallNote(mention.label).markdown() for mention in self.mentions}
        return {
            label: Label(
                markdown,
                self._terms(label, "\n".join(told[label])),
                self.count(f"{markdown}{_RANK}\n"),
            )
            for label, markdown in labels.items()
        }

    @cached_property
    def units(self) -> dict[str, int]:
        """What the identifiers are worth, and what is around them, in whole numbers.

        Those add up to the same in any order, and a set has none.
        """
        units = {term: round(worth * _UNIT) for term, worth in self.worths.items()}
        units.update(
            {context: int(units[term] * _CONTEXT) for term, context in self._contexts.items()}
        )
        return units

    @cached_property
    def holders(self) -> dict[str, list[Label | Offer]]:
        """The lines and labels that have an identifier, or something around it."""
        holders: defaultdict[str, list[Label | Offer]] = defaultdict(list)
        for each in self.parts:
            for term in each.terms:
                holders[term].append(each)
        return holders

    @cached_property
    def _contexts(self) -> dict[str, str]:
        """The names for what is around identifiers: those in pieces of calls, which may be bare."""
        pieces = (each.line or each.label for each in self.mentions if each.told is not None)
        return {term: f"{term}\n" for term in self.terms_in("\n".join(pieces))}

    @cached_property
    def _held(self) -> _Terms:
        return _Terms(self.worths)

    def terms_in(self, text: str) -> set[str]:
        """Give the identifiers in a text that are worth something, parts of longer ones too."""
        return self._held.in_text(text)

    def _offer(self, number: int, mention: Mention) -> Offer:
        label, line = self.labels[mention.label], mention.line
        if not line:
            return Offer(number, mention, label, (), 0)
        stands = unescaped(line) if mention.former else line
        terms = self._terms(
            stands if mention.stands is None else mention.stands,
            unescaped(line) if mention.told is None else mention.told,
        )
        cost = self.count(f"  {line}{_RANK}\n")
        return Offer(number, mention, label, tuple(terms - label.terms), cost)

    def _terms(self, stands: str, told: str) -> set[str]:
        """Give the identifiers that stand there, and those of which enough is told."""
        terms = self.terms_in(stands)
        if not told:
            return terms
        contexts = self._contexts
        enough = (terms if told == stands else self.terms_in(told)) & contexts.keys()
        return terms.union(map(contexts.__getitem__, enough))
