"""What a text answers of the probes, in whole sentences or not, and which of its lines are idle."""

import re
from collections.abc import Sequence
from functools import cached_property

import attrs

from benchmarks.retention.facts.changed import changes_of
from benchmarks.retention.facts.failures import failures_of
from benchmarks.retention.facts.lines import Sources, is_clipped
from benchmarks.retention.probes.probe import Cut, Probe, spaced

__all__ = ["Purpose", "Score", "score"]

_NOT_COUNTED = re.compile(r"#|[`~]{3,}|\W*\(?\d+ more\b|\W*$")
"""Headings, fences, counts of what was left out, and lines without a word."""

_PHRASE = 5
_OF_ERROR, _SHORT = 40, 9
"""So many characters of an error must stand in a line; a shorter one than 10 is no error."""


@attrs.frozen
class Score:
    """One text at one cut, as counts."""

    answers: dict[str, tuple[int, int]]
    """How many probes of each kind are answered, and how many there are."""
    whole: tuple[int, int]
    """How many answers stand in a line that is not clipped, and how many there are."""
    idle: tuple[int, int]
    """How many lines serve no purpose, and how many there are."""


@attrs.define(slots=False)
class Purpose:
    """What a line may be there for, besides answering a probe."""

    cut: Cut

    @cached_property
    def sources(self) -> Sources:
        """The lines of the past, to see whether a line breaks off."""
        return Sources.of(self.cut.past)

    @cached_property
    def files(self) -> frozenset[str]:
        """The names of the files that were changed."""
        return frozenset(path.rpartition("/")[2] for path in changes_of(self.cut.past).changed)

    @cached_property
    def errors(self) -> list[str]:
        """The lines of the failures that stand."""
        return [spaced(line) for lines in failures_of(self.cut.past) for line in lines]

    @cached_property
    def requests(self) -> str:
        """The words of the requests, between single spaces, a line a request."""
        return "\n".join(f" {' '.join(_words(text))} " for text in self.cut.requests)

    @cached_property
    def phrases(self) -> frozenset[tuple[str, ...]]:
        """All five words in a row of the requests."""
        return frozenset(phrase for text in self.cut.requests for phrase in _phrases(_words(text)))

    def serves(self, line: str) -> bool:
        """Return whether a line states a request, a change or a failure."""
        if any(name in line for name in self.files):
            return True
        if any(error[:_OF_ERROR] in line for error in self.errors if len(error) > _SHORT):
            return True
        words = _words(line)
        if len(words) < _PHRASE:
            return len(words) > 1 and f" {' '.join(words)} " in self.requests
        return not self.phrases.isdisjoint(_phrases(words))


def score(view: str, probes: Sequence[Probe], purpose: Purpose | None = None) -> Score:
    """Return what a text answers of the probes at a cut; with a purpose, also how."""
    lines = [spaced(line) for line in view.split("\n") if line.strip()]
    text = " ".join(lines)
    answers: dict[str, tuple[int, int]] = {}
    whole = total = 0
    useful: set[str] = set()
    for probe in probes:
        is_answered = probe.may_stand_in(text) and probe.is_answered(lines)
        hits, all_of_kind = answers.get(probe.kind, (0, 0))
        answers[probe.kind] = hits + is_answered, all_of_kind + 1
        if is_answered and purpose:
            where = probe.lines_in(lines)
            useful.update(where)
            total += 1
            whole += not where or not all(is_clipped(line, purpose.sources) for line in where)
    counted = [line for line in lines if purpose and not _NOT_COUNTED.match(line)]
    idle = sum(line not in useful and not purpose.serves(line) for line in counted if purpose)
    return Score(answers, (whole, total), (idle, len(counted)))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _phrases(words: Sequence[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(_PHRASE)), strict=False))
