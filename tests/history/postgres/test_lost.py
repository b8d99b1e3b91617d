"""Connections that are lost at the worst moment, by a proxy that stands for a bad network."""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import attrs
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from agentic.errors import (
    HistoryConflict,
    HistoryNotWritten,
    HistoryUnavailable,
    NothingToRestore,
)
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
SUMMARY = Message("system", "They greeted.")


@attrs.define(eq=False)
class Network:
    """A proxy before a server."""

    dsn: str
    """Of the server itself."""
    down: bool = False
    """New connections are refused."""
    cut: str = ""
    """When the next connection ends on which `word` is said: `before` the server hears it, `after`
    it has answered, or `after, hanging`, where it is left to believe that the client is there."""
    word: bytes = b""
    _server: asyncio.Server | None = None
    _hanging: list[asyncio.StreamWriter] = attrs.field(factory=list)
    _opened: list[asyncio.StreamWriter] = attrs.field(factory=list)
    _serving: list[asyncio.Task[None] | None] = attrs.field(factory=list)

    async def start(self) -> str:
        """Begin, and return the address to use."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return make_conninfo(self.dsn, port=self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """End, and let go of what hangs; return when every socket is closed."""
        assert self._server
        self._server.close()
        for _ in range(10):  # a connection that was just accepted becomes a task of `_serve`
            await asyncio.sleep(0)
        for writer in self._hanging:
            writer.close()
        await asyncio.gather(*filter(None, self._serving))
        for writer in self._opened:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.append(asyncio.current_task())
        self._opened.append(writer)
        if self.down:
            writer.close()
            return
        parts, ending = conninfo_to_dict(self.dsn), asyncio.Event()
        there = await asyncio.open_connection(parts["host"], parts["port"])
        self._opened.append(there[1])
        answers = asyncio.create_task(_answer(there[0], writer, ending))
        cut = ""
        with contextlib.suppress(ConnectionError):
            while cut != "before" and (said := await reader.read(65_536)):
                if self.cut and self.word in said:
                    cut, self.cut = self.cut, ""
                    ending.set()
                if cut != "before":
                    there[1].write(said)
        writer.close()
        if cut.endswith("hanging"):
            self._hanging.append(there[1])
        else:
            there[1].close()
        await answers


async def _answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ending: asyncio.Event
) -> None:
    """Pass on what the server says, until the end."""
    with contextlib.suppress(ConnectionError):
        while (said := await reader.read(65_536)) and not ending.is_set():
            writer.write(said)
    writer.close()


@contextlib.asynccontextmanager
async def _network(dsn: str) -> AsyncIterator[tuple[Network, PostgresStore]]:
    """Yield a network, and a store that has written HELLO over it."""
    network = Network(dsn)
    async with PostgresStore(await network.start()) as store:
        await store.append(HELLO)
        yield network, store
        network.down = False
    await network.stop()


async def _during_a_cut(
    network: Network, cut: str, step: Callable[[], Awaitable[Any]]
) -> BaseException | None:
    """Take a step while the network cuts and stays down; give what it raised."""
    network.down, network.cut = True, cut
    try:
        await step()
    except Exception as problem:  # noqa: BLE001  whatever it was
        return problem
    finally:
        network.down = False
    return None


@pytest.mark.parametrize("cut", ["before", "after", "after, hanging"])
def test_broken_network_append_is_stored_once(dsn: str, cut: str) -> None:
    """Lost on the way, or only its answer: the same call finds out, and the caller never knows."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            network.cut = cut
            await store.append(THERE)
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE, THERE]

    asyncio.run(write())


@pytest.mark.parametrize(("cut", "stored"), [("before", 0), ("after", 1), ("after, hanging", 1)])
def test_repeated_doubtful_append_is_stored_once(dsn: str, cut: str, stored: int) -> None:
    """While the server cannot be asked, the error says so; appended again, it is there once."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            problem = await _during_a_cut(network, cut, lambda: store.append(THERE))
            assert isinstance(problem, HistoryUnavailable)
            assert "Write the same again, which stores it once" in str(problem)
            assert len(await PostgresStore(dsn).full()) == 1 + stored

            await store.append(THERE)
            assert await store.full() == [HELLO, THERE]
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE, THERE]

    asyncio.run(write())


def test_who_looks_after_a_doubt_knows(dsn: str) -> None:
    """After load() has shown the message, an equal one that is appended is another one."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            await _during_a_cut(network, "after", lambda: store.append(THERE))
            assert await store.load() == [HELLO, THERE]
            await store.append(THERE)
            assert await store.load() == [HELLO, THERE, THERE]

    asyncio.run(write())


def test_looking_resolves_doubt_despite_another_writer(dsn: str) -> None:
    """The same when the session went to somebody else meanwhile, and came back."""

    async def write() -> None:
        async with _network(dsn) as (network, store), PostgresStore(dsn) as other:
            await _during_a_cut(network, "after", lambda: store.append(THERE))
            await other.append(HELLO)
            assert await store.load() == [HELLO, THERE, HELLO]
            await other.aclose()
            await store.append(THERE)
            assert await store.load() == [HELLO, THERE, HELLO, THERE]

    asyncio.run(write())


