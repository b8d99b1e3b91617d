"""Which values of a page changed, by the benchmark of overturned values."""

from benchmarks.retention.history import Change, changes_between

BEFORE = """# Limits

A run may take 30 seconds in all. It has two
retries at most by default.

| a table | of 30 seconds in all |

- The page has 12 lines of text now.
"""


def test_sentence_with_another_number_is_a_change() -> None:
    """Beside it stand those that did not change."""
    after = BEFORE.replace("30 seconds in all. It", "60 seconds in all. It")
    first, *others = ["A run may take 30 seconds in all.", "It has two retries at most by default."]
    others.append("The page has 12 lines of text now.")

    assert list(changes_between(BEFORE, after)) == [
        Change(first, first.replace("30", "60"), tuple(others))
    ]


def test_other_words_and_new_sentences_are_none() -> None:
    """Nor is a number that is only added."""
    after = BEFORE.replace("two\nretries", "three\nretries").replace("lines of", "lines of 80")

    assert list(changes_between(BEFORE, f"{after}\nIt has 5 pages in all.\n")) == []
