"""Who writes a session: a worker, under a lease of the session's store, which fences late writers.

The order makes that strict: the lease of the session is taken first, and then the worker confirms
that nobody has taken over its runs. If somebody does so later, the new owner's lease of the session
follows this one, and from then on the store refuses what is written under this one.
"""

import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import attrs

from agentic._lazy import asyncio
from agentic.bridges.dbos._lease import WorkerLease
from agentic.bridges.dbos._stores import OpenStores
from agentic.errors import HistoryConflict, HistoryError, HistoryNotWritten, HistoryUnavailable
from agentic.history import Lease
from agentic.messages import from_plain

__all__ = ["SessionWriter"]

T = TypeVar("T")
_PATIENCE_SECONDS = 30.0
"""How long to wait for another writer of the session, besides the lease that it may have."""
_PASSING = (HistoryConflict, HistoryNotWritten, HistoryUnavailable)


@attrs.define(eq=False)
class SessionWriter:
    """Writes one session for one attempt at a run.

    A lease is taken when something is written, and again when half of its time is over. So a run
    that waits renews nothing, and holds no connection that another session needs.
    """

    stores: OpenStores
    """Of the worker, for all its runs."""
    session_id: str
    worker: WorkerLease
    _lease: Lease | None = attrs.field(init=False, default=None)
    _claimed: float = attrs.field(init=False, default=0.0)
    _one_at_a_time: "asyncio.Lock" = attrs.field(factory=asyncio.Lock, init=False)

    async def read(self, step: Callable[[Any], Awaitable[T]]) -> T:
        """Do a step with the store that only reads, and repeat it until the database answers.

        Raises:
            HistoryError: it does not answer, or the session is damaged.
        """
        return await self._patiently(lambda: self.stores.read(self.session_id, step))

    async def write(self, step: Callable[[Any], Awaitable[T]]) -> T:
        """Do a step with the store, and repeat it while others are in its way.

        Raises:
            LeaseLost: the worker was away, and another one goes on with its runs.
            HistoryError: somebody else goes on writing, or the database does not answer.
        """
        async with self._one_at_a_time:
            return await self._patiently(lambda: self._write(step))

    async def compact(self, ref: str, replaces: int) -> dict[str, Any]:
        """Replace the history by the view that the latest run left, if it is not yet."""

        async def apply(store: Any) -> None:
            view = [from_plain(plain) for plain in json.loads(await store.get(ref))]
            history = await store.load()
            if len(history) >= replaces and history[: len(view)] != view:
                await store.replace(view, replaces=replaces)

        await self.write(apply)
        return {}

    async def release(self) -> None:
        """Let the next run of the session begin at once, whichever worker has it."""
        lease, self._lease = self._lease, None
        if lease is not None:
            with contextlib.suppress(HistoryError):  # it expires by itself
                await self.stores.release(lease)

    async def _patiently(self, act: Callable[[], Awaitable[T]]) -> T:
        deadline = time.monotonic() + _PATIENCE_SECONDS + self.worker.seconds
        pause = 0.01
        while True:
            try:
                return await act()
            except HistoryError as problem:
                if not isinstance(problem, _PASSING) or time.monotonic() > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)

    async def _write(self, step: Callable[[Any], Awaitable[T]]) -> T:
        lease = await self._claim()
        try:
            return await self.stores.write(lease, step)
        except HistoryError:
            self._claimed = 0.0  # it may be lost
            raise

    async def _claim(self) -> Lease:
        if self._lease is None or time.monotonic() > self._claimed + self.worker.seconds / 2:
            begun = time.monotonic()
            self._lease = await self.stores.acquire(
                self.session_id, self.worker.worker, self.worker.seconds
            )
            await self.worker.confirm()
            self._claimed = begun
        return self._lease
