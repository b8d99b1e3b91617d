"""What is sent to the model: the system prompt, the summary, and the recent messages that fit."""

import operator
from collections.abc import Sequence
from typing import Literal

import attrs

from agentic.context.budget import Compaction, Policy
from agentic.context.strategies import Fit, FitContextWindow, TruncateToolOutputs
from agentic.context.view._summary_share import SUMMARY_SHARE, SummaryShare
from agentic.errors import ConfigError
from agentic.messages import Message, split_rounds
from agentic.session._meter import Meter
from agentic.tokens import Gauge, largest_part

__all__ = ["Note", "Prepared", "Request", "make_prompt"]

_OUTPUT_CHARS = tuple(1 << power for power in range(15, 7, -1))
"""What is tried for the outputs of recent messages that do not fit: powers of two, so that the
choice moves seldom and the provider's prompt cache survives."""
_STILL_GOOD = 0.8
"""A cut is kept while its size is at least this share of what is allowed: the cache survives."""

_FOR_SURE = 0.75 * _STILL_GOOD
"""A view that is over what is allowed may be cut to this share of it: see `FitContextWindow`."""


@attrs.frozen
class Note:
    """Something that whoever sends a request should know of it."""

    kind: Literal[
        "summary_ignored",
        "summary_shortened",
        "summary_failed",
        "outputs_truncated",
        "messages_left_out",
        "over_window",
    ]
    text: str
    """The same as a sentence."""


@attrs.frozen(kw_only=True)
class Prepared:
    """A request and what became of it on the way. Sizes in tokens."""

    messages: list[Message]
    """What to send, the system prompt first."""
    tokens: int
    """Its size by the counter, with the schemas of the session's tools."""
    fits: bool
    """Whether that is within the window less the reserve."""
    notes: tuple[Note, ...] = ()
    compaction: Compaction | None = None
    """What a trigger did before; None where nothing was due."""


@attrs.define(eq=False)
class Request:
    """Makes requests of views, within a policy."""

    policy: Policy
    meter: Meter
    recall: str | None = None
    """The name of the tool that reads again what was cut, if the model has it."""
    _shares: dict[int, SummaryShare] = attrs.field(factory=dict, init=False)
    """The latest two, by size: what measures and what sends differ by a few tokens."""
    _fit: FitContextWindow | None = attrs.field(default=None, init=False)

    def share(self, overhead_tokens: int) -> SummaryShare | None:
        """Give the strategy that holds a summary to its share; None without a window."""
        if not self.policy.context_window:
            return None
        available = self.policy.available_tokens - overhead_tokens
        most = max(0, int(SUMMARY_SHARE * available))
        if most not in self._shares:
            latest = list(self._shares.items())[-1:]
            self._shares = dict([*latest, (most, SummaryShare(most, self.meter.tallies))])
        return self._shares[most]

    def make(
        self, prompt: Sequence[Message], view: list[Message], gauge: Gauge, *, tools_tokens: int = 0
    ) -> Prepared:
        """Put the prompt before as much of the view as fits beside it and the tools."""
        overhead = tools_tokens + sum(map(self.meter.tallies.count_message, prompt))
        share = self.share(overhead)
        if share is None:
            tokens = overhead + self.meter.tallies.tally(view).total
            return Prepared(messages=[*prompt, *view], tokens=tokens, fits=True)
        shown = share.compact(view)
        fit, notes = self._cut(shown, self._room(shown, gauge, overhead))
        if shown is not view:
            text = f"the summary takes more than {share.max_tokens} tokens and is shown in part"
            notes = [Note("summary_shortened", text), *notes]
        tokens = overhead + fit.tokens
        fits = tokens <= self.policy.available_tokens
        if not fits:
            notes.append(_over_window(tokens, self.policy, [*prompt, *fit.messages]))
        return Prepared(
            messages=[*prompt, *fit.messages], tokens=tokens, fits=fits, notes=tuple(notes)
        )

    def see(self, view: list[Message], gauge: Gauge, overhead_tokens: int) -> list[Message]:
        """Give what of a view is in requests for sure, cut as `make` cuts at its strictest."""
        share = self.share(overhead_tokens)
        if share is None:
            return view
        shown = share.compact(view)
        room = max(1, int(_FOR_SURE * self._room(shown, gauge, overhead_tokens)))
        recent = _recent(shown, self.policy.min_recent_messages)
        fit = FitContextWindow(room, self.meter.counter, low_water=1.0).fit(shown)
        if fit.tokens > room or not _holds(fit.messages, [shown[at] for at in recent]):
            fit, _ = self._shorten(shown, room, recent)
        return fit.messages

    def _room(self, view: list[Message], gauge: Gauge, overhead: int) -> int:
        """Give what the messages may take, by the counter."""
        available = self.policy.available_tokens
        room = available - overhead
        if gauge.measure(view, overhead_tokens=overhead) > available:
            # The provider counts more than the counter does.
            room = min(room, gauge.estimate_within(available, overhead_tokens=overhead))
        return max(1, room)

    def _cut(self, view: list[Message], room: int) -> tuple[Fit, list[Note]]:
        """Leave out what does not fit, the recent messages last."""
        if self._fit is None or not _STILL_GOOD * room <= self._fit.max_tokens <= room:
            self._fit = FitContextWindow(room, self.meter.counter)
        recent = _recent(view, self.policy.min_recent_messages)
        for strategy in (self._fit, FitContextWindow(room, self.meter.counter, low_water=1.0)):
            fit = strategy.fit(view)
            if fit.tokens <= room and _holds(fit.messages, [view[at] for at in recent]):
                return fit, []
        return self._shorten(view, room, recent)

    def _shorten(self, view: list[Message], room: int, recent: list[int]) -> tuple[Fit, list[Note]]:
        """Truncate the outputs of recent messages until all of those fit, or as many as can."""
        strategy = FitContextWindow(room, self.meter.counter, low_water=1.0)
        fit, shorter = strategy.fit(view), view
        for chars in _OUTPUT_CHARS:
            truncate = TruncateToolOutputs(chars, recall=self.recall)
            shorter = _truncate_outputs(view, recent, truncate)
            fit = strategy.fit(shorter)
            if fit.tokens <= room and _holds(fit.messages, [shorter[at] for at in recent]):
                return fit, [_truncated(chars)]
        notes = []
        if any(map(operator.is_not, shorter, view)):
            notes.append(_truncated(_OUTPUT_CHARS[-1]))
        if not _holds(fit.messages, [shorter[at] for at in recent]):
            notes.append(_left_out(fit.messages, recent))
        return fit, notes


