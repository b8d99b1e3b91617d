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
from agentic.context.view._prefix import prefix_from_plain, prefix_to_plain
from agentic.context.view._window import Note
from agentic.limits import CacheTerms
from agentic.messages import Message, from_plain, to_plain
from agentic.messages._timeline import continues, renew
from agentic.protocols import RequestPrefix


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
    fit_tokens: int | None = attrs.field(default=None, kw_only=True)
    """The size for which that cut was first made, which is at most as large."""
    shrunk_tokens: int | None = attrs.field(default=None, kw_only=True)
    """The size that its first request was cut to, after that, because the provider had refused a
    larger one; None if it was not."""
    carrying_cost: float = attrs.field(default=0.0, kw_only=True)
    """What it has cost to carry dead tokens, in the price of one input token."""
    prefix: RequestPrefix = attrs.field(factory=RequestPrefix, kw_only=True)
    """What precedes the messages of all its requests."""
    changes: tuple[tuple[int, Message], ...] = attrs.field(default=(), kw_only=True)
    """The messages that say what has changed in the prefix since, with the length of the source
    that each was sent behind."""

    def extend(self, source: list[Message], shorter: list[Message]) -> "Epoch | None":
        """Return the epoch with one more request; None if the source does not continue its own.

        `shorter` is the source with the outputs as they are when they are first sent.
        """
        length = len(self.source)
        if not continues(source, self.source):
            return None
        if self.view is self.source and shorter is source:
            return self._with(source, source, self.carrying_cost)
        view = [*renew(self.view, self.source, source), *shorter[length:]]
        return self._with(source, view, self.carrying_cost)

    def follow(self, source: list[Message], shorter: list[Message]) -> "tuple[Epoch, Epoch | None]":
        """Return what `extend` would, behind the epoch that it extends.

        That is another than this one if its owner goes on with what was sent.
        """
        longer = self.extend(source, shorter)
        if longer is not None:
            return self, longer
        epoch = self.adopt(source)
        return epoch, epoch.extend(source, shorter)

    def append(self, changes: list[Message]) -> "Epoch":
        """Return the epoch with messages behind its latest request that the source has not."""
        at = len(self.source)
        changes_then = (*self.changes, *((at, change) for change in changes))
        return attrs.evolve(self, view=[*self.view, *changes], changes=changes_then)

    @property
    def is_in_order(self) -> bool:
        """Whether each change is still followed by a reply, or by nothing."""
        ends = (at for at, _ in self.changes if at < len(self.source))
        return all(self.source[at].role == "assistant" for at in ends)

    def adopt(self, source: list[Message]) -> "Epoch":
        """Return the epoch of an owner who goes on with what was sent; itself for any other."""
        if not continues(source, self.view, "request"):
            return self
        length = len(self.view)
        # The owner may have kept the reasoning that was left out: it stays left out.
        pairs = zip(self.view, source, strict=False)
        view = [old if _is_kept_without(old, new) else new for old, new in pairs]
        # What has changed is among the messages of the source from now on.
        return attrs.evolve(self, source=source[:length], view=view, begun=length, changes=())

    def pays(self, terms: CacheTerms, dead: int, tokens_rewritten: int, gain: float) -> bool:
        """Return whether carrying dead tokens has cost as much as a new epoch would.

        A new epoch would leave out `dead` tokens, and write the `tokens_rewritten` that stay behind
        the first change to the cache again. `gain` scales what it is worth.
        """
        cost = self.carrying_cost + terms.read * dead
        return gain * cost >= (terms.write - terms.read) * tokens_rewritten

    def keep(self, dead_cost: float) -> "Epoch":
        """Return a copy that later changes of the owner's list do not reach."""
        source = self.source.copy()
        view = source if self.view is self.source else self.view.copy()
        epoch = self._with(source, view, self.carrying_cost + dead_cost)
        epoch.stages = tuple(each.with_list(source, self.source) for each in self.stages)
        return epoch

    def _with(self, source: list[Message], view: list[Message], cost: float) -> "Epoch":
        # Not evolved: this happens at every request, and would take ten times as long.
        return Epoch(
            source,
            view,
            self.stages,
            self.notes,
            begun=self.begun,
            budget_tokens=self.budget_tokens,
            fit_tokens=self.fit_tokens,
            shrunk_tokens=self.shrunk_tokens,
            carrying_cost=cost,
            prefix=self.prefix,
            changes=self.changes,
        )


