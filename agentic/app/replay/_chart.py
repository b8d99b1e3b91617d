"""A chart of the sizes of requests: of one policy with its compactions, or of all policies.

The axes map a request and a size to a position, and draw what is behind the lines.
"""

import math
from collections.abc import Iterator, Sequence

import attrs

from agentic.app.replay._html import Markup, tag
from agentic.app.replay._records import Cut, Replayed, count_of

# The height of the largest text, that of a narrow page: labels this far apart do not touch.
_TEXT = 18
# The least height of a band that contains a label.
_LABEL = _TEXT + 6
# The height of a chart, in windows: the least; the most if it shows all sizes; and the height if
# the largest sizes are cut off.
_HEADROOM, _WHOLE, _HIGHEST = 1.12, 2.0, 1.5
# Marks closer than this, in the chart's units, are merged.
_APART = 9.0
# The radius of a dot; dots are complete even at the edges of a chart.
_DOT = 4
# How many characters of a policy's name fit next to the lines, in a wide font.
_NAME = 23
# With more compactions than this, marks would hide the line: ticks stand below it instead.
_MANY = 60


def colour_of(at: int) -> str:
    """Return the class that colours a policy; the style has eight of them."""
    return f"p{at % 8}"


@attrs.frozen(kw_only=True)
class Scale:
    """Maps requests (1 to `requests`) and tokens (0 to `top`) to the chart's units."""

    requests: int
    top: float
    left: float
    right: float
    upper: float
    lower: float

    def x(self, request: float) -> float:
        """Return the position of a request; a single one is in the middle.

        >>> Scale(requests=11, top=100, left=0, right=100, upper=0, lower=50).x(6)
        50.0
        """
        if self.requests < 2:  # noqa: PLR2004  one point has no distance
            return (self.left + self.right) / 2
        share = (request - 1) / (self.requests - 1)
        # A tenth of a unit is hardly seen; more digits would only make the page larger.
        return round(self.left + (self.right - self.left) * share, 1)

    def y(self, tokens: float) -> float:
        """Return the position of a size; one above the top is outside the chart, and clipped."""
        return round(self.lower - (self.lower - self.upper) * tokens / self.top, 1)

    def within(self, tokens: float) -> float:
        """Return the position of a size, or the top if the size is above it."""
        return self.y(min(tokens, self.top))


@attrs.frozen
class Frame:
    """The size of a chart and its margins, in its own units."""

    width: int
    height: int
    left: int = 58
    right: int = 14
    upper: int = 16
    lower: int = 34
    buckets: int = 240
    sizes: int = 4
    numbers: int = 6
    """About how many sizes and request numbers stand at the axes."""

    def scale(self, requests: int, top: float) -> Scale:
        """Return the scale of the area inside the margins."""
        return Scale(
            requests=requests,
            top=top,
            left=self.left,
            right=self.width - self.right,
            upper=self.upper,
            lower=self.height - self.lower,
        )


@attrs.frozen
class ChartSubject:
    """What a chart shows besides the line. Sizes are in tokens."""

    window: int
    reserve: int
    ident: str
    """Makes the ids in the chart unique on the page."""
    name: str

    def top(self, peaks: Sequence[int], befores: Sequence[int] = ()) -> float:
        """Return the height of a chart: a size far above the window is cut off.

        The sizes that were sent take precedence over those that would have been sent without a cut.
        """
        for sizes in ([*peaks, *befores], peaks):
            whole = max(self.window * _HEADROOM, 1.06 * max(sizes))
            if whole <= _WHOLE * self.window:
                return whole
        return _HIGHEST * self.window


