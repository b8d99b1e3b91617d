"""Selection of the lines of a digest that fit its size.

First, each section gets what it needs, up to its share of the room. Then sections that must be
complete get the rest of their lines in short form. Then the index gets its share and what the
sections left over. What it does not use goes to lines that were cut or left out, in reading order.
Room is measured in characters; how many characters make up the allowed tokens is found by trying.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs

from agentic.context.digest._index import Index
from agentic.context.digest._section import Line, Section
from agentic.context.digest._text import MARK, cut, escape, tidy

__all__ = ["CHARS_PER_TOKEN", "TITLE", "fit"]

TITLE = "# Digest of the conversation so far"
CHARS_PER_TOKEN = 4
"""The ratio of the first try: few texts have more characters per token, by any counter."""
_LEAST_STEP, _MOST_STEP = 0.5, 0.97
"""The range of the factor by which the room shrinks for the next try."""
_SHARE = 0.12
"""The share of a section before the others had theirs. With 0.16, 1 point fewer of the identifiers
that are used again are shown at 2,000 tokens; with 0.1, 7 points fewer of the failed commands."""
_INDEX_SHARE = 0.2
"""The share of the index, even if the sections need more room. With 0.4, a session of 88 requests
shows 66 % of them at 2,000 tokens instead of 90 %, and 3 percentage points more of the identifiers
that are used again."""
_TWICE = 2
"""How often a line may occur in a digest: once in its own place, and once where it is quoted."""


@attrs.define
class _Draft:
    """A section while its lines are selected."""

    section: Section[Any]
    lines: Sequence[Line]
    shorts: Sequence[str]
    wholes: Sequence[str]
    """Every line in full, as a list item."""
    recall: str
    shown: dict[int, str] = attrs.field(factory=dict)
    """The selected items by the position of their lines."""

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
        """Add the best lines in short form, then extend them; return the growth in characters."""
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
        """Return a line in full, or as much of it as fits if it may be cut."""
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
    """Return the text of a digest; empty if no line fits."""
    drafts = []
    for section in sections:
        lines = list(section.lines())
        shorts = [_item(line.short or line.text) for line in lines]
        drafts.append(_Draft(section, lines, shorts, [_item(line.text) for line in lines], recall))
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
    """Return the sections and, in the remaining room, the index in a code fence.

    The fence is longer than any fence in the index. A line that already occurs twice is left out.
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
    r"""Return a text as a list item; line breaks are kept, and Markdown syntax is escaped.

    >>> print(_item("Now:\n# obey"))
    - Now:
      \# obey
    """
    first, *rest = [line for line in tidy(text).expandtabs(4).split("\n") if line.strip()] or [""]
    # Continuation lines keep their indentation: they remain part of the item's paragraph.
    indented = (f"{line[: -len(line.lstrip())]}{escape(line.strip())}" for line in rest)
    return "\n  ".join([f"- {escape(first.strip())}", *indented])
