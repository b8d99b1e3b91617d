"""Files, times, locks and names as nobody expects them."""

import asyncio
import fcntl
import os
import random
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import (
    ConfigError,
    HistoryConflict,
    HistoryCorrupt,
    HistoryError,
    HistoryNotWritten,
    NothingToRestore,
    OutputNotFound,
    SessionNotFound,
)
from agentic.history import JsonlSessions, JsonlStore
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.messages import Message

HELLO = Message("user", "hello")
OPEN: list[Callable[[Path], Any]] = [JsonlStore, SqliteStore]


async def _write(store: Any, *messages: Message) -> None:
    async with store:
        for message in messages or [HELLO]:
            await store.append(message)


def test_an_empty_file_is_no_session(tmp_path: Path) -> None:
    """It is not listed, though it changed last, and not exported, renamed or redacted."""
    place = JsonlSessions(tmp_path)
    asyncio.run(_write(place.open("monday")))
    (tmp_path / "tuesday.jsonl").touch()
    (tmp_path / "wednesday.jsonl").write_bytes(b"\n\n")
    os.utime(tmp_path / "monday.jsonl", (0, 0))

    assert [info.id for info in asyncio.run(place.list())] == ["monday"]
    with pytest.raises(SessionNotFound):
        asyncio.run(place.rename("tuesday", "empty"))
    with pytest.raises(SessionNotFound):
        asyncio.run(place.redact("tuesday", 0, "[gone]"))

    async def export() -> list[bytes]:
        return [line async for line in place.export("tuesday")]

    with pytest.raises(SessionNotFound):
        asyncio.run(export())


def test_an_empty_file_gives_way(tmp_path: Path) -> None:
    """It can be removed, written to, and replaced by an import."""
    place = JsonlSessions(tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").touch()

    async def use() -> None:
        await place.delete("a")
        await _write(place.open("b"))
        await place.import_("c", place.export("b"))

    asyncio.run(use())

    assert {info.id for info in asyncio.run(place.list())} == {"b", "c"}


@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_an_import_of_nothing_is_refused(tmp_path: Path, kind: type[Any]) -> None:
    """An empty file is no session, so it makes none."""
    place = kind(tmp_path / "sessions")

    for lines in ([], [b"\n"]):
        with pytest.raises(HistoryCorrupt, match="no entry"):
            asyncio.run(place.import_("monday", lines))

    assert list(asyncio.run(place.list())) == []


EARLY = timezone(timedelta(hours=14))
LATE = timezone(timedelta(hours=-12))
TIMES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=EARLY),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=LATE),
    datetime(1, 1, 1),  # noqa: DTZ001  as some program may write it
    datetime(9999, 12, 31, 23, 59),  # noqa: DTZ001  as above
]


@pytest.mark.parametrize("when", TIMES, ids=str)
@pytest.mark.parametrize("kind", [JsonlSessions, SqliteSessions])
def test_times_at_the_extremes_are_listed(tmp_path: Path, kind: type[Any], when: datetime) -> None:
    """A message may be of the year 1 or 9999, in any time zone: list and import go on."""
    first, second = JsonlSessions(tmp_path / "folder"), kind(tmp_path / "sessions")
    message = Message("user", "hello", timestamp=when)

    async def move() -> None:
        await _write(first.open("monday"), message)
        await second.import_("tuesday", first.export("monday"))

    asyncio.run(move())

    for place in (first, second):
        (info,) = asyncio.run(place.list())
        assert info.created_at.year in {1, 9998, 9999}
        assert info.created_at.utcoffset() == timedelta(0)
    assert asyncio.run(second.open("tuesday").load()) == [message]


def test_times_beyond_datetime_are_listed(tmp_path: Path) -> None:
    """A file system and a database can say more than a datetime."""
    folder, database = JsonlSessions(tmp_path / "folder"), SqliteSessions(tmp_path / "s.db")
    for place in (folder, database):
        asyncio.run(_write(place.open("monday")))
    os.utime(tmp_path / "folder" / "monday.jsonl", (2**40, 2**40))
    connection = sqlite3.connect(database.path)
    with connection:
        connection.execute("UPDATE sessions SET created_at = 1e300")
        connection.execute("UPDATE entries SET written_at = -1e300")
    connection.close()

    for place in (folder, database):
        assert len(asyncio.run(place.list())) == 1


def _export(title: str, output: str) -> list[bytes]:
    """Make the lines of a session."""

    async def make(folder: Path) -> list[bytes]:
        place = JsonlSessions(folder)
        async with place.open("a") as store:
            await store.append(Message("user", title))
            await store.put(output)
        await place.rename("a", title)
        return [line async for line in place.export("a")]

    import tempfile  # noqa: PLC0415  for this alone

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(make(Path(folder)))