def draw_axes(scale: Scale, subject: ChartSubject, frame: Frame) -> Iterator[Markup]:
    """Draw what is behind the lines: sizes, requests, the window and its reserve."""
    start, right = scale.left, scale.right
    for size in _ticks(scale.top, frame.sizes):
        y = scale.y(size)
        yield tag("line", class_="grid", x1=start, x2=right, y1=y, y2=y)
        yield tag("text", _short(size), class_="tick", x=start - 8, y=y + 4, text_anchor="end")
    window, available = scale.y(subject.window), scale.y(subject.window - subject.reserve)
    if subject.reserve:
        yield tag(
            "rect", class_="reserve", x=start, y=window, width=right - start,
            height=round(available - window, 1),
        )  # fmt: skip
        # In a narrower band the label would cover the lines.
        if available - window >= _LABEL:
            yield tag(
                "text", "reserve", class_="told", x=right - 4, y=window + _TEXT + 1,
                text_anchor="end",
            )  # fmt: skip
    yield tag("line", class_="window", x1=start, x2=right, y1=window, y2=window)
    yield tag(
        "text", f"window {subject.window:,}", class_="told strong", x=right - 4, y=window - 5,
        text_anchor="end",
    )  # fmt: skip
    yield from _numbers(scale, frame)


def envelope(values: Sequence[float], buckets: int) -> Iterator[tuple[int, float]]:
    """Reduce the points of a line without losing a peak: keep each bucket's minimum and maximum.

    Requests are counted from 1. A short line is returned unchanged.

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
        # In the order of the requests, or the line would run backwards.
        for at in sorted({low, high}):
            yield at + 1, values[at]


def _numbers(scale: Scale, frame: Frame) -> Iterator[Markup]:
    y = frame.height - frame.lower + 28
    numbers = [number or 1 for number in _ticks(scale.requests, frame.numbers)]
    for number in dict.fromkeys(numbers):
        text = f"request {number}" if number == 1 else f"{number:,}"
        x = scale.x(number)
        # In the largest text a digit is 11 wide: what would stick out ends at the edge.
        inside = x + 5.5 * len(text) < frame.width
        place = (x, "middle") if inside else (frame.width, "end")
        yield tag("text", text, class_="tick", x=place[0], y=y, text_anchor=place[1])


def _ticks(top: float, number: int) -> list[int]:
    """Return about `number` round numbers from 0 to the top.

    >>> _ticks(43_000, 4), _ticks(7, 5)
    ([0, 10000, 20000, 30000, 40000], [0, 2, 4, 6])
    """
    raw = max(1.0, top / max(1, number))
    power = 10 ** math.floor(math.log10(raw))
    # A tenth less will do: 43,000 in four steps are 10,000 each, not 20,000.
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= raw * 0.9)
    return list(range(0, math.floor(top) + 1, int(step)))


def _short(size: int) -> str:
    """Return a size in short form, for the axis.

    >>> _short(0), _short(2_500), _short(40_000), _short(1_000_000)
    ('0', '2.5k', '40k', '1M')
    """
    if size >= 1_000_000:  # noqa: PLR2004  millions
        return f"{size / 1e6:g}M"
    return f"{size / 1e3:g}k" if size >= 1_000 else str(size)  # noqa: PLR2004  thousands


def group_cuts(cuts: Sequence[Cut], scale: Scale) -> list[list[Cut]]:
    """Group cuts that are too close together for a mark each."""
    groups: list[list[Cut]] = []
    for cut in cuts:
        if groups and scale.x(cut.request) - scale.x(groups[-1][0].request) < _APART:
            groups[-1].append(cut)
        else:
            groups.append([cut])
    return groups


def draw_one(run: Replayed, subject: ChartSubject, top: float, frame: Frame, colour: str) -> Markup:
    """Draw one policy: its line, everything said so far behind it, and a mark per compaction."""
    scale = frame.scale(len(run.requests), top)
    groups = group_cuts(run.cuts, scale)
    sizes = [request.tokens for request in run.requests]
    marks = [request.said for request in run.requests]
    line = _points(sizes, scale, frame.buckets)
    clip = f"clip-{subject.ident}"
    base = scale.y(0)
    area = f"{scale.x(1)},{base} {line} {scale.x(len(run.requests))},{base}"
    return _svg(
        frame,
        _label(run, subject),
        _clips(clip, scale, subject.window),
        *draw_axes(scale, subject, frame),
        tag(
            "g",
            tag("polyline", class_="said", points=_points(marks, scale, frame.buckets)),
            tag("polygon", class_="area", points=area),
            tag("polyline", class_="line", points=line),
            _dot(sizes, scale),
            clip_path=f"url(#{clip})",
        ),
        # The same line once more, in red, clipped to what is above the window.
        tag("g", tag("polyline", class_="line over", points=line), clip_path=f"url(#{clip}-over)"),
        *_beyond(sizes, scale),
        *_befores(run.cuts, scale),
        *_marks(groups, scale),
        colour=colour,
    )


def draw_all(
    runs: Sequence[Replayed],
    subject: ChartSubject,
    top: float,
    frame: Frame,
    *,
    with_names: bool = True,
) -> Markup:
    """Draw the lines of all policies in one chart, optionally with each name at the line's end."""
    scale = frame.scale(len(runs[0].requests), top)
    clip = f"clip-{subject.ident}"
    lines = [_line(each, scale, frame, at) for at, each in enumerate(runs)]
    return _svg(
        frame,
        f"{subject.name}: the size of each request, {len(runs)} policies",
        _clips(clip, scale, subject.window),
        *draw_axes(scale, subject, frame),
        tag("g", *lines, clip_path=f"url(#{clip})"),
        *(_names(runs, scale) if with_names else ()),
        # The script moves it to the request under the pointer.
        tag("line", class_="cursor", y1=scale.upper, y2=scale.lower),
        # For the script: whose chart this is, and where its lines end.
        data_overview=subject.ident.partition("-")[0],
        data_left=scale.left,
        data_right=scale.right,
    )


