"""The sentence for the model."""

import pytest

from agentic import truncate
from agentic.truncate import Mode, Result

LINES = "\n".join(f"line {number}" for number in range(100))


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            truncate.head(LINES, max_lines=60),
            "40 of 100 lines are missing, only the first 60 lines are shown",
        ),
        (
            truncate.tail(LINES, max_lines=1),
            "99 of 100 lines are missing, only the last line is shown",
        ),
        (
            truncate.head("abcdefghij\nsecond", max_bytes=4),
            "13 of 17 bytes (2 lines) are missing, only the start of the first line is shown",
        ),
        (
            truncate.tail("abcdefghij", max_bytes=9),
            "1 of 10 bytes (1 line) is missing, only the end of the last line is shown",
        ),
        (
            truncate.middle(LINES, max_lines=11),
            (
                "90 of 100 lines are missing, only the first and the last lines are shown "
                "with a marker between them"
            ),
        ),
        (
            truncate.middle("a\n" + "x" * 100 + "\nc", max_bytes=60),
            (
                "1 of 3 lines is missing, only the first and the last lines are shown "
                "with a marker between them"
            ),
        ),
        (
            truncate.middle("x" * 1000, max_bytes=100),
            (
                "A part of 1000 bytes (1 line) is missing, only the start of the first line and "
                "the end of the last line are shown with a marker between them"
            ),
        ),
        (
            truncate.middle("x" * 1000 + "\n" + "a\nb\n" * 3, max_bytes=100),
            (
                "A part of 1013 bytes (7 lines) is missing, only the start of the first line and "
                "the last lines are shown with a marker between them"
            ),
        ),
        (
            truncate.middle("a\nb\n" * 3 + "x" * 1000, max_bytes=100),
            (
                "A part of 1012 bytes (7 lines) is missing, only the first lines and the end of "
                "the last line are shown with a marker between them"
            ),
        ),
        (
            truncate.tail("漢", max_bytes=2),
            (
                "3 of 3 bytes (1 line) are missing, nothing is shown because the limit is smaller "
                "than one character"
            ),
        ),
        (
            truncate.head("one\n", max_bytes=3),
            "1 of 4 bytes (1 line) is missing, only the first line is shown",
        ),
    ],
)
def test_notice_tells_missing_amount_and_end(result: Result, sentence: str) -> None:
    """The numbers are those of the record, the verb agrees with them."""
    assert result.notice() == f"{sentence}: ask for a narrower part to see the rest."


def test_notice_names_full_texts_place() -> None:
    """With a reference the model is sent there."""
    result = truncate.head("one\ntwo", max_lines=1)

    assert result.notice("logs/full.log").endswith("shown: the full text is in logs/full.log.")


def test_nothing_missing_needs_no_notice() -> None:
    """The sentence is empty when nothing was cut."""
    assert truncate.head("whole").notice("logs/full.log") == ""


def test_middle_turned_tail_is_described_so() -> None:
    """The mode of the result, not of the wish, decides on the words."""
    result = truncate.middle("one\ntwo\nthree", max_lines=2)

    assert result.mode is Mode.TAIL
    assert "only the last 2 lines are shown" in result.notice()


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (truncate.head("1\n2\n3", max_lines=2), "1\n2\n{notice}"),
        (truncate.tail("1\n2\n3\n", max_lines=2), "2\n3\n{notice}"),
        (truncate.tail("1\n2\n3", max_lines=2), "2\n3\n{notice}"),
        (truncate.middle("1\n2\n3\n4\n", max_lines=3), "{content}{notice}"),
        (truncate.head("1\n\n3", max_lines=2), "1\n\n{notice}"),
        (truncate.head("\n2", max_lines=1), "\n{notice}"),
        (truncate.head("漢", max_bytes=2), "{notice}"),
        (truncate.head("whole\n"), "whole\n"),
        (truncate.tail(""), ""),
    ],
)
def test_text_ends_with_the_notice(result: truncate.Result, text: str) -> None:
    """It stands on a line of its own, and no kept line is lost or joined to it."""
    assert result.text == text.format(content=result.content, notice=result.notice())


def test_empty_reference_names_no_place() -> None:
    """As if there were none."""
    short = truncate.head("one\ntwo", max_lines=1)

    assert short.notice("") == short.notice()
