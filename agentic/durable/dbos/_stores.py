"""The sessions of a worker: a few open stores for all of them, and one writer for each run.

A session is written under a lease of its store, which fences late writers. The order makes that
strict: the lease of the session is taken first, and then the worker confirms that nobody has taken
over its runs. If somebody does so later, the new owner's lease of the session follows this one, and
from then on the store refuses what is written under this one.

To connect takes longer than to store a turn: 25 ms where an append took 0.3 ms (PostgreSQL, two
busy cores, 2026-11-23). SQLite empties its log into the database whenever its latest connection
closes. So a store stays open after a write, until another session needs its place.
"""

import contextlib
import json
import logging
import operator
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import attrs

from agentic._base._lazy import asyncio
from agentic._base._waiting import in_thread
from agentic.durable.dbos._lease import WorkerLease
from agentic.errors import (
    HistoryConflict,
    HistoryError,
    HistoryNotWritten,
    HistoryUnavailable,
    OutputNotFound,
)
from agentic.history._abilities import Lease, LeasedSessions
from agentic.messages import Message, from_plain

T = TypeVar("T")
_log = logging.getLogger(__name__)
REWRITTEN = "session {!r} was redacted, undone, replaced or deleted while this run was open"
_PATIENCE_SECONDS = 30.0
"""How long to wait for another writer of the session, besides the lease that it may have."""
_PASSING = (HistoryConflict, HistoryNotWritten, HistoryUnavailable)


def _decode(text: str) -> list[Message]:
    return [from_plain(plain) for plain in json.loads(text)]


@runtime_checkable
class _KeepsConnections(Protocol):
    """Sessions on a server."""

    def keeping(self, connections: int, /) -> LeasedSessions: ...

    async def aclose(self) -> None: ...


@attrs.define(eq=False)
class OpenStores:
    """Opens stores, at most `count` at a time, whether they are in use or idle."""

    given: LeasedSessions
    count: int
    sessions: LeasedSessions = attrs.field(init=False)
    """The given ones, with connections that stay open."""
    _places: "asyncio.Semaphore" = attrs.field(init=False)
    _used: int = attrs.field(default=0, init=False)
    _idle: dict[str, tuple[Lease, Any]] = attrs.field(factory=dict, init=False)
    """By session, the longest idle one first."""

    @sessions.default
    def _make_sessions(self) -> LeasedSessions:
        sessions = self.given
        return sessions.keeping(self.count) if isinstance(sessions, _KeepsConnections) else sessions

    @_places.default
    def _make_places(self) -> "asyncio.Semaphore":
        return asyncio.Semaphore(self.count)

    async def read(self, session_id: str, step: Callable[[Any], Awaitable[T]]) -> T:
        """Do a step that only reads."""
        async with self._place():
            return await step(self.sessions.open(session_id))

    async def write(self, lease: Lease, step: Callable[[Any], Awaitable[T]]) -> T:
        """Do a step under a lease. The store stays open if the step succeeds."""
        async with self._place(lease.session_id) as idle:
            store = await self._open(lease, *idle)
            try:
                result = await step(store)
            except BaseException:
                await store.aclose()
                raise
            await self._close(lease.session_id)  # that of another attempt at the same run
            self._idle[lease.session_id] = lease, store
            return result

    async def acquire(self, session_id: str, owner: str, seconds: float) -> Lease:
        """Take a lease."""
        async with self._place():
            return await self.sessions.acquire(session_id, owner, seconds)

    async def release(self, lease: Lease) -> None:
        """Close the store of a lease, and release the lease."""
        await self._close(lease.session_id)
        async with self._place():
            await self.sessions.release(lease)

    async def aclose(self) -> None:
        """Close what is idle."""
        for session_id in list(self._idle):
            await self._close(session_id)
        if isinstance(self.sessions, _KeepsConnections):
            await self.sessions.aclose()

    @contextlib.asynccontextmanager
    async def _place(self, session_id: str = "") -> AsyncIterator[tuple[Lease | None, Any]]:
        """Take a place, and the store that is idle for a session, if there is one."""
        async with self._places:
            self._used += 1
            try:
                others = [other for other in self._idle if other != session_id]
                for other in others[: max(0, self._used + len(others) - self.count)]:
                    await self._close(other)
                yield self._idle.pop(session_id, (None, None))
            finally:
                self._used -= 1

    async def _open(self, lease: Lease, holder: Lease | None, store: Any) -> Any:
        if holder is not None and holder.epoch == lease.epoch:
            return store
        if store is not None:
            await store.aclose()
        session: Any = self.sessions.open(lease.session_id, lease=lease)
        return await session.__aenter__()

    async def _close(self, session_id: str) -> None:
        _, store = self._idle.pop(session_id, (None, None))
        if store is not None:
            await store.aclose()


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

    @property
    def epoch(self) -> int | None:
        """Return the epoch of the lease while nobody else can write; None if somebody may."""
        is_held = time.monotonic() < self._claimed + self.worker.seconds
        return self._lease.epoch if self._lease is not None and is_held else None

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

    async def compact(
        self, ref: str, replaces: int, point: tuple[int, int] | None = None
    ) -> dict[str, Any]:
        """Replace the history by the view that the latest run left, if it is not yet.

        The view stands for a history that was read at a point of the session. If that is another
        one by now, the view is dropped.
        """

        # Under the lease of the session, so nobody changes it between the question and the answer.
        async def apply(store: Any) -> dict[str, Any]:
            is_rewritten = point is not None and await store.is_rewritten(point)
            history = await store.load()
            try:
                # In threads, because both are proportional to the history.
                view = await in_thread(_decode, await store.get(ref))
            except OutputNotFound:  # a redaction has removed it
                return self._drop()
            # A kill after the replacement repeats this step, which then finds the view in place.
            if await in_thread(operator.eq, history[: len(view)], view):
                return {}
            if is_rewritten:
                return self._drop()
            if len(history) >= replaces:
                await store.replace(view, replaces=replaces)
            return {}

        return dict(await self.write(apply))

    def _drop(self) -> dict[str, Any]:
        problem = REWRITTEN.format(self.session_id)
        _log.warning("a compaction is dropped: %s", problem)
        return {"dropped": problem}

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
            start = time.monotonic()
            # The lease of the session before that of the worker: whoever takes over later gets one
            # that follows this one, and the store then refuses what is written under this one.
            self._lease = await self.stores.acquire(
                self.session_id, self.worker.worker, self.worker.seconds
            )
            await self.worker.confirm()
            self._claimed = start
        return self._lease
