"""Which entries of a digest find room.

Sizes are in tokens, as the counter counts them. The user's words come first, within a share of the
room; then the lines in which identifiers were last seen, which get most of what is left while it is
little; the other sections share the rest, of which a part is for what the assistant stated. What
one does not need, others get.
"""

from collections.abc import Callable
from functools import cache, cached_property

import attrs

from agentic.context.compactors._cover import Cover, cover, group
from agentic.context.compactors._drafts import Count, Draft, draft
from agentic.context.compactors._entries import CallNote
from agentic.context.compactors._mentions import Mention
from agentic.context.compactors._notes import (
    HEADINGS,
    RANKS,
    SEEN,
    TITLE,
    Notes,
    Section,
    to_markdown,
)
from agentic.context.compactors._offers import Offers
from agentic.context.compactors._ranks import Rank, write_ranks
from agentic.context.compactors._room import share
from agentic.context.compactors._shares import firsts_of, shares_of
from agentic.tokens import Counter

__all__ = ["fit"]

_STEPS = 20
"""How often the room is shrunk, each time by the same part, until the whole fits."""
_WORDS_EACH = 170
"""So many tokens of each request are enough for its first 400 characters, and its end."""
_WORDS_PART, _WORDS_PART_OF_MUCH = 0.2, 0.5
_MUCH = 3900
"""From this on the requests may take half of the room, to have enough of each."""
_SEEN_WEIGHT = 8
"""What the lines may take, where the other sections together may take 1."""
_STATED, _STATED_PART, _STATED_PART_OF_MUCH = 160, 5, 24
"""What the assistant stated may have so many tokens, if that is no more than a fifth; of a large
room, one part in twenty-four."""
_LISTED, _LISTED_PART = 160, 10
"""The other sections together may have so many tokens, if that is no more than a tenth."""
_SEEN_PART, _SEEN_PLENTY = 0.85, 8000
"""The lines want no more than this part of so many tokens, and half of what is above."""
_SPARE = 20
"""Less than one part in this many is not worth choosing again."""
_AMPLE = (99, 97)
"""So much of the room that should be right is tried at first, in percent."""
_TERMS_EACH, _MOST_TERMS = 5, 4000
"""So many identifiers are looked for that each could take this much room. In tokens."""
_SHORT_LINE, _LONG_LINE, _LINES = 56, 128, 100
"""A line may be as long as the room divided by `_LINES`, in characters, but within bounds."""
_COVERING = ("asked", "pinned", "results", "findings", "commands", "calls", "errors")
"""What stands in these sections needs no other line."""


