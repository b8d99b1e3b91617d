"""Short writes and full disks, made by the system: a file size limit, /dev/full, a tiny tmpfs."""

import asyncio
import contextlib
import io
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import HistoryNotWritten
from agentic.history import JsonlStore
from agentic.history._log import _write_all
from agentic.messages import Message

BULK = Message("user", "x" * 300)
LATER = Message("user", "after space was freed")
LIMIT_BYTES = 2_000
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="its devices fail in this way")


async def _append_and_close(store: JsonlStore) -> None:
    async with store:
        await store.append(LATER)


@contextlib.contextmanager
def _file_size_limit(limit_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def _append_until_refused(store: JsonlStore) -> list[Message]:
    """Return what was acknowledged before the first refusal."""
    acknowledged: list[Message] = []
    with contextlib.suppress(HistoryNotWritten):
        while True:
            await store.append(BULK)
            acknowledged.append(BULK)
    return acknowledged


def test_limit_makes_real_short_writes(path: Path) -> None:
    """The system takes what fits and refuses the rest: the ground that the tests below stand on."""
    with _file_size_limit(LIMIT_BYTES), io.FileIO(path, "w") as file:
        assert file.write(bytes(1_900)) == 1_900
        assert file.write(bytes(300)) == 100
        with pytest.raises(OSError, match="File too large"):
            file.write(bytes(200))


@pytest.mark.parametrize("fsync", [False, True])
def test_write_failing_midway_leaves_nothing(path: Path, *, fsync: bool) -> None:
    """The file is cut back to what was acknowledged, and goes on when there is room again."""
    store = JsonlStore(path, fsync=fsync)

    with _file_size_limit(LIMIT_BYTES):
        acknowledged = asyncio.run(_append_until_refused(store))
        assert path.read_bytes().endswith(b"\n")
        assert asyncio.run(store.full()) == acknowledged
    asyncio.run(_append_and_close(store))

    assert asyncio.run(store.full()) == [*acknowledged, LATER]
    assert list(path.parent.iterdir()) == [path]


def test_batch_failing_midway_leaves_nothing(path: Path) -> None:
    """Also of messages whose lines were already complete."""
    batch = [BULK, LATER, BULK, LATER, BULK]

    async def write() -> None:
        async with JsonlStore(path) as store:
            with _file_size_limit(LIMIT_BYTES):
                await store.append(*batch[:2])
                before = await asyncio.to_thread(path.read_bytes)
                with pytest.raises(HistoryNotWritten, match="may not grow further"):
                    await store.append(*batch, *batch, key=[*map(str, range(10))])
                assert await asyncio.to_thread(path.read_bytes) == before
                assert not await store.has_key("0")
            await store.append(*batch, key=["0", "1", "2", "3", "4"])
            assert await store.load() == await store.full() == [*batch[:2], *batch]

    asyncio.run(write())


def test_replace_failing_midway_leaves_history(path: Path) -> None:
    """A compaction that does not fit on the disk has not been."""

    async def write() -> None:
        async with JsonlStore(path) as store:
            await store.append(BULK)
            too_large = pytest.raises(HistoryNotWritten, match="raise the limit")
            with _file_size_limit(LIMIT_BYTES), too_large:
                await store.replace([BULK] * 20)
            assert await store.load() == [BULK]
            await store.replace([LATER])
            assert await store.load() == [LATER]

    asyncio.run(write())


class _Reluctant(io.FileIO):
    """A file that takes three bytes at a time."""

    def write(self, data: Any, /) -> int:
        return super().write(memoryview(data)[:3])


def test_a_short_write_is_continued(path: Path) -> None:
    """A system that takes less than it is given gets the rest."""
    with _Reluctant(path, "w") as file:
        _write_all(file, b"a line of some length\n")

    assert path.read_bytes() == b"a line of some length\n"


@ON_LINUX
def test_a_full_device_is_said() -> None:
    """The error names the cause and what to do."""

    async def write() -> None:
        async with JsonlStore("/dev/full") as store:
            with pytest.raises(HistoryNotWritten, match=r"No space left .*free some space"):
                await store.append(BULK)

    asyncio.run(write())


@ON_LINUX
def test_unsynced_entry_is_not_acknowledged() -> None:
    """When fsync fails, as it does on /dev/null, so does the append."""

    async def write() -> None:
        async with JsonlStore("/dev/null", fsync=True) as store:
            with pytest.raises(HistoryNotWritten, match="Invalid argument"):
                await store.append(BULK)

    asyncio.run(write())


def _change_attribute(change: str, path: Path) -> None:
    chattr = shutil.which("chattr")
    done = chattr and subprocess.run([chattr, change, path], check=False, capture_output=True)
    if not done or done.returncode:
        pytest.skip("needs chattr, a file system that knows append-only files, and root")


def test_next_append_first_retries_the_cut(path: Path) -> None:
    """If even cutting back fails, here on an append-only file, the next append does it first."""
    store = JsonlStore(path)
    asyncio.run(store.append(BULK))
    _change_attribute("+a", path)
    with _file_size_limit(path.stat().st_size + 100), pytest.raises(HistoryNotWritten):
        asyncio.run(store.append(BULK))
    assert not path.read_bytes().endswith(b"\n")
    with pytest.raises(HistoryNotWritten, match="Operation not permitted"):
        asyncio.run(store.append(LATER))
    _change_attribute("-a", path)

    asyncio.run(_append_and_close(store))

    assert asyncio.run(store.full()) == [BULK, LATER]
    assert list(path.parent.iterdir()) == [path]


FILL_A_DISK = """
import asyncio, sys
from pathlib import Path
from agentic.errors import HistoryNotWritten
from agentic.history import JsonlStore
from agentic.messages import Message

async def fill(folder):
    ballast, count = folder / "ballast", 0
    ballast.write_bytes(bytes(20_000))
    async with JsonlStore(folder / "session.jsonl") as store:
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
    assert len(list(folder.iterdir())) == 1

asyncio.run(fill(Path(sys.argv[1])))
"""


def test_session_outlives_a_full_disk(tmp_path: Path) -> None:
    """On a disk of 64 KB: refused when it is full, whole all the time, written on afterwards."""
    mount = f'mount -t tmpfs -o size=64k tmpfs "{tmp_path}"'
    namespace = ["unshare", "--mount", "sh", "-ec"]
    if not shutil.which("unshare") or subprocess.run([*namespace, mount], check=False).returncode:
        pytest.skip("needs to be allowed to mount a tmpfs of its own")
    command = [*namespace, f'{mount}; exec "$@"', "sh", sys.executable, "-c", FILL_A_DISK, tmp_path]

    done = subprocess.run(command, check=True, capture_output=True, text=True)

    assert "No space left on device (the disk is full: free some space)" in done.stdout


def test_uncopied_torn_line_is_not_cut(path: Path) -> None:
    """Where there is no room to move a torn line to, nothing is written and nothing is lost."""
    torn = b'{"v":1,"type":"message"' + b"x" * 5_000
    path.write_bytes(torn)

    with _file_size_limit(LIMIT_BYTES), pytest.raises(HistoryNotWritten):
        asyncio.run(_append_and_close(JsonlStore(path)))

    assert path.read_bytes() == torn
    assert list(path.parent.iterdir()) == [path]