def test_one_of_two_imports_completes(tmp_path: Path) -> None:
    """The other changes nothing: no title, no output of it is there."""
    exports = {name: _export(name, f"output of {name}") for name in ("first", "second")}

    async def race(place: JsonlSessions) -> None:
        steps = [place.import_("a", lines) for lines in exports.values()]
        results = await asyncio.gather(*steps, return_exceptions=True)
        assert sorted(type(one).__name__ for one in results) == ["HistoryConflict", "NoneType"]
        winner = list(exports)[results.index(None)]
        assert [info.title for info in await place.list()] == [winner]
        assert [line async for line in place.export("a")] == exports[winner]

    for number in range(20):
        asyncio.run(race(JsonlSessions(tmp_path / str(number))))


@pytest.mark.parametrize("after", range(12))
def test_killed_import_leaves_nothing(tmp_path: Path, after: int) -> None:
    """Wherever it was, there is no session or a whole one, and the next import is whole."""
    exports = {name: _export(name, f"output of {name}") for name in ("first", "second")}
    place = JsonlSessions(tmp_path / "folder")

    killed = _run_and_die(lambda: asyncio.run(place.import_("a", exports["first"])), after)
    listed = asyncio.run(place.list())

    async def lines() -> list[bytes]:
        return [line async for line in place.export("a")]

    if listed:
        assert asyncio.run(lines()) == exports["first"]
    else:
        assert killed
        asyncio.run(place.import_("a", exports["second"]))
        assert asyncio.run(lines()) == exports["second"]


def _run_and_die(step: Callable[[], None], after: int) -> bool:
    """Run a step in a child that is killed when it renames, links or opens for the n-th time."""
    child = os.fork()
    if child == 0:
        left = iter(range(after))

        def die(event: str, args: tuple[Any, ...]) -> None:
            writes = event == "open" and isinstance(args[2], int) and args[2] & os.O_CREAT
            changes = event in {"os.rename", "os.link", "os.remove", "os.mkdir", "fcntl.flock"}
            if (writes or changes) and next(left, None) is None:
                os.kill(os.getpid(), 9)

        import sys  # noqa: PLC0415  in the child

        sys.addaudithook(die)
        try:
            step()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def _fork(step: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            step()
        finally:
            os._exit(0)
    return child


def _wait_for(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("make", OPEN)
def test_closed_store_is_free_despite_child(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    """A process that was forked meanwhile has the lock's file open, and does not hold the lock."""
    path = tmp_path / "session"

    async def write() -> None:
        async with make(path) as store:
            await store.append(HELLO)
            child = _fork(lambda: time.sleep(30))
        try:
            await _write(make(path))
        finally:
            os.kill(child, 9)
            _wait_for(child)

    asyncio.run(write())


@pytest.mark.parametrize("make", OPEN)
def test_closing_child_leaves_the_lock(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    """The lock is the parent's: what its copy in a forked child does sets nobody free."""
    path = tmp_path / "session"

    async def write() -> None:
        async with make(path) as store:
            await store.append(HELLO)
            lock = store._log if isinstance(store, JsonlStore) else store._writer
            _wait_for(_fork(lock.close))
            with pytest.raises(HistoryConflict):
                await _write(make(path))

    asyncio.run(write())


@pytest.mark.parametrize("fsync", [False, True])
@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore])
def test_forked_child_is_another_writer(tmp_path: Path, kind: type[Any], *, fsync: bool) -> None:
    """It has a copy of a store that its parent has open, and is refused as long as that is so."""
    store = kind(tmp_path / "session", fsync=fsync)

    def write(name: str) -> None:
        try:
            asyncio.run(store.append(Message("user", name)))
        except HistoryConflict:
            (tmp_path / name).touch()
        asyncio.run(store.aclose())

    asyncio.run(store.append(HELLO))
    _wait_for(_fork(lambda: write("refused")))
    asyncio.run(store.append(HELLO))
    asyncio.run(store.aclose())
    _wait_for(_fork(lambda: write("later")))

    assert (tmp_path / "refused").exists()
    assert asyncio.run(store.full()) == [HELLO, HELLO, Message("user", "later")]


@pytest.mark.parametrize("make", OPEN)
def test_a_lock_without_effect_is_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], Any]
) -> None:
    """Some network file systems say yes to everybody: nothing is written there."""
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)

    with pytest.raises(HistoryNotWritten, match="locks have no effect"):
        asyncio.run(_write(make(tmp_path / "session")))


@pytest.mark.parametrize("make", OPEN)
def test_new_folders_are_the_owners(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    """Every folder that is made on the way to a session has mode 0700."""
    asyncio.run(_write(make(tmp_path / "one" / "two" / "session")))
    asyncio.run(JsonlSessions(tmp_path / "three" / "four").import_("a", _export("a", "b")))

    made = [path for path in tmp_path.rglob("*") if path.is_dir()]
    assert len(made) >= 4
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o700}


