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


@pytest.mark.parametrize("line", ["#hash", "-x", "a # b", "3.5 s", "--all", "word"])
def test_plain_lines_are_left_alone(line: str) -> None:
    """Only what Markdown would take for more than text is escaped."""
    assert escape(line) == line
