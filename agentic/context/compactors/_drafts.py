"""A section of a digest before it is written: what its entries cost, and what fits into a room.

Sizes are in tokens. The newest entries come first; long texts are clipped where the section allows.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Any, TypeAlias

import attrs

from agentic.context.compactors._entries import Entry, Quote
from agentic.context.compactors._lines import clip, is_clipped
from agentic.context.compactors._notes import Heading, Section, left_out_line
from agentic.context.compactors._quoted import text_ref
from agentic.context.compactors._room import level

__all__ = ["Count", "Draft", "draft"]

Count: TypeAlias = Callable[[str], int]
"""From a text to its size in tokens."""

_CLIP_FLOOR = 100
"""No text is clipped below this while it can be left out instead. In tokens."""
_CLIP_LEAST = 24
"""The least that a clipped text keeps of itself, in characters."""


def draft(
    section: Section[Any], heading: Heading, room: int, count: Count, recall: str = ""
) -> "Draft":
    """Count the entries of a section that could find room."""
    costs: dict[str, int] = {}
    least = 0
    for entry in _favoured(section, keeps_first=heading.keeps_first):
        if least > room:
            break
        costs[entry.key] = cost = count(entry.markdown() + "\n")
        least += min(cost, _CLIP_FLOOR) if heading.clips else cost
    missing = left_out_line(section.left_out + len(section.entries))
    frame = count(f"\n## {heading.title}\n")
    recall = recall if heading.messages else ""
    return Draft(heading, section, costs, frame, count(missing + "\n"), recall)


@attrs.frozen
class Draft:
    """A section, and what its entries cost."""

    heading: Heading
    section: Section[Any]
    costs: dict[str, int]
    """By the keys of the entries that could find room, the most favoured first."""
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

    def fit(self, room: int, count: Count) -> tuple[Section[Any], int]:
        """Give the section as far as the room goes, and what it takes."""
        if self.wanted <= room:
            return self.section, self.wanted
        room = max(room - self.frame - self.gap, 0)
        kept = self._clipped(room, count) if self.heading.clips else self._whole(room)
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
        floor = min(_CLIP_FLOOR, room // 2)
        sizes = accumulate(min(cost, floor) for cost in self.costs.values())
        favoured = dict(islice(self.costs.items(), sum(size <= room for size in sizes)))
        highest = level(room, sorted(favoured.values()))
        kept: dict[str, tuple[Entry, int]] = {}
        for key, cost in favoured.items():
            entry = self.section.entries[key]
            if cost <= highest:
                kept[key] = entry, cost
            elif clipped := _clip(entry, cost, highest, count, self._place(entry)):
                kept[key] = clipped
        return kept

    def _place(self, entry: Quote) -> str | None:
        """Say where the whole of a text can be read; None if that is left to our cut in it."""
        if not self.recall or (entry.former and is_clipped(entry.text)):
            return None
        return f'{self.recall}(ref="{text_ref(entry.text)}")'


def _favoured(section: Section[Any], *, keeps_first: bool) -> Iterator[Entry]:
    """Give the entries, the newest first; the oldest comes second if it is to be kept."""
    newest = reversed(section.entries.values())
    yield from islice(newest, 1)
    first = next(iter(section.entries.values()), None) if keeps_first else None
    if first is not None and len(section.entries) > 1:
        yield first
    yield from (entry for entry in newest if entry is not first)


def _clip(
    entry: Quote, cost: int, most: int, count: Count, place: str | None
) -> tuple[Entry, int] | None:
    """Clip a text to `most` tokens; None if too little of it would be left to say anything.

    A text that has no room for its place beside it goes without: it is worth more.
    """
    for told in (place, ""):
        limit = len(entry.text) * most // cost
        while limit >= _CLIP_LEAST:
            clipped = Quote(clip(entry.text, limit, told))
            if (size := count(clipped.markdown() + "\n")) <= most:
                return clipped, size
            limit -= max(limit // 20, 8)
    return None
