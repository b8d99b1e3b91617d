"""What lies behind the lines of a chart: sizes, turns, the window and its reserve."""

from collections.abc import Iterator, Sequence

import attrs

from agentic.cli.replay._page._html import Markup, tag
from agentic.cli.replay._page._scale import Scale, ticks

__all__ = ["Frame", "Look", "draw_ground"]

_LABEL = 17
"""The least height of a band that has a label in it."""
_HEADROOM, _WHOLE, _HIGHEST = 1.12, 2.0, 1.5
"""How high a chart goes, in windows: at least; at most, if that shows all sizes; and else, with the
largest cut off."""


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
        """Give the places in it."""
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
        """Say how high a chart goes: a size far above the window is cut off there.

        What was sent counts before what would have been sent without a cut.
        """
        for sizes in ([*peaks, *befores], peaks):
            whole = max(self.window * _HEADROOM, 1.06 * max(sizes))
            if whole <= _WHOLE * self.window:
                return whole
        return _HIGHEST * self.window


def draw_ground(scale: Scale, look: Look, frame: Frame) -> Iterator[Markup]:
    """Draw what lies behind the lines: sizes, turns, the window and its reserve."""
    left, right = scale.left, scale.right
    for size in ticks(scale.top, 4):
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


def _turns(scale: Scale, frame: Frame) -> Iterator[Markup]:
    y = frame.height - frame.lower + 22
    numbers = [number or 1 for number in ticks(scale.turns, 5)]
    for number in dict.fromkeys(numbers):
        told = f"turn {number}" if number == 1 else f"{number:,}"
        yield tag("text", told, class_="tick", x=scale.x(number), y=y, text_anchor="middle")


def _short(size: int) -> str:
    """Write a size on the axis.

    >>> _short(0), _short(2_500), _short(40_000), _short(1_000_000)
    ('0', '2.5k', '40k', '1M')
    """
    if size >= 1_000_000:  # noqa: PLR2004  from a million on
        return f"{size / 1e6:g}M"
    return f"{size / 1e3:g}k" if size >= 1_000 else str(size)  # noqa: PLR2004  from a thousand on
