"""A compaction in progress: the conversation before it, the new summary, and the result."""

from collections.abc import Awaitable, Callable
from typing import Any

import attrs

from agentic._lazy import asyncio, events
from agentic._protocols import CompactionReason, Compactor
from agentic.context.budget._plan import Plan
from agentic.errors import CompactionRefused
from agentic.messages import ContextSummary, Message, SummaryText, find_summary, prefix_length
from agentic.tokens import MessageSizes, TokenCache, describe_largest
from agentic.usage import ReportedCall, Usage

_LOW_GAIN = 0.1
"""A compaction that frees a smaller share of the context than this counts as a low gain."""


@attrs.frozen(kw_only=True)
class Compaction:
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

    @property
    def usage(self) -> Usage:
        """The sum of what the calls used."""
        return sum((call.usage for call in self.calls), Usage())

    @property
    def too_large(self) -> str:
        """A phrase naming the largest part of the context if it does not fit; otherwise empty."""
        if self.fits:
            return ""
        return describe_largest(self.messages, overhead_tokens=self.overhead_tokens)


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

    async def announce(self, reason: CompactionReason, tokens: int, number: int) -> None:
        """Send the event before a compaction of so many messages, in a context of this size."""
        await events.send(
            events.context_compaction_start,
            self.sender,
            events.ContextCompactionStart,
            run_id=self.run_id,
            reason=self.reason or reason,
            tokens_before=tokens,
            messages=number,
        )

    async def conclude(self, reason: CompactionReason, done: Compaction) -> None:
        """Send the event after a compaction, whether it succeeded or not."""
        await events.send(events.context_compaction_end, **self._ending(reason, done))

    def conclude_sync(self, reason: CompactionReason, done: Compaction) -> None:
        """Send the same event where nothing can be awaited any more."""
        events.send_sync(events.context_compaction_end, **self._ending(reason, done))

    def _ending(self, reason: CompactionReason, done: Compaction) -> dict[str, Any]:
        return {
            "sender": self.sender,
            "record": events.ContextCompactionEnd,
            "run_id": self.run_id,
            "summary": done.summary,
            "tokens_before": done.tokens_before,
            "tokens_after": done.tokens_after,
            "dropped": done.dropped,
            "reason": self.reason or reason,
            "error": done.error,
            "declined": done.declined,
            "calls": done.calls,
        }


@attrs.frozen
class Snapshot:
    """A conversation and its size at the time of the check.

    `sizes` is shared with other conversations that begin like this one, and may grow while the
    compactor is running. Only the sizes of the messages in this snapshot are read later.
    """

    messages: list[Message]
    token_cache: TokenCache
    sizes: MessageSizes
    length: int
    """The number of messages at that time: the caller may append more during the compaction."""
    overhead_tokens: int
    size: int | None

    @property
    def estimate(self) -> int:
        """The size according to the counter alone."""
        return self.sizes.sums[self.length] + self.overhead_tokens

    @property
    def tokens(self) -> int:
        """The measured size if there is one; otherwise the estimate."""
        return self.estimate if self.size is None else self.size

    @property
    def scale(self) -> float:
        """The factor that corrects the counter's sizes if it is known to count too low."""
        # Never below 1: a measured size is the view's, which strategies may have made smaller.
        return max(1.0, self.tokens / max(1, self.estimate))

    def corrected_sizes(self) -> list[float]:
        """Return the size of each message, multiplied by `scale`."""
        scale = self.scale
        return [scale * self.sizes.size(position) for position in range(self.length)]


