"""What was sent since the last change of what had already been sent, and when a change pays.

A request that extends the last one is read from the provider's prompt cache, and reasoning that is
bound to it stays valid. So whatever shortens a request waits until an epoch begins. What could be
left out is carried until then: these are the *dead* tokens. An epoch begins when carrying them has
cost as much as writing again what stays behind the first change. This needs no forecast, and for a
conversation that grows steadily no other interval costs less.
"""

import math
from collections.abc import Mapping
from typing import Any

import attrs

from agentic.context.view._explain import Stage
from agentic.context.view._window import Note
from agentic.limits import CacheTerms
from agentic.messages import Message, continues, renew


@attrs.define(eq=False)
class Epoch:
    """The requests between two changes of what was already sent."""

    source: list[Message]
    """The repaired history that its latest request was made from."""
    view: list[Message]
    """Its latest request; the source itself if nothing was left out or shortened."""
    stages: tuple[Stage, ...] = ()
    """The steps that made its first request."""
    notes: tuple[Note, ...] = ()
    """What the sender should know about all of its requests."""
    begun: int = attrs.field(kw_only=True)
    """How long the source was when the epoch began."""
    budget_tokens: int | None = attrs.field(default=None, kw_only=True)
    """The size that its first request was cut to, by the counter; None if it was not cut."""
    carrying_cost: float = attrs.field(default=0.0, kw_only=True)
    """What it has cost to carry dead tokens, in the price of one input token."""

    def extend(self, source: list[Message], shortened: list[Message]) -> "Epoch | None":
        """Return the epoch with one more request; None if the source does not continue its own.

        `shortened` is the source with the outputs as they are when they are first sent.
        """
        length = len(self.source)
        if not continues(source, self.source):
            return None
        if self.view is self.source and shortened is source:
            return self._with(source, source, self.carrying_cost)
        view = [*renew(self.view, self.source, source), *shortened[length:]]
        return self._with(source, view, self.carrying_cost)

    def adopt(self, source: list[Message]) -> "Epoch":
        """Return the epoch of an owner who goes on with what was sent; itself for any other."""
        if not continues(source, self.view, "request"):
            return self
        length = len(self.view)
        # The owner may have kept the reasoning that was left out: it stays left out.
        pairs = zip(self.view, source, strict=False)
        view = [old if _is_kept_without(old, new) else new for old, new in pairs]
        return attrs.evolve(self, source=source[:length], view=view, begun=length)

    def pays(self, terms: CacheTerms, dead: int, rewritten: int, gain: float) -> bool:
        """Return whether carrying dead tokens has cost as much as a new epoch would.

        A new epoch would leave out `dead` tokens, and write the `rewritten` tokens that stay behind
        the first change to the cache again. `gain` scales what it is worth.
        """
        carried = self.carrying_cost + terms.read * dead
        return gain * carried >= (terms.write - terms.read) * rewritten

    def keep(self, dead_cost: float) -> "Epoch":
        """Return a copy that later changes of the owner's list do not reach."""
        source = self.source.copy()
        view = source if self.view is self.source else self.view.copy()
        return self._with(source, view, self.carrying_cost + dead_cost)

    def _with(self, source: list[Message], view: list[Message], cost: float) -> "Epoch":
        # Not evolved: this happens at every request, and would take ten times as long.
        return Epoch(
            source,
            view,
            self.stages,
            self.notes,
            begun=self.begun,
            budget_tokens=self.budget_tokens,
            carrying_cost=cost,
        )


@attrs.frozen(kw_only=True)
class StoredEpoch:
    """An epoch in the state of a View: how to make its latest request of the history again."""

    begun: int
    messages: int
    """How long the source of the latest request was."""
    budget_tokens: int | None
    carrying_cost: float
    sent: str
    """A hash of the latest request."""
    left_out: tuple[int, ...]
    """The positions in the request whose reasoning was left out."""
    turn_as_text: int | None
    """The position in the request of the text that replaces the running turn."""

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form."""
        # A list, as after JSON: a checkpointer that stores types would change a tuple.
        return {**attrs.asdict(self), "left_out": list(self.left_out)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "StoredEpoch":
        """Build one from its JSON form.

        Raises:
            KeyError, OverflowError, TypeError or ValueError: `to_plain` did not return this.
        """
        room, turn, cost = plain["budget_tokens"], plain["turn_as_text"], plain["carrying_cost"]
        if not 0 <= float(cost) < math.inf:
            message = f"{cost!r} is not a cost"
            raise ValueError(message)
        return cls(
            begun=_count(plain["begun"]),
            messages=_count(plain["messages"]),
            budget_tokens=None if room is None else max(1, _count(room)),
            carrying_cost=float(cost),
            sent=str(plain["sent"]),
            left_out=tuple(map(_count, plain["left_out"])),
            turn_as_text=None if turn is None else _count(turn),
        )


def _is_kept_without(sent: Message, owned: Message) -> bool:
    origin = sent.origin
    left_out = origin is not None and origin.without_reasoning
    return left_out and owned.holds_reasoning is not False


def _count(stored: Any) -> int:
    number = int(stored)
    if number < 0:
        message = f"{stored!r} is not a count"
        raise ValueError(message)
    return number
