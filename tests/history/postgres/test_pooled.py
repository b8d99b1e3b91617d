"""A store behind a pooler that gives every transaction another connection of the server."""

import asyncio
import itertools
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentic import testing
from agentic.errors import HistoryConflict, HistoryUnavailable
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message

POOLED = runpy.run_path(str(Path(__file__).with_name("pooler.py")))["pooled"]
LOST = runpy.run_path(str(Path(__file__).with_name("test_lost.py")))
HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
LEFT_BEHIND = """
    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (
        SELECT oid FROM pg_database WHERE datname = current_database())
"""


@pytest.fixture
def pooler(dsn: str) -> Iterator[str]:
    """The address of an empty database behind a pooler."""
    with POOLED(dsn) as address:
        yield address


def test_store_keeps_promises_behind_pooler(pooler: str) -> None:
    """All that a store promises, with each transaction on another connection."""
    names = (f"s{number}" for number in itertools.count())

    testing.check_store(
        lambda: PostgresStore(pooler, next(names), pooled=True),
        reopen=lambda store: PostgresStore(pooler, store.session_id, pooled=True),
    )


def test_nothing_stays_on_pooled_connections(dsn: str, pooler: str) -> None:
    """No lock, and no setting that the next client would get."""

    async def write() -> None:
        async with PostgresStore(pooler, fsync=False, pooled=True) as store:
            await store.append(HELLO)
            await store.append(THERE)
            for _ in range(4):
                found = psycopg.connect(pooler, autocommit=True, prepare_threshold=None)
                with found, found.cursor() as cursor:
                    row = cursor.execute("SHOW synchronous_commit").fetchone()
                    assert row == ("on",)

    asyncio.run(write())
    with psycopg.connect(dsn, autocommit=True) as connection:
        assert connection.execute(LEFT_BEHIND.encode()).fetchone() == (0,)


def test_one_writer_at_once_behind_pooler(pooler: str) -> None:
    """A second one is refused until the first has closed, and so is a delete."""

    async def write() -> None:
        sessions = PostgresSessions(pooler, pooled=True)
        async with sessions.open("a") as first:
            await first.append(HELLO)
            with pytest.raises(HistoryConflict, match="is leased by"):
                await sessions.open("a").append(THERE)
            with pytest.raises(HistoryConflict, match="is leased by"):
                await sessions.delete("a")
        async with sessions.open("a") as second:
            await second.append(THERE)
            assert await second.full() == [HELLO, THERE]
        await sessions.delete("a")

    asyncio.run(write())


def test_pooler_allows_export_and_import(pooler: str) -> None:
    """An export is one transaction, and so is an import."""

    async def move() -> list[Message]:
        sessions = PostgresSessions(pooler, pooled=True)
        async with sessions.open("a") as store:
            await store.append(HELLO)
            await store.put("red")
        await sessions.import_("b", sessions.export("a"))
        return await sessions.open("b").full()

    assert asyncio.run(move()) == [HELLO]


def test_many_pooled_starters_make_tables_once(pooler: str) -> None:
    """The migration is locked within its transaction."""

    async def start() -> int:
        stores = [PostgresStore(pooler, f"s{n}", pooled=True) for n in range(6)]
        await asyncio.gather(*(store.append(HELLO) for store in stores))
        await asyncio.gather(*(store.aclose() for store in stores))
        return len(await PostgresSessions(pooler, pooled=True).list())

    assert asyncio.run(start()) == 6


def test_long_idle_writer_resumes_its_session(dsn: str) -> None:
    """Its lease has expired and nobody took it: it takes a new one and goes on."""

    async def write() -> Any:
        async with PostgresStore(dsn, pooled=True) as store:
            await store.append(HELLO)
            _expire(dsn)
            store._writer.fence._renewed = float("-inf")
            await store.append(THERE)
            return await store.full()

    assert asyncio.run(write()) == [HELLO, THERE]


@pytest.mark.parametrize("cut", ["before", "after"])
def test_leased_doubtful_append_is_stored_once(dsn: str, cut: str) -> None:
    """A new epoch settles what a lost connection had sent: appended again, it is there once."""

    async def write() -> None:
        network = LOST["Network"](dsn)
        async with PostgresStore(await network.start(), pooled=True) as store:
            await store.append(HELLO)
            problem = await LOST["_during_a_cut"](network, cut, lambda: store.append(THERE))
            assert isinstance(problem, HistoryUnavailable)
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE]
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE, THERE]
        await network.stop()

    asyncio.run(write())


def _expire(dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("UPDATE agentic.leases SET expires_at = clock_timestamp()")
