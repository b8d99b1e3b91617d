import asyncio
import io
import json
import os
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
from agentic.history import JsonlStore
from agentic.history._session_file import read_view
from agentic.messages import Message

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
SUMMARY = Message("system", "They greeted.")


async def _append_and_close(store: JsonlStore, message: Message) -> None:
    async with store:
        await store.append(message)


async def _texts(store: JsonlStore) -> list[str]:
    return [message.content for message in await store.load()]


def test_unwritten_session_is_empty_without_file(path: Path) -> None:
    """Loading, reading all and closing leave no trace."""

    async def look() -> None:
        async with JsonlStore(path) as store:
            assert await store.load() == await store.full() == []
            with pytest.raises(NothingToRestore):
                await store.restore()

    asyncio.run(look())
    assert list(path.parent.iterdir()) == []


def test_format_is_json_object_per_line(path: Path) -> None:
    """Each step is an entry: a message, a replace, a restore with the complete history."""

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            await store.replace([SUMMARY])
            await store.restore()

    asyncio.run(write())
    plain = {"v": 1, "role": "user", "content": "hello"}
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"v": 1, "type": "message", "message": plain},
        {
            "v": 1,
            "type": "replace",
            "messages": [{**plain, "role": "system", "content": "They greeted."}],
        },
        {"v": 1, "type": "restore", "messages": [plain]},
    ]


def test_file_is_private_and_folders_made(tmp_path: Path) -> None:
    """A conversation holds secrets: only its owner reads it."""
    path = tmp_path / "sessions" / "2026" / "monday.jsonl"

    asyncio.run(_append_and_close(JsonlStore(path, fsync=True), HELLO))

    assert path.stat().st_mode & 0o777 == 0o600


def test_folder_in_the_way_is_said(tmp_path: Path) -> None:
    """The error names the path, the cause and the remedy."""
    with pytest.raises(HistoryNotWritten, match="a folder is where the file should be"):
        asyncio.run(JsonlStore(tmp_path).append(HELLO))


def test_file_in_folders_way_is_said(path: Path) -> None:
    """The same, one level up and further."""
    path.touch()

    for below in (path / "a.jsonl", path / "b" / "a.jsonl"):
        with pytest.raises(HistoryNotWritten, match="a file is where a folder is needed"):
            asyncio.run(JsonlStore(below).append(HELLO))