def fit(notes: Notes, max_tokens: int, counter: Counter, recall: str = "") -> str:
    """Give the Markdown form of as much as `max_tokens` holds; an empty text if that is nothing.

    `recall` names the tool that reads again what is cut.
    """
    table = _Table(notes, max_tokens, counter.count, recall)
    everything = table.everything()
    if everything and counter.count(text := to_markdown(everything)) <= max_tokens:
        return text
    # The parts of a text may count for more or less than the whole: the room is what they may take.
    ample = [table.ample * percent // 100 for percent in _AMPLE]
    rooms = (*ample, *(max_tokens * step // _STEPS for step in range(_STEPS, 0, -1)))
    written = (to_markdown(table.choose(room)) for room in rooms)
    return next((text for text in written if counter.count(text) <= max_tokens), "")


@attrs.define(slots=False)
class _Table:
    """What could be written, and what it costs."""

    notes: Notes
    max_tokens: int
    count: Count
    recall: str
    drafts: list[Draft] = attrs.field(init=False)
    """Of every section but the lines."""
    lines: Offers = attrs.field(init=False)
    frame: int = attrs.field(init=False)
    """What the heading of the lines costs."""
    rank: Callable[[Mention], Rank] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Draft every section, and look for the lines."""
        self.drafts = [
            draft(
                getattr(self.notes, heading.name), heading, self.max_tokens, self.count, self.recall
            )
            for heading in HEADINGS
            if heading is not SEEN
        ]
        mentions = self.notes.mentions
        self.rank = cache(mentions.rank)
        worths = mentions.best(min(self.max_tokens // _TERMS_EACH, _MOST_TERMS))
        limit = min(max(self.max_tokens // _LINES, _SHORT_LINE), _LONG_LINE)
        lines = list(dict.fromkeys(mentions.lines(worths, limit)))
        self.lines = Offers(lines, worths, self.count)
        self.frame = self.count(f"\n## {SEEN.title}\n{RANKS} -->\n")

    @cached_property
    def ample(self) -> int:
        """The room that parts may take that make up a whole of the right size, as far as we know.

        Counted one by one, lines are a little larger than together: each is rounded up.
        """
        parts = self.lines.wanted
        whole = self.count(self.lines.text)
        return self.max_tokens * parts // whole if whole else self.max_tokens

    def everything(self) -> Notes | None:
        """Choose everything; None if that is far more than there is room for."""
        sections = sum(each.wanted for each in self.drafts)
        if 2 * sections > 3 * self.max_tokens:
            return None
        chosen = Notes()
        for each in self.drafts:
            setattr(chosen, each.heading.name, each.section)
        there = self._there(chosen)
        room = 3 * self.ample // 2 - sections
        if self.lines.least(there) > room:
            return None
        lines = cover(self.lines, 2 * self.max_tokens, there)
        if lines.tokens > room:
            return None
        self._show(chosen, lines)
        return chosen

    def choose(self, room: int) -> Notes:
        """Choose what a room holds."""
        room = max(room - self.count(f"{TITLE}\n") - self.frame, 0)
        words, stated, rest = self._parts(room)
        chosen, spent = self._sections(words, stated, rest)
        lines = self._cover(chosen, room - spent)
        spare = room - spent - lines.tokens
        if spare * _SPARE > room:
            chosen, spent = self._sections(words, stated, rest + spare)
            lines = self._cover(chosen, room - spent)
        self._show(chosen, lines)
        return chosen

    def _parts(self, room: int) -> tuple[int, int, int]:
        """Give what texts word for word may take, what was stated, and all that is listed.

        What was stated is part of the last.
        """
        words = [each for each in self.drafts if each.heading.clips]
        enough = sum(each.least(_WORDS_EACH) for each in words)
        part = room * _WORDS_PART
        if room >= _MUCH:
            part = max(part, min(room * _WORDS_PART_OF_MUCH, enough))
        part = min(int(part), sum(each.wanted for each in words))
        room -= part
        listed = sum(each.wanted for each in self.drafts if not each.heading.clips)
        plenty, more = min(room, _SEEN_PLENTY), max(room - _SEEN_PLENTY, 0)
        lines = min(self.lines.wanted, int(plenty * _SEEN_PART) + more // 2)
        stated = min(
            sum(each.wanted for each in self.drafts if each.heading.stated),
            max(_STATED, room // _STATED_PART_OF_MUCH),
            room // _STATED_PART,
        )
        least = min(listed, stated + min(_LISTED, room // _LISTED_PART))
        rest = max(least, share(room, [(listed, 1), (lines, _SEEN_WEIGHT)])[0])
        return part, stated, rest

    def _sections(self, words: int, stated: int, rest: int) -> tuple[Notes, int]:
        """Fill the sections; what whole entries leave over goes on, at last to the requests."""
        verbatim = [each for each in self.drafts if each.heading.clips]
        listing = [each for each in self.drafts if not each.heading.clips]
        firsts = firsts_of(listing, rest, stated)
        parts = shares_of(verbatim, words, {}) | shares_of(listing, rest, firsts)
        chosen = Notes()
        spare = words + rest - sum(parts.values())
        for each in reversed(self.drafts):
            room = parts[each.heading.name] + spare
            section, spent = each.fit(room, self.count)
            spare = room - spent
            setattr(chosen, each.heading.name, section)
        return chosen, words + rest - spare

    def _cover(self, chosen: Notes, room: int) -> Cover:
        """Choose the lines; what stands elsewhere needs none."""
        return cover(self.lines, room, self._there(chosen))

    def _there(self, chosen: Notes) -> set[str]:
        """Give the identifiers that need no line, because they stand elsewhere."""
        entries = (entry for name in _COVERING for entry in getattr(chosen, name).entries.values())
        return self.lines.terms_in("\n".join(entry.markdown() for entry in entries))

    def _show(self, chosen: Notes, lines: Cover) -> None:
        """Put the lines under their labels, with what each counts for."""
        grouped = group(lines.mentions)
        chosen.seen = Section(
            {
                label: CallNote(label, lines=tuple(filter(None, each)))
                for label, each in grouped.items()
            }
        )
        mentions = (mention for each in grouped.values() for mention in each.values())
        chosen.ranks = write_ranks(map(self.rank, mentions))
