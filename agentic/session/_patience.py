"""Leaving a conversation alone for a while: after its summary was taken back, or was none."""

from typing import Any

import attrs

from agentic.context.budget import Compaction, Manager, Policy
from agentic.errors import CompactionRefused
from agentic.messages import ContextSummary, Message

__all__ = ["Patience", "PatientManager", "waits_after_low_gains"]

_GROWN = 1.25
"""How much longer a history must be than at an undo before N or K counts again, and how much larger
than when a summary did not pay for itself."""
_GROWN_A_LITTLE = 1.05
"""How much larger a history must be than at a failure, whatever triggers: the Manager's figure."""
_GROWN_SOME = 1.1
"""The same after two summaries in a row that freed less than a tenth: the Manager's figure."""
_LOW_GAINS = 2


@attrs.define(eq=False)
class Patience:
    """From which size on a history may be summarized by a trigger."""

    messages: int = 0
    tokens: float = 0
    tokens_over_window: float = 0
    """The same for one that is over the window."""

    def wait_after(self, history: list[Message]) -> None:
        """Wait until a history that was just restored has grown by a quarter."""
        self.messages = int(_GROWN * len(history)) + 1

    def wait_beyond(self, tokens: int, error: BaseException) -> None:
        """Wait after an attempt on a history of this size that came to nothing."""
        self.tokens_over_window = _GROWN_A_LITTLE * tokens
        refused = isinstance(error, CompactionRefused)
        self.tokens = _GROWN * tokens if refused else self.tokens_over_window

    def end(self) -> None:
        """Wait no longer."""
        self.messages, self.tokens, self.tokens_over_window = 0, 0, 0

    def waits(self, messages: int, tokens: int, policy: Policy) -> bool:
        """Whether to leave a history of this size alone; over the window that takes a failure.

        >>> patience = Patience(38)
        >>> patience.waits(31, 9_000, Policy(0)), patience.waits(31, 9_000, Policy(8_000))
        (True, False)
        """
        if policy.context_window and tokens > policy.available_tokens:
            return tokens < self.tokens_over_window
        return messages < self.messages or tokens < self.tokens


@attrs.frozen(eq=False)
class PatientManager(Manager):
    """A Manager whose triggers wait after an undo: or the next request would undo that.

    After a summary that did not pay for itself they wait, too: or every request would ask for one.
    """

    patience: Patience = attrs.field(factory=Patience, kw_only=True)

    async def compact_if_needed(
        self,
        messages: list[Message],
        *,
        size: int | None = None,
        overhead_tokens: int = 0,
        force: bool = False,
        **options: Any,
    ) -> Compaction:
        """Compact as a Manager does, unless it is to wait."""
        options |= {"size": size, "overhead_tokens": overhead_tokens}
        if not force and self.patience.waits(len(messages), size or 0, self.policy):
            only_measures = Manager(self.counter, None, self.policy)
            return await only_measures.compact_if_needed(messages, **options)
        done = await super().compact_if_needed(messages, force=force, **options)
        if done.changed:
            self.patience.end()
        return done

    def _failed(self, check: Any, reason: str, error: Exception) -> Compaction:
        if reason != "force":
            self.patience.wait_beyond(check.tokens, error)
        return super()._failed(check, reason, error)


def waits_after_low_gains(summary: ContextSummary | None, tokens: int) -> bool:
    """Whether a Manager leaves a history of this size alone since its last summaries freed little.

    >>> waits_after_low_gains(ContextSummary("done", 3, tokens_after=900, low_gains=2), 950)
    True
    """
    if summary is None or summary.low_gains < _LOW_GAINS:
        return False
    return tokens < _GROWN_SOME * summary.tokens_after