@attrs.frozen
class Attempt:
    """A compaction in progress."""

    snapshot: Snapshot
    plan: Plan
    reason: CompactionReason
    target: CompactionTarget
    allow_growth: bool = False
    """Whether a summary may be larger than what it replaces."""

    @property
    def summarized(self) -> list[Message]:
        """The compactor's input: former summaries, then the dropped messages."""
        return [self.snapshot.messages[i] for i in (*self.plan.former, *self.plan.dropped)]

    def replace(self, content: SummaryText) -> Compaction:
        """Replace the dropped messages by the summary, or decline it if that frees nothing."""
        snapshot = self.snapshot
        summary = self._describe(content)
        own_tokens = snapshot.token_cache.count_message(summary.to_message())
        edited = self.plan.edited
        stays = [i for i in (*self.plan.leading, *self.plan.kept) if i not in edited]
        after = snapshot.overhead_tokens + own_tokens + sum(map(snapshot.sizes.size, stays))
        after += sum(map(snapshot.token_cache.count_message, edited.values()))
        if after >= snapshot.estimate and not self.allow_growth:
            replaced = own_tokens + snapshot.estimate - after
            return Compaction(messages=snapshot.messages, declined=_compared(own_tokens, replaced))
        # Keep the messages that the owner appended while the compactor was running.
        late = snapshot.messages[snapshot.length :]
        # Counted only now: what arrives later is no reason to decline the summary.
        after += sum(map(snapshot.token_cache.count_message, late))
        # Convert to the provider's measure, so that it can be compared with `tokens_before`.
        tokens_after = round(after * snapshot.tokens / max(1, snapshot.estimate))
        low = snapshot.tokens - tokens_after < _LOW_GAIN * snapshot.tokens
        summary = attrs.evolve(
            summary,
            token_count=own_tokens,
            tokens_before=snapshot.tokens,
            tokens_after=tokens_after,
            low_gains=summary.low_gains + 1 if low else 0,
        )
        # The same objects: caches and the View recognize messages by identity first.
        pick = snapshot.messages.__getitem__
        return Compaction(
            messages=[
                *map(pick, self.plan.leading),
                summary.to_message(),
                *[edited.get(i) or pick(i) for i in self.plan.kept],
                *late,
            ],
            summary=summary,
            changed=True,
            dropped=tuple(map(pick, self.plan.dropped)),
            tokens_before=snapshot.tokens,
            tokens_after=tokens_after,
            reason=self.reason,
            overhead_tokens=snapshot.overhead_tokens,
        )

    def _describe(self, content: SummaryText) -> ContextSummary:
        """Return the summary with the range it covers; its sizes are not known yet."""
        former = find_summary(self.snapshot.messages)
        covered = former.messages_summarized if former else 0
        start = prefix_length(self.snapshot.messages)
        # The indices refer to the original history, the positions to the present one. Messages kept
        # by an earlier compaction (a pin, a request) may lie before or between those it dropped.
        # Nothing before the first dropped message is missing, so there position and index are
        # equal. After the last one, as many messages are missing as were summarized.
        first, last = self.plan.dropped[0] - start, covered + self.plan.dropped[-1] - start
        return ContextSummary(
            content,
            covered + len(self.plan.dropped),
            min(first, former.first_message_idx) if former else first,
            max(last, former.last_message_idx) if former else last,
            generation=former.generation + 1 if former else 1,
            messages_kept=len(self.plan.kept),
            low_gains=former.low_gains if former else 0,
            notes=content.notes,
        )


def _compared(own_tokens: int, replaced: int) -> str:
    """Explain why a summary is declined."""
    if own_tokens == replaced:
        return f"the summary would be as large as what it replaces ({replaced:,} tokens)"
    sizes = f"{own_tokens:,} > {replaced:,} tokens"
    return f"the summary would be larger than what it replaces ({sizes})"


async def summarize(
    compactor: Compactor,
    messages: list[Message],
    instructions: str | None,
    timeout_seconds: float | None,
) -> SummaryText:
    """Return the compactor's summary; it has no notes if the answer is a plain str.

    Raises:
        CompactionRefused: the answer contains no text, or the compactor was cancelled.
        TimeoutError: it took too long. It was cancelled, without waiting for it to finish.
    """
    # `compact_with` is optional; a compactor without it ignores the instructions.
    guided = getattr(compactor, "compact_with", None)
    if instructions and guided:
        # Not `create_task`: a compactor may return any awaitable, such as a Future.
        task = asyncio.ensure_future(guided(messages, instructions))
    else:
        task = asyncio.ensure_future(compactor.compact(messages))
    try:
        # Not `asyncio.timeout`, which would wait for a compactor that ignores its cancellation.
        finished, _ = await asyncio.wait({task}, timeout=timeout_seconds)
    finally:
        task.cancel()
        task.add_done_callback(_retrieve)
    if not finished:
        raise TimeoutError(f"the compactor took longer than {timeout_seconds} s")
    if task.cancelled():
        raise CompactionRefused("the compactor was cancelled")
    content = task.result()
    if not isinstance(content, str) or not content.strip():
        raise CompactionRefused(f"the compactor returned {content!r:.80}, which is not a summary")
    # `strip()` returns a plain str, which has lost the notes.
    return SummaryText(content.strip(), SummaryText(content).notes)


def _retrieve(task: "asyncio.Future[str]") -> None:
    """Retrieve a late error, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()
