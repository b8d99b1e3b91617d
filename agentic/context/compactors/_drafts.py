"""A section of a digest before it is written: what its entries cost, and what fits into a room.

Sizes are in tokens. The newest entries come first; long texts are clipped where the section allows.
Of what was stated, what decides comes before the rest, and the oldest beside the newest.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate, islice
from typing import Any, TypeAlias

import attrs

from agentic.context.compactors._entries import Entry, Quote
from agentic.context.compactors._lines import brief, clip, is_clipped
from agentic.context.compactors._notes import Heading, Section, left_out_line
from agentic.context.compactors._quoted import text_ref
from agentic.context.compactors._room import level
from agentic.context.compactors._stated import is_telling

__all__ = ["STATED", "Count", "Draft", "draft"]

Count: TypeAlias = Callable[[str], int]
"""From a text to its size in tokens."""

_CLIP_FLOOR, STATED = 100, 40
"""No text is clipped below this while it can be left out instead: no request, no statement. In
tokens."""
_CLIP_LEAST = 24
"""The least that a clipped text keeps of itself, in characters."""


def draft(
    section: Section[Any], heading: Heading, room: int, count: Count, recall: str = ""
) -> "Draft":
    """Count the entries of a section that could find room."""
    costs: dict[str, int] = {}
    least = 0
    floor = _floor(heading)
    for entry in _favoured(section, heading):
        if least > room:
            break
        costs[entry.key] = cost = count(entry.markdown() + "\n")
        least += min(cost, floor) if floor else cost
    missing = left_out_line(section.left_out + len(section.entries))
    frame = count(f"\n## {heading.title}\n")
    recall = recall if heading.messages else ""
    telling = sum(
        min(cost, STATED) for key, cost in costs.items() if heading.stated and is_telling(key)
    )
    return Draft(heading, section, costs, telling, frame, count(missing + "\n"), recall)


@attrs.frozen
class Draft:
    """A section, and what its entries cost."""

    heading: Heading
    section: Section[Any]
    costs: dict[str, int]
    """By the keys of the entries that could find room, the most favoured first."""
    telling: int
    """What those of them cost that tell most, if none takes more than `STATED`; 0 where nothing is
    stated."""
    frame: int
    """What heading and blank line cost."""
    gap: int
    """What the line about missing entries costs."""
    recall: str = ""
    """The name of a tool that reads again what is cut out of its entries; nothing without one."""

    @property
    def wanted(self) -> int:
        """What the section needs to be written as it is."""
        if not self.costs:
            return 0
        return self.frame + self.gap * bool(self.section.left_out) + sum(self.costs.values())

    @property
    def first(self) -> int:
        """What the section needs to show its first entry."""
        first = next(iter(self.costs.values()), 0)
        return min(self.frame + self.gap + first, self.wanted) if first else 0

    def least(self, each: int) -> int:
        """Give what the section needs if no entry takes more than this."""
        if not self.costs:
            return 0
        return self.frame + self.gap + sum(min(cost, each) for cost in self.costs.values())

    @property
    def decisive(self) -> int:
        """What the section needs for the entries that tell most; nothing if it has none."""
        return self.frame + self.gap + self.telling if self.telling else 0

    def fit(self, room: int, count: Count) -> tuple[Section[Any], int]:
        """Give the section as far as the room goes, and what it takes."""
        if self.wanted <= room:
            return self.section, self.wanted
        room = max(room - self.frame - self.gap, 0)
        kept = self._clipped(room, count) if _floor(self.heading) else self._whole(room)
        if not kept:
            return attrs.evolve(self.section, entries={}), 0
        spent = sum(cost for _, cost in kept.values())
        entries = (kept[key][0] for key in self.section.entries if key in kept)
        missing = len(self.section.entries) - len(kept)
        section = attrs.evolve(
            self.section,
            entries={entry.key: entry for entry in entries},
            left_out=self.section.left_out + missing,
        )
        return section, self.frame + self.gap + spent

    def _whole(self, room: int) -> dict[str, tuple[Entry, int]]:
        kept: dict[str, tuple[Entry, int]] = {}
        for key, cost in self.costs.items():
            room -= cost
            if room < 0:
                break
            kept[key] = self.section.entries[key], cost
        return kept

    def _clipped(self, room: int, count: Count) -> dict[str, tuple[Entry, int]]:
        """Keep as many texts as find room at the floor, and clip the long ones to one level."""
        floor = min(_floor(self.heading), room // 2)
        sizes = accumulate(min(cost, floor) for cost in self.costs.values())
        favoured = dict(islice(self.costs.items(), sum(size <= room for size in sizes)))
        highest = level(room, sorted(favoured.values()))
        kept: dict[str, tuple[Entry, int]] = {}
        for key, cost in favoured.items():
            entry = self.section.entries[key]
            if cost <= highest:
                kept[key] = entry, cost
            elif clipped := _clip(entry, cost, highest, count, self._cuts(entry)):
                kept[key] = clipped
        return kept

    def _cuts(self, entry: Quote) -> Iterator[Callable[[str, int], str]]:
        """Give the ways to cut a text; where its place finds no room beside it, it goes without."""
        if self.heading.stated:
            yield brief
            return
        yield partial(clip, place=self._place(entry))
        yield partial(clip, place="")

    def _place(self, entry: Quote) -> str | None:
        """Say where the whole of a text can be read; None if that is left to our cut in it."""
        if not self.recall or (entry.former and is_clipped(entry.text)):
            return None
        return f'{self.recall}(ref="{text_ref(entry.text)}")'


def _floor(heading: Heading) -> int:
    """Give how far an entry is clipped while it can be left out; 0 if it stays whole."""
    return _CLIP_FLOOR * heading.clips + STATED * heading.stated


def _favoured(section: Section[Any], heading: Heading) -> Iterator[Entry]:
    """Give the entries, the newest first; the oldest or what tells most comes next if it is to."""
    newest = reversed(section.entries.values())
    yield from islice(newest, 1)
    if heading.stated:
        former = list(newest)[::-1]
        yield from _by_turns([entry for entry in former if is_telling(entry.key)])
        yield from _by_turns([entry for entry in former if not is_telling(entry.key)])
        return
    first = next(iter(section.entries.values()), None) if heading.keeps_first else None
    if first is not None and len(section.entries) > 1:
        yield first
    yield from (entry for entry in newest if entry is not first)


def _by_turns(entries: list[Entry]) -> Iterator[Entry]:
    """Give the oldest and the newest by turns, until they meet."""
    waiting = deque(entries)
    while waiting:
        yield waiting.popleft()
        if waiting:
            yield waiting.pop()


def _clip(
    entry: Quote, cost: int, most: int, count: Count, cuts: Iterable[Callable[[str, int], str]]
) -> tuple[Entry, int] | None:
    """Clip a text to `most` tokens, by the first way that leaves enough of it to say anything."""
    for cut in cuts:
        limit = len(entry.text) * most // cost
        while limit >= _CLIP_LEAST:
            clipped = Quote(cut(entry.text, limit))
            if (size := count(clipped.markdown() + "\n")) <= most:
                return clipped, size
            limit -= max(limit // 20, 8)
    return None
