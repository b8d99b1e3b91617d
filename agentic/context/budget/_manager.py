"""Carrying out compactions; each either succeeds completely or changes nothing."""

import threading
from typing import Any, Self

import attrs

from agentic._base._lazy import asyncio
from agentic._base._validate import is_whole, must_be, must_be_async, must_count
from agentic._base._waiting import off_loop
from agentic.context._for_conversation import for_conversation, start_compactor
from agentic.context.budget._compaction import Backoff, Compaction, CompactionTarget
from agentic.context.budget._policy import Plan, Policy, find_trigger, plan
from agentic.errors import CompactionRefused, HistoryChanged
from agentic.messages import ContextSummary, Message, SummaryText
from agentic.messages._landmarks import find_summary, prefix_length
from agentic.messages._message import check_messages
from agentic.messages._restoration import Restoration
from agentic.messages._timeline import RecentConversations
from agentic.protocols import CompactionContext, CompactionReason, Compactor
from agentic.tokens import Counter
from agentic.tokens._count import MessageSizes, TokenCache
from agentic.usage._usage import collect

_AFTER_FAILURE = 1.05
"""The growth factor of the context since a failure before the next attempt."""
_AFTER_USELESS = 1.25
"""The same after a declined summary (it was not smaller than what it replaces), as long as the
context fits the window: the next summary would hardly be better."""
_AFTER_LOW_GAINS = 1.1
"""The same after two compactions in a row that freed less than a tenth."""
_LOW_GAINS = 2
_LOW_GAIN = 0.1
"""A compaction that frees a smaller share of the context than this counts as a low gain."""


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
        """The compactor's input: former summaries, then what the target selects."""
        pick, plan = self.snapshot.messages.__getitem__, self.plan
        old, rest = list(map(pick, plan.dropped)), list(map(pick, plan.kept))
        return [*map(pick, plan.former), *(self.target.select(old, rest) or old)]

    def replace(self, content: SummaryText) -> Compaction:
        """Replace the dropped messages by the summary, or decline it if that frees nothing."""
        snapshot = self.snapshot
        summary = self._describe(content)
        own_tokens = snapshot.token_cache.count_message(summary.to_message())
        edits = self.plan.edited
        stays = [i for i in (*self.plan.leading, *self.plan.kept) if i not in edits]
        after = snapshot.overhead_tokens + own_tokens + sum(map(snapshot.sizes.size, stays))
        after += sum(map(snapshot.token_cache.count_message, edits.values()))
        if after >= snapshot.estimate and not self.allow_growth:
            former_tokens = own_tokens + snapshot.estimate - after
            return Compaction(
                messages=snapshot.messages, declined=_compared(own_tokens, former_tokens)
            )
        # Keep the messages that the owner appended while the compactor was running.
        late = snapshot.messages[snapshot.length :]
        # Counted only now: what arrives later is no reason to decline the summary, and neither is
        # what is shown behind it.
        visible = [*late, *Restoration.of_summary(summary).messages]
        after += sum(map(snapshot.token_cache.count_message, visible))
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
                *[edits.get(i) or pick(i) for i in self.plan.kept],
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
        earlier = former.messages_summarized if former else 0
        start = prefix_length(self.snapshot.messages)
        # The indices refer to the original history, the positions to the present one. Messages kept
        # by an earlier compaction (a pin, a request) may lie before or between those it dropped.
        # Nothing before the first dropped message is missing, so there position and index are
        # equal. After the last one, as many messages are missing as were summarized.
        first, last = self.plan.dropped[0] - start, earlier + self.plan.dropped[-1] - start
        return ContextSummary(
            content,
            earlier + len(self.plan.dropped),
            min(first, former.first_message_idx) if former else first,
            max(last, former.last_message_idx) if former else last,
            generation=former.generation + 1 if former else 1,
            messages_kept=len(self.plan.kept),
            low_gains=former.low_gains if former else 0,
            notes=content.notes,
        )


@attrs.define(eq=False)
class _Failure:
    """A conversation whose compaction failed."""

    messages: list[Message]
    backoff: Backoff


