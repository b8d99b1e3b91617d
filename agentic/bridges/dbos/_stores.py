"""The open stores of a worker: a few connections for all its sessions.

To connect takes longer than to store a turn: 25 ms where an append took 0.3 ms (PostgreSQL, two
busy cores, 2026-11-23). SQLite empties its log into the database whenever its latest connection
closes. So a store stays open after a write, until another session needs its place.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import attrs

from agentic._lazy import asyncio
from agentic.history import Lease, LeasedSessions

__all__ = ["OpenStores"]

T = TypeVar("T")


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
        given = self.given
        return given.keeping(self.count) if isinstance(given, _KeepsConnections) else given

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
                done = await step(store)
            except BaseException:
                await store.aclose()
                raise
            await self._close(lease.session_id)  # that of another attempt at the same run
            self._idle[lease.session_id] = lease, store
            return done

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

    async def _open(self, lease: Lease, held: Lease | None, store: Any) -> Any:
        if held is not None and held.epoch == lease.epoch:
            return store
        if store is not None:
            await store.aclose()
        opened: Any = self.sessions.open(lease.session_id, lease=lease)
        return await opened.__aenter__()

    async def _close(self, session_id: str) -> None:
        _, store = self._idle.pop(session_id, (None, None))
        if store is not None:
            await store.aclose()