def test_relative_path_stays_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool that changes the directory does not move the session."""
    monkeypatch.chdir(tmp_path)
    store = JsonlStore("session.jsonl")
    monkeypatch.chdir("/")

    asyncio.run(_append_and_close(store, HELLO))

    assert (tmp_path / "session.jsonl").exists()


def test_two_writers_in_one_process(path: Path) -> None:
    """The second gets HistoryConflict, until the first is closed."""

    async def write() -> list[str]:
        first, second = JsonlStore(path), JsonlStore(path)
        async with first, second:
            await first.append(HELLO)
            for refused in (second.append(THERE), second.replace([SUMMARY]), second.restore()):
                with pytest.raises(HistoryConflict, match="is in use by another writer"):
                    await refused
            await first.aclose()
            await second.append(THERE)
            return await _texts(first)

    assert asyncio.run(write()) == ["hello", "there"]


def test_two_writers_in_two_processes(path: Path, write_elsewhere: Callable[..., str]) -> None:
    """The same across processes: refused while we write, welcome when we are done."""

    async def write() -> tuple[str, str]:
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            refusal = write_elsewhere(JsonlStore, path)
        return refusal, write_elsewhere(JsonlStore, path)

    refusal, welcome = asyncio.run(write())
    assert "is in use by another writer" in refusal
    assert welcome == ""
    assert asyncio.run(_texts(JsonlStore(path))) == ["hello", "from elsewhere"]


def test_a_reader_while_a_writer_writes(path: Path) -> None:
    """A reader takes no lock, sees each entry once it is acknowledged, and a writer never waits."""

    async def write() -> None:
        reader = JsonlStore(path)
        async with JsonlStore(path) as writer:
            await writer.append(HELLO)
            assert await _texts(reader) == ["hello"]
            await writer.replace([SUMMARY])
            assert await _texts(reader) == ["They greeted."]
            assert await reader.full() == [HELLO]

    asyncio.run(write())


def test_outdated_view_replaces_nothing(path: Path) -> None:
    """What somebody else wrote since this store loaded is not hidden: load again, then replace."""

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.load()
            await _append_and_close(JsonlStore(path), HELLO)
            await store.append(THERE)
            with pytest.raises(HistoryConflict, match="load again"):
                await store.replace([SUMMARY])
            assert await _texts(store) == ["hello", "there"]
            await store.replace([SUMMARY])
            assert await _texts(store) == ["They greeted."]

    asyncio.run(write())


def test_removed_session_is_begun_anew(path: Path) -> None:
    """Nothing is written to a file that no path leads to any more."""
    store = JsonlStore(path)
    asyncio.run(store.append(HELLO))
    path.unlink()

    asyncio.run(_append_and_close(store, THERE))

    assert asyncio.run(_texts(store)) == ["there"]


def test_what_an_editor_added_is_kept(path: Path) -> None:
    """Somebody who writes past the lock is not overwritten, and their half line is moved aside."""
    store = JsonlStore(path)
    asyncio.run(store.append(HELLO))
    with path.open("ab") as editor:
        editor.write(path.read_bytes() + b"half")

    asyncio.run(_append_and_close(store, THERE))

    assert asyncio.run(store.full()) == [HELLO, HELLO, THERE]
    assert Path(f"{path}.torn-1").read_bytes() == b"half"


@pytest.mark.parametrize("fsync", [False, True])
def test_a_cancelled_append_is_whole(path: Path, *, fsync: bool) -> None:
    """Cancelled at whatever moment, an append has stored its message or nothing."""

    async def write(yields: int) -> None:
        async with JsonlStore(path, fsync=fsync) as store:
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
    assert not list(path.parent.glob("*.torn-*"))


@pytest.mark.parametrize("step", ["redact", "restore"])
def test_rewriting_a_file_does_not_block_loop(path: Path, step: str) -> None:
    """What reads a whole file, and may wait for the disk, is done in a thread, and in its turn."""
    arguments = [0, "[gone]"] if step == "redact" else []

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            await store.replace([THERE])
            work = asyncio.ensure_future(getattr(store, step)(*arguments))
            await asyncio.sleep(0)
            assert not work.done()
            await store.append(THERE)
            await work

    asyncio.run(write())

    kinds = [json.loads(line)["type"] for line in path.read_text().split("\n") if line.strip()]
    assert kinds == ["message", "replace", step, "message"]


def test_cancellation_passes_after_durable_entry(path: Path) -> None:
    """With fsync, what the thread has begun is finished before CancelledError goes on."""
    large = Message("user", "x" * 30_000_000)
    store = JsonlStore(path, fsync=True)

    async def cancel() -> int:
        task = asyncio.create_task(store.append(large))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return os.stat(path).st_size  # noqa: PTH116  at this very moment

    assert asyncio.run(cancel()) > 30_000_000
    asyncio.run(store.aclose())


def test_a_closed_store_leaves_no_thread(path: Path) -> None:
    """The thread that waits for the disk ends with the store."""
    before = set(threading.enumerate())

    asyncio.run(_append_and_close(JsonlStore(path, fsync=True), HELLO))

    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("fsync", [False, True])
def test_simultaneous_appends_keep_their_starting_order(path: Path, *, fsync: bool) -> None:
    """Tasks that append to one store do not overtake one another."""
    messages = [Message("user", str(number)) for number in range(20)]

    async def write() -> list[Message]:
        async with JsonlStore(path, fsync=fsync) as store:
            await asyncio.gather(*map(store.append, messages))
            return await store.load()

    assert asyncio.run(write()) == messages


def test_store_serves_successive_event_loops(path: Path) -> None:
    """A script that calls asyncio.run for every request keeps its store and its lock."""
    store = JsonlStore(path, fsync=True)

    for _ in range(3):
        asyncio.run(store.append(HELLO))

    assert asyncio.run(store.load()) == [HELLO] * 3
    asyncio.run(store.aclose())


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"not json", "Expecting value"),
        (b'"text"', "not a JSON object"),
        (b'{"v":1,"type":"message"}', "a JSON object"),
        (b'{"v":1,"type":"replace"}', "without messages"),
        (b'{"v":1,"type":"bookmark"}', "type 'bookmark' in version 1"),
        (b'{"v":2,"type":"message"}', "in version 2"),
        (
            b'{"v":true,"type":"message","message":{"v":1,"role":"user"}}',
            "not an entry of a session",
        ),
        (b'{"v":1,"type":"message","message":{"v":9,"role":"user"}}', "a newer version"),
        (b'{"v":1,"type":"message","message":{"role":"pope"}}', "one of system, user"),
        (b"\xff\xfe", "can't decode"),
    ],
)
def test_damaged_entry_is_named_by_place(path: Path, line: bytes, problem: str) -> None:
    """A complete line that cannot be read is an error with its offset, and nothing is changed."""
    asyncio.run(_append_and_close(JsonlStore(path), HELLO))
    offset = path.stat().st_size
    with path.open("ab") as file:
        file.write(line + b"\n")
    before = path.read_bytes()

    for read in (JsonlStore(path).load, JsonlStore(path).full):
        with pytest.raises(HistoryCorrupt, match=problem) as caught:
            asyncio.run(read())
        assert caught.value.offset == offset

    assert path.read_bytes() == before


def test_damage_before_present_view_is_harmless(path: Path) -> None:
    """load() looks no further back than it must; full() tells."""
    path.write_bytes(b'damaged\n{"v":1,"type":"replace","messages":[]}\n')

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.replace([SUMMARY])
            await store.append(HELLO)
            assert await store.load() == [SUMMARY, HELLO]
            with pytest.raises(HistoryCorrupt, match="at byte 0"):
                await store.full()

    asyncio.run(write())


@pytest.mark.parametrize("line", [b'{"v":7,"type":"bookmark","optional":true}', b"", b"  "])
def test_optional_entries_are_passed_over(path: Path, line: bytes) -> None:
    """An optional entry of a newer version, or an editor's blank line, is kept and not read."""
    path.write_bytes(line + b"\n")

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            assert await store.load() == await store.full() == [HELLO]

    asyncio.run(write())
    assert path.read_bytes().startswith(line + b"\n")


