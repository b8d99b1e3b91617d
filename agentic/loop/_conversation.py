"""The history of a run: in memory, in the store, and as events."""

from collections.abc import Iterable
from typing import Any

import attrs

from agentic import events
from agentic.errors import ConfigError
from agentic.history import Rewriter, Store
from agentic.loop._uninterrupted import uninterrupted
from agentic.messages import Message, close_open_rounds

__all__ = ["Conversation", "Voice"]


@attrs.frozen
class Voice:
    """Sends the events of one run."""

    sender: object
    run_id: str

    async def send(self, signal: Any, record: type[events.Event], **fields: Any) -> None:
        """Send one record."""
        await events.send(signal, self.sender, record, run_id=self.run_id, **fields)


@attrs.define(eq=False)
class Conversation:
    """A history that is stored before it is told of, and never half, cancelled or not."""

    store: Store | None
    voice: Voice
    history: list[Message] = attrs.field(init=False, factory=list)

    async def open(self, given: Iterable[Message]) -> None:
        """Load what was said before; `given` begins a new session.

        Raises:
            ConfigError: a history was given, and the store holds one already.
        """
        stored = await self.store.load() if self.store else []
        self.history = close_open_rounds(list(stored))
        for message in given:
            if stored:
                raise ConfigError(
                    "Request.history",
                    f"messages, beside {len(stored)} in the store",
                    "none, where the store holds a conversation",
                    "leave it out, or give the Runner an empty store",
                )
            await uninterrupted(self._append(message))
        self.history = close_open_rounds(self.history)

    async def append(self, message: Message, *, started: bool = False) -> None:
        """Add a message. `started` says that its beginning was told of before."""
        if not started:
            await self.voice.send(events.message_start, events.MessageStart, role=message.role)
        await uninterrupted(self._append(message))
        await self.voice.send(events.message_end, events.MessageEnd, message=message)

    async def replace(self, messages: Iterable[Message]) -> None:
        """Put a compacted history in the place of this one."""
        await uninterrupted(self._replace(list(messages)))

    async def _append(self, message: Message) -> None:
        if self.store:
            await self.store.append(message)
        self.history.append(message)

    async def _replace(self, messages: list[Message]) -> None:
        if isinstance(self.store, Rewriter):
            await self.store.replace(messages)
        self.history = messages
