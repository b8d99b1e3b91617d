"""A server that takes what is said and never answers: a stopped process stands for it."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest

from agentic import loop
from agentic.errors import HistoryError
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message
from agentic.testing import ScriptedDecider

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
SOON_SECONDS = 15.0
"""Less than it takes to notice without asking, and more than a cancellation may take."""


@contextlib.contextmanager
def _stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@contextlib.asynccontextmanager
async def _stalled(store: PostgresStore) -> AsyncIterator[None]:
    """Have the store's server process stop after a first message."""
    await store.append(HELLO)
    connection = store._writer._holder
    assert connection
    with _stopped(connection.info.backend_pid):
        yield


async def _cancel(task: "asyncio.Task[object]") -> float:
    """Cancel a task that waits already, and give how long that took."""
    await asyncio.sleep(0.3)
    started = time.monotonic()
    task.cancel()
    await asyncio.wait({task}, timeout=60)
    assert task.cancelled()
    return time.monotonic() - started


def test_stalled_server_does_not_stop_cancellation(dsn: str) -> None:
    """An append gives up some seconds after it is cancelled, and the store goes on afterwards."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            async with _stalled(store):
                task = asyncio.create_task(store.append(THERE))
                assert await _cancel(task) < SOON_SECONDS
            await store.append(THERE)
            assert (await store.full())[-1] == THERE

    asyncio.run(write())


def test_run_on_stalled_server_is_cancellable(dsn: str) -> None:
    """Though a runner finishes what it stores, it waits for no server that is silent."""

    async def run() -> None:
        async with PostgresStore(dsn) as store:
            runner = loop.Runner(ScriptedDecider("there"), store=store)
            async with _stalled(store):
                task = asyncio.create_task(runner.run("hello"))
                assert await _cancel(task) < 2 * SOON_SECONDS

    asyncio.run(run())


def test_stalled_servers_place_can_be_left(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rename or a delete that cannot be finished is not waited for without end."""
    monkeypatch.setattr("agentic.history.postgres._sessions._GRACE_SECONDS", 0.5)
    place = PostgresSessions(dsn)

    async def delete() -> None:
        async with place.open("monday") as store:
            await store.append(HELLO)
        with psycopg.connect(dsn) as connection:
            connection.execute("LOCK TABLE agentic.sessions")
            task = asyncio.create_task(place.delete("monday"))
            assert await _cancel(task) < SOON_SECONDS
            connection.rollback()

    asyncio.run(delete())


def test_endless_silence_is_an_error(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After some time it is an error like a lost connection; written again, it is stored once."""
    monkeypatch.setattr("agentic.history.postgres._server.ANSWER_SECONDS", 1.0)
    monkeypatch.setattr("agentic.history.postgres._database._END_SECONDS", 0.5)

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            async with _stalled(store):
                with pytest.raises(HistoryError):
                    await store.append(THERE)
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE]

    asyncio.run(write())


def test_statement_waiting_for_others_ends(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server itself gives up, unless the connection string says how long it may take."""
    monkeypatch.setattr("agentic.history.postgres._server.STATEMENT_SECONDS", 1.0)

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            with psycopg.connect(dsn) as connection:
                connection.execute("LOCK TABLE agentic.entries")
                with pytest.raises(HistoryError, match="statement_timeout"):
                    await store.append(THERE)
                connection.rollback()
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE]

    asyncio.run(write())


def test_dsns_statement_timeout_stands(dsn: str) -> None:
    """Whoever set one knows why."""

    async def ask() -> object:
        async with PostgresStore(f"{dsn} options='-c statement_timeout=7s'") as store:
            await store.append(HELLO)
            connection = store._writer._holder
            assert connection
            return await (await connection.execute("SHOW statement_timeout")).fetchone()

    assert asyncio.run(ask()) == ("7s",)