def _line(run: Replayed, scale: Scale, frame: Frame, at: int) -> Markup:
    """Draw the line of one policy among others; a session with a single request is a dot."""
    sizes = [request.tokens for request in run.requests]
    compactions = count_of(len(run.cuts), "compaction")
    hover = tag("title", f"{run.policy}: at most {run.peak:,} tokens, {compactions}")
    line = tag("polyline", class_="line", points=_points(sizes, scale, frame.buckets))
    return tag("g", hover, line, _dot(sizes, scale), class_=colour_of(at), data_policy=at)


def _svg(
    frame: Frame, label: str, *content: Markup, colour: str = "", **attributes: object
) -> Markup:
    return tag(
        "svg",
        *content,
        class_=f"chart {colour}".strip(),
        viewBox=f"0 0 {frame.width} {frame.height}",
        # Not an image, whose parts a screen reader does not reach: the marks are in it.
        role="group",
        aria_label=label,
        **attributes,
    )


def _label(run: Replayed, subject: ChartSubject) -> str:
    requests = count_of(len(run.requests), "request")
    return (
        f"{subject.name} under {run.policy}: {requests}, at most {run.peak:,} tokens in "
        f"a window of {subject.window:,}, {count_of(len(run.cuts), 'compaction')}"
    )


def _points(values: Sequence[int], scale: Scale, buckets: int) -> str:
    """Return the points of a line as an attribute."""
    return " ".join(
        f"{scale.x(number)},{scale.y(value)}" for number, value in envelope(values, buckets)
    )


def _clips(clip: str, scale: Scale, window: int) -> Markup:
    upper, lower = scale.upper - _DOT, scale.lower + _DOT
    start, width = scale.left - _DOT, scale.right - scale.left + 2 * _DOT
    whole = tag("rect", x=start, y=upper, width=width, height=lower - upper)
    over = tag("rect", x=start, y=upper, width=width, height=max(0, scale.y(window) - upper))
    return tag("defs", tag("clipPath", whole, id=clip), tag("clipPath", over, id=f"{clip}-over"))


def _dot(sizes: Sequence[int], scale: Scale) -> Markup:
    """Draw a dot for a session with a single request."""
    if len(sizes) != 1:
        return Markup("")
    # A line of one point is not drawn at all.
    return tag("circle", class_="dot", cx=scale.x(1), cy=scale.within(sizes[0]), r=_DOT)


