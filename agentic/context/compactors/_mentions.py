"""Where identifiers last mattered: paths, names, ids and numbers, and the lines they stood in.

An identifier ranks by how often it was mentioned. A mention counts half as much after 200 messages,
and three times as much in what was said or called as in what a tool put out; the last mention
counts ten times more, and that fades within some 40 messages.
"""

import re
from collections.abc import Iterable, Iterator
from heapq import nlargest
from math import exp2

import attrs

from agentic.context.compactors._entries import CallNote
from agentic.context.compactors._lines import around, verbatim

__all__ = ["SAID", "Mention", "Mentions", "words_in"]

SAID = 3.0
"""How much a mention by user or assistant counts, where one in an output counts 1."""
_FORMER = 2.0
"""The same of a line in a former digest. More would keep what is stale, less what is new."""
_HALF_LIFE = 200
_LAST_DOUBLING = 1000
"""Scores stay within a float: after 200,000 messages they decay no more."""
_FRESH = 10.0
_FRESH_HALF_LIFE = 40
_WORTH = 0.7
"""The exponent from score to worth: what is mentioned twice as often is needed less than that."""
_WHOLE_LINE = 160
_BARE = 40
_WINDOW = 1000
"""How far around an identifier its line is looked for, in characters."""

_LENGTHS = range(4, 121)
_WORD = re.compile(r"[\w./~-]+")
_BLANKS = {at: " " for at in range(128) if not _WORD.match(chr(at))}
_JOINT = re.compile(r"[/.]+")
# A path, a dotted, dashed or snake_case name, camelCase, letters with digits, a longer number.
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9]|[^\W0-9][0-9]|[0-9]{4}")


@attrs.frozen
class Mention:
    """A line, and the label of what it stands in."""

    label: str
    line: str
    """Empty if the label says it all."""
    order: tuple[int, int]
    """The number of the text, and where the line stands in it."""
    bare: bool = False
    """It is so short a line out of a call that it says little by itself."""
    former: bool = False
    """It stood in a former digest, and nothing newer was said of what is in it."""


@attrs.define(eq=False)
class _Term:
    """What is known of one identifier."""

    word: str
    score: float = 0.0
    told: int = -1
    """The number of the text that mentioned it last, said by somebody or put out by a tool."""
    called: int = -1
    """The number of the last call that mentioned it. -1 is none."""

    @property
    def last(self) -> int:
        """The number of the text or call that mentioned it last."""
        return max(self.told, self.called)


@attrs.define
class _Source:
    """A text in which identifiers stand."""

    label: str
    text: str
    weight: float
    message: int
    called: bool = False
    """It is an argument of a call."""
    former: bool = False
    """It is a line of a former digest."""


