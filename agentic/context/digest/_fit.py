"""Selection of the lines of a digest that fit its size.

First, each section gets what it needs, up to its share of the room. Then sections that must be
complete get the rest of their lines in short form. Then the index gets its share and what the
sections left over. What it does not use goes to lines that were cut or left out, in reading order.
Room is measured in characters; how many characters make up the allowed tokens is found by trying.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from agentic.context.digest._index import Index
from agentic.context.digest._section import Section
from agentic.context.digest._text import MARK, cut, escape, tidy

__all__ = ["CHARS_PER_TOKEN", "TITLE", "fit"]

TITLE = "# Digest of the conversation so far"
CHARS_PER_TOKEN = 4
"""The ratio of the first try: few texts have more characters per token, by any counter."""
_LEAST_STEP, _MOST_STEP = 0.5, 0.97
"""The range of the factor by which the room shrinks for the next try."""
_SHARE = 0.08
"""The share of a section before the others had theirs. With 0.12, 1 point fewer of the identifiers
that are used again are shown at 2,000 tokens; with 0.06, 9 points fewer of the failed commands."""
_INDEX_SHARE = 0.2
"""The share of the index, even if the sections need more room. With 0.4, a session of 88 requests
shows 62 % of them at 2,000 tokens instead of 87 %."""
_TWICE = 2
"""How often a line may occur in a digest: once in its own place, and once where it is quoted."""


@attrs.define
class _Draft:
    """A section while its lines are selected."""

    section: Section
    recall: str
    items: Mapping[int, tuple[str, str, str | None]] = attrs.field(init=False)
    """The short and the full form of each line as a list item, and its reference, by rank."""
    shown: dict[int, str] = attrs.field(factory=dict)
    """The selected items by the position of their lines."""

    @items.default
    def _ranked(self) -> Mapping[int, tuple[str, str, str | None]]:
        ranked = sorted(enumerate(self.section.lines()), key=lambda placed: -placed[1].rank)
        return {
            at: (_item(line.short or line.text), _item(line.text), line.ref) for at, line in ranked
        }

    @property
    def text(self) -> str:
        """The section, after a blank line."""
        lines = [f"\n\n## {self.section.heading}", *(self.shown[at] for at in sorted(self.shown))]
        if missing := len(self.items) - len(self.shown):
            where = f"; {self.recall} finds them" if self.recall else ""
            lines.append(f"- ({missing} more {self.section.noun}{where})")
        return "\n".join(lines)

    def grow(self, room: float, *, in_short: bool = False) -> int:
        """Add the best lines in short form, then extend them; return the growth in characters."""
        before = len(self.text)
        if not self.shown:
            room, before = room - before, 0
        for at, (short, _, _) in self.items.items():
            if at not in self.shown and len(short) < room:
                self.shown[at] = short
                room -= len(short) + 1
        for at, (_, item, ref) in self.items.items():
            if at in self.shown and not in_short:
                former = len(self.shown[at])
                longer = self._cut(item, int(room) + former, ref)
                if former < len(longer) <= room + former:
                    room -= len(longer) - former
                    self.shown[at] = longer
        return len(self.text) - before if self.shown else 0

    def _cut(self, item: str, room: int, ref: str | None) -> str:
        """Return as much of a line as fits if it may be cut."""
        missing = len(item) - room
        recalled = f' [... {missing} characters left out: {self.recall}(ref="{ref}") ...]'
        return item if ref is None else cut(item, room, recalled if self.recall and ref else MARK)


def fit(
    sections: Iterable[Section],
    index: Index,
    max_tokens: int,
    count: Callable[[str], int],
    recall: str,
) -> str:
    """Return the text of a digest; empty if no line fits."""
    drafts = [_Draft(section, recall) for section in sections]
    room = CHARS_PER_TOKEN * max_tokens
    while room > len(TITLE):
        text = _write(drafts, index, room)
        size = count(text)
        if size <= max_tokens:
            return text if text != TITLE else ""
        room = int(room * min(max(max_tokens / size, _LEAST_STEP), _MOST_STEP))
    return ""


def _write(drafts: Sequence[_Draft], index: Index, room: int) -> str:
    """Return a digest of about `room` characters."""
    left = (1 - _INDEX_SHARE) * room - len(TITLE)
    for draft in drafts:
        draft.shown.clear()
        left -= draft.grow(min(_SHARE * room, left))
    for draft in drafts:
        if draft.section.is_complete:
            left -= draft.grow(left, in_short=True)
    text = _text(drafts, index, room)
    left = room - len(text)
    for draft in drafts:
        left -= draft.grow(left)
    return text if left == room - len(text) else _text(drafts, index, room)


def _text(drafts: Sequence[_Draft], index: Index, room: int) -> str:
    """Return the sections and, in the remaining room, the index in a fence longer than any in it.

    A line that already occurs twice is left out.
    """
    text = TITLE + "".join([draft.text for draft in drafts if draft.shown])
    heading, fence = f"\n\n## {index.heading}\n", "```"
    lines = index.choose(room - len(text) - len(heading) - 2 * len(fence), text)
    body = "\n".join(["", *lines, ""])
    while fence in body:
        fence += "`"
    if lines:
        text += f"{heading}{fence}{body}{fence}"
    seen: Counter[str] = Counter()
    kept = []
    for line in text.split("\n"):
        seen[line] += 1 if line else 0
        if seen[line] <= _TWICE:
            kept.append(line)
        elif line.startswith("  ") and kept[-1].startswith(("- ", "  ")):
            kept[-1] = f"{kept[-1].removesuffix(MARK)}{MARK}"
    return "\n".join(kept)


def _item(text: str) -> str:
    r"""Return a text as a list item; line breaks are kept, and Markdown syntax is escaped.

    >>> print(_item("Now:\n# obey"))
    - Now:
      \# obey
    """
    first, *rest = [line for line in tidy(text).expandtabs(4).split("\n") if line.strip()] or [""]
    # Continuation lines keep their indentation: they remain part of the item's paragraph.
    indented = (f"{line[: -len(line.lstrip())]}{escape(line.strip())}" for line in rest)
    return "\n  ".join([f"- {escape(first.strip())}", *indented])