class _Counting(io.FileIO):
    """A file that counts what is read from it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        part = super().read(size) or b""
        self.count += len(part)
        return part


async def _write_a_long_session(path: Path, length: int) -> None:
    message = Message("user", "x" * 1_000)
    async with JsonlStore(path) as store:
        for _ in range(length):
            await store.append(message)
        await store.replace([SUMMARY])
        await store.append(HELLO)


def test_loading_reads_the_end_only(path: Path) -> None:
    """Of a file of megabytes, a view of two messages costs a few blocks of 64 KiB."""
    asyncio.run(_write_a_long_session(path, 3_000))

    with _Counting(path) as file:
        view = read_view(file, "a long session")

    assert view.messages == [SUMMARY, HELLO]
    assert file.count <= 3 * 64 * 1024 < path.stat().st_size / 10


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts by Linux's /proc/self/io")
def test_the_system_counts_few_bytes_too(path: Path) -> None:
    """The same through the public door, as the operating system counts it."""
    asyncio.run(_write_a_long_session(path, 3_000))
    store = JsonlStore(path)
    asyncio.run(store.load())

    before = _bytes_read()
    asyncio.run(store.load())

    assert _bytes_read() - before <= 4 * 64 * 1024


def _bytes_read() -> int:
    counts = Path("/proc/self/io").read_text().split()
    return int(counts[counts.index("rchar:") + 1])


def test_without_flock_writing_is_refused(path: Path, write_elsewhere: Callable[..., str]) -> None:
    """On a platform without fcntl the error says what to use, rather than to write unlocked."""
    said = write_elsewhere(JsonlStore, path, first="import sys; sys.modules['fcntl'] = None")

    assert "ImportError: JsonlStore writes under fcntl.flock" in said
    assert not path.exists()


def test_forgotten_store_releases_its_lock(path: Path) -> None:
    """Forgetting to close costs a ResourceWarning, not the session."""
    store = JsonlStore(path)
    asyncio.run(store.append(HELLO))

    with pytest.warns(ResourceWarning, match="unclosed file"):
        del store

    asyncio.run(_append_and_close(JsonlStore(path), THERE))
    assert asyncio.run(_texts(JsonlStore(path))) == ["hello", "there"]


def test_unreadable_file_is_no_empty_session(path: Path) -> None:
    """What is there and cannot be opened is an error, never an empty history."""
    path.mkdir()

    for read in (JsonlStore(path).load, JsonlStore(path).full):
        with pytest.raises(IsADirectoryError, match=os.fspath(path)):
            asyncio.run(read())
