"""A chart of context sizes over turns: one policy with its compactions, or all in one."""

from collections.abc import Iterator, Sequence

import attrs

from agentic.replay._axes import Frame, Look, Scale, draw_axes, envelope
from agentic.replay._html import Markup, tag
from agentic.replay._records import Cut, Replayed

__all__ = ["draw_all", "draw_one", "group_cuts"]

_APART = 9.0
"""Marks that are closer than this, in the chart's units, become one."""
_DOT = 4
"""The radius of a dot, which is whole at the edges of a chart, too."""
_MANY = 60
"""With more compactions than this a chart shows ticks below the line in their place."""


@attrs.frozen
class Group:
    """Cuts that share a mark, as they are too close to be told apart."""

    cuts: tuple[Cut, ...]

    @property
    def before(self) -> int:
        """The size at the mark: the largest of them."""
        return max(cut.before for cut in self.cuts)


def group_cuts(cuts: Sequence[Cut], scale: Scale) -> list[Group]:
    """Put cuts together that lie too close to each other."""
    groups: list[list[Cut]] = []
    for cut in cuts:
        if groups and scale.x(cut.turn) - scale.x(groups[-1][0].turn) < _APART:
            groups[-1].append(cut)
        else:
            groups.append([cut])
    return [Group(tuple(group)) for group in groups]


def draw_one(replayed: Replayed, look: Look, top: float, frame: Frame, colour: str) -> Markup:
    """Draw one policy: its line, everything said behind it, and a mark for each compaction."""
    scale = frame.scale(replayed.turns, top)
    groups = group_cuts(replayed.cuts, scale)
    sizes = [request.tokens for request in replayed.requests]
    said = [request.said for request in replayed.requests]
    line = _points(sizes, scale, frame.buckets)
    clip = f"clip-{look.ident}"
    base = scale.y(0)
    area = f"{scale.x(1)},{base} {line} {scale.x(replayed.turns)},{base}"
    return _svg(
        frame,
        _label(replayed, look),
        _clips(clip, scale, look.window),
        *draw_axes(scale, look, frame),
        tag(
            "g",
            tag("polyline", class_="said", points=_points(said, scale, frame.buckets)),
            tag("polygon", class_="area", points=area),
            tag("polyline", class_="line", points=line),
            _dot(sizes, scale),
            clip_path=f"url(#{clip})",
        ),
        tag(
            "g",
            tag("polyline", class_="line over", points=line),
            clip_path=f"url(#{clip}-over)",
        ),
        *_beyond(sizes, scale),
        *_befores(replayed.cuts, scale),
        *_marks(groups, scale),
        colour=colour,
    )


def draw_all(
    replayed: Sequence[Replayed], look: Look, top: float, frame: Frame, *, named: bool = True
) -> Markup:
    """Draw the lines of all policies in one chart, each with its name at its end if it is named."""
    scale = frame.scale(replayed[0].turns, top)
    clip = f"clip-{look.ident}"
    lines = [
        _line([request.tokens for request in each.requests], scale, frame, at)
        for at, each in enumerate(replayed)
    ]
    label = f"{look.name}: the size of the context at each turn, {len(replayed)} policies"
    return _svg(
        frame,
        label,
        _clips(clip, scale, look.window),
        *draw_axes(scale, look, frame),
        tag("g", *lines, clip_path=f"url(#{clip})"),
        *(_names(replayed, scale) if named else ()),
    )


def _line(sizes: Sequence[int], scale: Scale, frame: Frame, at: int) -> Markup:
    """Draw the line of one policy among others; a session of one turn is a dot."""
    points = _points(sizes, scale, frame.buckets)
    line = tag("polyline", class_="line", points=points)
    return tag("g", line, _dot(sizes, scale), class_=_colour(at), data_policy=at)


def _colour(at: int) -> str:
    return f"p{at % 8}"


def _svg(frame: Frame, label: str, *content: Markup, colour: str | None = None) -> Markup:
    return tag(
        "svg",
        *content,
        class_=f"chart {colour or ''}".strip(),
        viewBox=f"0 0 {frame.width} {frame.height}",
        role="group",
        aria_label=label,
    )


def _label(replayed: Replayed, look: Look) -> str:
    return (
        f"{look.name} under {replayed.policy}: {replayed.turns} turns, at most {replayed.peak:,} "
        f"tokens in a window of {look.window:,}, {len(replayed.cuts)} compactions"
    )


