"""A file is truncated as its text would be, each byte read once."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.truncate import Mode, Options, read_file
from agentic.truncate._buffers import _read

RAW = st.lists(st.sampled_from([*b"\n\nab\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\xff"]), max_size=60)


class CountingSource(io.BytesIO):
    """A file that remembers how much was read of it, at most ``most`` bytes at a time."""

    def __init__(self, raw: bytes, most: int) -> None:
        super().__init__(raw)
        self.most = most
        self.given = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return less than asked for, as a pipe or a slow disk may."""
        block = super().read(min(size or 0, self.most))
        self.given += len(block)
        return block


@pytest.mark.parametrize("mode", Mode)
@given(raw=RAW.map(bytes), most=st.integers(1, 7), max_lines=st.none() | st.integers(1, 9))
def test_file_is_cut_as_decoded_text(
    mode: Mode, raw: bytes, most: int, max_lines: int | None
) -> None:
    """Invalid bytes and reads that end inside a character change nothing."""
    options = Options(mode=mode, max_lines=max_lines, max_bytes=20)

    got = _read(CountingSource(raw, most), options)

    assert got == options.apply(raw.decode("utf-8", "replace"))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("size", [0, 1, 262_144, 262_145, 1_000_000])
def test_each_byte_is_read_once(mode: Mode, size: int) -> None:
    """Exact totals need every byte, and none of them twice."""
    source = CountingSource(b"x" * size, 10**9)

    assert _read(source, Options(mode=mode)).total_bytes == size
    assert source.given == size


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_path_may_be_text_or_path(kind: Callable[[Path], str | Path], tmp_path: Path) -> None:
    """A file is named as anywhere in the standard library; the tail is the default."""
    path = tmp_path / "output.log"
    path.write_bytes(b"line\n" * 3000)

    result = read_file(kind(path))

    assert (result.mode, result.output_lines, result.total_lines) == (Mode.TAIL, 2000, 3000)


def test_missing_file_is_file_system_error(tmp_path: Path) -> None:
    """There is nothing to add to what the system says."""
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "nowhere.log")


@pytest.mark.corpus
@pytest.mark.parametrize("mode", Mode)
def test_recorded_outputs_cut_alike_from_disk(mode: Mode, tool_outputs: list[Path]) -> None:
    """The same record, whatever the file holds."""
    options = Options(mode=mode)
    for path in tool_outputs:
        text = path.read_bytes().decode("utf-8", "replace")
        assert read_file(path, options) == options.apply(text)
