import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic.errors import (
    HistoryConflict,
    HistoryCorrupt,
    HistoryNotWritten,
    NothingToRestore,
)
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.messages import Message

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
SUMMARY = Message("system", "They greeted.")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be; nothing is there yet."""
    return tmp_path / "sessions.db"


async def _append(store: SqliteStore, message: Message = HELLO) -> None:
    async with store:
        await store.append(message)


async def _texts(store: SqliteStore) -> list[str]:
    return [message.content for message in await store.load()]


def _query(path: Path, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(query).fetchall()


def test_unwritten_session_is_empty_without_file(path: Path) -> None:
    """Loading, reading all and closing leave no trace."""

    async def look() -> None:
        async with SqliteStore(path) as store:
            assert await store.load() == await store.full() == []
            for ask in (store.restore, store.diff):
                with pytest.raises(NothingToRestore, match=r"session 'main' in .*db has no"):
                    await ask()

    asyncio.run(look())
    assert list(path.parent.iterdir()) == []


def test_undo_of_nothing_makes_no_session(path: Path) -> None:
    """In a database of others, too."""
    asyncio.run(_append(SqliteStore(path, "other")))

    async def undo() -> None:
        async with SqliteStore(path) as store:
            with pytest.raises(NothingToRestore):
                await store.restore()

    asyncio.run(undo())
    assert [info.id for info in asyncio.run(SqliteSessions(path).list())] == ["other"]


def test_entry_row_holds_its_file_line(path: Path) -> None:
    """Each row says what it leaves: its view, the standing replace, how many messages there are."""

    async def write() -> None:
        async with SqliteStore(path) as store:
            await store.append(HELLO)
            await store.replace([SUMMARY])
            await store.append(THERE)
            await store.restore()

    asyncio.run(write())
    rows = "SELECT seq, view, standing, messages, kind, text FROM entries"
    found = [(*row[:-1], json.loads(str(row[-1], "utf-8"))["type"]) for row in _query(path, rows)]  # type: ignore[call-overload]
    assert found == [
        (1, 0, 0, 1, "message", "message"),
        (2, 2, 2, 1, "replace", "replace"),
        (3, 2, 2, 2, "message", "message"),
        (4, 4, 0, 2, "restore", "restore"),
    ]


def test_only_the_private_database_file_stays(tmp_path: Path) -> None:
    """The database, its WAL and its locks are for the owner only; closed, one file is left."""
    path = tmp_path / "sessions" / "2026" / "all.db"

    async def write() -> set[int]:
        async with SqliteStore(path, fsync=True) as store:
            await store.append(HELLO)
            files = [file for file in path.parent.rglob("*") if file.is_file()]
            assert len(files) == 4
            return {file.stat().st_mode & 0o777 for file in files}

    assert asyncio.run(write()) == {0o600}
    assert list(path.parent.iterdir()) == [path]


def test_two_writers_in_one_process(path: Path) -> None:
    """The second gets HistoryConflict, until the first is closed; another session is free."""

    async def write() -> list[str]:
        first, second = SqliteStore(path), SqliteStore(path)
        async with first, second, SqliteStore(path, "other") as other:
            await first.append(HELLO)
            steps = second.append(THERE), second.replace([SUMMARY]), second.put("red")
            for refused in (*steps, second.restore()):
                with pytest.raises(HistoryConflict, match="is in use by another writer"):
                    await refused
            await other.append(HELLO)
            await first.aclose()
            await second.append(THERE)
            return await _texts(first)

    assert asyncio.run(write()) == ["hello", "there"]


@pytest.mark.slow
def test_two_writers_in_two_processes(path: Path, write_elsewhere: Callable[..., str]) -> None:
    """The same across processes: refused while we write, welcome when we are done."""

    async def write() -> tuple[str, str, str]:
        async with SqliteStore(path) as store:
            await store.append(HELLO)
            refusal, other = (
                write_elsewhere(SqliteStore, path, "main"),
                write_elsewhere(SqliteStore, path, "other"),
            )
        return refusal, other, write_elsewhere(SqliteStore, path, "main")

    refusal, other, welcome = asyncio.run(write())
    assert "session 'main' in" in refusal
    assert "is in use by another writer" in refusal
    assert other == welcome == ""
    assert asyncio.run(_texts(SqliteStore(path))) == ["hello", "from elsewhere"]


def test_a_reader_while_a_writer_writes(path: Path) -> None:
    """A reader takes no lock, and sees each entry once it is acknowledged."""

    async def write() -> None:
        reader = SqliteStore(path)
        async with SqliteStore(path) as writer:
            await writer.append(HELLO)
            assert await _texts(reader) == ["hello"]
            await writer.replace([SUMMARY])
            assert await _texts(reader) == ["They greeted."]
            assert await reader.full() == [HELLO]
            assert (await reader.diff()).dropped == (HELLO,)

    asyncio.run(write())


def test_outdated_view_replaces_nothing(path: Path) -> None:
    """What somebody else wrote since this store loaded is not hidden: load again, then replace."""

    async def write() -> None:
        async with SqliteStore(path) as store:
            await store.load()
            await _append(SqliteStore(path))
            await store.append(THERE)
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace([SUMMARY])
            assert await _texts(store) == ["hello", "there"]
            await store.replace([SUMMARY])
            assert await _texts(store) == ["They greeted."]

    asyncio.run(write())


def test_session_begun_anew_is_another(path: Path) -> None:
    """As many entries are not the same entries."""

    async def write() -> None:
        async with SqliteStore(path) as store:
            await _append(SqliteStore(path))
            await store.load()
            await SqliteSessions(path).delete("main")
            await _append(SqliteStore(path), THERE)
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace([SUMMARY])

    asyncio.run(write())
    assert asyncio.run(_texts(SqliteStore(path))) == ["there"]


def test_write_past_lock_interleaves_nothing(path: Path) -> None:
    """A sequence number is there once: the writer is told, and then goes on after the stranger."""

    async def write() -> None:
        async with SqliteStore(path) as store:
            await store.append(HELLO)
            copy = "INSERT INTO entries SELECT session, 2, view, standing, 2, summarized, kind"
            _query(path, f"{copy}, text, written_at, key FROM entries")
            with pytest.raises(HistoryConflict, match="ignored its lock"):
                await store.append(THERE)
            await store.append(THERE)
            assert await store.full() == [HELLO, HELLO, THERE]

    asyncio.run(write())


def test_removed_database_is_begun_anew(path: Path) -> None:
    """Nothing is written to a file that no path leads to, and no old WAL is taken for the new."""

    async def write() -> list[str]:
        async with SqliteStore(path) as store:
            await store.append(HELLO)
            os.unlink(path)  # noqa: PTH108  at this very moment
            await store.append(THERE)
            return await _texts(store)

    assert asyncio.run(write()) == ["there"]
    assert list(path.parent.iterdir()) == [path]


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    """What mkstemp made serves as a place."""
    path.touch()
    assert asyncio.run(SqliteStore(path).load()) == []

    asyncio.run(_append(SqliteStore(path)))

    assert asyncio.run(_texts(SqliteStore(path))) == ["hello"]


@pytest.mark.parametrize("content", [b"my precious notes\n" * 100, b'{"v":1,"type":"message"}\n'])
def test_non_database_file_is_left_alone(path: Path, content: bytes) -> None:
    """The error says so, at every door."""
    path.write_bytes(content)
    store, place = SqliteStore(path), SqliteSessions(path)

    for ask in (store.load, store.full, store.restore, lambda: store.append(HELLO), place.list):
        with pytest.raises(HistoryCorrupt, match=r"not a database.*choose another file"):
            asyncio.run(ask())  # type: ignore[arg-type]

    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_another_applications_database_is_left_alone(path: Path) -> None:
    """A table in it or an application id of its own tell."""
    _query(path, "CREATE TABLE bookmarks (address TEXT)")
    before = path.read_bytes()

    for ask in (SqliteStore(path).load(), SqliteStore(path).append(HELLO)):
        with pytest.raises(HistoryCorrupt, match="a database of another application"):
            asyncio.run(ask)  # type: ignore[arg-type]

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_newer_database_is_left_alone(path: Path) -> None:
    """Whoever goes back to an old version is told, and loses nothing."""
    asyncio.run(_append(SqliteStore(path)))
    _query(path, "PRAGMA user_version = 99")

    for ask in (SqliteStore(path).load(), SqliteStore(path).append(HELLO)):
        with pytest.raises(HistoryCorrupt, match=r"version 99, and this .* knows 3: a newer one"):
            asyncio.run(ask)  # type: ignore[arg-type]

    _query(path, "PRAGMA user_version = 3")
    assert asyncio.run(_texts(SqliteStore(path))) == ["hello"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"v":2,"type":"message"}', "in version 2"),
        ('{"v":1,"type":"message","message":{"role":"pope"}}', "one of system, user"),
        ("not json", "Expecting value"),
    ],
)
def test_damaged_entry_is_named_by_number(path: Path, text: str, problem: str) -> None:
    """An entry that cannot be read is an error that says which, and nothing is changed."""
    for message in (HELLO, THERE):
        asyncio.run(_append(SqliteStore(path), message))
    _query(path, f"UPDATE entries SET text = CAST('{text}' AS BLOB) WHERE seq = 2")  # noqa: S608

    for read in (SqliteStore(path).load, SqliteStore(path).full):
        with pytest.raises(HistoryCorrupt, match=f"(?s)entry 2 of session 'main'.*{problem}"):
            asyncio.run(read())


def test_damage_before_present_view_is_harmless(path: Path) -> None:
    """load() looks no further back than it must; full() tells."""

    async def write() -> None:
        async with SqliteStore(path) as store:
            await store.append(HELLO)
            await store.replace([SUMMARY])
        _query(path, "UPDATE entries SET text = CAST('damaged' AS BLOB) WHERE seq = 1")
        assert await store.load() == [SUMMARY]
        with pytest.raises(HistoryCorrupt, match="entry 1"):
            await store.full()

    asyncio.run(write())


def test_damaged_output_is_noticed_and_mended(path: Path) -> None:
    """The reference is a digest of the content."""

    async def keep() -> None:
        async with SqliteStore(path) as store:
            ref = await store.put("1 failed")
            _query(path, "UPDATE outputs SET content = CAST('0 failed' AS BLOB)")
            with pytest.raises(HistoryCorrupt, match=f"output {ref} of session 'main'"):
                await store.get(ref)
            assert await store.put("1 failed") == ref
            assert await store.get(ref) == "1 failed"

    asyncio.run(keep())


@pytest.mark.parametrize("fsync", [False, True])
def test_a_cancelled_append_is_whole(path: Path, *, fsync: bool) -> None:
    """Cancelled at whatever moment, an append has stored its message or nothing."""

    async def write(yields: int) -> None:
        async with SqliteStore(path, fsync=fsync) as store:
            task = asyncio.create_task(store.append(Message("user", f"cancelled {yields}")))
            for _ in range(yields):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            before = await store.full()
            await store.append(HELLO)
            assert await store.full() == [*before, HELLO]

    for yields in range(5):
        asyncio.run(write(yields))


@pytest.mark.parametrize("fsync", [False, True])
def test_simultaneous_appends_keep_their_starting_order(path: Path, *, fsync: bool) -> None:
    """Tasks do not overtake one another, the one that opens the database and the others."""
    messages = [Message("user", str(number)) for number in range(20)]

    async def write() -> list[Message]:
        async with SqliteStore(path, fsync=fsync) as store:
            await asyncio.gather(*map(store.append, messages))
            return await store.load()

    assert asyncio.run(write()) == messages


def test_successive_event_loops_leave_no_thread(path: Path) -> None:
    """A script that calls asyncio.run for every request keeps its store and its lock."""
    store, before = SqliteStore(path), set(threading.enumerate())

    for _ in range(3):
        asyncio.run(store.append(HELLO))
    asyncio.run(store.aclose())

    assert asyncio.run(store.load()) == [HELLO] * 3
    assert not [one for one in threading.enumerate() if one not in before]


def test_held_database_does_not_block_loop(path: Path) -> None:
    """Who has to wait does so in a thread, in order, and is done when the other one is."""
    asyncio.run(_append(SqliteStore(path, "other")))
    other = sqlite3.connect(path, isolation_level=None)

    async def write() -> tuple[int, list[str]]:
        async with SqliteStore(path) as store:
            await store.append(HELLO)
            other.execute("BEGIN IMMEDIATE")
            work = asyncio.gather(*(store.append(Message("user", str(n))) for n in range(3)))
            ticks = 0
            while ticks < 20:
                await asyncio.sleep(0.005)
                ticks += 1
                assert not work.done()
            other.execute("COMMIT")
            await work
            return ticks, await _texts(store)

    assert asyncio.run(write()) == (20, ["hello", "0", "1", "2"])
    other.close()


def test_endlessly_held_database_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the patience has run out, nothing is stored and the error says why."""
    monkeypatch.setattr("agentic.history.sqlite._sessions.BUSY_SECONDS", 0.05)
    asyncio.run(_append(SqliteStore(path, "other")))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async def write() -> None:
        async with SqliteStore(path) as store:
            with pytest.raises(HistoryNotWritten, match="another program holds the database"):
                await store.append(THERE)
            other.execute("COMMIT")
            await store.append(HELLO)
            assert await store.full() == [HELLO]

    asyncio.run(write())
    other.close()


