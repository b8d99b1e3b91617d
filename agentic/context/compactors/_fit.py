"""Which entries of a digest find room, and how far long ones are clipped.

Sizes are in tokens, as the counter counts them. Every section has a right to its part of the room;
what it does not need, the others share. In a section the newest entries come first.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Any, TypeAlias

import attrs

from agentic.context.compactors._entries import CallNote, Entry, Quote
from agentic.context.compactors._lines import clip
from agentic.context.compactors._mentions import Mention, group
from agentic.context.compactors._notes import (
    HEADINGS,
    TITLE,
    Heading,
    Notes,
    Section,
    left_out_line,
    to_markdown,
)
from agentic.context.compactors._room import level, share
from agentic.tokens import Counter

__all__ = ["fit"]

_Count: TypeAlias = Callable[[str], int]

_CLIP_FLOOR = 100
"""No text is clipped below this while it can be left out instead. In tokens."""
_CLIP_LEAST = 24
"""The least that a clipped text keeps of itself, in characters."""
_SEEN_LEAST = 20
"""So many lines are looked for that each could take this much room. In tokens."""
_STEPS = 20
"""How often the room is shrunk, each time by the same part, until the whole fits."""


def fit(notes: Notes, max_tokens: int, counter: Counter) -> str:
    """Give the Markdown form of as much as `max_tokens` holds; an empty text if that is nothing."""
    # The parts of a text may count for less than the whole, so the room shrinks until it fits.
    for step in range(_STEPS, 0, -1):
        text = to_markdown(_choose(notes, max_tokens * step // _STEPS, counter.count))
        if counter.count(text) <= max_tokens:
            return text
    return ""


def _choose(notes: Notes, room: int, count: _Count) -> Notes:
    room -= count(f"{TITLE}\n")
    drafts = [_draft(notes, heading, room, count) for heading in HEADINGS]
    shares = share(room, [(draft.wanted, draft.heading.weight) for draft in drafts])
    chosen = Notes()
    spare = 0
    # What whole entries leave over goes on to the next section, at last to the requests.
    for draft, part in reversed(list(zip(drafts, shares, strict=True))):
        section, spent = draft.fit(part + spare, count)
        spare += part - spent
        setattr(chosen, draft.heading.name, section)
    return chosen


@attrs.frozen
class _Draft:
    """A section, and what its entries cost."""

    heading: Heading
    section: Section[Any]
    costs: dict[str, int]
    """By the keys of the entries that could find room, the most favoured first."""
    frame: int
    """What heading and blank line cost."""
    gap: int
    """What the line about missing entries costs."""

    @property
    def wanted(self) -> int:
        """What the section needs to be written as it is."""
        if not self.costs:
            return 0
        return self.frame + self.gap * bool(self.section.left_out) + sum(self.costs.values())

    def fit(self, room: int, count: _Count) -> tuple[Section[Any], int]:
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

    def _clipped(self, room: int, count: _Count) -> dict[str, tuple[Entry, int]]:
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
            elif clipped := _clip(entry, cost, highest, count):
                kept[key] = clipped
        return kept


@attrs.frozen
class _SeenDraft:
    """The lines that could find room, the best first, and what they cost."""

    heading: Heading
    costs: dict[Mention, int]
    frame: int

    @property
    def wanted(self) -> int:
        """What all of them need."""
        return self.frame + sum(self.costs.values()) if self.costs else 0

    def fit(self, room: int, count: _Count) -> tuple[Section[Any], int]:
        """Give the best lines as far as the room goes, and what they take."""
        spent = self.frame
        kept = []
        for mention, cost in self.costs.items():
            if spent + cost > room:
                break
            spent += cost
            kept.append(mention)
        return Section(group(kept)), spent if kept else 0


def _draft(notes: Notes, heading: Heading, room: int, count: _Count) -> "_Draft | _SeenDraft":
    frame = count(f"\n## {heading.title}\n")
    if heading.name == "seen":
        mentions = notes.mentions.best(max(room, 0) // _SEEN_LEAST)
        return _SeenDraft(heading, _costs_of_mentions(mentions, count), frame)
    section: Section[Any] = getattr(notes, heading.name)
    costs: dict[str, int] = {}
    least = 0
    for entry in _favoured(section, keeps_first=heading.keeps_first):
        if least > room:
            break
        costs[entry.key] = cost = count(entry.markdown() + "\n")
        least += min(cost, _CLIP_FLOOR) if heading.clips else cost
    missing = left_out_line(section.left_out + len(section.entries))
    return _Draft(heading, section, costs, frame, count(missing + "\n"))


def _costs_of_mentions(mentions: list[Mention], count: _Count) -> dict[Mention, int]:
    """Count the lines, and each label with the first of its lines."""
    costs: dict[Mention, int] = {}
    labels: set[str] = set()
    for mention in mentions:
        costs[mention] = count(f"  {mention.line}\n")
        if mention.label not in labels:
            costs[mention] += count(CallNote(mention.label).markdown() + "\n")
            labels.add(mention.label)
    return costs


def _favoured(section: Section[Any], *, keeps_first: bool) -> Iterator[Entry]:
    """Give the entries, the newest first; the oldest comes second if it is to be kept."""
    newest = reversed(section.entries.values())
    yield from islice(newest, 1)
    first = next(iter(section.entries.values()), None) if keeps_first else None
    if first is not None and len(section.entries) > 1:
        yield first
    yield from (entry for entry in newest if entry is not first)


def _clip(entry: Quote, cost: int, most: int, count: _Count) -> tuple[Entry, int] | None:
    """Clip a text to `most` tokens; None if too little of it would be left to say anything."""
    limit = len(entry.text) * most // cost
    while limit >= _CLIP_LEAST:
        clipped = Quote(clip(entry.text, limit))
        if (size := count(clipped.markdown() + "\n")) <= most:
            return clipped, size
        limit -= max(limit // 20, 8)
    return None
