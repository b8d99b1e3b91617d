"""Leaving a conversation alone for a while after its summary was taken back."""

from typing import Any

import attrs

from agentic.context.budget import Compaction, Manager, Policy
from agentic.messages import Message

__all__ = ["Patience", "PatientManager"]

_GROWN = 1.25
"""How much longer a history must be than at an undo before N or K counts again."""


@attrs.define(eq=False)
class Patience:
    """From which length on a history may be summarized by a trigger."""

    messages: int = 0

    def wait_after(self, history: list[Message]) -> None:
        """Wait until a history that was just restored has grown by a quarter."""
        self.messages = int(_GROWN * len(history)) + 1

    def end(self) -> None:
        """Wait no longer."""
        self.messages = 0

    def waits(self, messages: int, tokens: int, policy: Policy) -> bool:
        """Whether to leave a history of this size alone; one over the window never is.

        >>> patience = Patience(38)
        >>> patience.waits(31, 9_000, Policy(0)), patience.waits(31, 9_000, Policy(8_000))
        (True, False)
        """
        over = policy.context_window and tokens > policy.available_tokens
        return messages < self.messages and not over


@attrs.frozen(eq=False)
class PatientManager(Manager):
    """A Manager whose triggers wait after an undo: or the next request would undo that."""

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
        return await super().compact_if_needed(messages, force=force, **options)
