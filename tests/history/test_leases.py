"""Leases in a file: a worker that is late cannot write any more."""

import asyncio
import contextlib
import functools
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import ConfigError, HistoryConflict
from agentic.history._abilities import LeasedSessions
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")


@pytest.fixture
def sessions(tmp_path: Path) -> SqliteSessions:
    """Return an empty place."""
    return SqliteSessions(tmp_path / "sessions.db")


def _expire(sessions: SqliteSessions) -> None:
    with contextlib.closing(sqlite3.connect(sessions.path)) as connection, connection:
        connection.execute("UPDATE leases SET expires_at = 0")


def test_file_sessions_can_be_leased(sessions: SqliteSessions) -> None:
    """Whoever looks for LeasedSessions finds them."""
    assert isinstance(sessions, LeasedSessions)


@pytest.mark.parametrize("step", ["append", "put", "replace", "redact", "restore"])
def test_who_lost_the_lease_writes_nothing(sessions: SqliteSessions, step: str) -> None:
    """Every write of the former owner is refused, and the history is that of the new one."""

    async def write() -> None:
        first = await sessions.acquire("a", "w1", 30)
        async with sessions.open("a", lease=first) as store:
            await store.append(HELLO)
            late: dict[str, Any] = {
                "append": functools.partial(store.append, THERE),
                "put": functools.partial(store.put, "red"),
                "replace": functools.partial(store.replace, [THERE]),
                "redact": functools.partial(store.redact, 0, "[gone]"),
                "restore": store.restore,
            }
            _expire(sessions)
            second = await sessions.acquire("a", "w2", 30)
            with pytest.raises(HistoryConflict, match="no longer leased by 'w1'"):
                await late[step]()
            async with sessions.open("a", lease=second) as other:
                await other.append(THERE)
                assert await other.full() == [HELLO, THERE]

    asyncio.run(write())


def test_expired_lease_is_lost_even_untaken(sessions: SqliteSessions) -> None:
    """It can be neither used nor renewed; a new one has a greater epoch."""

    async def write() -> None:
        lease = await sessions.acquire("a", "w1", 30)
        renewed = await sessions.renew(lease, 60)
        assert (renewed.epoch, renewed.expires_at > lease.expires_at) == (lease.epoch, True)
        _expire(sessions)
        with pytest.raises(HistoryConflict, match="has expired or was taken over"):
            async with sessions.open("a", lease=lease) as store:
                await store.append(THERE)
        with pytest.raises(HistoryConflict, match="has expired or was taken over"):
            await sessions.renew(lease, 30)
        assert (await sessions.acquire("a", "w1", 30)).epoch > lease.epoch

    asyncio.run(write())


def test_a_released_lease_lets_others_write(sessions: SqliteSessions) -> None:
    """Without a lease, too; while it is in force, nobody else can, nor delete the session."""

    async def write() -> None:
        lease = await sessions.acquire("a", "w1", 30)
        async with sessions.open("a", lease=lease) as leased:
            await leased.append(HELLO)
        async with sessions.open("a") as direct:
            with pytest.raises(HistoryConflict, match="is leased by 'w1'"):
                await direct.append(HELLO)
            await direct.aclose()
            for step in (sessions.acquire("a", "w2", 30), sessions.delete("a")):
                with pytest.raises(HistoryConflict, match="is leased by 'w1'"):
                    await step
            await sessions.release(lease)
            await direct.append(THERE)
            with pytest.raises(HistoryConflict, match="by another writer"):
                await sessions.acquire("a", "w2", 30)

    asyncio.run(write())


def test_owner_retaking_lease_fences_former_self(sessions: SqliteSessions) -> None:
    """Even while the former one, stalled, has the session open."""

    async def write() -> None:
        before = await sessions.acquire("a", "w1", 30)
        async with sessions.open("a", lease=before) as stalled:
            await stalled.append(HELLO)
            after = await sessions.acquire("a", "w1", 30)
            async with sessions.open("a", lease=after) as store:
                await store.append(THERE)
            with pytest.raises(HistoryConflict, match="no longer leased by 'w1' with epoch"):
                await stalled.append(HELLO)
            assert await stalled.full() == [HELLO, THERE]

    asyncio.run(write())


def test_lease_of_another_session_is_refused(sessions: SqliteSessions) -> None:
    """A session is opened with its own lease, taken by somebody and for some time."""
    lease = asyncio.run(sessions.acquire("a", "w1", 30))

    with pytest.raises(ConfigError, match="a Lease of session 'b'"):
        sessions.open("b", lease=lease)
    with pytest.raises(ConfigError, match="owner"):
        asyncio.run(sessions.acquire("a", "", 30))
