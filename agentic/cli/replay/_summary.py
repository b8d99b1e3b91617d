"""The figures of policies side by side: the columns of every table, and which is best in each."""

import statistics
from collections.abc import Callable, Sequence

import attrs

from agentic.cli.replay._records import Replayed

__all__ = ["COLUMNS", "Column", "Row", "best_of", "row_of"]


@attrs.frozen(kw_only=True)
class Row:
    """One policy over one transcript or several. Sizes in tokens, shares from 0 to 1."""

    policy: str
    turns: int
    peak: int
    compactions: int
    over: int
    invalid: int
    cost: float
    reused: float | None
    term: float | None
    evidence: float | None

    @property
    def sendable(self) -> bool:
        """Whether every request could be sent."""
        return not (self.over or self.invalid)


@attrs.frozen
class Column:
    """One figure of a row."""

    key: str
    title: str
    show: Callable[[float], str]
    better: Callable[[Sequence[float]], float] | None
    """Picks the best of its values; None if no value is better than another."""
    told: str
    """What it is, in a sentence."""


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _thousands(value: float) -> str:
    """Write a large number in three digits.

    >>> _thousands(1_234_567), _thousands(45_678), _thousands(12)
    ('1.23 M', '45.7 k', '12')
    """
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f}"


COLUMNS = (
    Column("turns", "turns", _whole, None, "Requests: one before each of the agent's replies."),
    Column("peak", "peak tokens", _whole, min, "The largest request."),
    Column(
        "compactions",
        "compactions",
        _whole,
        min,
        "Requests that do not begin with the whole one before: something was dropped, cleared or "
        "summarized, and the prompt cache is lost from there on.",
    ),
    Column("over", "over window", _whole, min, "Requests larger than the window: refused."),
    Column(
        "invalid",
        "invalid",
        _whole,
        min,
        "Requests that a provider refuses for their shape, such as a result without its call.",
    ),
    Column(
        "cost",
        "cost",
        _thousands,
        min,
        "Input with prompt caching, in tokens at the full price: read from the cache at 0.1, "
        "written to it at 1.25.",
    ),
    Column("reused", "prefix reused", _percent, max, "The share of all input that the cache had."),
    Column(
        "term",
        "term recall",
        _percent,
        max,
        "Of the paths and identifiers that the agent used in its next 40 messages and had met "
        "before: the share that the request still names. The mean over 12 places.",
    ),
    Column(
        "evidence",
        "evidence",
        _percent,
        max,
        "The same, with the line in which the name stood, or 40 characters of it.",
    ),
)


def row_of(replayed: Sequence[Replayed]) -> Row:
    """Add up one policy over transcripts: sums, the highest peak, means over transcripts."""
    sent = sum(each.sent for each in replayed)
    reused = sum(each.sent * (each.reused or 0) for each in replayed)
    return Row(
        policy=replayed[0].policy,
        turns=sum(each.turns for each in replayed),
        peak=max(each.peak for each in replayed),
        compactions=sum(len(each.cuts) for each in replayed),
        over=sum(each.over for each in replayed),
        invalid=sum(each.invalid for each in replayed),
        cost=sum(each.cost for each in replayed),
        reused=reused / sent if sent else None,
        term=_mean([each.term for each in replayed]),
        evidence=_mean([each.evidence for each in replayed]),
    )


def best_of(rows: Sequence[Row], column: Column) -> set[str]:
    """Name the policies with the best figure, as far as their requests could all be sent.

    None is best where all are equal, or where no policy could have been used at all.
    """
    valued = [(row, getattr(row, column.key)) for row in rows]
    values = [value for row, value in valued if row.sendable and value is not None]
    if column.better is None or not values or len({value for _, value in valued}) == 1:
        return set()
    best = column.better(values)
    return {row.policy for row, value in valued if row.sendable and value == best}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
