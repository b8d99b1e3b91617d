import io
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from agentic.history._session_file import find_end, read_backwards, read_forwards

FILES = st.lists(st.sampled_from([b"\n", b"a", b"bcd", b"\r", b"\x85", "\u2028".encode()])).map(
    b"".join
)
BLOCKS = st.integers(1, 8)


class _Stingy(io.BytesIO):
    """Gives fewer bytes than it is asked for, as a file may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, 2))


def _split(content: bytes) -> list[tuple[int, bytes]]:
    """Split at newlines, the naive way: offsets and texts of the complete lines."""
    texts = content.split(b"\n")[:-1]
    offsets = accumulate((len(text) + 1 for text in texts), initial=0)
    return list(zip(offsets, texts, strict=False))


@given(content=FILES)
def test_forwards_gives_every_complete_line(content: bytes) -> None:
    r"""Lines end at \n only, and what follows the last one is none."""
    lines = list(read_forwards(io.BytesIO(content)))

    assert [(line.offset, line.text) for line in lines] == _split(content)


@given(content=FILES, block_bytes=BLOCKS)
def test_backwards_gives_the_same_lines(content: bytes, block_bytes: int) -> None:
    """Wherever the blocks are cut, backwards gives what forwards gives, the other way round."""
    file = io.BytesIO(content)

    lines = list(read_backwards(file, find_end(file), block_bytes=block_bytes))

    assert lines[::-1] == list(read_forwards(io.BytesIO(content)))


@given(content=FILES, block_bytes=BLOCKS)
def test_short_reads_are_continued(content: bytes, block_bytes: int) -> None:
    """A read that gives less than it was asked for is followed by another."""
    file = _Stingy(content)

    lines = list(read_backwards(file, content.rfind(b"\n") + 1, block_bytes=block_bytes))

    assert lines[::-1] == list(read_forwards(io.BytesIO(content)))


@given(content=FILES)
def test_end_follows_last_complete_line(content: bytes) -> None:
    """Nothing after the end is complete, everything before it is."""
    assert find_end(io.BytesIO(content)) == content.rfind(b"\n") + 1


def test_end_is_before_long_torn_line() -> None:
    """A torn line may be longer than what is read at once."""
    assert find_end(io.BytesIO(b"one\n" + b"x" * 1_000_000)) == 4
