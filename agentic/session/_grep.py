"""Where a text or a pattern occurs in texts. It can run as a program, so that it can be stopped.

A regular expression may backtrack practically forever, compiling one may take seconds, and a thread
inside either cannot be stopped. So a pattern written by a model is compiled and tried in a process
of its own, which is killed after a time limit. The program reads (pattern, texts, most) from stdin
in marshal format, which preserves lone surrogates. It writes the matches to stdout or, if the
pattern is invalid, a text that says why. It imports nothing from this package.
"""

import itertools
import marshal
import re
import sys
from collections.abc import Iterable, Iterator

LINE_CHARS = 300
"""The most characters shown of a line."""


def find_matches(pattern: str, texts: list[str], most: int) -> list[tuple[int, int]]:
    r"""Return the first matches, each as (number of the text, offset in it).

    Case is ignored. A match that is already shown with the one before is left out: one close to it
    on the same line, or one on the next line.

    >>> find_matches("o", ["two\ntoo\nfour", "One"], 9)
    [(0, 2), (0, 9), (1, 0)]

    Raises:
        re.error: the pattern is not a regular expression.
    """
    expression = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    return _first(most, (_matches(expression, text) for text in texts))


def find_text(query: str, texts: list[str], most: int) -> list[tuple[int, int]]:
    """Return the first places that contain a text, in the form that `find_matches` returns.

    >>> find_text("TWO", ["one two"], 9)
    [(0, 4)]
    """
    return _first(most, (_occurrences(query, text) for text in texts))


def _first(most: int, matches: Iterable[Iterator[int]]) -> list[tuple[int, int]]:
    places = ((number, at) for number, offsets in enumerate(matches) for at in offsets)
    return list(itertools.islice(places, most))


def _matches(expression: re.Pattern[str], text: str) -> Iterator[int]:
    until = -1
    for match in expression.finditer(text):
        if match.end() > until:
            yield match.start()
            until = _shown_until(text, match.start())


def _occurrences(query: str, text: str) -> Iterator[int]:
    lower, word, start = text.lower(), query.lower(), 0
    if len(lower) != len(text):  # some capitals have a lower-case form of two characters
        yield from _matches(re.compile(re.escape(query), re.IGNORECASE), text)
        return
    while (at := lower.find(word, start)) >= 0:
        yield at
        start = max(at + len(word), _shown_until(text, at) - len(word) + 1)


def shown_from(at: int) -> int:
    """Return where the shown part of a line begins for a match, if not at the line's start.

    >>> shown_from(5_000)
    4900
    """
    return max(0, at - LINE_CHARS // 3)


def _shown_until(text: str, at: int) -> int:
    """Return where the text shown for a match ends: in its line, or in the next."""
    near = shown_from(at)
    line = max(near, text.rfind("\n", near, at) + 1)
    line_end = text.find("\n", at, line + LINE_CHARS + 1)
    if line_end < 0:
        return min(len(text), line + LINE_CHARS)
    limit = line_end + 1 + LINE_CHARS
    next_end = text.find("\n", line_end + 1, limit)
    return next_end if next_end >= 0 else min(len(text), limit)


if __name__ == "__main__":
    found: list[tuple[int, int]] | str
    try:
        found = find_matches(*marshal.load(sys.stdin.buffer))  # noqa: S302  from our parent process
    # re.compile() raises the last two for an excessive repeat count and for deep nesting.
    except (re.error, OverflowError, RecursionError) as problem:
        found = str(problem)
    sys.stdout.buffer.write(marshal.dumps(found))