def _beyond(sizes: Sequence[int], scale: Scale) -> Iterator[Markup]:
    """Yield labels that say how far a line goes beyond the chart."""
    if not sizes or max(sizes) <= scale.top:
        return
    leaves = next(number for number, size in enumerate(sizes, 1) if size > scale.top)
    # On the other side, where the line itself is not in the way.
    early = scale.x(leaves) < (scale.left + scale.right) / 2
    yield tag(
        "text",
        f"continues to {max(sizes):,} \u2191",
        class_="beyond",
        x=scale.right - 4 if early else scale.left + 4,
        y=scale.upper + 24,
        text_anchor="end" if early else "start",
    )


def _befores(cuts: Sequence[Cut], scale: Scale) -> Iterator[Markup]:
    """Draw what the sizes of requests would have been without the cut; these were not sent.

    A size above the chart ends at its top, in an arrow.
    """
    for cut in cuts if len(cuts) <= _MANY else ():
        x, high, low = scale.x(cut.request), scale.within(cut.before), scale.within(cut.after)
        yield tag("line", class_="before", x1=x, x2=x, y1=high, y2=low)
        if cut.before > scale.top:
            tip, foot = high - 12, high - 6
            points = f"{x},{tip} {x - 4},{foot} {x + 4},{foot}"
            yield tag("polygon", class_="further", points=points)


def _marks(groups: Sequence[Sequence[Cut]], scale: Scale) -> Iterator[Markup]:
    """Draw the marks; the page's script adds their texts."""
    many = sum(map(len, groups)) > _MANY
    for at, group in enumerate(groups):
        first, before = group[0], max(cut.before for cut in group)
        x = scale.x(first.request)
        y = scale.lower + 5 if many else scale.within(before)
        shape = (
            tag("line", class_="dash", x1=x, x2=x, y1=scale.lower + 1, y2=scale.lower + 9)
            if many
            else tag("circle", class_="knob", cx=x, cy=y, r=4.5)
        )
        yield tag(
            "g",
            # Invisible, and larger than the mark: a finger is wider than that.
            tag("circle", class_="reach", cx=x, cy=y, r=11),
            shape,
            class_="mark",
            # One stop for the Tab key; the arrow keys lead from mark to mark.
            tabindex=-1 if at else 0,
            role="button",
            aria_label=_told(group),
            data_group=at,
            data_request=first.request,
            data_before=before,
            data_after=first.after,
            data_count=len(group),
        )


def _told(group: Sequence[Cut]) -> str:
    first, last = group[0], group[-1]
    if first is last:
        return f"request {first.request}: {first.before:,} to {first.after:,} tokens"
    return f"requests {first.request} to {last.request}: {len(group)} compactions"


def _names(runs: Sequence[Replayed], scale: Scale) -> Iterator[Markup]:
    """Write each policy's name next to the end of its line, without overlaps."""
    ends = sorted(
        (scale.within(each.requests[-1].tokens), at, _named(each, scale))
        for at, each in enumerate(runs)
    )
    lowest = -1e9
    places = []
    for y, at, name in ends:
        # From the top down: each name stands below the one before.
        lowest = max(y + 4, lowest + _TEXT)
        places.append((lowest, at, name))
    # Pushed down by those above them, the last names may have left the chart: all move up.
    excess = max(0.0, lowest - scale.lower - 4)
    for y, at, name in places:
        yield tag(
            "text", name, class_=f"name {colour_of(at)}", x=scale.right + 8,
            y=round(y - excess, 1), data_policy=at,
        )  # fmt: skip


def _named(run: Replayed, scale: Scale) -> str:
    """Return a name, with the last size if that is above the chart, as long as the margin is."""
    last = run.requests[-1].tokens
    arrow = f" ↑ {last:,}" if last > scale.top else ""
    room = _NAME - len(arrow)
    name = run.policy
    return (name if len(name) <= room else f"{name[: room - 1]}…") + arrow