@attrs.define(eq=False)
class Manager:
    """Compacts conversations that exceed the limits of a policy.

    It holds only caches, so several conversations can share it. Without a counter or a compactor
    it changes nothing.
    """

    counter: Counter | None = attrs.field(default=None)
    compactor: Compactor | None = attrs.field(default=None)
    policy: Policy = attrs.field(
        factory=lambda: Policy(0), validator=must_be(Policy, remedy="pass Policy(context_window)")
    )
    _token_cache: TokenCache | None = attrs.field(init=False, repr=False)
    _failures: RecentConversations[_Failure] = attrs.field(
        factory=RecentConversations, init=False, repr=False
    )
    # The caches, while a long conversation is counted in a thread.
    _lock: Any = attrs.field(factory=threading.RLock, init=False, repr=False)

    @_token_cache.default
    def _make_token_cache(self) -> TokenCache | None:
        # Validators run after defaults, so the policy may still be anything.
        media = getattr(self.policy, "tokens_per_media", None)
        return None if self.counter is None else TokenCache(self.counter, tokens_per_media=media)

    @counter.validator
    def _check_counter(self, _: object, value: object) -> None:
        if value is not None:
            must_count("counter", value)

    @compactor.validator
    def _check_compactor(self, _: object, value: object) -> None:
        if value is not None:
            must_be_async(
                "compactor", value, "compact", "async compact(messages)", "pass compactors.Digest()"
            )

    def for_conversation(self, *, recall: str | None = None) -> Self:
        """Return a Manager for one conversation, which shares no cache with others."""
        compactor = for_conversation(self.compactor, recall)
        return attrs.evolve(
            self, counter=self.policy.counter_for(self.counter), compactor=compactor
        )

    def with_policy(self, policy: Policy, /) -> Self:
        """Return a Manager with other limits."""
        return attrs.evolve(self, policy=policy)

    def with_digest(self, digest: Compactor, /) -> Self:
        """Return a Manager with this digest, unless its compactor waits for nothing either."""
        # A compactor with a plain `write` computes and does not wait: it needs no event loop.
        if self.compactor is None or hasattr(self.compactor, "write"):
            return self
        return attrs.evolve(self, compactor=digest)

    def due(
        self, messages: list[Message], *, size: int | None = None, overhead_tokens: int = 0
    ) -> CompactionReason | None:
        """Return the limit that calls for a compaction now; None if there is none.

        `compact_if_needed` makes the same decision, including the wait after a failure or two low
        gains. This method sends no event and changes no history; if `size` is given, it counts
        nothing. A compaction that is due has no effect if every message must be kept (pins, the
        system prompt).
        """
        _check_sizes(size, overhead_tokens)
        check_messages(messages[-1:])
        if self.compactor is None or self._token_cache is None:
            return None
        tokens = self._sizes(messages).total + overhead_tokens if size is None else size
        reason = find_trigger(self.policy, messages, tokens)
        return None if reason is None or self._waits(messages, tokens) else reason

    async def compact_if_needed(
        self,
        messages: list[Message],
        *,
        size: int | None = None,
        overhead_tokens: int = 0,
        force: bool = False,
        instructions: str | None = None,
        allow_growth: bool | None = None,
        target: CompactionTarget | None = None,
        context: CompactionContext | None = None,
    ) -> Compaction:
        """Compact the history if the policy or `force` says so.

        Args:
            messages: the history.
            size: the view's size in tokens as measured by a `ContextMeter`. If it is not given, the
                messages are counted and `overhead_tokens` is added.
            overhead_tokens: the size of what is sent in addition to the messages: the system prompt
                and the tools' schemas.
            force: compact now, regardless of triggers and back-off.
            instructions: what the summary should focus on, for a `GuidedCompactor`.
            allow_growth: accept a summary even if it is larger than what it replaces. By default
                only if `force` is true.
            target: what to compact for; by default this Manager itself, which stores nothing.
            context: what a `ContextualCompactor` is told besides the messages.

        If the compactor fails, hangs, is cancelled or returns nothing, the history does not change
        and the error is in the Compaction. A summary that is not smaller than what it replaces is
        declined, which is an error only if the compaction was forced. Cancelling the call changes
        nothing either. Messages appended to `messages` in the meantime follow the kept ones.
        """
        _check_sizes(size, overhead_tokens)
        check_messages(messages[-1:])  # the cache looks at all that are new
        token_cache = self._token_cache
        if token_cache is None:
            return Compaction(
                messages=messages,
                tokens_before=size or 0,
                tokens_after=size or 0,
                fits=self.policy.fits(size or 0),
                overhead_tokens=overhead_tokens,
            )
        # A copy, because the caller may append while a long one is counted.
        messages_before = messages.copy()
        sizes = await self._count(token_cache, messages_before)
        length = len(messages_before)
        snapshot = Snapshot(messages, token_cache, sizes, length, overhead_tokens, size)
        reason = CompactionReason.FORCE if force else self.due(messages, size=snapshot.tokens)
        if self.compactor is None or reason is None:
            return self._unchanged(snapshot)
        plan = await off_loop(length, self._plan, snapshot, messages_before, reason)
        if not plan.dropped:
            # No back-off: after the next message there may be something to drop.
            refusal = CompactionRefused("the policy keeps all of it")
            return self._unchanged(snapshot, reason, refusal)
        grows = force if allow_growth is None else allow_growth
        attempt = Attempt(snapshot, plan, reason, target or CompactionTarget(self), grows)
        context = self._tell(context or CompactionContext(), instructions, attempt)
        return await self._compact(attempt, self.compactor, context)

    def _tell(
        self, context: CompactionContext, instructions: str | None, attempt: Attempt
    ) -> CompactionContext:
        """Return a context with what the policy and the attempt add to it."""
        return attrs.evolve(
            context,
            instructions=instructions or "",
            context_window=self.policy.context_window,
            max_tokens=self.policy.digest_tokens,
            kept=tuple(attempt.snapshot.messages[i] for i in attempt.plan.kept),
        )

    async def _count(self, token_cache: TokenCache, messages: list[Message]) -> MessageSizes:
        with self._lock:
            fresh = token_cache.count_fresh(messages)
        return await off_loop(fresh, self._sizes, messages)

    def _sizes(self, messages: list[Message]) -> MessageSizes:
        if self._token_cache is None:
            return MessageSizes()
        with self._lock:
            return self._token_cache.sizes(messages)

    def _plan(self, snapshot: Snapshot, messages: list[Message], reason: CompactionReason) -> Plan:
        return plan(
            messages,
            snapshot.corrected_sizes(),
            self.policy,
            by_window=reason is CompactionReason.WINDOW,
            overhead=snapshot.scale * snapshot.overhead_tokens,
        )

    def _waits(self, messages: list[Message], tokens: int) -> bool:
        """Return whether an attempt now would most likely end like the last one."""
        former = find_summary(messages)
        if (
            former is not None
            and former.low_gains >= _LOW_GAINS
            and tokens < _AFTER_LOW_GAINS * former.tokens_after
        ):
            return True
        backoff = self.backoff(messages)
        if backoff is None:
            return False
        # If the context no longer fits, try sooner: the next request would be refused.
        growth = backoff.growth if self.policy.fits(tokens) else min(backoff.growth, _AFTER_FAILURE)
        return tokens < growth * backoff.tokens

    def backoff(self, messages: list[Message]) -> Backoff | None:
        """Return the back-off of a conversation; None if no compaction of it has failed."""
        with self._lock:
            failure = self._failures.find(messages)
        return None if failure is None else failure.backoff

    def hold_off(self, messages: list[Message], backoff: Backoff) -> None:
        """Attempt no compaction of a conversation until it has grown."""
        with self._lock:
            failure = self._failures.find(messages)
            if failure is None:
                failure = _Failure([], backoff)
                self._failures.add(failure)
            # A copy: the conversation is recognized by it when the caller's list has grown.
            failure.messages, failure.backoff = list(messages), backoff

    async def _compact(
        self, attempt: Attempt, compactor: Compactor, context: CompactionContext
    ) -> Compaction:
        """Carry out an attempt, and send the events before and after it."""
        target, reason = attempt.target, attempt.reason
        with collect() as usages:
            try:
                await target.announce(reason, attempt.snapshot.tokens, len(attempt.plan.dropped))
                compaction = await self._carry_out(attempt, compactor, context)
            except (asyncio.CancelledError, GeneratorExit) as interruption:
                compaction = self._unchanged(attempt.snapshot, reason, interruption)
                compaction = attrs.evolve(compaction, calls=tuple(usages.calls))
                if isinstance(interruption, GeneratorExit):
                    # The coroutine was dropped by its owner, as when a loop is closed. It may not
                    # wait any more, not even for a receiver.
                    target.conclude_sync(reason, compaction)
                else:
                    await target.conclude(reason, compaction)
                raise
        # Of a failed attempt as well: the compactor's calls were paid for.
        fallbacks = tuple(context.failures)
        compaction = attrs.evolve(compaction, calls=tuple(usages.calls), fallbacks=fallbacks)
        await target.conclude(reason, compaction)
        return compaction

    async def _carry_out(
        self, attempt: Attempt, compactor: Compactor, context: CompactionContext
    ) -> Compaction:
        """Summarize, check and store. A failure at any step leaves everything as it was."""
        try:
            content = await summarize(
                compactor, attempt.summarized, context, self.policy.timeout_seconds
            )
            compaction = attempt.replace(content)
            if not compaction.changed:
                return self._useless(attempt.snapshot, attempt.reason, compaction.declined)
            result = await attempt.target.replace(attempt.snapshot.messages, compaction.messages)
        except HistoryChanged as error:  # no back-off: the new history may compact well
            return self._unchanged(attempt.snapshot, attempt.reason, error)
        except Exception as error:  # noqa: BLE001  a compactor is anybody's code
            return self._failed(attempt.snapshot, attempt.reason, error)
        return attrs.evolve(
            compaction, messages=result, fits=self.policy.fits(compaction.tokens_after)
        )

    def _unchanged(
        self,
        snapshot: Snapshot,
        reason: CompactionReason | None = None,
        error: BaseException | None = None,
    ) -> Compaction:
        return Compaction(
            messages=snapshot.messages,
            tokens_before=snapshot.tokens,
            tokens_after=snapshot.tokens,
            reason=reason,
            fits=self.policy.fits(snapshot.tokens),
            error=error,
            overhead_tokens=snapshot.overhead_tokens,
        )

    def _useless(self, snapshot: Snapshot, reason: CompactionReason, problem: str) -> Compaction:
        """Decline a summary; this is an error only if the compaction was forced."""
        growth = _AFTER_FAILURE if reason is CompactionReason.FORCE else _AFTER_USELESS
        self.hold_off(snapshot.messages, Backoff(snapshot.tokens, growth))
        if reason is CompactionReason.FORCE:
            return self._unchanged(snapshot, reason, CompactionRefused(problem))
        return attrs.evolve(self._unchanged(snapshot, reason), declined=problem)

    def _failed(self, snapshot: Snapshot, reason: CompactionReason, error: Exception) -> Compaction:
        self.hold_off(snapshot.messages, Backoff(snapshot.tokens, _AFTER_FAILURE))
        return self._unchanged(snapshot, reason, error)