def _points(values: Sequence[int], scale: Scale, buckets: int) -> str:
    """Write the points of a line."""
    return " ".join(
        f"{scale.x(turn)},{scale.y(value)}" for turn, value in envelope(values, buckets)
    )


def _clips(clip: str, scale: Scale, window: int) -> Markup:
    upper, lower = scale.upper - _DOT, scale.lower + _DOT
    left, width = scale.left - _DOT, scale.right - scale.left + 2 * _DOT
    whole = tag("rect", x=left, y=upper, width=width, height=lower - upper)
    over = tag("rect", x=left, y=upper, width=width, height=max(0, scale.y(window) - upper))
    return tag(
        "defs",
        tag("clipPath", whole, id=clip),
        tag("clipPath", over, id=f"{clip}-over"),
    )


def _dot(sizes: Sequence[int], scale: Scale) -> Markup:
    """Show a session of one turn, which makes no line."""
    if len(sizes) != 1:
        return Markup("")
    return tag("circle", class_="dot", cx=scale.x(1), cy=scale.within(sizes[0]), r=_DOT)


def _beyond(sizes: Sequence[int], scale: Scale) -> Iterator[Markup]:
    """Yield how far a line goes that leaves the chart."""
    if not sizes or max(sizes) <= scale.top:
        return
    leaves = next(turn for turn, size in enumerate(sizes, 1) if size > scale.top)
    early = scale.x(leaves) < (scale.left + scale.right) / 2
    yield tag(
        "text",
        f"goes on to {max(sizes):,} \u2191",
        class_="beyond",
        x=scale.right - 4 if early else scale.left + 4,
        y=scale.upper + 24,
        text_anchor="end" if early else "start",
    )


def _befores(cuts: Sequence[Cut], scale: Scale) -> Iterator[Markup]:
    """Draw what requests would have been, uncut: nothing of that was sent.

    A size above the chart ends at its top, in an arrow.
    """
    for cut in cuts if len(cuts) <= _MANY else ():
        x, high, low = scale.x(cut.turn), scale.within(cut.before), scale.within(cut.after)
        yield tag("line", class_="before", x1=x, x2=x, y1=high, y2=low)
        if cut.before > scale.top:
            tip, foot = high - 12, high - 6
            yield tag(
                "polygon", class_="further", points=f"{x},{tip} {x - 4},{foot} {x + 4},{foot}"
            )


def _marks(groups: Sequence[Group], scale: Scale) -> Iterator[Markup]:
    """Draw the marks; the script gives each its words."""
    many = sum(len(group.cuts) for group in groups) > _MANY
    for at, group in enumerate(groups):
        first = group.cuts[0]
        x = scale.x(first.turn)
        y = scale.lower + 5 if many else scale.within(group.before)
        shape = (
            tag("line", class_="dash", x1=x, x2=x, y1=scale.lower + 1, y2=scale.lower + 9)
            if many
            else tag("circle", class_="knob", cx=x, cy=y, r=4.5)
        )
        yield tag(
            "g",
            tag("circle", class_="reach", cx=x, cy=y, r=11),
            shape,
            class_="mark",
            tabindex=-1 if at else 0,
            role="button",
            aria_label=_told(group),
            data_group=at,
            data_turn=first.turn,
            data_before=group.before,
            data_after=first.after,
            data_count=len(group.cuts),
        )


def _told(group: Group) -> str:
    first, last = group.cuts[0], group.cuts[-1]
    if first is last:
        return f"turn {first.turn}: {first.before:,} to {first.after:,} tokens"
    return f"turns {first.turn} to {last.turn}: {len(group.cuts)} compactions"


def _names(replayed: Sequence[Replayed], scale: Scale) -> Iterator[Markup]:
    """Write each policy's name beside the end of its line, none over another."""
    ends = sorted(
        (scale.within(each.requests[-1].tokens), at, _clipped(each.policy) + _arrow(each, scale))
        for at, each in enumerate(replayed)
    )
    lowest = -1e9
    places = []
    for y, at, name in ends:
        lowest = max(y + 4, lowest + 16)
        places.append((lowest, at, name))
    excess = max(0.0, lowest - scale.lower - 4)
    for y, at, name in places:
        yield tag(
            "text", name, class_=f"name {_colour(at)}", x=scale.right + 8,
            y=round(y - excess, 1), data_policy=at,
        )  # fmt: skip


def _arrow(replayed: Replayed, scale: Scale) -> str:
    last = replayed.requests[-1].tokens
    return f" ↑ {last:,}" if last > scale.top else ""


def _clipped(name: str, most: int = 22) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
