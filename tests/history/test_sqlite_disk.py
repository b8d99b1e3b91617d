"""What a database does on a full disk, after a crash, and to whom it costs what."""

import asyncio
import contextlib
import resource
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentic.errors import HistoryNotWritten
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.history.sqlite._database import measure_wal
from agentic.history.sqlite._rows import SqliteRows
from agentic.messages import Message

BULK = Message("user", "x" * 3_000)
LATER = Message("user", "after space was freed")
SUMMARY = Message("system", "They greeted.")
_Ask: TypeAlias = Callable[[SqliteRows], Any]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database may be; nothing is there yet."""
    return tmp_path / "sessions.db"


@contextlib.contextmanager
def _file_size_limit(limit_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def _append_until_refused(store: SqliteStore) -> list[Message]:
    """Return what was acknowledged before the first refusal."""
    acknowledged: list[Message] = []
    with contextlib.suppress(HistoryNotWritten):
        while True:
            await store.append(BULK)
            acknowledged.append(BULK)
    return acknowledged


@pytest.mark.parametrize("fsync", [False, True])
def test_write_failing_midway_leaves_nothing(path: Path, *, fsync: bool) -> None:
    """Refused, the session is as it was; it goes on when there is room again."""

    async def write() -> None:
        async with SqliteStore(path, fsync=fsync) as store:
            with _file_size_limit(200_000):
                acknowledged = await _append_until_refused(store)
                assert await store.full() == acknowledged
                with pytest.raises(HistoryNotWritten, match="free some space"):
                    await store.replace([BULK] * 100)
                with pytest.raises(HistoryNotWritten, match="free some space"):
                    await store.put("x" * 300_000)
            await store.append(LATER)
            assert await store.full() == await store.load() == [*acknowledged, LATER]
            assert len(acknowledged) > 10

    asyncio.run(write())


@pytest.mark.parametrize("fsync", [False, True])
def test_wal_of_an_open_store_stays_small(path: Path, *, fsync: bool) -> None:
    """Also if one entry is large; a put waits for the checkpoint, which is in the same thread."""

    async def write() -> list[int]:
        sizes = []
        async with SqliteStore(path, fsync=fsync) as store:
            for kilobytes in (300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 300, 5_000):
                await store.append(Message("user", "x" * 1_000 * kilobytes))
                await store.put(f"{kilobytes}")
                sizes.append(measure_wal(path))
            assert len(await store.full()) == len(sizes)
        return sizes

    sizes = asyncio.run(write())

    assert max(sizes) < 4_000_000


FILL_A_DISK = """
import asyncio, sys
from pathlib import Path
from agentic.errors import HistoryNotWritten
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message

async def fill(folder):
    ballast, count = folder / "ballast", 0
    ballast.write_bytes(bytes(300_000))
    async with SqliteStore(folder / "sessions.db") as store:
        try:
            while True:
                await store.append(Message("user", f"{count} " + "x" * 3_000))
                count += 1
        except HistoryNotWritten as problem:
            print(problem)
        assert len(await store.full()) == count > 5
        ballast.unlink()
        await store.append(Message("user", "after"))
        assert [message.content for message in await store.full()][count:] == ["after"]

