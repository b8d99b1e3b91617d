"""The report: the figures of policies side by side, as text and as JSON."""

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from agentic.replay._records import Replayed
from agentic.replay._transcripts import Transcript

__all__ = ["COLUMNS", "Column", "PolicyRow", "Report", "best_of", "row_of"]

_GAP = "  "


@attrs.frozen(kw_only=True)
class PolicyRow:
    """One policy over one transcript or several. Sizes are in tokens, shares from 0 to 1."""

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
    def can_be_sent(self) -> bool:
        """Whether every request could be sent."""
        return not (self.over or self.invalid)


@attrs.frozen(kw_only=True)
class Report:
    """Transcripts under policies, side by side. Sizes are in tokens."""

    replays: tuple[tuple[Transcript, tuple[Replayed, ...]], ...]
    """Each transcript with its policies, which are the same for all of them."""
    descriptions: tuple[str, ...]
    """What each policy does, one sentence each."""
    window: int
    reserve: int
    counter: str
    """Which counter was used, and how exact it is."""
    providers: tuple[str, ...]

    @property
    def rows(self) -> list[PolicyRow]:
        """The totals of every policy over the transcripts."""
        by_policy = zip(*(replayed for _, replayed in self.replays), strict=True)
        return [row_of(each) for each in by_policy]

    def to_text(self, bold: Callable[[str], str] = str) -> str:
        """Return a table for each transcript, and one for all if there are several.

        The best figures have an asterisk, and are passed through `bold`. Names are not changed:
        before printing to a terminal, remove control characters from them.
        """
        tables = []
        for transcript, replayed in self.replays:
            problems = [f"{each.policy}: {what}" for each in replayed for what in each.problems]
            notes = "".join(f"  note: {note}\n" for note in (*transcript.notes, *problems))
            head = f"{transcript.name} ({len(transcript.messages):,} messages, {transcript.format})"
            tables.append(f"{head}\n{notes}{_table([row_of([each]) for each in replayed], bold)}")
        if len(self.replays) > 1:
            tables.append(f"all {len(self.replays)} transcripts\n{_table(self.rows, bold)}")
        return "\n\n".join(tables)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form: sizes and costs in tokens, shares from 0 to 1."""
        return {
            "window": self.window,
            "reserve": self.reserve,
            "counter": self.counter,
            "providers": list(self.providers),
            "transcripts": [
                {
                    "name": transcript.name,
                    "format": transcript.format,
                    "messages": len(transcript.messages),
                    "notes": list(transcript.notes),
                    "policies": [_plain(each) for each in replayed],
                }
                for transcript, replayed in self.replays
            ],
            "policies": [attrs.asdict(row) for row in self.rows],
        }


@attrs.frozen
class Column:
    """One figure of a row."""

    key: str
    title: str
    show: Callable[[float], str]
    better: Callable[[Sequence[float]], float] | None
    """Returns the best of its values; None if no value is better than another."""
    meaning: str
    """What the figure means, as a sentence."""


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _thousands(value: float) -> str:
    """Return a large number with three digits.

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


def row_of(replayed: Sequence[Replayed]) -> PolicyRow:
    """Return the totals of one policy: sums, the highest peak, and means over transcripts."""
    sent = sum(each.sent for each in replayed)
    reused = sum(each.sent * (each.reused or 0) for each in replayed)
    return PolicyRow(
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


def best_of(rows: Sequence[PolicyRow], column: Column) -> set[str]:
    """Return the policies with the best figure, among those whose requests could all be sent.

    None is best if all are equal, or if no policy could have been used at all.
    """
    valued = [(row, getattr(row, column.key)) for row in rows]
    values = [value for row, value in valued if row.can_be_sent and value is not None]
    if column.better is None or not values or len({value for _, value in valued}) == 1:
        return set()
    best = column.better(values)
    return {row.policy for row, value in valued if row.can_be_sent and value == best}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _plain(replayed: Replayed) -> dict[str, Any]:
    refused = next((each.refused for each in replayed.requests if each.refused), None)
    cuts = [
        {
            "turn": cut.turn,
            "before": cut.before,
            "after": cut.after,
            "dropped": cut.dropped,
            "cleared": cut.cleared,
            "summarized": bool(cut.summary),
        }
        for cut in replayed.cuts
    ]
    return {
        **attrs.asdict(row_of([replayed])),
        "refused": refused,
        "problems": [*replayed.problems],
        "cuts": cuts,
    }


def _table(rows: Sequence[PolicyRow], bold: Callable[[str], str]) -> str:
    best = [best_of(rows, column) for column in COLUMNS]
    heads = ["policy", *(column.title for column in COLUMNS)]
    cells = [[row.policy, *(_cell(getattr(row, c.key), c.show) for c in COLUMNS)] for row in rows]
    marked = [[False, *(row.policy in names for names in best)] for row in rows]
    widths = [max(len(line[at]) for line in [heads, *cells]) + 1 for at in range(len(heads))]
    lines = [_line(heads, widths, [False] * len(heads), bold)]
    lines += [_line(row, widths, which, bold) for row, which in zip(cells, marked, strict=True)]
    return "\n".join(lines)


def _cell(value: float | None, show: Callable[[float], str]) -> str:
    return "-" if value is None else show(value)


def _line(
    cells: Sequence[str], widths: Sequence[int], marked: Sequence[bool], bold: Callable[[str], str]
) -> str:
    first = f"  {cells[0]:<{widths[0]}}"
    rest = [
        bold(f"{cell + '*':>{width}}") if mark else f"{cell + ' ':>{width}}"
        for cell, width, mark in zip(cells[1:], widths[1:], marked[1:], strict=True)
    ]
    return _GAP.join([first, *rest]).rstrip()
