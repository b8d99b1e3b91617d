"""A call that cannot be meant is refused with what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic import truncate
from agentic.errors import ConfigError
from agentic.truncate import HeadBuffer, Options, TailBuffer

DOORS = [
    lambda **limits: truncate.head("text", **limits),
    lambda **limits: truncate.tail("text", **limits),
    lambda **limits: truncate.middle("text", **limits),
    Options,
    HeadBuffer,
    TailBuffer,
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["max_lines", "max_bytes"])
@pytest.mark.parametrize("limit", [0, -1, True, False, 1.5, 2000.0, "10"])
def test_non_number_limit_is_refused(door: Callable[..., object], name: str, limit: object) -> None:
    """The error names the limit, what was given, what is allowed and what to do."""
    with pytest.raises(ConfigError) as caught:
        door(**{name: limit})

    said = f"{name} must be a whole number above 0 or None, got {limit!r}"
    assert str(caught.value) == f"{said}; pass None for no limit"


@pytest.mark.parametrize("cut", [truncate.head, truncate.tail, truncate.middle, Options().apply])
@pytest.mark.parametrize("content", [None, b"raw", 7, ["a"]])
def test_non_text_content_is_refused(cut: Callable[[Any], object], content: object) -> None:
    """Bytes are not guessed at."""
    with pytest.raises(ConfigError, match=r"content must be a str.*, got .*"):
        cut(content)


@pytest.mark.parametrize("mode", ["first", None, 1, ["tail"]])
def test_unknown_mode_is_refused(mode: Any) -> None:
    """The error lists the modes."""
    with pytest.raises(ConfigError) as caught:
        Options(mode=mode)

    said = f"mode must be head, tail or middle, got {mode!r}; pass a Mode"
    assert str(caught.value) == said


def test_options_that_are_none_are_refused(tmp_path: Path) -> None:
    """A number of lines is no `Options`, and the error shows how to make one."""
    with pytest.raises(ConfigError) as caught:
        truncate.read_file(tmp_path / "output.log", 20)  # type: ignore[arg-type]

    said = "options must be truncate.Options, got 20; pass Options(max_lines=...)"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("chunk", "said"),
    [
        (7, "chunk must be str or bytes, got 7; convert it, as in bytes(chunk)"),
        (
            b"raw",
            (
                "chunk must be str, as before, got b'raw'; "
                "continue with str, or use a buffer for each kind"
            ),
        ),
    ],
)
def test_chunk_of_another_kind_is_refused(chunk: Any, said: str) -> None:
    """Neither text nor bytes, or not what was fed before."""
    buffer = HeadBuffer()
    buffer.feed("text")

    with pytest.raises(ConfigError) as caught:
        buffer.feed(chunk)

    assert str(caught.value) == said


def test_late_chunk_is_refused() -> None:
    """A closed buffer has given its result."""
    buffer = HeadBuffer()
    buffer.close()

    with pytest.raises(ConfigError) as caught:
        buffer.feed("late")

    assert (
        str(caught.value) == "chunk must be fed before close(), got 'late'; feed it before closing"
    )
