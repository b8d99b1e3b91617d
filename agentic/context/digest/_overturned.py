"""Which statements a later one replaces: the same subject with another value.

A statement has a value: an amount, a day, a version, a number, a code, or a name in capitals. One
of a later message replaces it if it has another value of the same kind, and

- is about the same: one of the two has all of the words of the other, or
- says that something changed (`CHANGES` of `_languages`), and shares a word with it that few other
  statements have, more than with any other, or alone has a value that is written like its own.

Two statements that differ in one word each besides the value, such as the budgets of the project
and of the journey, are about two things. Words are compared without their endings and by their
first five letters. A label in capitals before a statement is no part of it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import attrs

from agentic.context.digest._languages import (
    ARTICLES,
    CHANGES,
    COMMON,
    DAYS,
    ENDINGS,
    MONEY,
    MONTHS,
    NUMBERS,
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
_RARE = 1 / 4
"""A word that four statements have is shared enough."""
_CHANGED = cue_pattern(cues_in(CHANGES))
_MONTH, _DAY, _MONEY = (rf"(?:{'|'.join(cues_in(each))})\w*" for each in (MONTHS, DAYS, MONEY))
_KINDS = (
    ("address", re.compile(r"\S+@\S+\.\w+")),
    ("amount", re.compile(
        rf"[$€£¥]\s?\d[\d,.]*|\d[\d,.]*\s?(?:[$€£¥%]|{_MONEY})"
        rf"|(?:\w+[ -])?(?:{'|'.join(cues_in(NUMBERS))})\b[\w ]{{0,20}}\b{_MONEY}",
        re.IGNORECASE)),
    ("day", re.compile(
        rf"\d{{4}}-\d\d-\d\d|\b{_MONTH} \d{{1,2}}\b|\b\d{{1,2}}\.?(?: de)? {_MONTH}"
        rf"|\b\d\d?[-/.]\d\d?\b(?!\.)|\d{{1,2}}月\d{{1,2}}|\b{_DAY}", re.IGNORECASE)),
    ("code", re.compile(
        r"\b(?=[\w./-]*\d)(?=[\w./-]*[A-Za-z])[\w-]+(?:[./-][\w-]+)*\b|\b[a-z]+/[\w-]+\b"
        r"|https?://\S+")),
    ("number", re.compile(r"(?<![\w.])(?:\d{3,}|\d+(?:\.\d+)+)(?![\w.]*\w)")),
    ("name", re.compile(
        rf"\A(?!(?i:{'|'.join(cues_in(ARTICLES))})\b)[A-Z]\w+ [A-Z]\w+(?= [a-z])"
        r"|(?<=[a-z,] )[A-Z][\w]*(?: [A-Z]\w*)*|\b[A-Z]{2,5}\b(?!:)")),
)  # fmt: skip
"""What a value looks like; the first kind that matches a part of a statement is its kind. Numbers
of one or two digits are none: they count what is listed, as in "module 1"."""
_LABEL = re.compile(r"\W*[A-Z]{2}[A-Z ]*: +")
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
    before: dict[str, str]
    """Those with the words for a change, which mean something else where nothing changes; each with
    the word directly before it, empty if that is a common one."""
    changes: bool
    """Whether it says that something changed."""

    @property
    def subjects(self) -> frozenset[str]:
        """What two statements may share: words, and names, which all nouns are in German."""
        return self.words | self.values.get("name", frozenset())


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
    usual = Counter(word for each in statements for word in each.subjects)
    obsolete: set[str] = set()
    for at, later in enumerate(statements):
        before = (each for each in statements[:at] if each.source < later.source)
        earlier = [each for each in before if each.text not in obsolete and _differ(each, later)]
        obsolete.update(each.text for each in earlier if _is_same_subject(each, later))
        if later.changes:
            obsolete.update(each.text for each in _nearest(earlier, later, usual))
    return frozenset(obsolete)


def _statements(source: int, text: str) -> Iterator[_Statement]:
    for sentence in sentences(text):
        line = one_line(sentence)
        if len(line) > PARAGRAPH or line.endswith("?"):
            continue
        values, rest = {}, _LABEL.sub("", line, count=1)
        for kind, pattern in _KINDS:
            matches = [each for each in pattern.findall(rest) if each.casefold() not in _COMMON]
            if matches:
                values[kind] = frozenset(match.casefold() for match in matches)
                rest = pattern.sub(" ", rest)
        if values:
            words, changes = frozenset(_words(_CHANGED.sub(" ", rest))), bool(_CHANGED.search(line))
            yield _Statement(source, line, values, words, _words(rest), changes)


def _words(text: str) -> dict[str, str]:
    """Return the beginnings of words, each with the one before it.

    In scripts without blanks, each pair of letters is a word.
    """
    words: dict[str, str] = {}
    before = ""
    for word in _WORD.findall(text.casefold()):
        if _WIDE.match(word):
            words |= {word[at : at + 2]: "" for at in range(len(word) - 1)}
            before = ""
        elif len(word) < _SHORTEST or word in _COMMON:
            before = ""
        else:
            stem = _ENDING.sub("", word)[:_STEM]
            words.setdefault(stem, before)
            before = stem
    return words


def _differ(earlier: _Statement, later: _Statement) -> bool:
    """Return whether a later statement has another value of a kind, and none of the earlier one."""
    return any(
        values.isdisjoint(later.values[kind])
        for kind, values in earlier.values.items()
        if kind in later.values
    )


def _is_same_subject(earlier: _Statement, later: _Statement) -> bool:
    smaller, larger = sorted([earlier.words, later.words], key=len)
    return len(smaller) > 1 and smaller <= larger and len(larger) <= 2 * len(smaller)


def _nearest(
    earlier: Sequence[_Statement], later: _Statement, usual: Counter[str]
) -> Iterator[_Statement]:
    """Yield the earlier statement that shares the rarest words, or alone is written alike."""
    scores = [
        (sum(1 / usual[word] for word in each.subjects & later.subjects), at)
        for at, each in enumerate(earlier)
        if not _are_parallel(each, later) and _are_related(each, later)
    ]
    score, at = max(scores, default=(0.0, 0))
    if score >= _RARE:
        yield earlier[at]
        return
    forms = [each for each in earlier if _forms(each) & _forms(later)]
    if len(forms) == 1:
        yield forms[0]


def _are_parallel(earlier: _Statement, later: _Statement) -> bool:
    """Return whether two statements differ in one word each, and so are about two things.

    A word right after one that both have is another name of the same thing: a launch date is a
    launch deadline, but a project budget is no travel budget.
    """
    here, there = earlier.before.keys() - later.before, later.words - earlier.before.keys()
    if not len(here) == len(there) == 1:
        return False
    follows = [earlier.before[word] for word in here] + [
        later.before.get(word, "") for word in there
    ]
    return not any(follows)


def _are_related(earlier: _Statement, later: _Statement) -> bool:
    """Return whether they share enough: of names, which may be any emphasis, two words.

    A name of several words is that of a person or of a thing.
    """
    kinds = earlier.values.keys() & later.values.keys()
    names = [each.values.get("name", ()) for each in (earlier, later)]
    is_emphasis = kinds == {"name"} and not all(any(" " in name for name in each) for each in names)
    return len(earlier.subjects & later.subjects) > is_emphasis


def _forms(statement: _Statement) -> set[str]:
    """Return how its codes are written: each run of letters or digits as one sign."""
    return {
        re.sub(r"[a-z]+", "a", re.sub(r"\d+", "0", value))
        for value in statement.values.get("code", ())
    }
