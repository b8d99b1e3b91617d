"""Where texts are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.digest._text import MARK, cut, escape, tidy


@given(st.text(), st.integers(1, 80))
def test_a_cut_keeps_the_beginning(text: str, limit: int) -> None:
    """Whatever the text, it is within the limit, give or take the mark, and marked once."""
    got = cut(text, limit)

    if got == text:
        return
    assert len(got) <= max(limit, len(MARK) + 1)
    assert got.endswith(MARK)
    assert text.startswith(got.removesuffix(MARK))


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("Rename it. Then test it.", 20, "Rename it. ..."),
        ("Rename the parser and test it", 20, "Rename the ..."),
        ("把解析器重命名然后运行所有测试", 12, "把解析器重命名然 ..."),
        ("x" * 40, 20, "x" * 16 + " ..."),
    ],
)
def test_a_cut_is_at_a_seam(text: str, limit: int, shown: str) -> None:
    """After a sentence, else between words, else between characters."""
    assert cut(text, limit) == shown


@given(st.text())
def test_tidy_text_can_be_encoded(text: str) -> None:
    """No half of a character, no control character is left."""
    assert all(char in "\n\t" or ord(char) >= 32 for char in tidy(text))
    tidy(f"{text}\ud800").encode()


@pytest.mark.parametrize("end", ["\x07", "\x1b\\"])
def test_terminal_links_show_their_text(end: str) -> None:
    """Both ways to end an escape are in use, and what is between two of them is text."""
    link = f"\x1b]8;;https://example.org{end}the log\x1b]8;;{end}"

    assert tidy(f"See {link}.\x07") == "See the log."


def test_endless_escapes_cost_linear_time() -> None:
    """Quadratic, it would take minutes."""
    assert tidy("\x1b]" * 200_000) == "]" * 200_000


@pytest.mark.parametrize("line", ["#hash", "-x", "a # b", "3.5 s", "--all", "word"])
def test_plain_lines_are_left_alone(line: str) -> None:
    """Only what Markdown would take for more than text is escaped."""
    assert escape(line) == line
