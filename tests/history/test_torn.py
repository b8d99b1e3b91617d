import asyncio
from pathlib import Path

import pytest

from agentic.errors import HistoryCorrupt
from agentic.history import JsonlStore
from agentic.messages import Message

HELLO = Message("user", "hello \ud83d \U0001f600")
THERE = Message("assistant", "there")
SUMMARY = Message("system", "They greeted.")
AGAIN = Message("user", "again")


def _write(path: Path, *, compact: bool) -> int:
    """Write a session, and give where its last entry starts."""
    store = JsonlStore(path)
    asyncio.run(store.append(THERE))
    start = path.stat().st_size
    asyncio.run(store.replace([SUMMARY, HELLO]) if compact else store.append(HELLO))
    asyncio.run(store.aclose())
    return start


def _read(path: Path) -> None:
    """Find everything acknowledged, and leave the file alone."""
    store, before = JsonlStore(path), path.read_bytes()
    assert asyncio.run(store.load()) == asyncio.run(store.full()) == [THERE]
    assert path.read_bytes() == before


async def _continue(path: Path) -> None:
    """Write on, and find both what was acknowledged before and what is now."""
    async with JsonlStore(path) as store:
        await store.append(AGAIN)
        assert await store.load() == await store.full() == [THERE, AGAIN]


@pytest.mark.parametrize("compact", [False, True])
def test_session_with_torn_entry_goes_on(path: Path, *, compact: bool) -> None:
    """Readers pass a torn entry over; the next writer moves it aside, byte for byte."""
    start = _write(path, compact=compact)
    whole = path.read_bytes()
    aside = Path(f"{path}.torn-1")

    for cut in range(start + 1, len(whole)):
        path.write_bytes(whole[:cut])
        _read(path)
        asyncio.run(_continue(path))
        assert path.read_bytes().startswith(whole[:start])
        assert aside.read_bytes() == whole[start:cut]
        assert aside.stat().st_mode & 0o777 == 0o600
        aside.unlink()


def test_cut_between_entries_is_no_tear(path: Path) -> None:
    """Where a line is complete there is nothing to move."""
    start = _write(path, compact=False)
    path.write_bytes(path.read_bytes()[:start])

    asyncio.run(_continue(path))

    assert list(path.parent.iterdir()) == [path]


def test_every_torn_entry_gets_own_file(path: Path) -> None:
    """What was moved aside once is not overwritten by the next."""
    for torn in (b'{"v":1,"first', b"second"):
        with path.open("ab") as file:
            file.write(torn)
        asyncio.run(_append(path, HELLO))

    assert Path(f"{path}.torn-1").read_bytes() == b'{"v":1,"first'
    assert Path(f"{path}.torn-2").read_bytes() == b"second"


def test_non_session_file_is_left_alone(path: Path) -> None:
    """Somebody's notes without a newline at the end are no torn entry."""
    path.write_bytes(b"my precious notes")

    with pytest.raises(HistoryCorrupt, match="at byte 0: it is not a session"):
        asyncio.run(_append(path, HELLO))

    assert path.read_bytes() == b"my precious notes"
    assert list(path.parent.iterdir()) == [path]


async def _append(path: Path, message: Message) -> None:
    async with JsonlStore(path) as store:
        await store.append(message)


def test_power_cut_zeros_are_moved_aside(path: Path) -> None:
    """A file system may have grown the file and not filled it: without a newline, that is torn."""
    asyncio.run(_append(path, THERE))
    with path.open("ab") as file:
        file.truncate(path.stat().st_size + 100_000)

    _read(path)
    asyncio.run(_continue(path))

    assert Path(f"{path}.torn-1").read_bytes() == bytes(100_000)


def test_batch_that_is_cut_off_was_never_there(path: Path) -> None:
    """Of messages that are appended together all count, or none, wherever a kill cuts the file."""
    batch = [Message("user", "one"), Message("user", "two"), Message("user", "three")]

    async def write() -> int:
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            begin = (await asyncio.to_thread(path.stat)).st_size
            await store.append(*batch, key=["k1", None, "k3"])
            return begin

    begin = asyncio.run(write())
    whole = path.read_bytes()
    with asyncio.Runner() as runner:
        for end in [*range(begin, len(whole), 5), *_line_ends(whole, begin)]:
            path.write_bytes(whole[:end])
            stored = [HELLO, *batch] if end == len(whole) else [HELLO]
            assert runner.run(JsonlStore(path).load()) == stored
            assert runner.run(JsonlStore(path).full()) == stored
            assert runner.run(JsonlStore(path).has_key("k1")) is (end == len(whole))


def test_next_writer_moves_a_cut_batch_aside(path: Path) -> None:
    """With its complete lines; what is appended then is not taken for the rest of it."""

    async def write() -> list[Message]:
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            await store.append(Message("user", "one"), Message("user", "two"))
        lines = (await asyncio.to_thread(path.read_bytes)).splitlines(keepends=True)
        await asyncio.to_thread(path.write_bytes, b"".join(lines[:2]))
        async with JsonlStore(path) as store:
            await store.append(HELLO)
            assert await store.full() == await store.load()
        torn = await asyncio.to_thread(Path(f"{path}.torn-1").read_bytes)
        assert torn == lines[1]
        return await JsonlStore(path).full()

    assert asyncio.run(write()) == [HELLO, HELLO]


def _line_ends(content: bytes, begin: int) -> list[int]:
    return [at + 1 for at in range(begin, len(content)) if content[at] == ord("\n")]
