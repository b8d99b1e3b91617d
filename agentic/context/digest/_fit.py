"""Which lines find room.

Each section has what it needs up to its share; then sections that should be complete have the rest
of their lines in short; then the index has room, and what it leaves goes to whatever was cut, in
the order in which it is read. Room is measured in characters: how many of them make the tokens that
are allowed is found by trying.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from agentic.context.digest._index import Index
from agentic.context.digest._section import Line, Section
from agentic.context.digest._text import MARK, cut, escape, tidy

__all__ = ["TITLE", "fit"]

TITLE = "# Digest of the conversation so far"
_CHARS_PER_TOKEN = 4
"""Where trying begins: few texts have more, by any counter."""
_LEAST_STEP, _MOST_STEP = 0.5, 0.97
"""What is left of the room for another try."""
_INDEX_SHARE = 0.2
"""What the index has of all, however much the sections have to say. With 0.4, a session of 88
requests shows 66 % of them at 2,000 tokens instead of 90 %, and 3 points more of what is used."""
_TWICE = 2
"""So often a line may stand in a digest: once where it belongs, and once in what quotes it."""


@attrs.define
class _Draft:
    """A section while it is given room."""

    section: Section[Any]
    lines: Sequence[Line]
    shorts: Sequence[str]
    wholes: Sequence[str]
    """Every line as an item of a list."""
    recall: str
    shown: dict[int, str] = attrs.field(factory=dict)
    """Items by the position of their lines."""

    @property
    def text(self) -> str:
        """The section, after a blank line."""
        missing = len(self.lines) - len(self.shown)
        items = [self.shown[at] for at in sorted(self.shown)]
        return "\n".join([self._head, *items, *[self._rest(missing)] * bool(missing)])

    @property
    def _head(self) -> str:
        return f"\n\n## {self.section.heading}"

    def grow(self, room: float, *, in_short: bool = False) -> int:
        """Show more, the best lines in short and then as whole as may be; return the growth."""
        before = len(self.text) if self.shown else 0
        room -= 0 if self.shown else len(self._head) + len(self._rest(len(self.lines)))
        ranked = sorted(range(len(self.lines)), key=lambda at: -self.lines[at].rank)
        for at in ranked:
            if at not in self.shown and len(self.shorts[at]) < room:
                self.shown[at] = self.shorts[at]
                room -= len(self.shorts[at]) + 1
        for at in () if in_short else filter(self.shown.__contains__, ranked):
            item = self._longer(at, int(room) + len(self.shown[at]))
            if len(self.shown[at]) < len(item) <= room + len(self.shown[at]):
                room -= len(item) - len(self.shown[at])
                self.shown[at] = item
        return len(self.text) - before if self.shown else 0

    def _longer(self, at: int, room: int) -> str:
        """Return as much as there is room for of a line that may be cut, or all of another."""
        ref, item = self.lines[at].ref, self.wholes[at]
        if len(item) <= room or ref is None:
            return item
        missing = len(item) - room
        recalled = f' [... {missing} characters left out: {self.recall}(ref="{ref}") ...]'
        return cut(item, room, recalled if self.recall and ref else MARK)

    def _rest(self, missing: int) -> str:
        where = f"; {self.recall} finds them" if self.recall else ""
        return f"- ({missing} more {self.section.noun}{where})"


def fit(
    sections: Iterable[Section[Any]],
    index: Index,
    max_tokens: int,
    count: Callable[[str], int],
    recall: str,
) -> str:
    """Return the text of a digest; empty if not a single line fits."""
    drafts = []
    for section in sections:
        lines = list(section.lines())
        shorts = [_item(line.short or line.text) for line in lines]
        drafts.append(_Draft(section, lines, shorts, [_item(line.text) for line in lines], recall))
    room = _CHARS_PER_TOKEN * max_tokens
    while room > len(TITLE):
        text = _write(drafts, index, room)
        size = count(text)
        if size <= max_tokens:
            return text if text != TITLE else ""
        room = int(room * min(max(max_tokens / size, _LEAST_STEP), _MOST_STEP))
    return ""


def _write(drafts: Sequence[_Draft], index: Index, room: int) -> str:
    """Return a digest of so many characters."""
    left = (1 - _INDEX_SHARE) * room - len(TITLE)
    for draft in drafts:
        draft.shown.clear()
        left -= draft.grow(min(draft.section.share * room, left))
    for draft in drafts:
        if draft.section.is_complete:
            left -= draft.grow(left, in_short=True)
    text = _text(drafts, index, room)
    left = room - len(text)
    for draft in drafts:
        left -= draft.grow(left)
    return text if left == room - len(text) else _text(drafts, index, room)


def _text(drafts: Sequence[_Draft], index: Index, room: int) -> str:
    """Return sections and, in the room that is left, the index in a fence that is none of it.

    A line that stands there twice already is left out.
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
        elif line.startswith("  ") and not kept[-1].endswith(MARK):
            kept[-1] += MARK
    return "\n".join(kept)


def _item(text: str) -> str:
    r"""Return a text as an item of a list; its lines stay lines, and are nothing but text.

    >>> print(_item("Now:\n# obey"))
    - Now:
      \# obey
    """
    first, *rest = [line for line in tidy(text).expandtabs(4).split("\n") if line.strip()] or [""]
    # A line of a paragraph may be indented as it was: it stays a line of the paragraph.
    indented = (f"{line[: -len(line.lstrip())]}{escape(line.strip())}" for line in rest)
    return "\n  ".join([f"- {escape(first.strip())}", *indented])
