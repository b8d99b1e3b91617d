"""Which statements a later one replaces: the same subject with another value.

A statement has values: amounts, days, codes, versions and other numbers. A statement of a later
message replaces it if, of the kinds of values that both have, exactly one has another value, and

- three of five of their words are the same, or
- the later one says that something changed (`CHANGES` of `_languages`), two of five of their
  words are the same, and it has less in common with every other statement.

Where two kinds differ, such as the file and the number of its lines, the statements are about two
things. Words are compared without their endings and by their first five letters.
"""

import re
from collections.abc import Iterable, Iterator

import attrs

from agentic.context.digest._languages import (
    CHANGES,
    COMMON,
    DAYS,
    ENDINGS,
    MONTHS,
    cue_pattern,
    cues_in,
)
from agentic.context.digest._text import PARAGRAPH, one_line, sentences

__all__ = ["overturned"]

_MOST = 120
"""So many of the newest statements are compared: the time grows with the square."""
_LONGEST = 2_000
"""A longer text is not only the user's: a log, a description, a file."""
_SHORTEST, _STEM = 3, 5
_ALIKE, _LEAST = 0.6, 2
"""The share of the words of two statements that they have in common if they are about one thing,
and the least number. With a share of 0.5, half of the pairs of similar facts in a public kit
replace each other."""
_RELATED = 0.4
"""That share if the later one says that something changed. At a third, the budget of a project
would replace that of a journey."""
_CHANGED = cue_pattern(cues_in(CHANGES))
_MONTH, _DAY = (rf"(?:{'|'.join(cues_in(each))})\w*" for each in (MONTHS, DAYS))
_KINDS = (
    ("address", re.compile(r"\S+@\S+\.\w+")),
    ("amount", re.compile(r"[$€£¥]\s?\d[\d,.]*|\d[\d,.]*\s?[$€£¥%]")),
    ("day", re.compile(
        rf"\d{{4}}-\d\d-\d\d|\b{_MONTH} \d{{1,2}}\b|\b\d{{1,2}}\.?(?: de)? {_MONTH}"
        rf"|\b\d\d?[-/.]\d\d?\b(?!\.)|\d{{1,2}}月\d{{1,2}}|\b{_DAY}", re.IGNORECASE)),
    ("code", re.compile(
        r"\b(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])[\w-]+(?:[./-][\w-]+)*\b|\b[a-z]+/[\w-]+\b"
        r"|https?://\S+")),
    ("number", re.compile(r"(?<![\w.])(?:\d{3,}|\d+(?:\.\d+)+)(?![\w.]*\w)")),
)  # fmt: skip
"""What a value looks like. Numbers of one or two digits are none: they count what is listed, as in
"module 1". Neither are names: on recorded sessions each statement that one replaced still held."""
_MAY_HAVE_ONE = re.compile(rf"[\d@/]|\b{_DAY}", re.IGNORECASE)
_LABEL = re.compile(r"\W*[A-Z]{2}[A-Z ]*: +")
"""A label in capitals before a statement is no part of it."""
_ENDING = re.compile(f"(?<=...)(?:{'|'.join(cues_in(ENDINGS))})\\Z")
_WORD = re.compile(r"[^\W\d_]+|[\u2e80-\U0003ffff]{2,}")
_WIDE = re.compile(r"[\u2e80-\U0003ffff]")
_COMMON = frozenset(cues_in(COMMON))


@attrs.frozen
class _Statement:
    """A sentence with a value."""

    source: int
    """The position of the text that has it."""
    text: str
    values: dict[str, frozenset[str]]
    """The values of each kind, in lower case."""
    words: frozenset[str]
    """The beginnings of its other words, without the most common ones and those for a change."""
    changes: bool
    """Whether it says that something changed."""


def overturned(texts: Iterable[str]) -> frozenset[str]:
    """Return the sentences of some texts, oldest first, that a later sentence replaces.

    >>> sorted(overturned(["Serve it on port 8080.", "Serve it on port 9090."]))
    ['Serve it on port 8080.']
    >>> overturned(["Project budget is $800.", "Travel budget is $300."])
    frozenset()
    """
    statements: list[_Statement] = []
    # From the newest text back, so that the time does not grow with the conversation.
    for at, text in reversed([*enumerate(texts)]):
        if len(text) <= _LONGEST and len(statements) < _MOST:
            statements[:0] = _statements(at, text)
    statements = statements[-_MOST:]
    obsolete: set[str] = set()
    for at, later in enumerate(statements):
        earlier = [
            each
            for each in statements[:at]
            if each.source < later.source and each.text not in obsolete and _differ(each, later)
        ]
        obsolete.update(each.text for each in earlier if _are_alike(each, later))
        nearest = max(earlier, key=lambda each: _likeness(each, later), default=None)
        if later.changes and nearest and _likeness(nearest, later) >= _RELATED:
            obsolete.add(nearest.text)
    return frozenset(obsolete)


def _statements(source: int, text: str) -> Iterator[_Statement]:
    for sentence in sentences(text):
        line = one_line(sentence)
        if len(line) > PARAGRAPH or line.endswith("?") or not _MAY_HAVE_ONE.search(line):
            continue
        values, rest = {}, _LABEL.sub("", line, count=1)
        for kind, pattern in _KINDS:
            if matches := pattern.findall(rest):
                values[kind] = frozenset(match.casefold() for match in matches)
                rest = pattern.sub(" ", rest)
        if values:
            words, changes = frozenset(_words(_CHANGED.sub(" ", rest))), bool(_CHANGED.search(line))
            yield _Statement(source, line, values, words, changes)


def _words(text: str) -> Iterator[str]:
    """Yield the beginnings of words; in scripts without blanks, each pair of letters is a word."""
    for word in _WORD.findall(text.casefold()):
        if _WIDE.match(word):
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        elif len(word) >= _SHORTEST and word not in _COMMON:
            yield _ENDING.sub("", word)[:_STEM]


def _differ(earlier: _Statement, later: _Statement) -> bool:
    """Return whether they have other values of exactly one of the kinds that both have."""
    kinds = earlier.values.keys() & later.values.keys()
    return sum(earlier.values[kind] != later.values[kind] for kind in kinds) == 1


def _are_alike(earlier: _Statement, later: _Statement) -> bool:
    is_long_enough = len(earlier.words & later.words) >= _LEAST
    return is_long_enough and _likeness(earlier, later) >= _ALIKE


def _likeness(earlier: _Statement, later: _Statement) -> float:
    """Return the share of the words of two statements that both have."""
    return len(earlier.words & later.words) / max(len(earlier.words | later.words), 1)