@attrs.define
class Mentions:
    """The identifiers of a conversation, while it is read."""

    message: int = 0
    """How many messages were read."""
    terms: dict[str, _Term] = attrs.field(factory=dict)
    """By the words as they stand."""
    prose: set[str] = attrs.field(factory=set)
    """Words that are no identifiers."""
    sources: list[_Source] = attrs.field(factory=list)

    def read(self, label: str, text: str, weight: float = 1.0, *, former: bool = False) -> None:
        """Note the identifiers in what somebody said, or a tool put out."""
        number = len(self.sources)
        self.sources.append(_Source(label, text, weight, self.message, former=former))
        # Growing weights rank like decaying scores, and each score is touched only when it changes.
        weight *= self._growth
        for term in self._terms_in(text):
            term.score += weight
            term.told = number

    def read_call(self, label: str, text: str) -> None:
        """Note the identifiers in an argument of a call."""
        number = len(self.sources)
        self.sources.append(_Source(label, text, SAID, self.message, called=True))
        weight = SAID * self._growth
        for term in self._terms_in(text):
            term.score += weight
            term.called = number

    def read_former(self, note: CallNote) -> None:
        """Note the lines of a former digest, which ranked high enough then."""
        for line in note.lines or ("",):
            self.read(note.label, line or note.label, _FORMER, former=True)

    def _terms_in(self, text: str) -> list[_Term]:
        """Give the identifiers in a text: one in two spellings may come twice."""
        known = self.terms.get
        words = set(_words(text)).difference(self.prose)
        return [term for word in words if (term := known(word) or self._learn(word))]

    @property
    def _growth(self) -> float:
        return exp2(min(self.message / _HALF_LIFE, _LAST_DOUBLING))

    def _learn(self, word: str) -> _Term | None:
        plain = word.rstrip("./~-").lstrip("-")
        is_prose = plain.isalpha() and plain.islower()
        if is_prose or len(plain) not in _LENGTHS or not _NAMED.search(plain):
            self.prose.add(word)
            return None
        term = self.terms.get(plain) or _Term(plain)
        self.terms[word] = self.terms[plain] = term
        return term

    def best(self, limit: int) -> dict[str, float]:
        """Give the identifiers that rank highest, and their worth."""
        growth = self._growth
        worths = (
            (self._worth(term, growth), word)
            for word, term in self.terms.items()
            if word == term.word
        )
        return {word: worth for worth, word in nlargest(limit, worths)}

    def _worth(self, term: _Term, growth: float) -> float:
        last = self.sources[term.last]
        fresh = _FRESH * last.weight * exp2((last.message - self.message) / _FRESH_HALF_LIFE)
        return float((term.score / growth + fresh) ** _WORTH)

    def lines(self, words: Iterable[str], limit: int) -> Iterator[Mention]:
        """Give the lines in which identifiers stand, and what is close around them.

        Of each the last one that was told, and the last one in a call. Lines of a former digest
        come whole, all of those that nothing newer replaced.
        """
        for word in words:
            term = self.terms[word]
            for number in (term.told, term.called):
                if number >= 0 and not self.sources[number].former:
                    yield from self._around(word, number, limit)
        for number, source in enumerate(self.sources):
            if source.former and self._stands(source.text):
                line = "" if source.text == source.label else source.text
                yield Mention(source.label, line, (number, 0), former=True)

    def _around(self, word: str, number: int, limit: int) -> Iterator[Mention]:
        """Give the line in which a word stands last in a text, and a part of it if it is long."""
        source = self.sources[number]
        label, text = source.label, source.text
        at = text.rfind(word)
        start = text.rfind("\n", max(at - _WINDOW, 0), at) + 1 or max(at - _WINDOW, 0)
        end = text.find("\n", at, at + _WINDOW)
        line = verbatim(text[start : end if end >= 0 else at + _WINDOW])
        if line in label:
            yield Mention(label, "", (number, -1))
            return
        bare = source.called and len(line) < _BARE
        yield Mention(label, around(line, word, limit), (number, start), bare=bare)
        if limit < len(line) <= _WHOLE_LINE:
            yield Mention(label, line, (number, start))

    def _stands(self, line: str) -> bool:
        """Tell whether some identifier of a former line was not mentioned again since."""
        terms = [term for word in set(_words(line)) if (term := self.terms.get(word))]
        return not terms or any(self.sources[term.last].former for term in terms)


def words_in(text: str) -> set[str]:
    """Give the words of a text as identifiers are written, and the parts of names and paths.

    >>> sorted(words_in("see src/lexer/tabs.py."))
    ['lexer', 'lexer/tabs.py', 'py', 'see', 'src', 'src/lexer/tabs.py', 'tabs', 'tabs.py']
    """
    found: set[str] = set()
    for word in set(_words(text)):
        plain = word.rstrip("./~-").lstrip("-")
        found.add(plain)
        for joint in _JOINT.finditer(plain):
            found.add(plain[joint.end() :])
        found.update(_JOINT.split(plain))
    found.discard("")
    return found


def _words(text: str) -> list[str]:
    # Both give words; only ASCII text can be translated fast.
    return text.translate(_BLANKS).split() if text.isascii() else _WORD.findall(text)
