"""The axes of a chart: where a turn and a size lie, and what is drawn behind the lines."""

import math
from collections.abc import Callable, Iterator, Sequence

import attrs

from agentic.replay._html import Markup, tag

__all__ = ["Frame", "Look", "Scale", "draw_axes", "envelope"]

_LABEL = 17
"""The least height of a band that has a label in it."""
_HEADROOM, _WHOLE, _HIGHEST = 1.12, 2.0, 1.5
"""How high a chart goes, in windows: at least; at most, if that shows all sizes; and else, with the
largest cut off."""


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


@attrs.frozen
class Frame:
    """The size of a chart and its margins, in its own units."""

    width: int
    height: int
    left: int = 58
    right: int = 14
    upper: int = 16
    lower: int = 28
    buckets: int = 240

    def scale(self, turns: int, top: float) -> Scale:
        """Return the places in it."""
        return Scale(
            turns=turns,
            top=top,
            left=self.left,
            right=self.width - self.right,
            upper=self.upper,
            lower=self.height - self.lower,
        )


@attrs.frozen
class Look:
    """What a chart shows beside the line. Sizes in tokens."""

    window: int
    reserve: int
    ident: str
    """Makes the ids in it unique on the page."""
    name: str

    def top(self, peaks: Sequence[int], befores: Sequence[int] = ()) -> float:
        """Return how high a chart goes: a size far above the window is cut off there.

        What was sent counts before what would have been sent without a cut.
        """
        for sizes in ([*peaks, *befores], peaks):
            whole = max(self.window * _HEADROOM, 1.06 * max(sizes))
            if whole <= _WHOLE * self.window:
                return whole
        return _HIGHEST * self.window


def draw_axes(scale: Scale, look: Look, frame: Frame) -> Iterator[Markup]:
    """Draw what lies behind the lines: sizes, turns, the window and its reserve."""
    left, right = scale.left, scale.right
    for size in _ticks(scale.top, 4):
        y = scale.y(size)
        yield tag("line", class_="grid", x1=left, x2=right, y1=y, y2=y)
        yield tag("text", _short(size), class_="tick", x=left - 8, y=y + 4, text_anchor="end")
    window, available = scale.y(look.window), scale.y(look.window - look.reserve)
    if look.reserve:
        yield tag(
            "rect", class_="reserve", x=left, y=window, width=right - left,
            height=round(available - window, 1),
        )  # fmt: skip
        if available - window >= _LABEL:
            yield tag(
                "text", "reserve", class_="told", x=right - 4, y=window + 13, text_anchor="end"
            )
    yield tag("line", class_="window", x1=left, x2=right, y1=window, y2=window)
    yield tag(
        "text", f"window {look.window:,}", class_="told strong", x=right - 4, y=window - 5,
        text_anchor="end",
    )  # fmt: skip
    yield from _turns(scale, frame)


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


def _turns(scale: Scale, frame: Frame) -> Iterator[Markup]:
    y = frame.height - frame.lower + 22
    numbers = [number or 1 for number in _ticks(scale.turns, 5)]
    for number in dict.fromkeys(numbers):
        told = f"turn {number}" if number == 1 else f"{number:,}"
        yield tag("text", told, class_="tick", x=scale.x(number), y=y, text_anchor="middle")


def _ticks(top: float, number: int) -> list[int]:
    """Return round numbers from 0 to the top, about as many as are asked for.

    >>> _ticks(43_000, 4), _ticks(7, 5)
    ([0, 10000, 20000, 30000, 40000], [0, 2, 4, 6])
    """
    raw = max(1.0, top / max(1, number))
    power = 10 ** math.floor(math.log10(raw))
    step = _least([power, 2 * power, 5 * power, 10 * power], lambda each: each >= raw * 0.9)
    return list(range(0, math.floor(top) + 1, int(step)))


def _least(choices: Sequence[float], fits: Callable[[float], bool]) -> float:
    return next(each for each in choices if fits(each) or each == choices[-1])


def _short(size: int) -> str:
    """Write a size on the axis.

    >>> _short(0), _short(2_500), _short(40_000), _short(1_000_000)
    ('0', '2.5k', '40k', '1M')
    """
    if size >= 1_000_000:  # noqa: PLR2004  from a million on
        return f"{size / 1e6:g}M"
    return f"{size / 1e3:g}k" if size >= 1_000 else str(size)  # noqa: PLR2004  from a thousand on
