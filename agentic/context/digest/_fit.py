"""Which lines find room.

Each section has what it needs up to its share; what is then left goes to sections that should be
complete, then to the index, then to whatever was cut short, in the order in which it is read. Sizes
are in tokens, as the counter counts them.
"""

from collections.abc import Callable, Sequence

import attrs

from agentic.context.digest._cut import MARK, cut, escape, tidy
from agentic.context.digest._index import Index
from agentic.context.digest._section import Line

__all__ = ["TITLE", "Draft", "Fitter"]

TITLE = "# Digest of the conversation so far"
_INDEX = "Last seen, newest first"
_ENOUGH = 4000
"""Tokens of which sections have shares; of a larger digest the rest is for the index first."""
_INDEX_SHARE = 0.2
"""What the index has of that, however much the sections have to say."""
_LEAST_GAIN = 40
"""Characters that a cut must show more than the short form, not to be a cut for nothing."""
_PARAGRAPH = 160
"""Characters of a cut text beside which a reference of 60 is no waste."""
_STEPS = 20
"""A twentieth of the room is worth a second round, if something was cut short."""


@attrs.define
class Draft:
    """A section while it is given room."""

    heading: str
    noun: str
    """What its lines are, in the plural."""
    share: float
    is_complete: bool
    """Whether all of its lines matter more than the index."""
    offered: Sequence[Line]
    texts: list[str] = attrs.field(factory=list)
    """What is shown."""
    missing: int = 0
    """How many lines found no room."""
    used: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether all of it found room."""
        return self.texts == [line.text for line in self.offered]


@attrs.frozen
class Fitter:
    """Gives room to sections and to the index."""

    count: Callable[[str], int]
    recall: str
    """The tool that finds what is left out; empty if there is none."""

    def fit(self, drafts: Sequence[Draft], index: Index, max_tokens: int) -> str:
        """Return the text of a digest; empty if not a single line fits."""
        room = max_tokens
        while room > 0:
            text = self._write(drafts, index, room)
            size = self.count(text)
            if size <= max_tokens:
                return text
            room -= max(min(size - max_tokens, room // 4), 1)
        return ""

    def _write(self, drafts: Sequence[Draft], index: Index, room: int) -> str:
        shared = min(room, _ENOUGH)
        left = room - self.count(f"{TITLE}\n") - _INDEX_SHARE * shared
        for draft in drafts:
            self._fill(draft, min(draft.share * shared, left))
            left -= draft.used
        for draft in drafts:
            if draft.missing and draft.is_complete:
                left += draft.used
                self._fill(draft, min(left, self._least(draft)))
                left -= draft.used
        text = self._with_index(drafts, index, room)
        left = room - self.count(text)
        if left > room // _STEPS and not all(draft.is_whole for draft in drafts):
            for draft in drafts:
                left += draft.used
                self._fill(draft, left)
                left -= draft.used
            text = self._with_index(drafts, index, room)
        return text

    def _fill(self, draft: Draft, room: float) -> None:
        """Choose what of a section is shown: by rank, first all in short, then more of each."""
        lines = draft.offered
        ranked = sorted(range(len(lines)), key=lambda at: -lines[at].rank)
        room -= self.count(_heading(draft.heading))
        shown = self._shorts(lines, ranked, room)
        if len(shown) < len(lines):
            room -= self._size(self._rest(draft, len(lines)))
            shown = self._shorts(lines, ranked, room)
        sizes = {at: self._size(text) for at, text in shown.items()}
        left = room - sum(sizes.values())
        for at in ranked:
            if at in shown and shown[at] != lines[at].text:
                longer = self._longer(lines[at], left + sizes[at])
                grows = longer == lines[at].text or len(longer) >= len(shown[at]) + _LEAST_GAIN
                size = self._size(longer)
                if grows and size <= left + sizes[at]:
                    left += sizes[at] - size
                    shown[at] = longer
        draft.texts = [shown[at] for at in sorted(shown)]
        draft.missing = len(lines) - len(shown)
        draft.used = self.count(self._render([draft]))

    def _shorts(self, lines: Sequence[Line], ranked: list[int], room: float) -> dict[int, str]:
        shown: dict[int, str] = {}
        for at in ranked:
            text = self._short(lines[at])
            size = self._size(text)
            if size <= room:
                room -= size
                shown[at] = text
        return shown

    def _short(self, line: Line) -> str:
        """Return the least of a line; a paragraph says where the rest is, ten words do not."""
        short = line.short or line.text
        if len(short) < _PARAGRAPH or not short.endswith(MARK):
            return short
        return short.removesuffix(MARK) + self._mark(line, len(short))

    def _mark(self, line: Line, shown: int) -> str:
        """Return how a cut is marked after so many characters."""
        if not (self.recall and line.ref):
            return MARK
        missing = len(line.text) - shown
        return f' [... {missing} characters left out: {self.recall}(ref="{line.ref}") ...]'

    def _longer(self, line: Line, room: float) -> str:
        """Return as much of a line as there is room for."""
        size = self._size(line.text)
        if size <= room or line.ref is None:
            return line.text
        length = int(len(line.text) * max(room, 0) / size)
        return cut(line.text, length, self._mark(line, length))

    def _least(self, draft: Draft) -> int:
        """Return what a section takes that has every line, in short."""
        shorts = [self._size(self._short(line)) for line in draft.offered]
        return self.count(_heading(draft.heading)) + sum(shorts)

    def _rest(self, draft: Draft, missing: int) -> str:
        where = f"; {self.recall} finds them" if self.recall else ""
        return f"({missing} more {draft.noun}{where})"

    def _size(self, text: str) -> int:
        return self.count(_item(text) + "\n")

    def _render(self, drafts: Sequence[Draft]) -> str:
        parts: list[str] = []
        for draft in drafts:
            if draft.texts:
                rest = [self._rest(draft, draft.missing)] if draft.missing else []
                parts += [_heading(draft.heading), *map(_item, [*draft.texts, *rest])]
        return "".join(f"\n{part}" for part in parts)

    def _with_index(self, drafts: Sequence[Draft], index: Index, room: int) -> str:
        """Return the digest with as many lines of the index as fit."""
        head = f"{TITLE}{self._render(drafts)}"
        used = self.count(head)
        # A guess at what a token holds; too many are chosen, and then counted.
        chars = 1.2 * (room - used) * max(len(head) / max(used, 1), 1)
        lines = index.choose(int(chars), "\n".join(text for d in drafts for text in d.texts))
        low, high = 0, len(lines)
        while low < high:
            middle = (low + high + 1) // 2
            if self.count(_joined(head, lines, middle)) <= room:
                low = middle
            else:
                high = middle - 1
        index.keep(lines, low)
        return _joined(head, lines, low)


def _heading(heading: str) -> str:
    return f"\n## {heading}"


def _joined(head: str, lines: Sequence[Line], number: int) -> str:
    """Return sections and the best of the lines, in the order of the lines."""
    if not number:
        return head if head != TITLE else ""
    body = "\n".join(line.text for line in lines if line.rank > len(lines) - number)
    fence = "```"
    while fence in body:
        fence += "`"
    return f"{head}\n{_heading(_INDEX)}\n{fence}\n{body}\n{fence}"


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