asyncio.run(fill(Path(sys.argv[1])))
"""


def test_session_outlives_a_full_disk(tmp_path: Path) -> None:
    """On a disk of 1 MB: refused when it is full, whole all the time, written on afterwards."""
    mount = f'mount -t tmpfs -o size=1m tmpfs "{tmp_path}"'
    namespace = ["unshare", "--mount", "sh", "-ec"]
    if not shutil.which("unshare") or subprocess.run([*namespace, mount], check=False).returncode:
        pytest.skip("needs to be allowed to mount a tmpfs of its own")
    command = [*namespace, f'{mount}; exec "$@"', "sh", sys.executable, "-c", FILL_A_DISK, tmp_path]

    done = subprocess.run(command, check=True, capture_output=True, text=True)

    assert "the disk is full: free some space" in done.stdout


def test_cut_wal_holds_a_beginning(tmp_path: Path) -> None:
    """After a power cut a WAL may end anywhere: what is read is what was said, up to some point."""
    path, copy, wal = (tmp_path / name for name in ("a.db", "cut.db", "a.db-wal"))
    messages = [Message("user", f"{number} " + "x" * 500 * number) for number in range(12)]

    def cut(wal: bytes) -> None:
        for left in tmp_path.glob("cut.db*"):
            left.unlink()
        shutil.copy(path, copy)
        Path(f"{copy}-wal").write_bytes(wal)

    async def read() -> int:
        found = await SqliteStore(copy).full()
        assert found == await SqliteStore(copy).load() == messages[: len(found)]
        return len(found)

    async def write() -> None:
        async with SqliteStore(path) as store:
            for message in messages:
                await store.append(message)
            whole = wal.read_bytes()
            lengths = set()
            for end in range(0, len(whole), 997):
                cut(whole[:end])
                lengths.add(await read())
            assert lengths == set(range(12))

    asyncio.run(write())


async def _write_sessions(path: Path, *lengths: int) -> None:
    for length in lengths:
        async with SqliteStore(path, str(length)) as store:
            for number in range(length):
                await store.append(Message("user", f"{number}"))
                if number % 50 == 0:
                    await store.replace([SUMMARY])
            await store.replace([SUMMARY, SUMMARY])
            await store.append(LATER)


def _count_steps(path: Path, session_id: str, ask: _Ask) -> int:
    """Count the instructions that SQLite carries out to answer a question about a session."""
    count = 0

    def tick() -> int:
        nonlocal count
        count += 1
        return 0

    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = SqliteRows.find(connection, session_id, session_id)
        assert rows
        connection.set_progress_handler(tick, 1)
        rows.ask(ask(rows))
    return count


def _ask_of_state(question: str) -> _Ask:
    def ask(rows: SqliteRows) -> Any:
        state = yield from rows.state()
        return (yield from getattr(rows, question)(state))

    return ask


@pytest.mark.slow
@pytest.mark.parametrize(
    "ask",
    [*map(_ask_of_state, ["view", "restored", "before_replace"]), SqliteRows.diff],
    ids=["view", "restored", "before_replace", "diff"],
)
def test_long_session_costs_no_more(path: Path, ask: _Ask) -> None:
    """Of 3,000 messages, SQLite looks at those of the answer, and finds them without a search."""
    asyncio.run(_write_sessions(path, 100, 3_000))

    short, long = (_count_steps(path, session_id, ask) for session_id in ("100", "3000"))

    assert abs(short - long) <= 2  # the end of the table, or of another session
    assert long < 1_500


@pytest.mark.parametrize("key", ["7", "none"])
def test_key_is_found_by_index(path: Path, key: str) -> None:
    """A run that is replayed asks for the key of each of its messages."""

    async def write(count: int) -> None:
        async with SqliteStore(path, str(count)) as store:
            for number in range(count):
                await store.append(Message("user", f"{number}"), key=str(number))

    asyncio.run(write(20))
    asyncio.run(write(200))

    short, long = (
        _count_steps(path, each, lambda rows: rows.keyed(key, "7", "y")) for each in ("20", "200")
    )

    assert abs(short - long) <= 6  # the end of the table, or of another session


def test_list_reads_one_row_each(path: Path) -> None:
    """However long they are."""
    asyncio.run(_write_sessions(path, 10, 2_000))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        from_entries = connection.execute(
            "EXPLAIN QUERY PLAN SELECT max(seq) FROM entries WHERE session = 1"
        ).fetchall()

    infos = asyncio.run(SqliteSessions(path).list())

    assert [(info.id, info.messages) for info in infos] == [("2000", 2_001), ("10", 11)]
    assert "SEARCH entries USING PRIMARY KEY (session=?)" in str(from_entries)


APPEND = """
import asyncio, sys
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message

async def write(path, session_id, count):
    sys.stdin.readline()
    async with SqliteStore(path, session_id) as store:
        for number in range(int(count)):
            await store.append(Message("user", f"{session_id} {number}"))

asyncio.run(write(*sys.argv[1:]))
"""


@pytest.mark.slow
def test_many_processes_make_one_database(path: Path) -> None:
    """They make it together, and each session holds its own messages, in order."""
    count, names = 60, [f"s{number}" for number in range(6)]
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", APPEND, path, name, str(count)], stdin=subprocess.PIPE
                )
            )
            for name in names
        ]
        for process in processes:
            assert process.stdin
            process.stdin.write(b"go\n")
            process.stdin.close()
        assert [process.wait() for process in processes] == [0] * len(names)

    for name in names:
        full = asyncio.run(SqliteStore(path, name).full())
        assert [message.content for message in full] == [f"{name} {n}" for n in range(count)]
    assert [each.name for each in path.parent.iterdir()] == [path.name]
