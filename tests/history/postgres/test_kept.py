"""Stores under leases can share connections that stay open."""

import asyncio
import time

import psycopg
import pytest

from agentic.errors import ConfigError, HistoryConflict
from agentic.history.postgres import PostgresSessions
from agentic.messages import Message

_COUNT = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def _connections(dsn: str, expected: int) -> int:
    """Count the others' connections; the server lists one that was closed for a moment longer."""
    deadline, found = time.monotonic() + 60, -1
    while found != expected and time.monotonic() < deadline:
        with psycopg.connect(dsn) as connection:
            ((found,),) = connection.execute(_COUNT).fetchall()
    return int(found)


def test_leases_and_stores_share_one_connection(dsn: str) -> None:
    """It stays open between them until the sessions are closed."""

    async def write() -> list[int]:
        sessions = PostgresSessions(dsn).keeping(1)
        for name in ("a", "b", "a"):
            lease = await sessions.acquire(name, "w", 60)
            async with sessions.open(name, lease=lease) as store:
                await store.append(Message("user", "hi"))
            await sessions.release(lease)
        assert len(await sessions.open("a").load()) == 2
        open_then = _connections(dsn, 1)
        await sessions.aclose()
        return [open_then, _connections(dsn, 0)]

    assert asyncio.run(write()) == [1, 0]


def test_session_lock_is_never_kept(dsn: str) -> None:
    """A writer without a lease closes its connection, which has the lock, so others can write."""

    async def write() -> int:
        sessions = PostgresSessions(dsn).keeping(2)
        async with sessions.open("a") as store:
            await store.append(Message("user", "1"))
        async with PostgresSessions(dsn).open("a") as other:
            await other.append(Message("user", "2"))
        await sessions.aclose()
        return len(await other.load())

    assert asyncio.run(write()) == 2


def test_kept_connection_notices_lost_lease(dsn: str) -> None:
    """Who took over may have used the same connection."""

    async def write() -> None:
        sessions = PostgresSessions(dsn).keeping(1)
        late = await sessions.acquire("a", "w", 60)
        async with sessions.open("a", lease=late) as store:
            await store.append(Message("user", "1"))
        await sessions.acquire("a", "w", 60)
        with pytest.raises(HistoryConflict):
            await sessions.open("a", lease=late).append(Message("user", "2"))
        await sessions.aclose()

    asyncio.run(write())


def test_connection_that_ended_is_replaced(dsn: str) -> None:
    """By the server's administrator, or with the network."""

    async def write() -> int:
        sessions = PostgresSessions(dsn).keeping(1)
        lease = await sessions.acquire("a", "w", 60)
        with psycopg.connect(dsn) as connection:
            connection.execute(_COUNT.replace("count(*)", "pg_terminate_backend(pid, 5000)"))
        async with sessions.open("a", lease=lease) as store:
            await store.append(Message("user", "1"))
            length = len(await store.load())
        await sessions.aclose()
        return length

    assert asyncio.run(write()) == 1


def test_number_to_keep_is_checked() -> None:
    """Before any connection is made."""
    with pytest.raises(ConfigError, match="connections must be"):
        PostgresSessions("postgresql://localhost/agents").keeping(-1)
