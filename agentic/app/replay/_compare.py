"""What a changed policy would send differently: two replays of one session, request by request."""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.app.replay._records import Replayed, Series, count_of
from agentic.app.replay._report import PolicyRow, row_of
from agentic.app.replay._transcripts import Transcript
from agentic.messages import Message

_Item = int | Message


@attrs.frozen(kw_only=True)
class Difference:
    """How two policies treat one session. Sizes are in tokens, numbers of requests from 1."""

    transcript: Transcript
    before: PolicyRow
    after: PolicyRow
    requests: int
    differing: int
    """How many requests are not the same."""
    first: int | None
    """The number of the first of them; None if all are the same."""
    sizes: tuple[int, int] = (0, 0)
    """The size of the first of them, before and after."""
    gone: int = 0
    """How many messages of the first of them are no longer sent as they were."""
    fresh: int = 0
    """How many it has that it had not: a summary, a cleared output, or a message that stays."""

    @property
    def sentences(self) -> Iterator[str]:
        """What differs, a line each."""
        if self.first is None:
            yield f"no request differs, of {self.requests:,}"
            return
        before, after = self.sizes
        yield (
            f"{self.differing:,} of {count_of(self.requests, 'request')} differ, the first is "
            f"request {self.first:,}: {before:,} -> {after:,} tokens, "
            f"{count_of(self.gone, 'message')} less, {self.fresh:,} more"
        )
        figures = [
            ("compactions", f"{self.before.compactions:,}", f"{self.after.compactions:,}"),
            ("peak tokens", f"{self.before.peak:,}", f"{self.after.peak:,}"),
            ("over window", f"{self.before.over:,}", f"{self.after.over:,}"),
            ("cost in tokens", f"{self.before.cost:,.0f}", f"{self.after.cost:,.0f}"),
            ("keeps", _percent(self.before.recall), _percent(self.after.recall)),
        ]
        yield "; ".join(f"{name} {old} -> {new}" for name, old, new in figures if old != new)

    def to_plain(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "name": self.transcript.name,
            "format": self.transcript.format,
            "requests": self.requests,
            "differing": self.differing,
            "first": self.first,
            "sizes": list(self.sizes),
            "gone": self.gone,
            "fresh": self.fresh,
            "before": attrs.asdict(self.before),
            "after": attrs.asdict(self.after),
        }


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def compare(transcript: Transcript, before: Replayed, after: Replayed) -> Difference:
    """Return how two replays of a session differ; both must have kept their views."""
    pairs = list(zip(_views(before), _views(after), strict=True))
    differing = list(_differing(pairs))
    difference = Difference(
        transcript=transcript,
        before=row_of([before]),
        after=row_of([after]),
        requests=len(pairs),
        differing=len(differing),
        first=differing[0] + 1 if differing else None,
    )
    if not differing:
        return difference
    first = differing[0]
    (one, length), (other, other_length) = pairs[first]
    old, new = set(map(_key, one.items[:length])), set(map(_key, other.items[:other_length]))
    return attrs.evolve(
        difference,
        sizes=(before.requests[first].tokens, after.requests[first].tokens),
        gone=len(old - new),
        fresh=len(new - old),
    )


def _views(run: Replayed) -> Iterator[tuple[Series, int]]:
    """Yield for each request its series, and how many of the series' items it sent."""
    for series in run.series:
        for length in series.lengths:
            yield series, length


def _differing(pairs: Sequence[tuple[tuple[Series, int], tuple[Series, int]]]) -> Iterator[int]:
    """Yield the positions of the requests that are not the same."""
    latest: tuple[Series, Series] | None = None
    same = 0
    for position, ((one, length), (other, other_length)) in enumerate(pairs):
        # Once for each pair of series: a view of thousands of messages is in hundreds of requests.
        if latest is None or latest[0] is not one or latest[1] is not other:
            latest = one, other
            same = _shared(one.items, other.items)
        if length != other_length or length > same:
            yield position


def _shared(one: Sequence[_Item], other: Sequence[_Item]) -> int:
    """Return how many items both begin with."""
    pairs = zip(one, other, strict=False)
    return next(
        (at for at, (mine, yours) in enumerate(pairs) if _key(mine) != _key(yours)),
        min(len(one), len(other)),
    )


def _key(item: _Item) -> object:
    """Return what two policies must agree in: a position, or what a made message says."""
    if isinstance(item, int):
        return item
    results = tuple((each.call_id, each.text) for each in item.tool_results)
    calls = tuple((call.name, call.arguments) for call in item.tool_calls)
    return item.role, item.content, calls, results