def make_prompt(system_prompt: str, history: Sequence[Message] = ()) -> list[Message]:
    """Give the system prompt as a message, unless the history begins with it.

    >>> make_prompt("Be brief.", [Message("system", "Be brief.")])
    []

    Raises:
        ConfigError: no text.
    """
    if not isinstance(system_prompt, str):
        raise ConfigError("system_prompt", system_prompt, "a str", 'pass "" for none')
    first = history[0] if history else None
    if not system_prompt or (first and (first.role, first.content) == ("system", system_prompt)):
        return []
    return [Message("system", system_prompt)]


def _recent(view: list[Message], least: int) -> list[int]:
    """Find the positions of the newest messages, in whole rounds, at least so many of them."""
    positions: list[int] = []
    for found in reversed(split_rounds(view)):
        if len(positions) >= least or found.messages[0].summary:
            break
        positions += found.positions
    return sorted(positions)


def _holds(messages: list[Message], wanted: list[Message]) -> bool:
    return {id(message) for message in wanted} <= {id(message) for message in messages}


def _truncate_outputs(
    view: list[Message], recent: list[int], strategy: TruncateToolOutputs
) -> list[Message]:
    """Shorten the outputs of these messages, pinned ones excepted."""
    shorter = strategy.compact([view[at] for at in recent])
    changed = view.copy()
    for at, message in zip(recent, shorter, strict=True):
        changed[at] = view[at] if view[at].pinned else message
    return changed


def _truncated(chars: int) -> Note:
    text = f"the outputs in the newest messages are shown up to {chars:,} characters each"
    return Note("outputs_truncated", text)


def _left_out(messages: list[Message], recent: list[int]) -> Note:
    text = f"not even the {len(recent)} newest messages fit; {len(messages)} in all are sent"
    return Note("messages_left_out", text)


def _over_window(tokens: int, policy: Policy, messages: list[Message]) -> Note:
    text = f"{tokens:,} tokens of {policy.available_tokens:,}: most is {largest_part(messages)}"
    return Note("over_window", text)
