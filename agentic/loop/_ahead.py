"""A summary that is made while nobody waits for it: while tools run, and between two runs.

It is stored only while no call waits for its result: a store that loads an open round closes it
with results that it makes up.
"""

from collections.abc import Awaitable, Callable

import attrs

from agentic._base._lazy import asyncio
from agentic.context.budget import Compaction  # noqa: TC001  it is part of a field
from agentic.messages import Message

Replace = Callable[[list[Message], list[Message]], Awaitable[list[Message]]]
"""Replaces messages of a history that are known, and returns the resulting history."""


@attrs.define(eq=False, repr=False)
class AheadSummary:
    """One such summary."""

    store: Replace
    """Stores it in the history of the run that goes on, or went on last."""
    task: "asyncio.Task[Compaction | None]" = attrs.field(init=False)
    is_written: bool = attrs.field(default=False, init=False)
    """Whether it is written, and stored as soon as it may be."""
    is_storing: bool = attrs.field(default=False, init=False)
    _may_store: "asyncio.Event" = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._may_store = asyncio.Event()

    async def replace(self, former: list[Message], messages: list[Message]) -> list[Message]:
        """Replace the known messages by a summary, once that is possible."""
        self.is_written = True
        while not self._may_store.is_set():
            await self._may_store.wait()
        self.is_storing = True
        return await self.store(former, messages)

    def allow(self) -> None:
        """Let it be stored: every call has its result."""
        self._may_store.set()

    def hold(self, store: Replace) -> None:
        """Let it be stored by another run, when that run allows it."""
        self.store = store
        self._may_store.clear()


@attrs.define(eq=False, repr=False)
class KeptSummary:
    """Keeps a summary that a run began until the next one takes it, or its owner ends it.

    It keeps none unless its owner has begun, and is therefore going to end it.
    """

    is_kept: bool = attrs.field(default=False, init=False)
    """Whether the owner has begun."""
    _ahead: AheadSummary | None = attrs.field(default=None, init=False)

    def begin(self) -> None:
        """Keep summaries from now on."""
        self.is_kept = True

    def put(self, ahead: AheadSummary) -> None:
        """Keep a summary that goes on, and is stored when it is written."""
        self._ahead = ahead
        ahead.allow()

    def take(self) -> AheadSummary | None:
        """Return the summary that is kept; None without one, or if its event loop is gone."""
        ahead, self._ahead = self._ahead, None
        if ahead is None or ahead.task.get_loop() is not asyncio.get_running_loop():
            return None
        return None if ahead.task.cancelled() else ahead

    async def settle(self) -> None:
        """Wait until the summary that is kept is stored, or has failed."""
        ahead = self.take()
        if ahead is not None:
            self._ahead = ahead  # the next run reports what it used
            await asyncio.wait({ahead.task})

    async def end(self) -> None:
        """Cancel the summary that is kept, and keep none from now on."""
        self.is_kept, ahead = False, self.take()
        if ahead is not None and not ahead.task.done():
            ahead.task.cancel()
            await asyncio.wait({ahead.task})
