"""Leaving a conversation alone for a while: after its summary was taken back, or was none.

That comes on top of a Manager's own patience, and only for a history within the window.
"""

from typing import Any

import attrs

from agentic.context.budget import Compaction, Manager
from agentic.errors import CompactionRefused
from agentic.messages import Message

__all__ = ["Patience", "PatientManager"]

_GROWN = 1.25
"""How much longer a history must be than at an undo before N or K counts again, and how much larger
than when a summary did not pay for itself."""


@attrs.define(eq=False)
class Patience:
    """From which size on a history may be summarized by a trigger."""

    messages: int = 0
    tokens: float = 0

    def wait_after(self, history: list[Message]) -> None:
        """Wait until a history that was just restored has grown by a quarter."""
        self.messages = int(_GROWN * len(history)) + 1

    def wait_beyond(self, tokens: int, error: BaseException) -> None:
        """Wait after a summary of a history of this size that was refused."""
        # After any other failure the Manager waits by itself, and not for as long.
        self.tokens = _GROWN * tokens if isinstance(error, CompactionRefused) else 0

    def end(self) -> None:
        """Wait no longer."""
        self.messages, self.tokens = 0, 0

    def waits(self, messages: int, tokens: int) -> bool:
        """Whether to leave a history of this size alone.

        >>> patience = Patience(38)
        >>> patience.waits(31, 9_000), patience.waits(38, 9_000)
        (True, False)
        """
        return messages < self.messages or tokens < self.tokens


@attrs.frozen(eq=False)
class PatientManager(Manager):
    """A Manager whose triggers wait after an undo: or the next request would undo that.

    After a summary that did not pay for itself they wait longer than a Manager's 5 %: the next one
    would hardly pay either.
    """

    patience: Patience = attrs.field(factory=Patience, kw_only=True)

    async def compact_if_needed(self, messages: list[Message], **options: Any) -> Compaction:
        """Compact as a Manager does; a summary that succeeds ends the waiting."""
        done = await super().compact_if_needed(messages, **options)
        if done.changed:
            self.patience.end()
        return done

    def _waits(self, messages: list[Message], tokens: int) -> bool:
        if super()._waits(messages, tokens):
            return True
        return self._fits(tokens) and self.patience.waits(len(messages), tokens)

    def _failed(self, check: Any, reason: str, error: Exception) -> Compaction:
        if reason != "force":
            self.patience.wait_beyond(check.tokens, error)
        return super()._failed(check, reason, error)

    def _useless(self, check: Any, reason: str, problem: str) -> Compaction:
        if reason != "force":
            self.patience.wait_beyond(check.tokens, CompactionRefused(problem))
        return super()._useless(check, reason, problem)
