"""A compaction on its way: the conversation as it was, the summary, and what becomes of both."""

from collections.abc import Awaitable, Callable

import attrs

from agentic import events
from agentic._lazy import asyncio
from agentic._protocols import Compactor
from agentic.context.budget._plan import Plan
from agentic.errors import CompactionRefused
from agentic.events import CompactionReason
from agentic.messages import (
    ContextSummary,
    Message,
    SummaryText,
    find_summary,
    prefix_length,
)
from agentic.tokens import MessageSizes, TokenCache, describe_largest
from agentic.usage import Usage

__all__ = ["Attempt", "Compaction", "CompactionTarget", "Snapshot", "summarize"]

_NO_USAGE = Usage()
_LOW_GAIN = 0.1
"""A compaction that frees a smaller share of the context than this gained little."""


@attrs.frozen(kw_only=True)
class Compaction:
    """What became of one check. Sizes in tokens."""

    messages: list[Message]
    """The history from now on: the same list object if nothing changed."""
    summary: ContextSummary | None = None
    changed: bool = False
    dropped: tuple[Message, ...] = ()
    """What the summary replaced, a former summary left out."""
    tokens_before: int = 0
    tokens_after: int = 0
    reason: CompactionReason | None = None
    """What asked for it; None if nothing did, or if it waits for the context to grow after a
    failure or two low gains."""
    fits: bool = True
    """Whether the context is within the window less the reserve, as far as anything measures it."""
    error: BaseException | None = None
    """Why a compaction that was due or forced changed nothing; None if it was only declined."""
    declined: str = ""
    """Why a triggered compaction changed nothing although nothing failed: its summary would have
    been larger than what it replaces."""
    overhead_tokens: int = attrs.field(default=0, repr=False)
    """What is sent beside the messages, as the caller said."""
    usage: Usage = _NO_USAGE
    """What the model calls of the compactor used, as they reported it; also where it failed."""

    @property
    def too_large(self) -> str:
        """What most of the context is, in words, if it does not fit; else nothing."""
        if self.fits:
            return ""
        return describe_largest(self.messages, overhead_tokens=self.overhead_tokens)


@attrs.frozen
class CompactionTarget:
    """Whoever a Manager works for, and where the compacted history goes."""

    sender: object
    """The events come from it."""
    run_id: str
    replace: Callable[[list[Message], list[Message]], Awaitable[list[Message]]]
    """Puts messages, its second argument, in the place of those that the compaction was made of,
    its first one, and returns the history from now on: what arrived meanwhile follows. If it
    raises, the compaction has not happened."""


@attrs.frozen
class Snapshot:
    """A conversation and its size, as they were when it was checked.

    The sizes grow with every conversation that begins like this one, also while a compactor is at
    work: nothing of it is looked at later but the sizes of these messages.
    """

    messages: list[Message]
    token_cache: TokenCache
    sizes: MessageSizes
    length: int
    """How many messages there were: the caller may append more while a compactor works."""
    counted: int
    """The size of these by the counter."""
    overhead_tokens: int
    size: int | None

    @property
    def estimate(self) -> int:
        """Its size by the counter alone."""
        return self.counted + self.overhead_tokens

    @property
    def tokens(self) -> int:
        """Its size, as measured if somebody measured it."""
        return self.estimate if self.size is None else self.size

    @property
    def scale(self) -> float:
        """What the counter's sizes are multiplied with, where it is known to count low."""
        return max(1.0, self.tokens / max(1, self.estimate))

    def corrected_sizes(self) -> list[float]:
        """Return the size of each message, corrected."""
        scale = self.scale
        return [scale * self.sizes.size(position) for position in range(len(self.messages))]


@attrs.frozen
class Attempt:
    """A compaction on its way."""

    snapshot: Snapshot
    plan: Plan
    reason: CompactionReason
    target: CompactionTarget
    allow_growth: bool = False
    """Whether a summary may be larger than what it replaces."""

    @property
    def summarized(self) -> list[Message]:
        """What the compactor gets: former summaries, then what is dropped."""
        return [self.snapshot.messages[i] for i in (*self.plan.former, *self.plan.dropped)]

    def replace(self, content: SummaryText) -> Compaction:
        """Put the summary in the place of what it stands for, unless it is larger than that."""
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
        # The owner went on appending while the compactor worked; these messages stay.
        late = snapshot.messages[snapshot.length :]
        after += sum(map(snapshot.token_cache.count_message, late))
        # In the measure that the provider reported, in which `tokens_before` is given as well.
        tokens_after = round(after * snapshot.tokens / max(1, snapshot.estimate))
        low = snapshot.tokens - tokens_after < _LOW_GAIN * snapshot.tokens
        summary = attrs.evolve(
            summary,
            token_count=own_tokens,
            tokens_before=snapshot.tokens,
            tokens_after=tokens_after,
            low_gains=summary.low_gains + 1 if low else 0,
        )
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
        """Return what the summary stands for; its sizes are not known yet."""
        former = find_summary(self.snapshot.messages)
        covered = former.messages_summarized if former else 0
        start = prefix_length(self.snapshot.messages)
        # What was kept earlier (a pin, a request) may come before what was dropped then, or among
        # it. Before the very first message that ever went, everything is still here: there a
        # position is an index. Behind the very last, as many are missing as were summarized.
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

    async def announce(self) -> None:
        await events.send(
            events.context_compaction_start,
            self.target.sender,
            events.ContextCompactionStart,
            run_id=self.target.run_id,
            reason=self.reason,
            tokens_before=self.snapshot.tokens,
            messages=len(self.plan.dropped),
        )

    async def conclude(self, done: Compaction) -> None:
        await events.send(
            events.context_compaction_end,
            self.target.sender,
            events.ContextCompactionEnd,
            run_id=self.target.run_id,
            summary=done.summary,
            tokens_before=done.tokens_before,
            tokens_after=done.tokens_after,
            dropped=done.dropped,
            reason=self.reason,
            error=done.error,
            declined=done.declined,
            usage=done.usage,
        )


def _compared(own_tokens: int, replaced: int) -> str:
    """Return why a summary is of no use."""
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
    """Ask for a summary; it has no notes if the answer is a plain str.

    Raises:
        CompactionRefused: there is no text in the answer, or the compactor was cancelled.
        TimeoutError: it took too long; it was told to stop and is not waited for.
    """
    # The optional half of the protocol; without it the instructions are left out, not refused.
    guided = getattr(compactor, "compact_with", None)
    if instructions and guided:
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
        raise CompactionRefused(f"the compactor answered {content!r:.80}, which is not a summary")
    return SummaryText(content.strip(), SummaryText(content).notes)


def _retrieve(task: "asyncio.Future[str]") -> None:
    """Take note of an error that comes after the end, lest asyncio log it as nobody's."""
    if not task.cancelled():
        task.exception()