@pytest.mark.parametrize("content", [b"one\ntwo\n", b'{"a": 1}\n', b"\x00\xff\n", b"[1]\n"])
def test_non_session_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Somebody's own file is neither appended to, nor renamed, nor removed."""
    place, path = JsonlSessions(tmp_path), tmp_path / "notes.jsonl"
    path.write_bytes(content)

    async def refuse() -> None:
        async with place.open("notes") as store:
            for step in (
                store.append(HELLO),
                store.replace([]),
                store.put("output"),
                store.redact(0, "[gone]"),
                place.delete("notes"),
                place.rename("notes", "mine"),
                anext(place.export("notes")),
            ):
                with pytest.raises(HistoryCorrupt):
                    await step

    asyncio.run(refuse())

    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def _damage(content: bytes, seed: int) -> bytes:
    """Change a few bytes, or cut some off."""
    chance = random.Random(seed)  # noqa: S311  no secret
    if chance.random() < 0.2:
        return content[: chance.randrange(1, len(content))]
    found = bytearray(content)
    for _ in range(chance.choice([1, 5, 50])):
        start = chance.choice([0, chance.randrange(len(content))])
        for at in range(start, min(start + chance.choice([1, 40]), len(content))):
            found[at] = chance.randrange(256)
    return bytes(found)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bytes]:
    """Return the content of a database with a few sessions."""
    place = SqliteSessions(tmp_path_factory.mktemp("whole") / "s.db")

    async def write() -> None:
        for name in ("a", "b"):
            async with place.open(name) as store:
                for number in range(30):
                    await store.append(Message("user", f"{number} " * 40))
                await store.replace([HELLO])
                await store.put("output " * 500)
        await place.rename("a", "a title")

    asyncio.run(write())
    connection = sqlite3.connect(place.path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return place.path.read_bytes()


async def _use(place: SqliteSessions) -> set[type[HistoryError]]:
    """Do everything with a session, and return the kinds of errors that this led to."""
    told = set()

    async def export() -> None:
        async for _ in place.export("a"):
            pass

    async with place.open("a") as store:
        for step in (
            place.list,
            store.load,
            store.full,
            store.diff,
            lambda: store.get("out-0123456789abcdef"),
            export,
            lambda: store.append(HELLO),
            store.restore,
            lambda: place.rename("a", "other"),
            lambda: place.redact("b", 0, "[gone]"),
            lambda: place.delete("b"),
        ):
            try:
                await step()
            except HistoryError as error:
                told.add(type(error))
    return told


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_database_is_told(
    tmp_path: Path, database: bytes, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever bytes are wrong, what is raised is a HistoryError."""
    monkeypatch.setattr("agentic.history.sqlite._database.BUSY_SECONDS", 0.1)
    place = SqliteSessions(tmp_path / "s.db")
    place.path.write_bytes(_damage(database, seed))

    asyncio.run(_use(place))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ("title = NULL", {OutputNotFound}),  # which every database says of an unknown output
        ("title = x'ff'", {OutputNotFound}),
        ("created_at = 'then'", {OutputNotFound, HistoryCorrupt}),
        ("id = x'00'", {OutputNotFound, NothingToRestore, SessionNotFound}),
    ],
)
def test_wrongly_typed_row_is_told(
    tmp_path: Path, database: bytes, values: str, told: set[type[HistoryError]]
) -> None:
    """As another program may write it: SQLite takes anything. Only a time cannot be made up."""
    place = SqliteSessions(tmp_path / "s.db")
    place.path.write_bytes(database)
    connection = sqlite3.connect(place.path)
    connection.execute("PRAGMA ignore_check_constraints = ON")
    with connection:
        connection.execute(f"UPDATE OR IGNORE sessions SET {values}")  # noqa: S608  the test's own
    connection.close()

    assert asyncio.run(_use(place)) == told


@pytest.mark.parametrize("path", ["a\x00b", "lone \ud83d", Path("a\x00b"), "a/\ud83d/b"])
@pytest.mark.parametrize("kind", [JsonlStore, SqliteStore, JsonlSessions, SqliteSessions])
def test_impossible_path_is_refused(kind: type[Any], path: Any) -> None:
    """A NUL or a lone surrogate is a mistake of the call, and told at once."""
    with pytest.raises(ConfigError, match="path"):
        kind(path)


@pytest.mark.parametrize("name", ["a\x00b", "lone \ud83d", "\udc80"])
def test_non_text_name_is_refused(tmp_path: Path, name: str) -> None:
    """Of a session or a title, in every kind of place."""
    for place in (JsonlSessions(tmp_path), SqliteSessions(tmp_path / "s.db")):
        with pytest.raises(ConfigError):
            place.open(name)
        with pytest.raises(ConfigError):
            asyncio.run(place.rename("a", name))
