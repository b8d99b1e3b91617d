"""Where identifiers last mattered: paths, names, ids and numbers, and the lines they stood in.

An identifier ranks by how often it was mentioned. A mention counts half as much after 200 messages,
and three times as much in what was said or called as in what a tool put out.
"""

import re
from collections.abc import Iterable
from heapq import nlargest
from itertools import islice
from math import exp2
from operator import attrgetter

import attrs

from agentic.context.compactors._entries import CallNote
from agentic.context.compactors._lines import around, one_line

__all__ = ["SAID", "Mention", "Mentions", "group"]

SAID = 3.0
"""How much a mention by user or assistant counts, where one in an output counts 1."""
_HALF_LIFE = 200
_LAST_DOUBLING = 1000
"""Scores stay within a float: after 200,000 messages they decay no more."""
_LINE_LIMIT = 128
_WINDOW = 1000
"""How far around an identifier its line is looked for, in characters."""
_CANDIDATES = 8
"""How many identifiers are looked at for a line: several often share one."""

_LENGTHS = range(4, 120)
_WORD = re.compile(r"[\w./~-]+")
_BLANKS = {at: " " for at in range(128) if not _WORD.match(chr(at))}
# A path, a dotted, dashed or snake_case name, camelCase, letters with digits, a longer number.
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9]|[^\W0-9][0-9]|[0-9]{4}")


@attrs.frozen
class Mention:
    """A line, and the label of what it stands in."""

    label: str
    line: str
    order: tuple[int, int]
    """The number of the text, and where the line stands in it."""


@attrs.define
class _Term:
    """What is known of one identifier."""

    word: str
    score: float = 0.0
    source: int = 0
    """The number of the text that mentioned it last."""


@attrs.define
class Mentions:
    """The identifiers of a conversation, while it is read."""

    message: int = 0
    """How many messages were read."""
    terms: dict[str, _Term | None] = attrs.field(factory=dict)
    """By the words as they stand; None for one that is no identifier."""
    sources: list[tuple[str, str]] = attrs.field(factory=list)
    """Labels and texts."""
    former: list[int] = attrs.field(factory=list)
    """The numbers of the texts that are lines of a former digest."""

    def read(self, label: str, text: str, weight: float = 1.0) -> None:
        """Note the identifiers in a text."""
        self.sources.append((label, text))
        source = len(self.sources) - 1
        terms = self.terms
        # Growing weights rank like decaying scores, and each score is touched only when it changes.
        weight *= exp2(min(self.message / _HALF_LIFE, _LAST_DOUBLING))
        for word in set(_words(text)):
            term = terms[word] if word in terms else self._learn(word)
            if term is not None:
                term.score += weight
                term.source = source

    def _learn(self, word: str) -> _Term | None:
        plain = word.rstrip("./~-").lstrip("-")
        is_prose = plain.isalpha() and plain.islower()
        if is_prose or len(plain) not in _LENGTHS or not _NAMED.search(plain):
            self.terms[word] = None
            return None
        term = self.terms.get(plain) or _Term(plain)
        self.terms[word] = self.terms[plain] = term
        return term

    def read_former(self, note: CallNote) -> None:
        """Note the lines of a former digest, which ranked high enough then."""
        for line in note.lines:
            self.former.append(len(self.sources))
            self.read(note.label, line, SAID)

    def best(self, limit: int) -> list[Mention]:
        """Give the lines of the identifiers that rank highest, best first, then the former ones."""
        best: dict[Mention, None] = {}
        covered: set[str] = set()
        known = (term for word, term in self.terms.items() if term and word == term.word)
        for term in nlargest(_CANDIDATES * limit, known, key=attrgetter("score")):
            if len(best) == limit:
                break
            if term.word not in covered and (mention := self._mention(term)):
                best[mention] = None
                covered.update(_words(mention.line))
        former = (Mention(*self.sources[source], (source, 0)) for source in self.former)
        return list(islice(dict.fromkeys([*best, *former]), limit))

    def _mention(self, term: _Term) -> Mention | None:
        """Find the line in which a word stands last in its text, unless the label says it all."""
        label, text = self.sources[term.source]
        at = text.rfind(term.word)
        start = text.rfind("\n", max(at - _WINDOW, 0), at) + 1 or max(at - _WINDOW, 0)
        end = text.find("\n", at, at + _WINDOW)
        line = text[start : end if end >= 0 else at + _WINDOW]
        shown = around(one_line(line), term.word, _LINE_LIMIT)
        if term.word in label or shown in label:
            return None
        return Mention(label, shown, (term.source, start))


def group(mentions: Iterable[Mention]) -> dict[str, CallNote]:
    """Put lines of the same label together, all in the order of the conversation."""
    ordered = sorted(mentions, key=attrgetter("order"))
    last = {mention.label: mention.order for mention in ordered}
    labels = sorted(last, key=lambda label: last[label])
    lines: dict[str, dict[str, None]] = {label: {} for label in labels}
    for mention in ordered:
        lines[mention.label][mention.line] = None
    return {label: CallNote(label, lines=tuple(lines[label])) for label in labels}


def _words(text: str) -> list[str]:
    # Both give words; only ASCII text can be translated fast.
    return text.translate(_BLANKS).split() if text.isascii() else _WORD.findall(text)
