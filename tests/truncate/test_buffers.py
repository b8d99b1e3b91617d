"""Streams give what the whole text gives, whatever the chunks are."""

import random
import stat
import tracemalloc
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic import truncate
from agentic.errors import ConfigError
from agentic.truncate import HeadBuffer, MiddleBuffer, Result, TailBuffer

Cut = Callable[..., Result]
Buffer: TypeAlias = HeadBuffer | TailBuffer | MiddleBuffer
CASES: list[tuple[type[Buffer], Cut]] = [
    (HeadBuffer, truncate.head),
    (TailBuffer, truncate.tail),
    (MiddleBuffer, truncate.middle),
]
LIMIT = st.none() | st.integers(1, 90)
STR_CHUNKS = st.lists(
    st.text(st.sampled_from("\n\nab\r\r\x85\u2028é漢😀\ud83d\ude00"), max_size=12), max_size=12
)
BYTE_CHUNKS = st.lists(
    st.lists(
        st.sampled_from([*b"\n\nab\r\r\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\xff\xe6\xbc"]), max_size=12
    ).map(bytes),
    max_size=12,
)


def fed(buffer: Buffer, chunks: Iterable[str | bytes]) -> Buffer:
    """Feed every chunk and return the buffer."""
    for chunk in chunks:
        buffer.feed(chunk)
    return buffer


@pytest.mark.parametrize(("kind", "cut"), CASES)
@given(chunks=STR_CHUNKS, max_lines=LIMIT, max_bytes=LIMIT)
@example(chunks=["\ud83d", "\ude00"], max_lines=None, max_bytes=3)
@example(chunks=["one\r", "", "\ntwo"], max_lines=None, max_bytes=3)
@example(chunks=["one\r", "\r", "\ntwo"], max_lines=None, max_bytes=3)
def test_text_chunks_give_the_whole_result(
    kind: type[Buffer],
    cut: Cut,
    chunks: list[str],
    max_lines: int | None,
    max_bytes: int | None,
) -> None:
    """Halves of a surrogate pair in two chunks stay two characters."""
    buffer = fed(kind(max_lines=max_lines, max_bytes=max_bytes), chunks)

    assert buffer.result() == cut("".join(chunks), max_lines=max_lines, max_bytes=max_bytes)


@pytest.mark.parametrize(("kind", "cut"), CASES)
@given(chunks=BYTE_CHUNKS, max_lines=LIMIT, max_bytes=LIMIT)
@example(chunks=[b"\xf0\x9f", b"\x98", b"\x80"], max_lines=1, max_bytes=4)
@example(chunks=[b"\xf0\x9f", b"\n"], max_lines=1, max_bytes=3)
@example(chunks=[b"one\r", b"\ntwo"], max_lines=None, max_bytes=3)
def test_byte_chunks_give_the_whole_result(
    kind: type[Buffer],
    cut: Cut,
    chunks: list[bytes],
    max_lines: int | None,
    max_bytes: int | None,
) -> None:
    """Bytes that are not UTF-8 become what they become when decoded at once."""
    text = b"".join(chunks).decode("utf-8", "replace")

    buffer = fed(kind(max_lines=max_lines, max_bytes=max_bytes), chunks)

    assert buffer.result() == cut(text, max_lines=max_lines, max_bytes=max_bytes)


@pytest.mark.parametrize(("kind", "cut"), CASES)
@given(chunks=BYTE_CHUNKS)
def test_result_is_available_any_time(kind: type[Buffer], cut: Cut, chunks: list[bytes]) -> None:
    """Asking ends nothing: every answer is that of what came before it."""
    buffer = kind(max_lines=4, max_bytes=20)
    for count, chunk in enumerate(chunks, 1):
        buffer.feed(chunk)
        text = b"".join(chunks[:count]).decode("utf-8", "replace")
        assert buffer.result() == cut(text, max_lines=4, max_bytes=20)


