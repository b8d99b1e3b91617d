"""Head, tail and middle against a naive oracle that splits and encodes everything."""

import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentic import truncate
from agentic.truncate import Mode, Options, Result

PIECES = [
    "\n",
    "\n",
    "\r\n",
    "a",
    "bc",
    "\r",
    "\x0b",
    "\x85",
    "\u2028",
    "\0",
    "é",
    "漢",
    "😀",
    "\ud83d",
]
TEXT = st.lists(st.sampled_from([*PIECES, "\ude00", "x" * 40]), max_size=30).map("".join)
LIMIT = st.none() | st.integers(1, 60)
MARKER = re.compile(r"\n\[\.\.\. (?:\d+ lines?, )?(\d+) bytes? left out \.\.\.\]\n")
CUTS: dict[str, Callable[..., Result]] = {
    "head": truncate.head,
    "tail": truncate.tail,
    "middle": truncate.middle,
}


def size_of(text: str) -> int:
    """Count bytes the plain way."""
    return len(text.encode("utf-8", "surrogatepass"))


def lines_of(text: str) -> list[str]:
    """Split into lines, each with its line feed."""
    lines = [line + "\n" for line in text.split("\n")]
    return [*lines[:-1], lines[-1][:-1]] if lines[-1] != "\n" else lines[:-1]


def within(text: str, max_lines: int | None, max_bytes: int | None) -> bool:
    """Return whether a text is within both limits."""
    return (max_lines is None or len(lines_of(text)) <= max_lines) and (
        max_bytes is None or size_of(text) <= max_bytes
    )


def without_line_end(text: str) -> str:
    """Leave out the line end, if there is one."""
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def naive_head(text: str, max_lines: int | None, max_bytes: int | None) -> tuple[str, int, bool]:
    """Try ever fewer whole lines, then ever fewer characters of the first."""
    if within(text, max_lines, max_bytes):
        return text, len(lines_of(text)), False
    for count in range(len(lines_of(text)), 0, -1):
        kept = without_line_end("".join(lines_of(text)[:count]))
        if count <= (max_lines or count) and within(kept, None, max_bytes):
            return kept, count, False
    first = lines_of(text)[0]
    kept = next(
        first[:end] for end in range(len(first), -1, -1) if size_of(first[:end]) <= max_bytes
    )
    return kept, int(kept != ""), True


def naive_tail(text: str, max_lines: int | None, max_bytes: int | None) -> tuple[str, int, bool]:
    """Try ever fewer whole lines, then ever fewer characters of the last."""
    if within(text, max_lines, max_bytes):
        return text, len(lines_of(text)), False
    for count in range(len(lines_of(text)), 0, -1):
        kept = "".join(lines_of(text)[-count:])
        if within(kept, max_lines, max_bytes):
            return kept, count, False
    kept = next(text[at:] for at in range(len(text) + 1) if size_of(text[at:]) <= max_bytes)
    return kept, int(kept != ""), True


NAIVE = {"head": naive_head, "tail": naive_tail}


@pytest.mark.parametrize("mode", ["head", "tail"])
@given(text=TEXT, max_lines=LIMIT, max_bytes=LIMIT)
@example(text="a\n", max_lines=1, max_bytes=1)
@example(text="\n\n\n", max_lines=2, max_bytes=1)
@example(text="one\r\ntwo\r\n", max_lines=1, max_bytes=None)
@example(text="one\r\ntwo\r\n", max_lines=None, max_bytes=3)
@example(text="one\r\ntwo\r\n", max_lines=None, max_bytes=4)
@example(text="\r\n\r\n", max_lines=None, max_bytes=1)
@example(text="one\r", max_lines=None, max_bytes=3)
def test_cut_equals_the_oracles(
    mode: str, text: str, max_lines: int | None, max_bytes: int | None
) -> None:
    """Content, count, flag and deciding limit are those of the plain computation."""
    content, lines, partial = NAIVE[mode](text, max_lines, max_bytes)
    by_lines_alone = NAIVE[mode](text, max_lines, None)[0]
    by = "bytes" if len(content) < len(by_lines_alone) else "lines"

    got = CUTS[mode](text, max_lines=max_lines, max_bytes=max_bytes)

    assert (got.content, got.output_lines) == (content, lines)
    assert partial == (got.first_line_over_limit if mode == "head" else got.last_line_partial)
    assert got.truncated_by == (None if content == text else by)


