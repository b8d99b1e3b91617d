"""Carrying out a compaction, so that it succeeds whole or changes nothing."""

import asyncio

import attrs

from agentic.context.budget._attempt import Attempt, Check, Compaction, Host
from agentic.context.budget._compactor import Compactor, summarize
from agentic.context.budget._plan import plan
from agentic.context.budget._policy import Policy
from agentic.errors import CompactionRefused
from agentic.messages import Message, RecentConversations
from agentic.tokens import Counter, Tallies

__all__ = ["Manager"]

_AFTER_FAILURE = 1.05
"""How much larger the context must be than at a failure before the next attempt."""
_AFTER_LOW_GAINS = 1.1
"""The same after two compactions in a row that freed less than a tenth."""
_LOW_GAINS = 2
_TRIGGER_MARGIN = 4
"""K and N leave a conversation alone that has fewer messages than this beyond the recent ones."""


@attrs.define(eq=False)
class _Failure:
    """A conversation whose compaction failed."""

    messages: list[Message]
    tokens: int


@attrs.frozen(eq=False)
class Manager:
    """Compacts conversations that outgrow a policy. Holds caches only: several can share it.

    Without a counter or a compactor it changes nothing.
    """

    counter: Counter | None = None
    compactor: Compactor | None = None
    policy: Policy = attrs.field(factory=lambda: Policy(0))
    _tallies: Tallies | None = attrs.field(
        default=attrs.Factory(
            lambda self: None if self.counter is None else Tallies(self.counter), takes_self=True
        ),
        init=False,
        repr=False,
    )
    _failures: RecentConversations[_Failure] = attrs.field(
        factory=RecentConversations, init=False, repr=False
    )

    async def compact_if_needed(
        self,
        messages: list[Message],
        *,
        size: int | None = None,
        overhead_tokens: int = 0,
        force: bool = False,
        instructions: str | None = None,
        host: Host | None = None,
    ) -> Compaction:
        """Compact the history if the policy or `force` says so.

        Args:
            messages: the history.
            size: the view's size in tokens as a `Gauge` measured it. Without it the messages are
                counted and `overhead_tokens` is added.
            overhead_tokens: what is sent beside the messages: system prompt, tools' schemas.
            force: compact now, and take any summary that is not empty.
            instructions: what the summary should look at, for a `GuidedCompactor`.
            host: whoever this Manager works for; by default it acts for itself.

        A compactor that fails, hangs, is cancelled or answers with nothing or too much changes
        nothing: the error is in the Compaction. Cancelling the call changes nothing either.
        """
        if self._tallies is None:
            return Compaction(messages=messages)
        tally = self._tallies.tally(messages)
        check = Check(messages, self._tallies, tally, overhead_tokens, size)
        if self.compactor is None:
            return self._unchanged(check)
        reason = "force" if force else self._trigger(check)
        if reason is None:
            return self._unchanged(check)
        found = plan(messages, check.sizes(), self.policy, by_window=reason == "window")
        if not found.dropped:
            return self._failed(check, reason, CompactionRefused("the policy keeps all of it"))
        attempt = Attempt(check, found, reason, host or Host(self, "", _keep_nowhere))
        await attempt.announce()
        try:
            done = await self._carry_out(attempt, self.compactor, instructions)
        except asyncio.CancelledError as cancelled:
            await attempt.conclude(self._unchanged(check, reason, cancelled))
            raise
        await attempt.conclude(done)
        return done

    def _trigger(self, check: Check) -> str | None:
        policy, tokens = self.policy, check.tokens
        reason = None
        if policy.context_window and tokens > policy.available_tokens:
            reason = "window"
        elif check.messages_in_all >= policy.min_recent_messages + _TRIGGER_MARGIN:
            if policy.max_tokens is not None and tokens >= policy.max_tokens:
                reason = "tokens"
            elif policy.max_messages is not None and check.fresh_messages >= policy.max_messages:
                reason = "messages"
        return None if reason is None or self._waits(check) else reason

    def _waits(self, check: Check) -> bool:
        """Whether an attempt now would most likely end like the last one."""
        former = check.former
        if (
            former is not None
            and former.low_gains >= _LOW_GAINS
            and check.tokens < _AFTER_LOW_GAINS * former.tokens_after
        ):
            return True
        failure = self._failures.find(check.messages)
        return failure is not None and check.tokens < _AFTER_FAILURE * failure.tokens

    async def _carry_out(
        self, attempt: Attempt, compactor: Compactor, instructions: str | None
    ) -> Compaction:
        """Summarize, check, store. Whatever fails on the way leaves everything as it was."""
        try:
            content = await summarize(
                compactor, attempt.summarized, instructions, self.policy.timeout_seconds
            )
            done = attempt.replace(content)
            await attempt.host.store(done.messages)
        except Exception as error:  # noqa: BLE001  a compactor is anybody's code
            return self._failed(attempt.check, attempt.reason, error)
        return attrs.evolve(done, fits=self._fits(done.tokens_after))

    def _unchanged(
        self, check: Check, reason: str | None = None, error: BaseException | None = None
    ) -> Compaction:
        return Compaction(
            messages=check.messages,
            tokens_before=check.tokens,
            tokens_after=check.tokens,
            reason=reason,
            fits=self._fits(check.tokens),
            error=error,
        )

    def _failed(self, check: Check, reason: str, error: Exception) -> Compaction:
        self._failures.add(_Failure(list(check.messages), check.tokens))
        return self._unchanged(check, reason, error)

    def _fits(self, tokens: int) -> bool:
        return not self.policy.context_window or tokens <= self.policy.available_tokens


async def _keep_nowhere(_: list[Message]) -> None:
    """Store nothing: a Manager that acts for itself gives the history back to its caller."""