@attrs.frozen(kw_only=True)
class StoredEpoch:
    """An epoch in the state of a View: how to make its latest request of the history again."""

    begun: int
    messages: int
    """How long the source of the latest request was."""
    budget_tokens: int | None
    fit_tokens: int | None
    shrunk_tokens: int | None
    carrying_cost: float
    sent: str
    """A hash of the latest request."""
    left_out: tuple[int, ...]
    """The positions in the request whose reasoning was left out."""
    turn_as_text: int | None
    """The position in the request from where on a running loop is text."""
    given_up: tuple[int, ...] = ()
    """The lengths of the history at which a call without a result was sent as given up."""
    held: int | None = None
    """A bit mask of the messages of the request that had valid reasoning."""
    prefix: RequestPrefix | None = None
    """What precedes its messages; None where changes of it are not appended."""
    latest: RequestPrefix | None = None
    """The system prompt and the tools of the latest request, if they have changed since."""
    changes: tuple[tuple[int, Message], ...] = ()
    """The messages that say so: see `Epoch.changes`."""

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form."""
        # Lists, as after JSON: a checkpointer that stores types would change a tuple.
        lists = {"left_out": list(self.left_out), "given_up": list(self.given_up)}
        # In hexadecimal, because JSON readers elsewhere round large numbers.
        held = None if self.held is None or self.held < 0 else f"{self.held:x}"
        plain = {**attrs.asdict(self, filter=_is_number_or_text), **lists, "held": held}
        if self.prefix is not None:
            plain["prefix"] = prefix_to_plain(self.prefix)
        if self.latest is not None:
            plain["latest_prefix"] = prefix_to_plain(self.latest)
            plain["changes"] = [[at, to_plain(message)] for at, message in self.changes]
        return plain

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "StoredEpoch":
        """Build one from its JSON form.

        Raises:
            KeyError, OverflowError, TypeError or ValueError: `to_plain` did not return this.
        """
        turn, cost = plain["turn_as_text"], plain["carrying_cost"]
        if not 0 <= float(cost) < math.inf:
            message = f"{cost!r} is not a cost"
            raise ValueError(message)
        return cls(
            begun=_count(plain["begun"]),
            messages=_count(plain["messages"]),
            budget_tokens=_limit(plain["budget_tokens"]),
            # Versions before 2026-11-28 stored neither.
            fit_tokens=_limit(plain.get("fit_tokens")),
            shrunk_tokens=_limit(plain.get("shrunk_tokens")),
            carrying_cost=float(cost),
            sent=str(plain["sent"]),
            left_out=tuple(map(_count, plain["left_out"])),
            turn_as_text=None if turn is None else _count(turn),
            given_up=tuple(map(_count, plain.get("given_up", ()))),
            held=_mask(plain.get("held")),
            prefix=_prefix(plain.get("prefix")),
            latest=_prefix(plain.get("latest_prefix")),
            changes=tuple((_count(at), from_plain(each)) for at, each in plain.get("changes", ())),
        )


def _is_kept_without(former: Message, own: Message) -> bool:
    origin = former.origin
    left_out = origin is not None and origin.without_reasoning
    return left_out and own.holds_reasoning is not False


def _is_number_or_text(field: Any, _: Any) -> bool:
    return field.name not in {"prefix", "latest", "changes"}


def _prefix(plain: Any) -> RequestPrefix | None:
    return None if plain is None else prefix_from_plain(plain)


def _limit(value: Any) -> int | None:
    return None if value is None else max(1, _count(value))


def _mask(value: Any) -> int | None:
    return None if value is None else _count(int(str(value), 16))


def _count(value: Any) -> int:
    number = int(value)
    if number < 0:
        message = f"{value!r} is not a count"
        raise ValueError(message)
    return number