@pytest.mark.parametrize("mode", CUTS)
@given(text=TEXT, max_lines=LIMIT, max_bytes=LIMIT)
def test_what_is_measured_is_true(
    mode: str, text: str, max_lines: int | None, max_bytes: int | None
) -> None:
    """Totals are those of the text, sizes those of the content, both limits are kept."""
    got = CUTS[mode](text, max_lines=max_lines, max_bytes=max_bytes)

    assert (got.total_lines, got.total_bytes) == (len(lines_of(text)), size_of(text))
    assert got.output_bytes == size_of(got.content)
    assert within(got.content, max_lines, max_bytes)
    assert got.truncated == (got.content is not text) == (got.truncated_by is not None)
    assert bool(got.notice()) == got.truncated


@pytest.mark.parametrize("mode", CUTS)
@given(text=TEXT, max_lines=LIMIT, max_bytes=LIMIT)
def test_cutting_twice_is_cutting_once(
    mode: str, text: str, max_lines: int | None, max_bytes: int | None
) -> None:
    """What was cut is within the limits and is not cut again."""
    once = CUTS[mode](text, max_lines=max_lines, max_bytes=max_bytes).content

    assert CUTS[mode](once, max_lines=max_lines, max_bytes=max_bytes).content is once


@given(text=TEXT, max_lines=LIMIT, max_bytes=st.none() | st.integers(1, 400))
def test_middle_joins_ends_by_one_marker(
    text: str, max_lines: int | None, max_bytes: int | None
) -> None:
    """The ends are those of the text, and the marker's figures make up the rest."""
    text *= 8
    got = truncate.middle(text, max_lines=max_lines, max_bytes=max_bytes)
    if not got.truncated or got.mode is Mode.TAIL:
        return

    start, missing, end = MARKER.split(got.content)

    assert text.startswith(start)
    assert text.endswith(end)
    assert int(missing) == size_of(text) - size_of(start) - size_of(end)


@given(text=TEXT, max_lines=st.integers(1, 20), max_bytes=st.integers(1, 60))
def test_middle_without_room_is_tail(
    text: str, max_lines: int | None, max_bytes: int | None
) -> None:
    """Where no marker fits, the end is kept, and the result says that it is a tail."""
    got = truncate.middle(text, max_lines=max_lines, max_bytes=max_bytes)
    tail = truncate.tail(text, max_lines=max_lines, max_bytes=max_bytes)

    if got.mode is Mode.TAIL:
        assert got == tail
    else:
        assert "left out" in got.content or got.content is text


