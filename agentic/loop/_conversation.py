"""The history of a run: in memory, in the store, and as events."""

import asyncio
from collections.abc import Iterable, Sequence
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
    put_off: asyncio.CancelledError | None = attrs.field(init=False, default=None)
    """A cancellation that came during `replace`."""

    async def open(self, given: Sequence[Message]) -> None:
        """Load what was said before; `given` begins a new session.

        Raises:
            ConfigError: a history was given, and the store holds one already.
        """
        self.history = [] if self.store is None else list(await self.store.load())
        if given and self.history and self.history != list(given[: len(self.history)]):
            raise ConfigError(
                "Request.history",
                f"{len(given)} beside {len(self.history)} in the store",
                "none, where the store holds another conversation",
                "leave it out, or give the Runner an empty store",
            )
        # What is there already was stored by a run that failed in the middle of this.
        cancelled = await uninterrupted(self._append(*given[len(self.history) :]))
        if cancelled is not None:
            raise cancelled
        self.history = close_open_rounds(self.history)

    async def append(self, message: Message, *, started: bool = False) -> None:
        """Add a message. `started` says that its beginning was told of before.

        A cancellation passes when the message is stored and told of.
        """
        try:
            if not started:
                await self.voice.send(events.message_start, events.MessageStart, role=message.role)
        finally:
            cancelled = await uninterrupted(self._append(message))
            await self.voice.send(events.message_end, events.MessageEnd, message=message)
        if cancelled is not None:
            raise cancelled

    async def replace(self, messages: Iterable[Message]) -> None:
        """Put a compacted history in the place of this one.

        A cancellation meanwhile is kept in `put_off`: raised here, it would say that nothing has
        changed.
        """
        self.put_off = await uninterrupted(self._replace(list(messages)))

    async def _append(self, *messages: Message) -> None:
        for message in messages:
            if self.store is not None:
                await self.store.append(message)
            self.history.append(message)

    async def _replace(self, messages: list[Message]) -> None:
        if isinstance(self.store, Rewriter):
            await self.store.replace(messages)
        self.history = messages