def test_folder_in_the_way_is_said(tmp_path: Path) -> None:
    """The error names the path and what to check."""
    with pytest.raises(HistoryNotWritten, match="check the path"):
        asyncio.run(SqliteStore(tmp_path).append(HELLO))
    with pytest.raises(OSError, match=f"{tmp_path} cannot be read"):
        asyncio.run(SqliteStore(tmp_path).load())


def test_file_in_folders_way_is_said(path: Path) -> None:
    """The same, one level up."""
    path.touch()

    with pytest.raises(HistoryNotWritten, match="a file is where a folder is needed"):
        asyncio.run(SqliteStore(path / "a.db").append(HELLO))


def test_file_where_folder_was_is_said(tmp_path: Path) -> None:
    """Of a store that has the database open, which was moved."""
    folder = tmp_path / "sessions"

    async def write() -> None:
        async with SqliteStore(folder / "sessions.db") as store:
            await store.append(HELLO)
            folder.rename(tmp_path / "moved")
            folder.touch()
            with pytest.raises(HistoryNotWritten, match="a file is where a folder is needed"):
                await store.append(THERE)

    asyncio.run(write())


@pytest.mark.slow
def test_without_flock_writing_is_refused(path: Path, write_elsewhere: Callable[..., str]) -> None:
    """On a platform without fcntl the error says what to use, rather than to write unlocked."""
    said = write_elsewhere(
        SqliteStore, path, "main", first="import sys; sys.modules['fcntl'] = None"
    )

    assert "ImportError: SqliteStore writes under fcntl.flock" in said
    assert list(path.parent.iterdir()) == []


