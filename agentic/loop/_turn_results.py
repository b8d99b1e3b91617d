"""Storing the results of one turn as its calls end, each cut to its limits.

Results that end at the same time share one tool message, in the order of the calls. Later results
of the turn are a message of their own.
"""

from collections.abc import Awaitable, Callable, Sequence

import attrs

from agentic import truncate
from agentic._clock import now
from agentic._lazy import events
from agentic.loop._calls import CallOutcome
from agentic.loop._conversation import StoredHistory, shield
from agentic.loop._truncation import Shortened, keep_whole, shorten
from agentic.messages import Message, ToolCall

__all__ = ["OutputLimits", "TurnResults"]


@attrs.frozen(kw_only=True)
class OutputLimits:
    """How outputs are cut before they enter the history."""

    truncation: truncate.Options | None
    """The limits of each output."""
    turn_bytes: int | None
    """The most bytes that the outputs of a turn may take together; None for no limit."""
    put: Callable[[str], Awaitable[str]] | None
    """Stores the whole of an output that was cut, and returns a reference to it."""


@attrs.define(eq=False)
class TurnResults:
    """The results of one turn that are stored."""

    conversation: StoredHistory
    limits: OutputLimits
    calls: Sequence[ToolCall]
    number_of_messages: int = attrs.field(init=False, default=0)
    """How many messages they are."""
    _stored: dict[str, CallOutcome] = attrs.field(init=False, factory=dict)
    """The outcomes, cut to their limits, by the id of the call."""
    _bytes_used: int = attrs.field(init=False, default=0)

    @property
    def outcomes(self) -> list[CallOutcome]:
        """Return what is stored, in the order of the calls."""
        return [self._stored[call.id] for call in self.calls if call.id in self._stored]

    async def store(self, outcomes: Sequence[CallOutcome]) -> None:
        """Store the results that are not stored yet, and report them."""
        fresh = [each for each in outcomes if each.call.id not in self._stored]
        if not fresh:
            return
        results = [each.result for each in fresh]
        shortened = shorten(results, self.limits.truncation, self._bytes_left(len(fresh)))
        cancelled = None
        if self.limits.put is not None:
            # Done before the message is stored, so that no reference points to something missing,
            # and shielded, so that a cancellation leaves no call without a result.
            cancelled = await shield(keep_whole(shortened, self.limits.put))
        message = Message("tool", tool_results=[one.result for one in shortened], timestamp=now())
        try:
            await self.conversation.append(message)
        finally:
            # Even if `append` raised: it raises a cancellation only after the message is stored.
            if self.conversation.history[-1] is message:
                await self._take(fresh, shortened)
        if cancelled is not None:
            raise cancelled

    def _bytes_left(self, number: int) -> int | None:
        """Return the bytes for the next results: every other open call keeps an equal share."""
        most = self.limits.turn_bytes
        if most is None:
            return None
        others = len(self.calls) - len(self._stored) - number
        return max(0, most - self._bytes_used - others * (most // len(self.calls)))

    async def _take(self, outcomes: list[CallOutcome], shortened: list[Shortened]) -> None:
        """Note what was stored, and report it."""
        self.number_of_messages += 1
        self._bytes_used += sum(one.size for one in shortened)
        for outcome, one in zip(outcomes, shortened, strict=True):
            self._stored[outcome.call.id] = attrs.evolve(outcome, result=one.result)
        send = self.conversation.event_sender.send
        for outcome, one in zip(outcomes, shortened, strict=True):
            if one.truncation:
                await send(
                    events.tool_output_truncated,
                    events.ToolOutputTruncated,
                    call=outcome.call,
                    truncation=one.truncation,
                )
            if outcome.announced:
                await send(
                    events.tool_execution_end,
                    events.ToolExecutionEnd,
                    call=outcome.call,
                    result=one.result,
                    seconds=outcome.seconds,
                )
