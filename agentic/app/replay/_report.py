"""The report: a verdict, and the figures of policies side by side, as text and as JSON."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import attrs

from agentic.app.replay._records import Price, Replayed, cost_of, count_of
from agentic.app.replay._transcripts import Transcript

_GAP = "  "
# A policy that keeps less than this of what is needed later is the best at nothing: it would win
# every other column by forgetting.
_REMEMBERS = 0.5
# Policies whose recall is at most this much below the highest are told apart by their cost
# (design/replay.md).
_NEAR = 0.1
_NOTHING_SAVED = "costs as much as sending all"
_DETAILS = 20
"""The most transcripts that are printed one by one."""


@attrs.frozen(kw_only=True)
class PolicyRow:
    """One policy over one transcript or several. Sizes are in tokens, shares from 0 to 1."""

    policy: str
    requests: int
    peak: int
    compactions: int
    over: int
    invalid: int
    cost: float
    """In tokens at the full price."""
    dollars: float | None = None
    """In USD; None without a price."""
    summary_cost: float | None = None
    """What summaries by a model cost of it, in tokens; None if no model is asked."""
    summary_dollars: float | None = None
    recorded: bool = False
    """Whether the cost is what the provider charged by the record, and no estimate."""
    saved: float | None
    """The share of the cost of sending everything that it saves; negative if it costs more."""
    reused: float | None
    recall: float | None

    @property
    def can_be_sent(self) -> bool:
        """Whether every request could be sent."""
        return not (self.over or self.invalid)

    @property
    def remembers(self) -> bool:
        """Whether it keeps at least half of what is needed later, as far as that is known."""
        return self.recall is None or self.recall >= _REMEMBERS


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
    price: Price | None = None
    """What the model's input costs; without it, costs are in tokens."""

    # Once: the verdict and each form of the report ask for them, and add up all requests.
    @cached_property
    def rows(self) -> list[PolicyRow]:
        """The totals of every policy over the transcripts that were understood; else over all."""
        replays = [each for each in self.replays if each[0].is_understood] or self.replays
        by_policy = zip(*(runs for _, runs in replays), strict=True)
        return [row_of(each, self.price) for each in by_policy]

    @property
    def verdict(self) -> str:
        """Which policy to take, and what it gives, in one sentence."""
        if not self.is_understood:
            return no_verdict_on([transcript for transcript, _ in self.replays])
        return verdict_of(self.rows)

    @property
    def is_understood(self) -> bool:
        """Whether enough of any transcript was understood for a verdict."""
        return any(transcript.is_understood for transcript, _ in self.replays)

    @property
    def scope(self) -> str:
        """Which transcripts the totals are about."""
        count = sum(not transcript.is_understood for transcript, _ in self.replays)
        number = len(self.replays)
        if not count or count == number:
            return f"all {number:,} transcripts"
        reason = "of the others, too much is not understood"
        return f"{number - count:,} of {number:,} transcripts: {reason}"

    @property
    def columns(self) -> tuple["Column", ...]:
        """The figures of a row, with the cost in USD if there is a price."""
        with_summaries = any(row.summary_cost is not None for row in self.rows)
        return columns_of(with_prices=self.price is not None, with_summaries=with_summaries)

    def to_text(self, bold: Callable[[str], str] = str, width: int | None = None) -> str:
        """Return the verdict, a table for all transcripts, and one for each of several.

        The best figures have an asterisk, and are passed through `bold`. If a table does not fit
        into `width` columns, each policy is a column of it, or a list. Names are not changed:
        before printing to a terminal, remove control characters from them.
        """
        parts = [bold(self.verdict)]
        several = len(self.replays) > 1
        if several and self.is_understood:
            parts.append(f"{self.scope}\n{_table(self.rows, self.columns, bold, width)}")
        for transcript, runs in self.replays[:_DETAILS]:
            rows = [row_of([each], self.price) for each in runs]
            problems = [f"{each.policy}: {what}" for each in runs for what in each.problems]
            notes = "".join(f"  note: {note}\n" for note in (*transcript.notes, *problems))
            verdict = f"  {verdict_on(transcript, rows)}\n" if several else ""
            messages = count_of(len(transcript.messages), "message")
            head = f"{transcript.name} ({messages}, {transcript.format})"
            # Figures about a part of what was said would be taken for those of the session.
            figures = _table(rows, self.columns, bold, width) if transcript.is_understood else ""
            parts.append(f"{head}\n{notes}{verdict}{figures}".rstrip())
        if (more := len(self.replays) - _DETAILS) > 0:
            parts.append(f"and {count_of(more, 'more transcript')}: --json has the figures of each")
        return "\n\n".join(parts)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form: sizes and costs in tokens, shares from 0 to 1."""
        return {
            "verdict": self.verdict,
            "window": self.window,
            "reserve": self.reserve,
            "counter": self.counter,
            "price": None if self.price is None else self.price.description,
            "providers": list(self.providers),
            "policies": [attrs.asdict(row) for row in self.rows],
            "transcripts": [
                {
                    "name": transcript.name,
                    "format": transcript.format,
                    "messages": len(transcript.messages),
                    "model": transcript.model,
                    "unknown_share": transcript.unknown_share,
                    "notes": list(transcript.notes),
                    "policies": [_plain(each, self.price) for each in runs],
                }
                for transcript, runs in self.replays
            ],
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


def _dollars(value: float) -> str:
    """Return an amount with enough digits to compare small ones.

    >>> _dollars(1234.5), _dollars(1.5), _dollars(0.0437)
    ('$1,234.50', '$1.50', '$0.0437')
    """
    return f"${value:,.2f}" if value >= 1 else f"${value:.3g}"


_IN_TOKENS = Column(
    "cost",
    "cost in tokens",
    _thousands,
    min,
    "Input with prompt caching, in tokens at the full price: read from the cache at 0.1, "
    "written to it at 1.25.",
)
_IN_DOLLARS = Column(
    "dollars",
    "cost",
    _dollars,
    min,
    "Input with prompt caching, in USD, and summaries by a model. Replies cost the same under "
    "every policy and are left out.",
)


_SUMMARIES = (
    "The part of the cost that is for summaries by a model: its input, cached or not, and its "
    "output, under the rules of the policy. No model was asked: a digest stands in for the model's "
    "summary."
)


def columns_of(*, with_prices: bool, with_summaries: bool = False) -> tuple[Column, ...]:
    """Return the figures of a row, with the cost in USD or in tokens, perhaps of summaries, too."""
    summaries = (
        Column("summary_dollars", "of which summaries", _dollars, None, _SUMMARIES)
        if with_prices
        else Column("summary_cost", "of which summaries", _thousands, None, _SUMMARIES)
    )
    return (
        Column("requests", "requests", _whole, None, "One before each of the agent's replies."),
        Column("peak", "peak tokens", _whole, min, "The largest request."),
        Column(
            "compactions",
            "compactions",
            _whole,
            min,
            "Requests that do not begin with the whole previous request: something was dropped, "
            "cleared or summarized, so the prompt cache cannot be used from that point on.",
        ),
        Column("over", "over window", _whole, min, "Requests larger than the window: refused."),
        Column(
            "invalid",
            "invalid",
            _whole,
            min,
            "Requests that a provider refuses for their shape, such as a result without its call.",
        ),
        _IN_DOLLARS if with_prices else _IN_TOKENS,
        *([summaries] if with_summaries else []),
        Column(
            "reused",
            "prefix reused",
            _percent,
            max,
            "The share of all input that was read from the cache.",
        ),
        Column(
            "recall",
            "keeps of what was needed later",
            _percent,
            max,
            "Of the paths and identifiers that the agent used in its next 40 messages and had met "
            "before, the share that is still in the request, with their line or 40 characters of "
            "that line. The mean over 12 places.",
        ),
    )


def row_of(runs: Sequence[Replayed], price: Price | None = None) -> PolicyRow:
    """Return the totals of one policy: sums, the highest peak, and means over transcripts."""
    total = sum(each.sent for each in runs)
    cache_tokens = sum(each.sent * (each.reused or 0) for each in runs)
    requests = [(one.tokens, one.reused) for each in runs for one in each.requests]
    everything = [one for each in runs for one in _everything(each)]
    # Each request by itself, because a price may depend on its size.
    summaries = [one for each in runs for one in each.summaries]
    summary_cost = sum(each.summary_cost for each in runs)
    summary_dollars = None if price is None else price.of_summaries(summaries)
    estimate = _cost(requests, price)
    estimate += summary_cost if summary_dollars is None else summary_dollars
    whole = _cost(everything, price)
    recorded_runs = [each for each in runs if each.has_record]
    return PolicyRow(
        policy=runs[0].policy,
        requests=len(requests),
        peak=max(each.peak for each in runs),
        compactions=sum(len(each.cuts) for each in runs),
        over=sum(each.over for each in runs),
        invalid=sum(each.invalid for each in runs),
        cost=sum(each.recorded_cost if each.has_record else each.cost for each in runs),
        dollars=None if price is None else sum(_dollars_of(each, price) for each in runs),
        summary_cost=summary_cost if summaries else None,
        summary_dollars=summary_dollars if summaries else None,
        recorded=len(recorded_runs) == len(runs),
        # Both estimated: a record knows of pauses in which a cache is lost.
        saved=1 - estimate / whole if whole else None,
        reused=cache_tokens / total if total else None,
        recall=_mean([each.recall for each in runs]),
    )


def _cost(requests: Sequence[tuple[int, int]], price: Price | None) -> float:
    if price is not None:
        return price.of(requests)
    return sum(cost_of(*one) for one in requests)


def _dollars_of(run: Replayed, price: Price) -> float:
    if run.has_record:
        return price.of_usage(run.recorded)
    requests = ((one.tokens, one.reused) for one in run.requests)
    return price.of(requests) + price.of_summaries(run.summaries)


def _everything(run: Replayed) -> Iterable[tuple[int, int]]:
    """Yield the size of each request if everything were sent, and how much the cache had of it."""
    before = 0
    for request in run.requests:
        yield request.said, before
        before = request.said


def no_verdict_on(transcripts: Sequence[Transcript]) -> str:
    """Return why nothing is said about transcripts of which too much was not understood.

    >>> no_verdict_on([Transcript("a", "chat", (), unknown_share=0.42)])
    'No verdict: 42 % of the text was not understood'
    """
    share = min(transcript.unknown_share for transcript in transcripts)
    least = "at least " if len(transcripts) > 1 else ""
    return f"No verdict: {least}{100 * share:.0f} % of the text was not understood"


def verdict_on(transcript: Transcript, rows: Sequence[PolicyRow]) -> str:
    """Return the verdict on one transcript."""
    return verdict_of(rows) if transcript.is_understood else no_verdict_on([transcript])


def verdict_of(rows: Sequence[PolicyRow]) -> str:
    """Return in one sentence which policy to take: the cheapest of those that keep nearly the most.

    >>> cheap = PolicyRow(policy="last", requests=9, peak=9, compactions=8, over=0, invalid=0,
    ...                   cost=4, saved=0.9, reused=None, recall=0.2)
    >>> digest = attrs.evolve(cheap, policy="digest", saved=0.56, recall=0.87)
    >>> verdict_of([cheap, digest])
    'digest: every request fits, 56 % cheaper than sending all, keeps 87 % of what was needed later'
    >>> verdict_of([attrs.evolve(cheap, over=3)])
    'No policy makes every request fit: last comes closest, with 3 of 9 refused'
    """
    if not any(row.requests for row in rows):
        return "It contains no reply of an agent, so nothing was sent"
    usable = [row for row in rows if row.can_be_sent]
    if not usable:
        row = min(rows, key=lambda each: each.over + each.invalid)
        return (
            f"No policy makes every request fit: {row.policy} comes closest, with "
            f"{row.over + row.invalid:,} of {row.requests:,} refused"
        )
    # The cheapest alone would be the policy that forgets everything.
    most = max(row.recall or 0 for row in usable)
    near = [row for row in usable if row.recall is None or row.recall >= most - _NEAR]
    row = min(near, key=lambda each: -(each.saved or 0))
    saving = _saving(row.saved)
    if not row.compactions and saving == _NOTHING_SAVED:
        parts = [f"{row.policy}: every request fits as it is"]
    else:
        parts = [f"{row.policy}: every request fits", saving]
    if row.recall is not None:
        parts.append(f"keeps {100 * row.recall:.0f} % of what was needed later")
    return ", ".join(filter(None, parts))


def _saving(share: float | None) -> str:
    if share is None:
        return ""
    percent = round(100 * abs(share))
    if not percent:
        return _NOTHING_SAVED
    return f"{percent} % {'cheaper' if share > 0 else 'more expensive'} than sending all"


def best_of(rows: Sequence[PolicyRow], column: Column) -> set[str]:
    """Return the policies with the best figure, among those that could be used.

    These are the policies whose requests could all be sent, and that keep at least half of what is
    needed later. None is best if all are equal, or if no policy could have been used.
    """
    pairs = [(row, getattr(row, column.key)) for row in rows]
    usable = [(row, value) for row, value in pairs if row.can_be_sent and row.remembers]
    values = [value for _, value in usable if value is not None]
    # Among all rows, not the usable: a mark says that a policy differs from another.
    if column.better is None or not values or len({value for _, value in pairs}) == 1:
        return set()
    best = column.better(values)
    return {row.policy for row, value in usable if value == best}


def _mean(values: Sequence[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return statistics.fmean(numbers) if numbers else None


def _plain(run: Replayed, price: Price | None) -> dict[str, Any]:
    refusal = next((each.refused for each in run.requests if each.refused), None)
    cuts = [cut.figures | {"summarized": bool(cut.summary)} for cut in run.cuts]
    return {
        **attrs.asdict(row_of([run], price)),
        "refused": refusal,
        "problems": [*run.problems],
        "cuts": cuts,
    }


_Bold = Callable[[str], str]
_Cells = Sequence[Sequence[str]]
_Marks = Sequence[Sequence[bool]]


def _table(
    rows: Sequence[PolicyRow], columns: Sequence[Column], bold: _Bold, width: int | None
) -> str:
    """Return a line for each policy; if that is too wide, a column for each, or else a list."""
    best = [best_of(rows, column) for column in columns]
    cells = [[row.policy, *(_cell(getattr(row, c.key), c.show) for c in columns)] for row in rows]
    marks = [[False, *(row.policy in names for names in best)] for row in rows]
    titles = ["policy", *(column.title for column in columns)]
    # The first that fits is the easiest to read.
    for draw in (_upright, _sideways, _listed):
        # Without `bold`, which may add what takes no room.
        widest = max(map(len, draw(titles, cells, marks, str).split("\n")))
        if width is None or widest <= width:
            break
    return draw(titles, cells, marks, bold)


def _listed(titles: Sequence[str], cells: _Cells, bold_cells: _Marks, bold: _Bold) -> str:
    lines = []
    for (policy, *figures), (_, *marks) in zip(cells, bold_cells, strict=True):
        lines.append(f"  {policy}")
        for title, figure, mark in zip(titles[1:], figures, marks, strict=True):
            lines.append(f"    {title}: {bold(f'{figure}*') if mark else figure}")
    return "\n".join(lines)


def _sideways(titles: Sequence[str], cells: _Cells, bold_cells: _Marks, bold: _Bold) -> str:
    lines = [list(line) for line in zip(titles, *cells, strict=True)]
    marks = [[False, *which] for which in zip(*bold_cells, strict=True)]
    # One more, for the asterisk of the best.
    widths = [max(len(line[at]) for line in lines) + 1 for at in range(len(lines[0]))]
    return "\n".join(
        _line(line, widths, which, bold) for line, which in zip(lines, marks, strict=True)
    )


def _upright(titles: Sequence[str], cells: _Cells, marks: _Marks, bold: _Bold) -> str:
    heads = [_wrapped(title) for title in titles[1:]]
    height = max(map(len, heads))
    # Headings stand on their last line, next to the figures.
    columns = [[""] * (height - len(head)) + head for head in heads]
    above = [["", *line] for line in zip(*columns, strict=True)]
    above[-1][0] = titles[0]
    widths = [max(len(line[at]) for line in [*above, *cells]) + 1 for at in range(len(above[0]))]
    lines = [_line(line, widths, [False] * len(widths), bold) for line in above]
    lines += [_line(row, widths, which, bold) for row, which in zip(cells, marks, strict=True)]
    return "\n".join(lines)


def _wrapped(title: str, width: int = 12) -> list[str]:
    """Return a heading in lines of at most this width, if no word is longer.

    >>> _wrapped("keeps of what was needed later"), _wrapped("peak tokens")
    (['keeps of', 'what was', 'needed later'], ['peak tokens'])
    """
    lines: list[str] = []
    for word in title.split():
        if lines and len(lines[-1]) + len(word) < width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _cell(value: float | None, show: Callable[[float], str]) -> str:
    return "-" if value is None else show(value)


def _line(cells: Sequence[str], widths: Sequence[int], marks: Sequence[bool], bold: _Bold) -> str:
    first = f"  {cells[0]:<{widths[0]}}"
    rest = [
        bold(f"{cell + '*':>{width}}") if mark else f"{cell + ' ':>{width}}"
        for cell, width, mark in zip(cells[1:], widths[1:], marks[1:], strict=True)
    ]
    return _GAP.join([first, *rest]).rstrip()
