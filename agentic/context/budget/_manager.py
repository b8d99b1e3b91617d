"""Carrying out compactions; each either succeeds completely or changes nothing."""

import threading
from typing import Any

import attrs

from agentic import usage
from agentic._lazy import asyncio
from agentic._protocols import CompactionReason, Compactor
from agentic._validate import is_whole, must_be, must_be_async, must_count
from agentic._waiting import off_loop
from agentic.context.budget._attempt import (
    Attempt,
    Compaction,
    CompactionTarget,
    Snapshot,
    summarize,
)
from agentic.context.budget._plan import Plan, plan
from agentic.context.budget._policy import Policy, find_trigger
from agentic.errors import CompactionRefused, HistoryChanged
from agentic.messages import Message, RecentConversations, check_messages, find_summary
from agentic.tokens import Counter, MessageSizes, TokenCache

_AFTER_FAILURE = 1.05
"""The growth factor of the context since a failure before the next attempt."""
_AFTER_USELESS = 1.25
"""The same after a declined summary (it was not smaller than what it replaces), as long as the
context fits the window: the next summary would hardly be better."""
_AFTER_LOW_GAINS = 1.1
"""The same after two compactions in a row that freed less than a tenth."""
_LOW_GAINS = 2


@attrs.frozen
class Backoff:
    """How long to wait before another attempt after a compaction that changed nothing."""

    tokens: int
    """The size of the context at that time."""
    growth: float
    """The factor by which it must have grown before the next attempt."""


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
    def _check_counter(self, _: object, given: object) -> None:
        if given is not None:
            must_count("counter", given)

    @compactor.validator
    def _check_compactor(self, _: object, given: object) -> None:
        if given is not None:
            must_be_async(
                "compactor", given, "compact", "async compact(messages)", "pass compactors.Digest()"
            )

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

        If the compactor fails, hangs, is cancelled or returns nothing, the history does not change
        and the error is in the Compaction. A summary that is not smaller than what it replaces is
        declined, which is an error only if the compaction was forced. Cancelling the call changes
        nothing either. Messages appended to `messages` in the meantime follow the kept ones.
        """
        _check_sizes(size, overhead_tokens)
        check_messages(messages[-1:])  # the cache looks at all that are new
        if self._token_cache is None:
            return Compaction(
                messages=messages,
                tokens_before=size or 0,
                tokens_after=size or 0,
                fits=self.policy.fits(size or 0),
                overhead_tokens=overhead_tokens,
            )
        # Of a copy, because the caller may append while a long one is counted.
        seen = messages.copy()
        with self._lock:
            fresh = self._token_cache.count_fresh(seen)
        sizes = await off_loop(fresh, self._sizes, seen)
        snapshot = Snapshot(messages, self._token_cache, sizes, len(seen), overhead_tokens, size)
        reason = CompactionReason.FORCE if force else self.due(messages, size=snapshot.tokens)
        if self.compactor is None or reason is None:
            return self._unchanged(snapshot)
        found = await off_loop(len(seen), self._plan, snapshot, seen, reason)
        if not found.dropped:
            # No back-off: after the next message there may be something to drop.
            refused = CompactionRefused("the policy keeps all of it")
            return self._unchanged(snapshot, reason, refused)
        grows = force if allow_growth is None else allow_growth
        attempt = Attempt(snapshot, found, reason, target or CompactionTarget(self), grows)
        return await self._compact(attempt, self.compactor, instructions)

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
        self, attempt: Attempt, compactor: Compactor, instructions: str | None
    ) -> Compaction:
        """Carry out an attempt, and send the events before and after it."""
        target, reason = attempt.target, attempt.reason
        with usage.collect() as spent:
            try:
                await target.announce(reason, attempt.snapshot.tokens, len(attempt.plan.dropped))
                done = await self._carry_out(attempt, compactor, instructions)
            except (asyncio.CancelledError, GeneratorExit) as cancelled:
                done = self._unchanged(attempt.snapshot, reason, cancelled)
                done = attrs.evolve(done, calls=tuple(spent.calls))
                if isinstance(cancelled, GeneratorExit):
                    # The coroutine was dropped by its owner, as when a loop is closed. It may not
                    # wait any more, not even for a receiver.
                    target.conclude_sync(reason, done)
                else:
                    await target.conclude(reason, done)
                raise
        # Of a failed attempt as well: the compactor's calls were paid for.
        done = attrs.evolve(done, calls=tuple(spent.calls))
        await target.conclude(reason, done)
        return done

    async def _carry_out(
        self, attempt: Attempt, compactor: Compactor, instructions: str | None
    ) -> Compaction:
        """Summarize, check and store. A failure at any step leaves everything as it was."""
        try:
            content = await summarize(
                compactor, attempt.summarized, instructions, self.policy.timeout_seconds
            )
            done = attempt.replace(content)
            if not done.changed:
                return self._useless(attempt.snapshot, attempt.reason, done.declined)
            stored = await attempt.target.replace(attempt.snapshot.messages, done.messages)
        except HistoryChanged as error:  # no back-off: the new history may compact well
            return self._unchanged(attempt.snapshot, attempt.reason, error)
        except Exception as error:  # noqa: BLE001  a compactor is anybody's code
            return self._failed(attempt.snapshot, attempt.reason, error)
        return attrs.evolve(done, messages=stored, fits=self.policy.fits(done.tokens_after))

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
