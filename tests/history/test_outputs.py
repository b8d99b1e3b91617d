import asyncio
import resource
from pathlib import Path

import pytest

from agentic.errors import HistoryConflict, HistoryCorrupt, HistoryNotWritten
from agentic.history import JsonlStore
from agentic.messages import Message

OUTPUT = "1 failed \ud83d\r\n"


async def _keep(path: Path, output: str = OUTPUT) -> str:
    async with JsonlStore(path) as store:
        return await store.put(output)


def _folder(path: Path) -> Path:
    return Path(f"{path}.outputs")


def test_output_is_a_private_file(path: Path) -> None:
    """It holds the text and nothing else, for its owner only."""
    ref = asyncio.run(_keep(path))

    (file,) = _folder(path).iterdir()
    assert file.name == ref
    assert file.read_bytes() == OUTPUT.encode("utf-8", "surrogatepass")
    assert file.stat().st_mode & 0o777 == 0o600
    assert _folder(path).stat().st_mode & 0o777 == 0o700


def test_the_same_output_is_written_once(path: Path) -> None:
    """Keeping it again leaves the file as it is."""
    ref = asyncio.run(_keep(path))
    before = (_folder(path) / ref).stat()

    assert asyncio.run(_keep(path)) == ref
    assert (_folder(path) / ref).stat().st_mtime_ns == before.st_mtime_ns
    assert (_folder(path) / ref).stat().st_ino == before.st_ino


@pytest.mark.parametrize("damage", [b"", b"1 failed", b"\xff\xfe"])
def test_damaged_output_is_noticed_and_mended(path: Path, damage: bytes) -> None:
    """The reference is a digest of the content, so a cut or changed file is never given out."""
    ref = asyncio.run(_keep(path))
    (_folder(path) / ref).write_bytes(damage)

    with pytest.raises(
        HistoryCorrupt, match=f"(?s)output {ref} of .* cannot be read at byte 0.*the digest"
    ):
        asyncio.run(JsonlStore(path).get(ref))
    assert asyncio.run(_keep(path)) == ref
    assert asyncio.run(JsonlStore(path).get(ref)) == OUTPUT


def test_half_written_output_has_no_reference(path: Path) -> None:
    """What a kill leaves behind has another name, and a later keep passes it by."""
    ref = asyncio.run(_keep(path))
    (_folder(path) / ref).rename(_folder(path) / f"{ref}.abc.part")

    assert asyncio.run(_keep(path)) == ref
    assert asyncio.run(JsonlStore(path).get(ref)) == OUTPUT


def test_unfitting_output_leaves_nothing(path: Path) -> None:
    """A short write is told with its remedy, and the folder holds no part of it."""
    store = JsonlStore(path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, hard))
    try:
        with pytest.raises(HistoryNotWritten, match="raise the limit"):
            asyncio.run(store.put("x" * 3_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert list(_folder(path).iterdir()) == []
    asyncio.run(store.aclose())


def test_only_the_writer_keeps_outputs(path: Path) -> None:
    """A second writer is refused, as with a message; a reader reads."""

    async def write() -> str:
        async with JsonlStore(path) as store:
            ref = await store.put(OUTPUT)
            with pytest.raises(HistoryConflict):
                await JsonlStore(path).put("another")
            return await JsonlStore(path).get(ref)

    assert asyncio.run(write()) == OUTPUT


def test_a_cancelled_keep_is_whole(path: Path) -> None:
    """Cancelled at whatever moment, the output is kept or it is not there."""
    large = "x" * 3_000_000

    async def write(yields: int) -> None:
        async with JsonlStore(path) as store:
            task = asyncio.create_task(store.put(f"{yields}{large}"))
            for _ in range(yields):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await store.append(Message("user"))

    for yields in range(5):
        asyncio.run(write(yields))
    kept = [file.name for file in _folder(path).iterdir()]
    assert kept
    for ref in kept:
        assert asyncio.run(JsonlStore(path).get(ref))[1:] == large
