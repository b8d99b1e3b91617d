"""Every session, at every point, by every way, at every budget; and the means over sessions."""

import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from benchmarks.retention.cuts import Cut
from benchmarks.retention.evidence import POINTS, Point, points_of
from benchmarks.retention.sessions import Session
from benchmarks.retention.shown import size_of

__all__ = ["BUDGETS", "Row", "Sample", "below", "measure", "summarize"]

BUDGETS = (2_000, 4_000, 8_000, 20_000, 50_000)
DRAWS, OUTER = 2_000, (0.025, 0.975)
_SLACK = 1e-9


@attrs.frozen
class Sample:
    """One cut at one point, judged."""

    session: str
    family: str
    is_long: bool
    way: str
    budget: int
    point: int
    """The number of the point in the session."""
    evidence: float
    known: float
    requests: float | None
    used: float
    """The share of the budget that was used."""
    seconds: float


@attrs.frozen
class Row:
    """Means over sessions of one way at one budget. Shares are from 0 to 1."""

    way: str
    budget: int
    sessions: int
    points: int
    evidence: float
    low: float
    """The evidence at the lower end of its interval, which holds 95 % of the draws."""
    high: float
    known: float
    requests: float | None
    used: float
    seconds: float


def measure(
    sessions: Sequence[Session],
    cuts: dict[str, Cut],
    *,
    budgets: Sequence[int] = BUDGETS,
    points: int = POINTS,
) -> Iterator[Sample]:
    """Cut and judge. A point counts at a budget only if its past is larger than that."""
    for session in sessions:
        for number, point in enumerate(points_of(session.messages, points)):
            for budget in budgets:
                if point.size > budget:
                    for way, cut in cuts.items():
                        yield _sample(session, point, number, way=way, cut=cut, budget=budget)


def _sample(
    session: Session, point: Point, number: int, *, way: str, cut: Cut, budget: int
) -> Sample:
    start = time.process_time()
    kept = cut(point.past, budget)
    seconds = time.process_time() - start
    used = size_of(kept) / budget
    if used > 1:
        raise AssertionError(f"{way}: {size_of(kept):.0f} of {budget} tokens")
    judged = point.judge(kept)
    return Sample(
        session.name,
        session.family,
        session.is_long,
        way,
        budget,
        number,
        judged.evidence,
        judged.known,
        judged.requests,
        used,
        seconds,
    )


def summarize(samples: Iterable[Sample]) -> list[Row]:
    """Return the means: over the points of each session, then over the sessions."""
    groups: defaultdict[tuple[str, int], defaultdict[str, list[Sample]]]
    groups = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        groups[sample.way, sample.budget][sample.session].append(sample)
    return [_row(way, budget, list(each.values())) for (way, budget), each in groups.items()]


def _row(way: str, budget: int, sessions: list[list[Sample]]) -> Row:
    evidence = _means(sessions, lambda sample: sample.evidence)
    low, high = _interval(evidence)
    asked = _means(sessions, lambda sample: sample.requests)
    return Row(
        way,
        budget,
        len(sessions),
        sum(map(len, sessions)),
        statistics.fmean(evidence),
        low,
        high,
        statistics.fmean(_means(sessions, lambda sample: sample.known)),
        statistics.fmean(asked) if asked else None,
        statistics.fmean(_means(sessions, lambda sample: sample.used)),
        statistics.fmean(_means(sessions, lambda sample: sample.seconds)),
    )


def _means(sessions: list[list[Sample]], value: Callable[[Sample], float | None]) -> list[float]:
    """Return the mean of each session that has the value at all."""
    each = [[got for sample in one if (got := value(sample)) is not None] for one in sessions]
    return [statistics.fmean(values) for values in each if values]


def _interval(values: list[float]) -> tuple[float, float]:
    """Draw sessions with replacement, and give the range of the means."""
    draw = random.Random(0)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(DRAWS))
    return means[int(DRAWS * OUTER[0])], means[int(DRAWS * OUTER[1])]


def below(samples: Iterable[Sample], floor: str) -> list[tuple[str, int, str, float]]:
    """Return where a way keeps less evidence than `floor`: way, budget, session, how much."""
    groups: defaultdict[tuple[int, str], defaultdict[str, list[float]]]
    groups = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        groups[sample.budget, sample.session][sample.way].append(sample.evidence)
    return [
        (way, budget, session, lacking)
        for (budget, session), ways in groups.items()
        for way, values in ways.items()
        if (lacking := statistics.fmean(ways[floor]) - statistics.fmean(values)) > _SLACK
    ]
