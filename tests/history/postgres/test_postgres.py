import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from agentic.errors import (
    ConfigError,
    HistoryConflict,
    HistoryCorrupt,
    HistoryNotWritten,
    HistoryUnavailable,
    NothingToRestore,
    OutputNotFound,
)
from agentic.history.postgres import PostgresSessions, PostgresStore, _rows
from agentic.messages import Message

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
SUMMARY = Message("system", "They greeted.")


async def _append_and_close(store: PostgresStore, message: Message) -> None:
    async with store:
        await store.append(message)


async def _texts(store: PostgresStore) -> list[str]:
    return [message.content for message in await store.load()]


def _ask(dsn: str, question: str) -> list[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(question.encode()).fetchall()


def _do(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


def test_unwritten_session_is_empty_and_traceless(dsn: str) -> None:
    """Loading, reading all, listing and closing leave no trace in the database."""

    async def look() -> None:
        async with PostgresStore(dsn) as store:
            assert await store.load() == await store.full() == []
            for step in (store.restore(), store.diff()):
                with pytest.raises(NothingToRestore):
                    await step
            with pytest.raises(OutputNotFound):
                await store.get("out-0123456789abcdef")
        assert await PostgresSessions(dsn).list() == []

    asyncio.run(look())
    assert _ask(dsn, "SELECT to_regnamespace('agentic')") == [(None,)]


def test_entry_row_holds_its_file_line(dsn: str) -> None:
    """What a database administrator sees is what a file would hold, without the newline."""

    async def write() -> None:
        async with PostgresStore(dsn, "monday") as store:
            await store.append(HELLO)
            await store.replace([])

    asyncio.run(write())
    assert _ask(dsn, "SELECT seq, kind, text FROM agentic.entries ORDER BY seq") == [
        (
            1,
            "message",
            b'{"v":1,"type":"message","message":{"v":1,"role":"user","content":"hello"}}',
        ),
        (2, "replace", b'{"v":1,"type":"replace","messages":[]}'),
    ]


def test_two_writers_in_one_process(dsn: str) -> None:
    """The second gets HistoryConflict, until the first is closed; other sessions are free."""

    async def write() -> list[str]:
        first, second, other = PostgresStore(dsn), PostgresStore(dsn), PostgresStore(dsn, "other")
        async with first, second, other:
            await first.append(HELLO)
            await other.append(HELLO)
            for refused in (second.append(THERE), second.replace([SUMMARY]), second.restore()):
                with pytest.raises(HistoryConflict, match="is in use by another writer"):
                    await refused
            await first.aclose()
            await second.append(THERE)
            return await _texts(first)

    assert asyncio.run(write()) == ["hello", "there"]


def test_two_writers_in_two_processes(dsn: str, write_elsewhere: Callable[..., str]) -> None:
    """The same across processes: refused while we write, welcome when we are done."""

    async def write() -> tuple[str, str]:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            refusal = await asyncio.to_thread(write_elsewhere, PostgresStore, dsn)
        return refusal, await asyncio.to_thread(write_elsewhere, PostgresStore, dsn)

    refusal, welcome = asyncio.run(write())
    assert "is in use by another writer" in refusal
    assert welcome == ""
    assert asyncio.run(_texts(PostgresStore(dsn))) == ["hello", "from elsewhere"]


def test_a_reader_while_a_writer_writes(dsn: str) -> None:
    """A reader takes no lock, and sees each entry once it is acknowledged."""

    async def write() -> None:
        reader = PostgresStore(dsn)
        async with PostgresStore(dsn) as writer:
            await writer.append(HELLO)
            assert await _texts(reader) == ["hello"]
            await writer.replace([SUMMARY])
            assert await _texts(reader) == ["They greeted."]
            assert await reader.full() == [HELLO]

    asyncio.run(write())


def test_unclosed_reader_holds_no_connection(dsn: str) -> None:
    """A store that was only asked, outside of `async with`, has let go of the server."""
    asyncio.run(_append_and_close(PostgresStore(dsn), HELLO))
    store = PostgresStore(dsn)

    assert asyncio.run(_texts(store)) == ["hello"]

    assert store._link._connection is None


def test_outdated_view_replaces_nothing(dsn: str) -> None:
    """What somebody else wrote since this store loaded is not hidden: load again, then replace."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.load()
            await _append_and_close(PostgresStore(dsn), HELLO)
            await store.append(THERE)
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace([SUMMARY])
            assert await _texts(store) == ["hello", "there"]
            await store.replace([SUMMARY])
            assert await _texts(store) == ["They greeted."]

    asyncio.run(write())


def test_write_past_lock_is_noticed(dsn: str) -> None:
    """The sequence number is the second line of defence: nothing is interleaved or overwritten."""
    past = (
        "INSERT INTO agentic.entries (session, seq, view, standing, messages, summarized, kind,"
        " text, writer) SELECT session, seq + 1, view, standing, messages + 1, summarized, kind,"
        " text, 7 FROM agentic.entries ORDER BY seq DESC LIMIT 1"
    )

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            await asyncio.to_thread(_do, dsn, past)
            with pytest.raises(HistoryConflict, match="ignored its lock"):
                await store.append(THERE)
            await store.append(THERE)
            assert await _texts(store) == ["hello", "hello", "there"]

    asyncio.run(write())


def test_session_removed_past_lock_is_noticed(dsn: str) -> None:
    """An administrator who deletes its row has the next step refused, and the one after begins."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            for step in (lambda: store.append(HELLO), lambda: store.put("1 failed")):
                await step()
                await asyncio.to_thread(_do, dsn, "DELETE FROM agentic.sessions")
                with pytest.raises(
                    HistoryConflict, match="removed by a writer that ignored its lock"
                ):
                    await step()
            await store.append(THERE)
            assert await store.full() == [THERE]

    asyncio.run(write())


def test_oversized_row_is_not_written(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so, where the server would end the connection without a word."""
    monkeypatch.setattr(_rows, "_LIMIT_BYTES", 1_000)
    large = "x" * 1_001

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            for step in (store.append(Message("user", large)), store.put(large)):
                with pytest.raises(HistoryNotWritten, match="larger than PostgreSQL allows"):
                    await step
            assert await store.full() == [HELLO]

    asyncio.run(write())


def test_session_being_written_is_not_deleted(dsn: str) -> None:
    """The delete is refused; once the writer is done, everything goes."""

    async def delete() -> None:
        sessions = PostgresSessions(dsn)
        async with sessions.open("main") as store:
            await store.append(HELLO)
            await store.put("1 failed")
            with pytest.raises(HistoryConflict, match="is in use by another writer"):
                await sessions.delete("main")
        await sessions.delete("main")

    asyncio.run(delete())
    counted = "SELECT count(*) FROM agentic."
    for table in ("sessions", "entries", "outputs"):
        assert _ask(dsn, counted + table) == [(0,)]


def test_deleted_session_is_begun_anew(dsn: str) -> None:
    """A store that was closed meanwhile writes to the new session, and to nothing else."""

    async def write() -> None:
        sessions = PostgresSessions(dsn)
        async with sessions.open("main") as store:
            await store.append(HELLO)
            await store.load()
            await store.aclose()
            await sessions.delete("main")
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace([SUMMARY])
            await store.append(THERE)
            assert await store.full() == [THERE]

    asyncio.run(write())


def test_an_output_alone_is_a_session(dsn: str) -> None:
    """What is kept before the first message is kept, once however often."""

    async def keep() -> None:
        async with PostgresStore(dsn) as store:
            ref = await store.put("a lone \ud83d and a \x00")
            assert await store.put("a lone \ud83d and a \x00") == ref
            await store.append(HELLO)
        assert await PostgresStore(dsn).get(ref) == "a lone \ud83d and a \x00"
        assert [info.messages for info in await PostgresSessions(dsn).list()] == [1]

    asyncio.run(keep())


def test_a_damaged_row_is_named(dsn: str) -> None:
    """An entry or an output that somebody changed is an error that names it."""

    async def write() -> str:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            await store.append(THERE)
            return await store.put("1 failed")

    ref = asyncio.run(write())
    _do(dsn, "UPDATE agentic.entries SET text = 'not json' WHERE seq = 2")
    _do(dsn, "UPDATE agentic.outputs SET content = 'x'")

    for read in (PostgresStore(dsn).load, PostgresStore(dsn).full):
        with pytest.raises(HistoryCorrupt, match="entry 2 of session 'main' in postgresql://"):
            asyncio.run(read())
    with pytest.raises(HistoryCorrupt, match=f"output {ref} of session 'main'"):
        asyncio.run(PostgresStore(dsn).get(ref))

    async def export() -> None:
        with pytest.raises(HistoryCorrupt, match=f"output {ref} of session 'main'"):
            [line async for line in PostgresSessions(dsn).export("main")]

    asyncio.run(export())


@pytest.mark.parametrize("milliseconds", [0, 0.3, 0.6, 1, 2, 4, 8, 16])
def test_a_cancelled_append_is_whole(dsn: str, milliseconds: float) -> None:
    """Cancelled at whatever moment, an append has stored its message or nothing."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            for number in range(5):
                large = Message("user", f"{number}" * 300_000)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(milliseconds / 1_000):
                        await store.append(large)
                before = await store.full()
                await store.append(HELLO)
                await store.replace(await store.load())
                assert await store.full() == [*before, HELLO]

    asyncio.run(write())


def test_repetition_after_cancellation_is_stored_twice(dsn: str) -> None:
    """A cancelled append is not in doubt: nobody was told to repeat it."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            for yields in range(12):
                task = asyncio.create_task(store.append(HELLO))
                for _ in range(yields):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.wait([task])
                stored = len(await store.full())
                await store.append(HELLO)
                assert len(await store.full()) == stored + 1

    asyncio.run(write())


def test_simultaneous_appends_keep_their_starting_order(dsn: str) -> None:
    """Tasks that append to one store do not overtake one another, and a reader waits its turn."""
    messages = [Message("user", str(number)) for number in range(20)]

    async def write() -> list[Message]:
        async with PostgresStore(dsn) as store:
            await asyncio.gather(*map(store.append, messages), store.load(), store.full())
            return await store.load()

    assert asyncio.run(write()) == messages


def test_store_serves_successive_event_loops(dsn: str) -> None:
    """A script that calls asyncio.run for every request keeps its store and its lock."""
    store = PostgresStore(dsn)

    async def append_twice() -> None:
        await asyncio.gather(store.append(HELLO), store.append(HELLO))

    for _ in range(3):
        asyncio.run(append_twice())

    with pytest.raises(HistoryConflict):
        asyncio.run(PostgresStore(dsn).append(THERE))
    assert asyncio.run(store.load()) == [HELLO] * 6
    asyncio.run(store.aclose())


def test_forgotten_store_releases_its_lock(dsn: str) -> None:
    """Forgetting to close costs a ResourceWarning, not the session."""
    store = PostgresStore(dsn)
    asyncio.run(store.append(HELLO))

    with pytest.warns(ResourceWarning, match="was deleted while still open"):
        del store

    asyncio.run(_append_and_close(PostgresStore(dsn), THERE))
    assert asyncio.run(_texts(PostgresStore(dsn))) == ["hello", "there"]


@pytest.mark.parametrize(("fsync", "setting"), [(True, "on"), (False, "off")])
def test_fsync_is_the_commit_that_waits(dsn: str, setting: str, *, fsync: bool) -> None:
    """Without fsync the server acknowledges before its disk does, for this connection."""

    async def ask() -> Any:
        async with PostgresStore(dsn, fsync=fsync) as store:
            await store.append(HELLO)
            connection = store._link._connection
            assert connection
            return await (await connection.execute("SHOW synchronous_commit")).fetchone()

    assert asyncio.run(ask()) == (setting,)


def test_server_refusal_writes_nothing(dsn: str) -> None:
    """The error says why and what to do, the session is as it was, and the store goes on."""

    async def write() -> None:
        async with PostgresStore(dsn) as store:
            await store.append(HELLO)
            await asyncio.to_thread(_do, dsn, "ALTER TABLE agentic.entries ADD CHECK (seq <> 2)")
            with pytest.raises(HistoryNotWritten, match="violates check constraint"):
                await store.append(THERE)
            await asyncio.to_thread(
                _do, dsn, "ALTER TABLE agentic.entries DROP CONSTRAINT entries_seq_check"
            )
            await store.append(THERE)
            assert await store.full() == [HELLO, THERE]

    asyncio.run(write())


BAD_DSNS = [
    None,
    7,
    "postgresql://ann:sec ret@localhost/agents",
    "host=localhost password=sec ret",
    "postgresql://ann:sec%zzret@localhost/agents",
    "host=localhost password='sec",
    "localhost",
]


@pytest.mark.parametrize("given", BAD_DSNS)
def test_refused_connection_string_is_not_shown(given: Any) -> None:
    """It may hold a password: the error says what one looks like, and shows nothing of it."""
    for make in (PostgresStore, PostgresSessions):
        with pytest.raises(ConfigError, match="a connection string") as caught:
            make(given)
        assert "sec" not in str(caught.value)
        assert caught.value.__cause__ is caught.value.__context__ is None


@pytest.mark.parametrize("given", ["", "../up", "a b", 3])
def test_invalid_session_id_is_refused(dsn: str, given: Any) -> None:
    """A store refuses it as a place of sessions does."""
    with pytest.raises(ConfigError, match="session_id"):
        PostgresStore(dsn, given)


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"port": 1}, "Connection refused.*check the address, and that the server runs"),
        ({"host": "nowhere.invalid"}, "check the address, and that the server runs"),
        ({"password": "wrong"}, "password authentication failed.*check the user and the password"),
        ({"user": "nobody"}, "check the user and the password"),
        ({"dbname": "nowhere"}, "make it with createdb, or correct the name"),
        ({"sslmode": "require"}, "does not support SSL"),
    ],
)
def test_unusable_server_is_one_clear_sentence(
    server: Any, changes: dict[str, Any], remedy: str
) -> None:
    """Wrong address, user, password, database: what the server says, what to do, no password."""
    dsn = server.dsn(**changes)
    password = str(changes.get("password", server.password))

    for error, step in (
        (HistoryNotWritten, PostgresStore(dsn).append(HELLO)),
        (HistoryUnavailable, PostgresStore(dsn).load()),
        (HistoryUnavailable, PostgresSessions(dsn).list()),
    ):
        with pytest.raises(error, match=remedy) as caught:
            asyncio.run(step)
        assert "\n" not in str(caught.value)
        assert password not in str(caught.value)
        assert password not in repr(PostgresStore(dsn)) + repr(PostgresSessions(dsn))


def test_missing_driver_error_names_the_remedy(remedy: Callable[[str], str]) -> None:
    """Only who asks for the address needs the extra."""
    script = "import sys; sys.modules['psycopg'] = None; from agentic import history\n"
    script += "from agentic.history import postgres"

    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )

    assert "ImportError: history.postgres needs psycopg 3:" in done.stderr
    assert remedy("postgres") in done.stderr


@pytest.mark.parametrize("dsn", ["postgresql://a\x00b/x", "host=\x00", "dbname=lone\ud83d"])
def test_non_text_address_is_refused(dsn: str) -> None:
    """A NUL or a lone surrogate is a mistake of the call, and told at once."""
    for kind in (PostgresStore, PostgresSessions):
        with pytest.raises(ConfigError, match="dsn"):
            kind(dsn)


@pytest.mark.parametrize("when", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_times_at_the_extremes_are_listed(dsn: str, when: str) -> None:
    """A message may be of the year 1 or 9999, in any time zone: import and list go on."""
    message = f'{{"v":1,"role":"user","timestamp":"{when}"}}'
    line = f'{{"v":1,"type":"message","message":{message}}}\n'.encode()
    place = PostgresSessions(f"{dsn} options='-c TimeZone=Asia/Tokyo'")

    asyncio.run(place.import_("monday", [line]))

    (info,) = asyncio.run(place.list())
    assert info.created_at.year in {1, 9999}


def test_lock_timeout_is_no_lost_connection(dsn: str) -> None:
    """What the administrator of the server has set, and not the address, is the reason."""
    impatient = psycopg.conninfo.make_conninfo(dsn, options="-c lock_timeout=50")

    async def write() -> None:
        async with PostgresStore(dsn, "other") as store:
            await store.append(HELLO)
        with psycopg.connect(dsn) as other:
            other.execute("LOCK TABLE agentic.sessions")
            async with PostgresStore(impatient) as store:
                with pytest.raises(HistoryNotWritten, match="another program holds the tables"):
                    await store.append(HELLO)

    asyncio.run(write())
