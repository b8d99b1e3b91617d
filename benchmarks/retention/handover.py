"""What a text hands over to a successor: the facts of `facts`, at several cuts of each session."""

import asyncio
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import attrs

from agentic.context.compactors import Digest
from agentic.messages import ContextSummary, Message, SummaryText, split_rounds
from benchmarks.retention.cuts import CUTS
from benchmarks.retention.facts.score import FACTS, Past
from benchmarks.retention.facts.transcript import Raw
from benchmarks.retention.index import newest_lines
from benchmarks.retention.measure import BUDGETS, Sample, measure, summarize
from benchmarks.retention.sessions import Session
from benchmarks.retention.shown import CharSize, newest, size_of, text_of

__all__ = [
    "Score",
    "evidence_of",
    "fold_scores_of",
    "markdown_evidence",
    "markdown_facts",
    "scores_of",
]

SIZES = (1_000, 2_000, 4_000)
PLACES = 4
"""A session is cut after each quarter of its messages; the last cut is its end."""
GENERATIONS = 10
"""So often a session is folded: each time the former digest and the next part make a new one."""
EVIDENCE = ("Digest 90 %, newest", "crude index 90 %, newest", "newest only")


def _digest(past: list[Message], size: int) -> str:
    return asyncio.run(Digest(max_tokens=size, counter=CharSize()).compact(past))


def _newest(past: list[Message], size: int) -> str:
    return newest(past, size)[0]


def _folded(past: list[Message], size: int) -> str:
    rounds = split_rounds(past)
    bounds = [at * len(rounds) // GENERATIONS for at in range(GENERATIONS + 1)]
    former: list[Message] = []
    text = ""
    for start, end in pairwise(bounds):
        part = [message for found in rounds[start:end] for message in found.messages]
        text = _digest([*former, *part], size)
        summary = ContextSummary(text, 1, notes=SummaryText(text).notes)
        former = [summary.to_message()] if text else []
    return text


_Way: TypeAlias = Callable[[list[Message], int], str]
_WAYS: dict[str, _Way] = {
    "Digest": _digest,
    "newest lines": newest_lines,
    "newest messages": _newest,
}
_FOLDS: dict[str, _Way] = {"one digest": _digest, f"{GENERATIONS} folds": _folded}


@attrs.frozen
class Score:
    """One text at one cut: for each fact, how many it has, and how many there are."""

    session: str
    family: str
    is_long: bool
    way: str
    size: int
    place: int
    counts: dict[str, tuple[int, int]]


def scores_of(session: Session) -> list[Score]:
    """Score every way at every cut and size. A cut counts if the past is larger than the size."""
    return list(_scores(session, _WAYS))


def fold_scores_of(session: Session) -> list[Score]:
    """Score a digest of the whole past, and one that went through ten generations."""
    return list(_scores(session, _FOLDS))


def _scores(session: Session, ways: Mapping[str, _Way]) -> Iterator[Score]:
    for place, at in enumerate(_cuts(session.raw)):
        yield from _at(session, place, at, ways)


def _at(session: Session, place: int, at: int, ways: Mapping[str, _Way]) -> Iterator[Score]:
    past, messages = Past(session.raw[:at]), session.messages[:at]
    for size in SIZES:
        if size_of(text_of(messages)) > size:
            for way, write in ways.items():
                view = write(messages, size)
                if size_of(view) > size:
                    raise AssertionError(f"{way}: {size_of(view):.0f} of {size} tokens")
                counts = past.score(view)
                yield Score(session.name, session.family, session.is_long, way, size, place, counts)


def _cuts(raw: Sequence[Raw]) -> Iterator[int]:
    for quarter in range(1, PLACES + 1):
        at = quarter * len(raw) // PLACES
        while at < len(raw) and raw[at].get("role") == "tool":
            at += 1
        yield at


def evidence_of(session: Session) -> list[Sample]:
    """Judge what the future uses, at the points of a session, by the ways that are compared."""
    return list(measure([session], {way: CUTS[way] for way in EVIDENCE}))


def markdown_facts(scores: Sequence[Score]) -> Iterator[str]:
    """Yield a table for all long sessions, all others, and each family of them."""
    for is_long, title in ((True, "100 messages or more"), (False, "shorter sessions")):
        chosen = [score for score in scores if score.is_long == is_long]
        families = sorted({score.family for score in chosen})
        if chosen:
            yield from _facts(f"All families, {title}", chosen)
        for family in families if len(families) > 1 else ():
            of_family = [score for score in chosen if score.family == family]
            yield from _facts(f"`{family}`, {title}", of_family)


def _facts(title: str, scores: Sequence[Score]) -> Iterator[str]:
    sessions = len({score.session for score in scores})
    cuts = len({(score.session, score.place) for score in scores})
    yield f"\n{title}: {sessions} session{'s' * (sessions > 1)}, {cuts} cuts\n"
    ways = dict.fromkeys(score.way for score in scores)
    columns = [(way, size) for way in ways for size in SIZES]
    yield _row("", *(f"{way} {size // 1000}k" for way, size in columns))
    yield _row("---", *("---" for _ in columns))
    for fact, words in FACTS.items():
        shares = [
            _share(fact, [each for each in scores if (each.way, each.size) == column])
            for column in columns
        ]
        if any(share is not None for share in shares):
            yield _row(words, *map(_percent, shares))


def _share(fact: str, scores: Iterable[Score]) -> float | None:
    """Return the mean over sessions of the share of all that there is at the cuts of each."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for score in scores:
        for at, number in enumerate(score.counts[fact]):
            sums[score.session][at] += number
    shares = [kept / every for kept, every in sums.values() if every]
    return statistics.fmean(shares) if shares else None


def markdown_evidence(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a table of evidence: a line a group of sessions and a way, a column a budget."""
    groups = {"all, 100 messages or more": [each for each in samples if each.is_long]}
    for family in sorted({each.family for each in groups["all, 100 messages or more"]}):
        groups[f"`{family}`"] = [each for each in samples if each.is_long and each.family == family]
    groups["all, shorter"] = [each for each in samples if not each.is_long]
    yield "\nEvidence\n"
    yield _row("", "", *(f"{budget // 1000}k" for budget in BUDGETS))
    yield _row("---", "---", *("---" for _ in BUDGETS))
    for title, chosen in groups.items():
        rows = {(row.way, row.budget): row.evidence for row in summarize(chosen)}
        for way in EVIDENCE if chosen else ():
            yield _row(title, way, *(_percent(rows.get((way, budget))) for budget in BUDGETS))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _percent(share: float | None) -> str:
    """Write a share; one decimal above 95 %, where a point is much.

    >>> _percent(0.4567), _percent(0.9567), _percent(1.0), _percent(None)
    ('46', '95.7', '100', '-')
    """
    if share is None:
        return "-"
    return f"{100 * share:.0f}" if share < 0.95 else f"{100 * share:.1f}".removesuffix(".0")