@pytest.mark.parametrize(("kind", "cut"), CASES)
@pytest.mark.parametrize("limits", [(2000, 51_200), (None, 51_200), (50, None), (7, 10**9)])
@pytest.mark.parametrize("line", [b"short\n", b"x" * 70_000 + b"\n", "é漢😀\n".encode(), b"\n"])
def test_long_streams_give_whole_result(
    kind: type[Buffer], cut: Cut, limits: tuple[int | None, int | None], line: bytes
) -> None:
    """What was let go of on the way never moves the cut."""
    raw = line * (400_000 // len(line) + 1) + b"end"
    drawn = random.Random(3)  # noqa: S311  # a fixed sample, no secret
    buffer, at = kind(max_lines=limits[0], max_bytes=limits[1]), 0
    while at < len(raw):
        size = drawn.choice([1, 100, 5000, 90_000])
        buffer.feed(raw[at : at + size])
        at += size

    assert buffer.result() == cut(raw.decode(), max_lines=limits[0], max_bytes=limits[1])


@pytest.mark.parametrize("kind", [HeadBuffer, TailBuffer, MiddleBuffer])
@pytest.mark.parametrize(
    ("chunk", "times"),
    [("é" * 100, 20_000), (b"y" * 1_000, 3_000), (b"x" * 65_536, 300), ("z\n" * 30_000, 100)],
    ids=["small chunks", "small chunks of bytes", "one long line", "many lines"],
)
def test_memory_is_bounded_by_the_limits(
    kind: type[Buffer], chunk: str | bytes, times: int
) -> None:
    """Neither a line without end nor a flood of small chunks is held."""
    tracemalloc.start()
    buffer = fed(kind(), (chunk for _ in range(times)))
    result = buffer.result()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert result.truncated
    assert result.total_bytes == times * len(chunk if isinstance(chunk, bytes) else chunk.encode())
    assert peak < 1_000_000


def test_lines_alone_bound_the_memory_too() -> None:
    """With a byte limit that is out of reach, ten lines are held and not the stream."""
    tracemalloc.start()
    fed(TailBuffer(max_lines=10, max_bytes=None), ("line\n" * 2000 for _ in range(1000)))
    fed(HeadBuffer(max_lines=10, max_bytes=10**9), ("line\n" * 2000 for _ in range(1000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.parametrize("kind", [HeadBuffer, TailBuffer])
@pytest.mark.parametrize("chunks", [[b"one\n", b"\xfftwo\n"], ["one\n", "\ud800two\n"]])
def test_raw_stream_spills_to_private_file(
    kind: type[Buffer], chunks: Iterable[str | bytes], tmp_path: Path
) -> None:
    """Every byte is in the file, which only its owner can read, even if it was there before."""
    spill = tmp_path / "full.log"
    spill.write_text("older and longer than the stream")
    spill.chmod(0o644)

    with kind(max_lines=1, spill=spill) as buffer:
        fed(buffer, chunks)

    raw = [c if isinstance(c, bytes) else c.encode("utf-8", "surrogatepass") for c in chunks]
    assert spill.read_bytes() == b"".join(raw)
    assert stat.S_IMODE(spill.stat().st_mode) == 0o600


def test_impossible_spill_is_told_at_once(tmp_path: Path) -> None:
    """The error is that of the file system, before anything is fed."""
    with pytest.raises(FileNotFoundError):
        TailBuffer(spill=tmp_path / "nowhere" / "full.log")


def test_a_result_outlives_the_buffer() -> None:
    """After closing the result is there; another chunk is refused."""
    with TailBuffer() as buffer:
        buffer.feed("text")

    assert buffer.result().content == "text"
    with pytest.raises(ConfigError, match=r"fed before close\(\)"):
        buffer.feed("more")


@pytest.mark.parametrize(("first", "second"), [("text", b"raw"), (b"raw", "text"), (b"", "text")])
def test_kinds_are_not_mixed(first: str | bytes, second: str | bytes) -> None:
    """The first chunk decides, and the error names what it decided on."""
    buffer = TailBuffer()
    buffer.feed(first)

    with pytest.raises(ConfigError, match=f"must be {type(first).__name__}"):
        buffer.feed(second)


@pytest.mark.parametrize("chunk", [None, 7, bytearray(b"raw"), memoryview(b"raw"), ["text"]])
def test_only_text_and_bytes_are_fed(chunk: Any) -> None:
    """Anything else is refused with what to do."""
    with pytest.raises(ConfigError, match="str or bytes"):
        TailBuffer().feed(chunk)


@pytest.mark.corpus
@pytest.mark.parametrize(("kind", "cut"), CASES)
def test_recorded_outputs_stream_as_they_cut(
    kind: type[Buffer], cut: Cut, tool_outputs: list[Path]
) -> None:
    """Real output in chunks as a pipe gives them, binaries included."""
    for path in tool_outputs:
        raw = path.read_bytes()
        buffer = fed(kind(), (raw[at : at + 4093] for at in range(0, len(raw), 4093)))
        assert buffer.result() == cut(raw.decode("utf-8", "replace"))


@pytest.mark.long
def test_a_gigabyte_leaves_little_behind() -> None:
    """A stream of 1 GB is counted to the byte in less than a megabyte."""
    chunk = (b"2026-11-21 10:15:02 INFO worker-7 finished job 48151 in 23 ms\n" * 1100)[:65_536]
    times = 10**9 // len(chunk)
    tracemalloc.start()
    result = fed(TailBuffer(), (chunk for _ in range(times))).result()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert result.total_bytes == times * len(chunk)
    assert peak < 1_000_000
