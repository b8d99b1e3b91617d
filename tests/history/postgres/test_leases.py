"""Leases: a worker that is late cannot write any more."""

import asyncio
import functools
from datetime import timedelta
from typing import Any

import attrs
import psycopg
import pytest

from agentic.errors import ConfigError, HistoryConflict
from agentic.history._abilities import Lease, LeasedSessions
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.history.postgres._rows import Fence, acquire
from agentic.messages import Message

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
EXPIRE = "UPDATE agentic.leases SET expires_at = clock_timestamp()"


def _do(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


def test_server_sessions_can_be_leased(dsn: str) -> None:
    """Whoever looks for LeasedSessions finds them."""
    assert isinstance(PostgresSessions(dsn), LeasedSessions)


@pytest.mark.parametrize("step", ["append", "first", "put", "replace", "redact"])
def test_who_lost_the_lease_writes_nothing(dsn: str, step: str) -> None:
    """Every write of the former owner is refused, and the history is that of the new one."""

    async def write() -> None:
        sessions = PostgresSessions(dsn)
        first = await sessions.acquire("a", "w1", 30)
        async with sessions.open("a", lease=first) as store:
            if step != "first":
                await store.append(HELLO)
            late: dict[str, Any] = {
                "append": functools.partial(store.append, THERE),
                "first": functools.partial(store.append, THERE),
                "put": functools.partial(store.put, "red"),
                "replace": functools.partial(store.replace, [THERE]),
                "redact": functools.partial(store.redact, 0, "[gone]"),
            }
            expected = await store.full()
            _do(dsn, EXPIRE)
            second = await sessions.acquire("a", "w2", 30)
            with pytest.raises(HistoryConflict, match="no longer leased by 'w1'"):
                await late[step]()
            async with sessions.open("a", lease=second) as other:
                await other.append(THERE)
                assert await other.full() == [*expected, THERE]

    asyncio.run(write())


def test_expired_lease_is_lost_even_untaken(dsn: str) -> None:
    """It can be neither used nor renewed; a new one has a greater epoch."""

    async def write() -> None:
        sessions = PostgresSessions(dsn)
        lease = await sessions.acquire("a", "w1", 30)
        async with sessions.open("a", lease=lease) as store:
            await store.append(HELLO)
            _do(dsn, EXPIRE)
            with pytest.raises(HistoryConflict, match="has expired or was taken over"):
                await store.append(THERE)
        with pytest.raises(HistoryConflict, match="has expired or was taken over"):
            await sessions.renew(lease, 30)
        assert (await sessions.acquire("a", "w1", 30)).epoch > lease.epoch

    asyncio.run(write())


def test_renewed_lease_goes_on(dsn: str) -> None:
    """The store that was opened with it need not know."""

    async def write() -> list[Message]:
        sessions = PostgresSessions(dsn)
        lease = await sessions.acquire("a", "w1", 30)
        over = attrs.evolve(lease, expires_at=lease.expires_at - timedelta(seconds=60))
        async with sessions.open("a", lease=over) as store:
            renewed = await sessions.renew(over, 60)
            assert renewed.epoch == lease.epoch
            assert renewed.expires_at > lease.expires_at
            await store.append(HELLO)
            return await store.full()

    assert asyncio.run(write()) == [HELLO]


def test_a_released_lease_lets_others_write(dsn: str) -> None:
    """Without a lease, too; while it is in force, nobody else can."""

    async def write() -> None:
        sessions = PostgresSessions(dsn)
        lease = await sessions.acquire("a", "w1", 30)
        async with PostgresStore(dsn, "a") as direct:
            with pytest.raises(HistoryConflict, match="is leased by 'w1'"):
                await direct.append(HELLO)
            with pytest.raises(HistoryConflict, match="is leased by 'w1'"):
                await sessions.acquire("a", "w2", 30)
            await sessions.release(lease)
            await sessions.release(lease)
            await direct.append(HELLO)
            with pytest.raises(HistoryConflict, match="by another writer"):
                await sessions.acquire("a", "w2", 30)

    asyncio.run(write())


def test_owner_retaking_lease_fences_former_self(dsn: str) -> None:
    """A worker that was started again need not wait for what it had before."""

    async def write() -> None:
        sessions = PostgresSessions(dsn)
        before = await sessions.acquire("a", "w1", 30)
        after = await sessions.acquire("a", "w1", 30)
        assert after.epoch > before.epoch
        with pytest.raises(HistoryConflict, match="no longer leased by 'w1' with epoch"):
            await sessions.open("a", lease=before).append(HELLO)

    asyncio.run(write())


def test_takeover_waits_for_ongoing_write(dsn: str) -> None:
    """What was sent under the lease is stored before the next owner looks, or never."""
    sessions = PostgresSessions(dsn)

    async def write() -> None:
        lease = await sessions.acquire("a", "w1", 30)
        with psycopg.connect(dsn) as slow:  # a write that has checked its lease, not committed
            slow.execute("SELECT 1 FROM agentic.leases WHERE session = 'a' FOR SHARE")
            again = asyncio.create_task(sessions.acquire("a", "w1", 30))
            await asyncio.sleep(0.3)
            assert not again.done()
            slow.commit()
            assert (await again).epoch > lease.epoch

    asyncio.run(write())


@pytest.mark.parametrize(
    ("owner", "seconds"), [("", 1), ("w" * 201, 1), (3, 1), ("w", 0), ("w", True)]
)
def test_lease_needs_owner_and_time(dsn: str, owner: Any, seconds: Any) -> None:
    """Neither is asked of the server."""
    with pytest.raises(ConfigError, match=r"owner|seconds"):
        asyncio.run(PostgresSessions(dsn).acquire("a", owner, seconds))


def test_lease_of_another_session_is_refused(dsn: str) -> None:
    """A session is opened with its own lease."""
    lease = asyncio.run(PostgresSessions(dsn).acquire("a", "w1", 30))

    for given in (lease, "w1"):
        with pytest.raises(ConfigError, match="a Lease of session 'b'"):
            PostgresSessions(dsn).open("b", lease=given)  # type: ignore[arg-type]
    assert isinstance(lease, Lease)


class _Stopping(psycopg.AsyncConnection[Any]):
    """A connection of a process that is stopped in a transaction, after its first lock."""

    async def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        done = await super().execute(query, *args, **kwargs)
        if "_lock(" in str(query) or "FOR SHARE" in str(query):
            self.locked.set()
            await asyncio.Event().wait()
        return done


@pytest.mark.slow
@pytest.mark.parametrize("step", ["acquire", "write"])
def test_a_stopped_owner_keeps_no_lock(dsn: str, step: str) -> None:
    """What it holds in a transaction ends with its lease, and the next owner goes on."""

    async def write() -> Lease:
        sessions = PostgresSessions(dsn)
        lease = await sessions.acquire("a", "w1", 1)
        stopped = await _Stopping.connect(dsn, autocommit=True)
        stopped.locked = asyncio.Event()

        async def hold() -> None:
            if step == "acquire":
                await acquire(stopped, "a", "w1", 1, "a")
            fence = Fence("a", "a", fsync=True, given=lease)
            fence._lease = lease
            async with stopped.transaction():
                await fence.check(stopped)

        holding = asyncio.create_task(hold())
        await stopped.locked.wait()
        try:
            async with asyncio.timeout(60):
                while True:
                    try:
                        return await sessions.acquire("a", "w2", 1)
                    except HistoryConflict:
                        await asyncio.sleep(0.05)
        finally:
            await stopped.close()
            holding.cancel()
            await asyncio.wait([holding])

    assert asyncio.run(write()).owner == "w2"


def test_lease_may_last_for_months(dsn: str) -> None:
    """Longer than the longest time, 24 days, that the server's own limits can have."""

    async def write() -> list[Message]:
        sessions = PostgresSessions(dsn)
        lease = await sessions.acquire("a", "w", 90 * 86_400)
        async with sessions.open("a", lease=lease) as store:
            await store.put("an output")
            await store.append(Message("user", "hello"))
        await sessions.release(lease)
        return await sessions.open("a").load()

    assert asyncio.run(write()) == [Message("user", "hello")]
