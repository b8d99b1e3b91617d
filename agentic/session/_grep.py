"""Where a text or a pattern occurs in texts; run as a program, it can be stopped.

A regular expression may take longer than the universe lasts, and nothing stops a thread that is
inside one. So a pattern that a model wrote is tried in a process of its own, which is killed when
its time is over. The program reads (pattern, texts, most) from stdin in marshal's form, which keeps
lone surrogates, and writes the places to stdout. It imports nothing of this package.
"""

import itertools
import marshal
import re
import sys
from collections.abc import Iterable, Iterator

__all__ = ["find_matches", "find_text"]


def find_matches(pattern: str, texts: list[str], most: int) -> list[tuple[int, int]]:
    r"""Give the first places that match, each as (number of the text, offset in it).

    Case is ignored. After a place the search goes on two lines below: the next line is shown with
    it.

    >>> find_matches("o", ["two\ntoo\nfour", "One"], 9)
    [(0, 2), (0, 9), (1, 0)]

    Raises:
        re.error: no regular expression.
    """
    compiled = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return _first(most, (_matches(compiled, text) for text in texts))


def find_text(query: str, texts: list[str], most: int) -> list[tuple[int, int]]:
    """Give the first places that hold a text, as `find_matches` gives them.

    >>> find_text("TWO", ["one two"], 9)
    [(0, 4)]
    """
    return _first(most, (_occurrences(query, text) for text in texts))


def _first(most: int, found: Iterable[Iterator[int]]) -> list[tuple[int, int]]:
    places = ((number, at) for number, offsets in enumerate(found) for at in offsets)
    return list(itertools.islice(places, most))


def _matches(compiled: re.Pattern[str], text: str) -> Iterator[int]:
    start = 0
    while start >= 0 and (found := compiled.search(text, start)):
        yield found.start()
        start = _two_lines_below(text, max(found.end(), found.start() + 1))


def _occurrences(query: str, text: str) -> Iterator[int]:
    lowered, wanted, start = text.lower(), query.lower(), 0
    if len(lowered) != len(text):  # some capitals have two characters for their small letter
        yield from _matches(re.compile(re.escape(query), re.IGNORECASE), text)
        return
    while start >= 0 and (at := lowered.find(wanted, start)) >= 0:
        yield at
        start = _two_lines_below(text, at + max(1, len(wanted)))


def _two_lines_below(text: str, end: int) -> int:
    line_end = text.find("\n", end - 1)
    next_end = text.find("\n", line_end + 1) if line_end >= 0 else -1
    return next_end + 1 if next_end >= 0 else -1


if __name__ == "__main__":
    places = find_matches(*marshal.load(sys.stdin.buffer))  # noqa: S302  our parent wrote it
    sys.stdout.buffer.write(marshal.dumps(places))
