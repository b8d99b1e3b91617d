"""What a compaction is made for and what came of it, and the budget that makes it."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, runtime_checkable

import attrs

from agentic import events
from agentic._base._short_repr import short_repr
from agentic.context.budget._policy import Policy
from agentic.events._sending import send, send_sync
from agentic.messages import ContextSummary, Message
from agentic.messages._coverage import SummaryOutcome
from agentic.protocols import CompactionContext, CompactionReason, Compactor
from agentic.tokens import Counter
from agentic.tokens._count import describe_largest
from agentic.usage._usage import ReportedCall


@short_repr
@attrs.frozen(kw_only=True)
class Compaction(SummaryOutcome):
    """The result of one check. Sizes are in tokens."""

    messages: list[Message]
    """The history from now on: the same list object if nothing changed."""
    summary: ContextSummary | None = None
    changed: bool = False
    dropped: tuple[Message, ...] = ()
    """The messages that the summary replaced, without any former summary."""
    tokens_before: int = 0
    tokens_after: int = 0
    reason: CompactionReason | None = None
    """What triggered the compaction. None if nothing did, or if the Manager is waiting for the
    context to grow after a failure or two low gains."""
    fits: bool = True
    """Whether the context is within the window less the reserve, as far as it was measured."""
    error: BaseException | None = None
    """Why a compaction that was due or forced changed nothing; None if it was only declined."""
    declined: str = ""
    """Why a triggered compaction changed nothing although nothing failed: its summary would have
    been at least as large as what it replaces."""
    overhead_tokens: int = attrs.field(default=0, repr=False)
    """The size of what is sent in addition to the messages, as passed by the caller."""
    calls: tuple[ReportedCall, ...] = ()
    """The model calls of the compactor that reported their usage, even if the compaction failed."""
    fallbacks: tuple[str, ...] = ()
    """Why the compactors that were tried before wrote no summary, in order."""

    @property
    def too_large(self) -> str:
        """A phrase naming the largest part of the context if it does not fit; otherwise empty."""
        if self.fits:
            return ""
        return describe_largest(self.messages, overhead_tokens=self.overhead_tokens)


def _dropped_only(messages: list[Message], _: list[Message]) -> list[Message]:
    return messages


async def _keep(_: list[Message], messages: list[Message]) -> list[Message]:
    return messages


@attrs.frozen
class CompactionTarget:
    """The object that a Manager compacts for, and where the compacted history is stored."""

    sender: object
    """The sender of the events."""
    run_id: str = ""
    replace: Callable[[list[Message], list[Message]], Awaitable[list[Message]]] = _keep
    """Replaces the messages that were compacted (the first argument) by the compacted ones (the
    second). Returns the history from now on, in which messages that arrived in the meantime come
    last. If it raises, the compaction has not happened. By default, nothing is stored."""
    reason: CompactionReason | None = None
    """The reason in the events, if the caller of a forced compaction has one of its own."""
    select: Callable[[list[Message], list[Message]], list[Message]] = _dropped_only
    """Returns the messages that are summarized, of those that are dropped and those that are kept.
    A View adds what its strategies will clear of the latter. By default, what is dropped."""

    async def announce(self, reason: CompactionReason, tokens: int, number: int) -> None:
        """Send the event before a compaction of so many messages, in a context of this size."""
        await send(
            events.context_compaction_start,
            self.sender,
            events.ContextCompactionStart,
            run_id=self.run_id,
            reason=self.reason or reason,
            tokens_before=tokens,
            messages=number,
        )

    async def conclude(self, reason: CompactionReason, compaction: Compaction) -> None:
        """Send the event after a compaction, whether it succeeded or not."""
        await send(events.context_compaction_end, **self._ending(reason, compaction))

    def conclude_sync(self, reason: CompactionReason, compaction: Compaction) -> None:
        """Send the same event where nothing can be awaited any more."""
        send_sync(events.context_compaction_end, **self._ending(reason, compaction))

    def _ending(self, reason: CompactionReason, compaction: Compaction) -> dict[str, Any]:
        return {
            "sender": self.sender,
            "record": events.ContextCompactionEnd,
            "run_id": self.run_id,
            "summary": compaction.summary,
            "tokens_before": compaction.tokens_before,
            "tokens_after": compaction.tokens_after,
            "dropped": compaction.dropped,
            "reason": self.reason or reason,
            "error": compaction.error,
            "declined": compaction.declined,
            "calls": compaction.calls,
            "fallbacks": compaction.fallbacks,
        }


@attrs.frozen
class Backoff:
    """How long to wait before another attempt after a compaction that changed nothing."""

    tokens: int
    """The size of the context at that time."""
    growth: float
    """The factor by which it must have grown before the next attempt."""


class Budget(Protocol):
    """Decides when a conversation is compacted, and does it. A `Manager` is one.

    If it has `for_conversation(*, recall)`, a View uses what that returns: a budget without the
    caches of other conversations, for a model that has that recall tool, if any.
    """

    @property
    def policy(self) -> Policy:
        """The limits. A View cuts to the window less the reserve what is still too large."""
        ...

    @property
    def counter(self) -> Counter | None:
        """Counts the tokens; without one, nothing is measured or compacted."""
        ...

    @property
    def compactor(self) -> Compactor | None:
        """Writes the summaries; None if the budget has another way to compact, or none."""
        ...

    def due(self, messages: list[Message], *, size: int) -> CompactionReason | None:
        """Return the limit that calls for a compaction of a history now; None if there is none.

        `size` is that of the request, in tokens, with all that is sent besides the messages.
        """
        ...

    def compact_if_needed(
        self,
        messages: list[Message],
        *,
        size: int,
        overhead_tokens: int,
        force: bool,
        instructions: str | None,
        allow_growth: bool,
        target: CompactionTarget,
        context: CompactionContext,
    ) -> Awaitable[Compaction]:
        """Compact a history if a limit or `force` says so: see `Manager.compact_if_needed`."""
        ...


@runtime_checkable
class AdaptableBudget(Budget, Protocol):
    """A budget that can be used a little before its limits, and where nothing may wait."""

    def with_policy(self, policy: Policy, /) -> Budget:
        """Return one with other limits."""
        ...

    def with_digest(self, digest: Compactor, /) -> Budget:
        """Return one that waits for nothing, by this digest if need be; it may be this one."""
        ...


@runtime_checkable
class BackoffBudget(Budget, Protocol):
    """A budget that waits after a failure. A View keeps the wait with a conversation's state."""

    def backoff(self, messages: list[Message], /) -> Backoff | None:
        """Return the back-off of a conversation; None if no compaction of it has failed."""
        ...

    def hold_off(self, messages: list[Message], backoff: Backoff, /) -> None:
        """Attempt no compaction of a conversation until it has grown."""
        ...
