"""Where a turn and a size lie in a chart, and which points of a long line are drawn."""

import math
from collections.abc import Callable, Iterator, Sequence

import attrs

__all__ = ["Scale", "envelope", "ticks"]


@attrs.frozen(kw_only=True)
class Scale:
    """From turns (1 to `turns`) and tokens (0 to `top`) to the chart's units."""

    turns: int
    top: float
    left: float
    right: float
    upper: float
    lower: float

    def x(self, turn: float) -> float:
        """Place a turn; a single one stands in the middle.

        >>> Scale(turns=11, top=100, left=0, right=100, upper=0, lower=50).x(6)
        50.0
        """
        if self.turns < 2:  # noqa: PLR2004  one point needs no distance
            return (self.left + self.right) / 2
        share = (turn - 1) / (self.turns - 1)
        return round(self.left + (self.right - self.left) * share, 1)

    def y(self, tokens: float) -> float:
        """Place a size; what is above the top is above the chart, and clipped there."""
        return round(self.lower - (self.lower - self.upper) * tokens / self.top, 1)

    def within(self, tokens: float) -> float:
        """Place a size, at the top if it is above it."""
        return self.y(min(tokens, self.top))


def envelope(values: Sequence[float], buckets: int) -> Iterator[tuple[int, float]]:
    """Thin a line out without losing a peak: of each bucket its least and its largest value.

    Turns are counted from 1. A short line comes as it is.

    >>> list(envelope([1, 5, 2, 3], 8))
    [(1, 1), (2, 5), (3, 2), (4, 3)]
    >>> list(envelope([1, 5, 2, 3, 9, 0], 2))
    [(1, 1), (2, 5), (5, 9), (6, 0)]
    """
    if len(values) <= 2 * buckets:
        yield from enumerate(values, 1)
        return
    for bucket in range(buckets):
        first = bucket * len(values) // buckets
        inside = range(first, (bucket + 1) * len(values) // buckets)
        low, high = min(inside, key=values.__getitem__), max(inside, key=values.__getitem__)
        for at in sorted({low, high}):
            yield at + 1, values[at]


def ticks(top: float, number: int) -> list[int]:
    """Give round numbers from 0 to the top, about as many as are asked for.

    >>> ticks(43_000, 4), ticks(7, 5)
    ([0, 10000, 20000, 30000, 40000], [0, 2, 4, 6])
    """
    raw = max(1.0, top / max(1, number))
    power = 10 ** math.floor(math.log10(raw))
    step = _least([power, 2 * power, 5 * power, 10 * power], lambda each: each >= raw * 0.9)
    return list(range(0, math.floor(top) + 1, int(step)))


def _least(choices: Sequence[float], fits: Callable[[float], bool]) -> float:
    return next(each for each in choices if fits(each) or each == choices[-1])