@pytest.mark.parametrize("line", ["x" * 9, "", "é漢😀" * 5, "y" * 5000])
@pytest.mark.parametrize("mode", ["head", "tail"])
def test_long_text_cuts_match_the_oracle(mode: str, line: str) -> None:
    """Cuts that fall in any slice, at its border or beside it, are found."""
    text = "\n".join([line] * 40) + ("\n" + line * 3) * (200_000 // (len(line) * 3 + 1))
    drawn = random.Random(7)  # noqa: S311  # a fixed sample, no secret
    for _ in range(25):
        max_lines = drawn.randrange(1, text.count("\n") + 2)
        got = CUTS[mode](text, max_lines=max_lines, max_bytes=None)
        assert (got.content, got.output_lines) == _by_lines(mode, text, max_lines)

        max_bytes = drawn.randrange(1, size_of(text))
        got = CUTS[mode](text, max_lines=None, max_bytes=max_bytes)
        assert got.output_bytes == size_of(got.content)
        assert got.output_bytes <= max_bytes < got.output_bytes + 3 * size_of(line) + 5


def _by_lines(mode: str, text: str, max_lines: int | None) -> tuple[str, int]:
    lines = lines_of(text)
    if max_lines >= len(lines):
        return text, len(lines)
    kept = lines[:max_lines] if mode == "head" else lines[-max_lines:]
    joined = "".join(kept)
    return joined.removesuffix("\n") if mode == "head" else joined, max_lines


@pytest.mark.parametrize(
    ("cut", "text", "max_lines", "max_bytes", "content", "by", "partial"),
    [
        ("head", "alpha\nbeta", 10, 100, "alpha\nbeta", None, False),
        ("head", "one\ntwo\nthree", 2, 100, "one\ntwo", "lines", False),
        ("head", "one\ntwo", 10, 4, "one", "bytes", False),
        ("head", "abcdefghij\nsecond", 10, 4, "abcd", "bytes", True),
        ("tail", "one\ntwo\nthree", 2, 100, "two\nthree", "lines", False),
        ("tail", "abcdefghij", 10, 4, "ghij", "bytes", True),
        ("tail", "line1\nline2\nline3", 1, 2, "e3", "bytes", True),
        ("tail", "one\ntwo\n", 1, 100, "two\n", "lines", False),
        ("tail", "abc\n", 5, 3, "bc\n", "bytes", True),
        ("tail", "\n\n\n", 2, 100, "\n\n", "lines", False),
        ("tail", "x\n\n", 5, 1, "\n", "bytes", False),
        ("tail", "a漢", 5, 2, "", "bytes", True),
        ("head", "漢a", 5, 2, "", "bytes", True),
        ("head", "\n\nabc", 1, 100, "", "lines", False),
        ("head", "a\n", 5, 1, "a", "bytes", False),
        ("head", "one\ntwo\n", 2, 8, "one\ntwo\n", None, False),
        ("head", "", 1, 1, "", None, False),
        ("head", "one\r\ntwo\x0b\x85\u2028", 1, 100, "one", "lines", False),
    ],
)
def test_known_rows(
    cut: str,
    text: str,
    max_lines: int,
    max_bytes: int,
    *,
    content: str,
    by: str | None,
    partial: bool,
) -> None:
    """The rows that peers pin down, and the edges that this room decided."""
    got = CUTS[cut](text, max_lines=max_lines, max_bytes=max_bytes)

    assert (got.content, got.truncated_by) == (content, by)
    assert (got.last_line_partial or got.first_line_over_limit) == partial


def test_only_kept_empty_lines_are_counted() -> None:
    """Empty content may hold an empty line, or nothing because no character fits."""
    assert truncate.head("\n\nabc", max_lines=1).output_lines == 1
    assert truncate.head("漢", max_bytes=2).output_lines == 0
    assert truncate.tail("漢", max_bytes=2).output_lines == 0


def test_defaults_are_2000_lines_50_kibibytes() -> None:
    """Exactly the defaults pass, one more is cut."""
    assert not truncate.tail("x\n" * 2000).truncated
    assert truncate.tail("x\n" * 2001).output_lines == 2000
    assert not truncate.head("x" * 51_200).truncated
    assert truncate.head("x" * 51_201).output_bytes == 51_200


@pytest.mark.parametrize("mode", [*Mode, "head", "tail", "middle"])
def test_options_cut_like_the_functions(mode: Any) -> None:
    """Options are the same cut, checked once; the name of a mode will do."""
    text = "line\n" * 60
    options = Options(mode=mode, max_lines=9, max_bytes=200)

    name = Mode(mode).value
    assert options.apply(text) == CUTS[name](text, max_lines=9, max_bytes=200)


def test_a_result_is_a_frozen_record() -> None:
    """Nobody changes what was measured."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        truncate.head("text").content = "other"


@pytest.mark.parametrize("mode", CUTS)
@pytest.mark.parametrize("line", ["plain text, no more than that", "смешанный 漢字 text 😀"])
def test_large_text_costs_under_a_megabyte(mode: str, line: str) -> None:
    """Twenty megabytes are measured in slices, and only the kept part is copied."""
    text = (line + "\n") * (20_000_000 // size_of(line + "\n"))
    tracemalloc.start()
    CUTS[mode](text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.corpus
@pytest.mark.parametrize("mode", ["head", "tail"])
def test_recorded_outputs_cut_like_oracle(mode: str, tool_outputs: list[Path]) -> None:
    """Build logs, one-line files, binaries and every kind of line ending."""
    for path in tool_outputs:
        text = path.read_bytes().decode("utf-8", "replace")
        got = CUTS[mode](text)
        whole = got.content == text
        assert (got.total_lines, got.total_bytes) == (len(lines_of(text)), size_of(text))
        assert whole != got.truncated
        assert text.startswith(got.content) if mode == "head" else text.endswith(got.content)
        assert within(got.content, 2000, 51_200)
        if got.truncated_by == "lines":
            assert (got.content, 2000) == _by_lines(mode, text, 2000)


def test_middle_counts_shown_and_left_out() -> None:
    """The marker says how much is missing; its bytes count as shown, its line does not."""
    text = "\n".join(f"line {number}" for number in range(100))

    got = truncate.middle(text, max_lines=11)

    marker = "\n[... 90 lines, 716 bytes left out ...]\n"
    assert marker in got.content
    assert (got.output_lines, got.total_lines) == (10, 100)
    assert (got.output_bytes, got.total_bytes) == (len(got.content), len(text))
    assert (got.truncated_by, got.mode) == ("lines", truncate.Mode.MIDDLE)


def test_one_middle_line_has_singular_noun() -> None:
    """The noun agrees with the number, and bytes are what cut it."""
    got = truncate.middle("a\n" + "x" * 100 + "\nc", max_bytes=60)

    assert got.content == "a\n[... 1 line, 102 bytes left out ...]\nc"
    assert got.truncated_by == "bytes"


@pytest.mark.parametrize(
    ("text", "limits", "content"),
    [
        ("a\nb\nc\nd", {"max_lines": 3}, "a\n[... 2 lines, 5 bytes left out ...]\nd"),
        ("x" * 1000, {"max_bytes": 47}, "xxxx\n[... 992 bytes left out ...]\nxxxx"),
        ("x" * 1000, {"max_bytes": 46}, "x" * 46),
    ],
)
def test_middle_needs_room_for_two_ends(text: str, limits: dict[str, int], content: str) -> None:
    """A line each, or four bytes each beside the widest marker; else the end alone."""
    assert truncate.middle(text, **limits).content == content


@pytest.mark.parametrize(
    ("text", "max_lines", "max_bytes", "by", "cut"),
    [
        ("a\nb\nc\nd", 3, 60, "lines", (False, False)),
        ("a\n" + "x" * 100 + "\nc", 3, 60, "bytes", (False, False)),
        ("\n".join(["x" * 20] * 9), 7, 90, "bytes", (False, False)),
        ("x" * 1000 + "\na", 9, 60, "bytes", (True, False)),
        ("a\n" + "x" * 1000, 9, 60, "bytes", (False, True)),
    ],
)
def test_middle_says_which_limit_and_line(
    text: str, max_lines: int, max_bytes: int, by: str, cut: tuple[bool, bool]
) -> None:
    """The lines only if there were too many, and nothing but they took something away."""
    got = truncate.middle(text, max_lines=max_lines, max_bytes=max_bytes)

    assert got.truncated_by == by
    assert (got.first_line_over_limit, got.last_line_partial) == cut


@pytest.mark.parametrize("mode", truncate.Mode)
@pytest.mark.parametrize("text", ["whole", "one\n" * 9])
def test_a_result_knows_its_mode(mode: truncate.Mode, text: str) -> None:
    """Cut or not: the notice needs it."""
    options = truncate.Options(mode=mode, max_lines=4)

    assert options.apply(text).mode is mode


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one\ntwo\nthree", "three"),
        ("one\ntwo\nthree\n", "three\n"),
        ("one\ntwo\nfour", "two\nfour"),
        ("x" * 9, "x" * 8),
        ("x" * 9 + "\n", "x" * 7 + "\n"),
        ("one\n" + "x" * 12 + "\nlast", "last"),
    ],
)
def test_tail_of_bytes_starts_with_line(text: str, kept: str) -> None:
    """Unless the last line alone is too long; a line feed at the end opens no other line."""
    assert truncate.tail(text, max_bytes=8).content == kept