def test_deleted_text_is_in_no_file(path: Path) -> None:
    """A secret is overwritten where it stood, and the WAL that held it is emptied."""
    key = "sk-4eC39HqLyjWDarjtT1zdp7dc"

    async def write() -> None:
        async with SqliteStore(path, "other") as other, SqliteStore(path) as store:
            await other.append(HELLO)
            await store.append(Message("user", key * 100))
            await store.put(key * 1_000)
            await store.aclose()
            await SqliteSessions(path).delete("main")
            await other.append(THERE)
            for file in (path, Path(f"{path}-wal")):
                assert key.encode() not in file.read_bytes()

    asyncio.run(write())
    assert asyncio.run(_texts(SqliteStore(path, "other"))) == ["hello", "there"]


@pytest.mark.slow
def test_entering_history_loads_no_driver() -> None:
    """Only who asks for the database pays for it."""
    code = "import sys; from agentic import history; print('sqlite3' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout == "False\n"


@pytest.mark.slow
def test_long_wal_is_moved_while_writing(path: Path) -> None:
    """A session of megabytes does not wait for its end: the WAL stays a few times its measure."""
    message = Message("user", "x" * 500_000)

    async def write() -> int:
        async with SqliteStore(path) as store:
            for _ in range(60):
                await store.append(message)
                await asyncio.sleep(0.005)
            return os.stat(f"{path}-wal").st_size  # noqa: PTH116  a few bytes of text

    assert asyncio.run(write()) < 20_000_000