def _check_sizes(size: int | None, overhead_tokens: int) -> None:
    is_whole(0, overhead_tokens, "overhead_tokens", "pass tokens, or leave it out")
    if size is not None:
        is_whole(0, size, "size", "pass tokens, or leave it out to have them counted")


def _compared(own_tokens: int, former_tokens: int) -> str:
    """Explain why a summary is declined."""
    if own_tokens == former_tokens:
        return f"the summary would be as large as what it replaces ({former_tokens:,} tokens)"
    sizes = f"{own_tokens:,} > {former_tokens:,} tokens"
    return f"the summary would be larger than what it replaces ({sizes})"


async def summarize(
    compactor: Compactor,
    messages: list[Message],
    context: CompactionContext,
    timeout_seconds: float | None,
) -> SummaryText:
    """Return the compactor's summary; it has no notes if the answer is a plain str.

    Raises:
        CompactionRefused: the answer contains no text, or the compactor was cancelled.
        TimeoutError: it took too long. It was cancelled, without waiting for it to finish.
    """
    # Not `create_task`: a compactor may return any awaitable, such as a Future.
    task = asyncio.ensure_future(start_compactor(compactor, messages, context))
    try:
        # Not `asyncio.timeout`, which would wait for a compactor that ignores its cancellation.
        completed_tasks, _ = await asyncio.wait({task}, timeout=timeout_seconds)
    finally:
        task.cancel()
        task.add_done_callback(_retrieve)
    if not completed_tasks:
        raise TimeoutError(f"the compactor took longer than {timeout_seconds} s")
    if task.cancelled():
        raise CompactionRefused("the compactor was cancelled")
    content: Any = task.result()
    if not isinstance(content, str) or not content.strip():
        raise CompactionRefused(f"the compactor returned {content!r:.80}, which is not a summary")
    # `strip()` returns a plain str, which has lost the notes.
    return SummaryText(content.strip(), SummaryText(content).notes)


def _retrieve(task: "asyncio.Future[str]") -> None:
    """Retrieve a late error, so that asyncio does not log it as never retrieved."""
    if not task.cancelled():
        task.exception()