def test_doubtful_message_precedes_what_follows(dsn: str) -> None:
    """Another message comes after the one in doubt, which is there or not, and once."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            await _during_a_cut(network, "after", lambda: store.append(THERE))
            await store.append(SUMMARY)
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE, SUMMARY, THERE]

    asyncio.run(write())


@pytest.mark.parametrize("cut", ["before", "after"])
def test_doubtful_replace_and_restore_happen_once(dsn: str, cut: str) -> None:
    """Repeated after the doubt, neither is stacked on itself."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            await store.load()
            await store.replace([SUMMARY])
            network.word = b"replace"
            assert await _during_a_cut(network, cut, lambda: store.replace([THERE]))
            await store.replace([THERE])
            assert await store.load() == [THERE]
            network.word = b"restore"
            assert await _during_a_cut(network, cut, store.restore)
            await store.restore()
            assert await store.load() == [SUMMARY]
            await store.restore()
            assert await store.load() == [HELLO]
            with pytest.raises(NothingToRestore):
                await store.restore()

    asyncio.run(write())


@pytest.mark.parametrize("cut", ["before", "after"])
def test_doubtful_replace_ignores_its_tail(dsn: str, cut: str) -> None:
    """What it kept of the history is no part of what is compared when it is repeated."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            known = await store.load()
            await store.append(THERE)
            network.word = b"replace"
            step = functools.partial(store.replace, [SUMMARY], replaces=len(known))
            assert isinstance(await _during_a_cut(network, cut, step), HistoryUnavailable)
            await step()
            assert await store.load() == [SUMMARY, THERE]
            await store.restore()
            assert await store.load() == [HELLO, THERE]
            with pytest.raises(NothingToRestore):
                await store.restore()

    asyncio.run(write())


def test_ongoing_append_survives_a_summary(dsn: str) -> None:
    """The append waits for the server when the summary is ready: the view has both."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            known = await store.load()
            under_way = asyncio.create_task(store.append(THERE))
            await asyncio.sleep(0)  # it has its turn now
            await store.replace([SUMMARY], replaces=len(known))
            await under_way
            assert await store.load() == [SUMMARY, THERE]

    asyncio.run(write())


def test_a_replace_in_doubt_hides_nothing(dsn: str) -> None:
    """A view that was made without knowing of a stored message in doubt is refused."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            await store.load()
            await _during_a_cut(network, "after", lambda: store.append(THERE))
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace([SUMMARY])
            assert await store.load() == [HELLO, THERE]
            await store.replace([SUMMARY])
            assert await store.load() == [SUMMARY]

    asyncio.run(write())


def test_first_doubtful_entry_is_stored_once(dsn: str) -> None:
    """The session itself is made with it, whole or not at all."""

    async def write(cut: str) -> None:
        async with _network(dsn) as (network, store):
            fresh = PostgresStore(store.dsn, cut)
            await fresh.put("nothing that begins the history")
            async with fresh:
                assert await _during_a_cut(network, cut, lambda: fresh.append(HELLO))
                await fresh.append(HELLO)
                assert await fresh.full() == [HELLO]

    for cut in ("before", "after"):
        asyncio.run(write(cut))


def test_server_ending_connections_disturbs_nobody(server: Any, dsn: str) -> None:
    """An administrator who ends every connection disturbs no reader and no writer."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            for number in range(10):
                await store.append(Message("user", str(number)))
                _end_connections(server, dsn)
                if number % 3 == 0:
                    await store.replace(await store.load())
                    _end_connections(server, dsn)
            assert [message.content for message in await store.full()] == list("0123456789")

    asyncio.run(write())


def test_writer_ended_midway_loses_nothing(server: Any, dsn: str) -> None:
    """Ended again and again while appending, the archive is what was appended, in order."""
    messages = [Message("user", f"{number} {'x' * 20_000}") for number in range(100)]

    async def end_now_and_then() -> None:
        while True:
            await asyncio.sleep(0.02)
            await asyncio.to_thread(_end_connections, server, dsn)

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            ending = asyncio.create_task(end_now_and_then())
            for message in messages:
                while True:
                    try:
                        await store.append(message)
                        break
                    except (HistoryUnavailable, HistoryNotWritten):
                        continue  # ended twice within one append
            ending.cancel()
            assert await store.full() == messages

    asyncio.run(write())


def _end_connections(server: Any, dsn: str) -> None:
    database = conninfo_to_dict(dsn)["dbname"]
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(end, [database])


def test_session_lost_to_another_is_told(server: Any, dsn: str) -> None:
    """The lock goes with the connection: whoever took it meanwhile has it."""

    async def write() -> None:
        async with PostgresStore(dsn) as first, PostgresStore(dsn) as second:
            await first.append(HELLO)
            await first.load()
            _end_connections(server, dsn)
            await second.append(THERE)
            with pytest.raises(HistoryConflict, match="is in use by another writer"):
                await first.append(SUMMARY)
            await second.aclose()
            with pytest.raises(HistoryConflict, match="load again"):
                await first.replace([SUMMARY])
            await first.append(HELLO)
            assert await first.full() == [HELLO, THERE, HELLO]

    asyncio.run(write())


def test_without_connection_nothing_is_written(dsn: str) -> None:
    """Where no connection can be made, nothing was sent, and the error says that."""

    async def write() -> None:
        async with _network(dsn) as (network, store):
            await store.aclose()
            network.down = True
            with pytest.raises(HistoryNotWritten, match="The session is as it was before"):
                await store.append(THERE)
            with pytest.raises(HistoryUnavailable, match="check the address"):
                await store.load()
            network.down = False
            await store.append(THERE)
            assert await store.load() == [HELLO, THERE]

    asyncio.run(write())


def test_unanswered_delete_claims_no_outcome(dsn: str) -> None:
    """It may have been done or not: the error says so, and a look tells."""

    async def delete() -> None:
        async with _network(dsn) as (network, store):
            await store.aclose()
            sessions = PostgresSessions(store.dsn)
            network.cut, network.word = "after", b"COMMIT"
            with pytest.raises(HistoryUnavailable, match="it may have been done or not"):
                await sessions.delete("main")
            assert await sessions.list() == []

    asyncio.run(delete())
