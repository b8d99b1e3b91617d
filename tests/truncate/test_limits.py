"""Which limits apply: the one that is given, or both defaults."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentic import truncate
from agentic.truncate import HeadBuffer, MiddleBuffer, Options, Result, TailBuffer

MANY_LINES = "x\n" * 10_000
LONG_LINES = ("y" * 99 + "\n") * 1_000


def _buffered(kind: type[HeadBuffer | TailBuffer | MiddleBuffer]) -> Callable[..., Result]:
    def cut(text: str, **limits: Any) -> Result:
        buffer = kind(**limits)
        buffer.feed(text)
        return buffer.result()

    return cut


def _by_options(text: str, **limits: Any) -> Result:
    return Options(**limits).apply(text)


def _from_file(path: Path) -> Callable[..., Result]:
    def cut(text: str, **limits: Any) -> Result:
        path.write_text(text)
        return truncate.read_file(path, Options(**limits))

    return cut


@pytest.fixture(params=["head", "tail", "middle", "options", "file", "heads", "tails", "middles"])
def cut(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Result]:
    """Every public way to truncate a text."""
    doors: dict[str, Callable[..., Result]] = {
        "head": truncate.head,
        "tail": truncate.tail,
        "middle": truncate.middle,
        "options": _by_options,
        "file": _from_file(tmp_path / "text"),
        "heads": _buffered(HeadBuffer),
        "tails": _buffered(TailBuffer),
        "middles": _buffered(MiddleBuffer),
    }
    return doors[request.param]


def test_one_limit_applies_alone(cut: Callable[..., Result]) -> None:
    """A million bytes are a million bytes, in however many lines, and the reverse."""
    assert not cut(MANY_LINES, max_bytes=1_000_000).truncated
    assert not cut(LONG_LINES, max_lines=1_000).truncated


def test_both_defaults_apply_without_limits(cut: Callable[..., Result]) -> None:
    """2,000 lines and 51,200 bytes, whichever leaves less."""
    assert cut(MANY_LINES).truncated_by == "lines"
    assert cut(LONG_LINES).truncated_by == "bytes"


def test_none_lifts_one_default(cut: Callable[..., Result]) -> None:
    """`None` is no limit, and gives none either: the other default stays."""
    assert not cut(MANY_LINES, max_lines=None).truncated
    assert cut(LONG_LINES, max_lines=None).truncated_by == "bytes"
    assert not cut(LONG_LINES, max_bytes=None).truncated
    assert not cut(MANY_LINES + LONG_LINES, max_lines=None, max_bytes=None).truncated


def test_options_show_applied_limits() -> None:
    """What is read from them is what they do."""
    by_bytes = Options(max_bytes=9)

    assert (by_bytes.max_lines, by_bytes.max_bytes) == (None, 9)
    assert (Options().max_lines, Options().max_bytes) == (2_000, 51_200)
    assert (Options(max_lines=None).max_lines, Options(max_lines=None).max_bytes) == (None, 51_200)
