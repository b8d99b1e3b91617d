"""Which lines find room.

Each section has what it needs up to its share; what is then left goes to sections that should be
complete, then to the index, then to whatever was cut short, in the order in which it is read. Room
is measured in characters: how many of them make the tokens that are allowed is found by trying.
"""

from collections.abc import Callable, Sequence

import attrs

from agentic.context.digest._cut import MARK, cut, escape, tidy
from agentic.context.digest._index import Index
from agentic.context.digest._section import Line
from agentic.context.digest._sections import TITLE, Place

__all__ = ["Fitter"]

_INDEX = "Last seen, newest first"
_CHARS_PER_TOKEN = 4
"""Where trying begins: few texts have more, by any counter."""
_STEPS = 0.5, 0.97
"""What is left of the room for another try, at least and at most."""
_ENOUGH = 16_000
"""Characters of which sections have shares; of a larger digest the rest is for the index first."""
_INDEX_SHARE = 0.2
"""What the index has of that, however much the sections have to say."""
_PARAGRAPH = 160
"""Characters that are worth a reference of 60 behind them, or another round of giving room."""


@attrs.define
class _Draft:
    """A section while it is given room."""

    place: Place
    offered: Sequence[Line]
    items: list[str] = attrs.field(factory=list)
    """What is shown, as items of a list."""
    missing: int = 0
    """How many lines found no room."""

    @property
    def text(self) -> str:
        """The section, after a blank line."""
        return "\n".join(["", "", f"## {self.place.heading}", *self.items]) if self.items else ""


@attrs.frozen
class Fitter:
    """Gives room to sections and to the index."""

    count: Callable[[str], int]
    recall: str
    """The tool that finds what is left out; empty if there is none."""

    def fit(self, places: Sequence[Place], index: Index, max_tokens: int) -> str:
        """Return the text of a digest; empty if not a single line fits."""
        offered = [(place, list(place.lines())) for place in places]
        room = _CHARS_PER_TOKEN * max_tokens
        while room > len(TITLE):
            drafts = [_Draft(place, lines) for place, lines in offered if lines]
            text = self._write(drafts, index, room)
            size = self.count(text)
            if size <= max_tokens:
                return text if text != TITLE else ""
            least, most = _STEPS
            room = int(room * min(max(max_tokens / size, least), most))
        return ""

    def _write(self, drafts: Sequence[_Draft], index: Index, room: int) -> str:
        """Return a digest of so many characters."""
        shared = min(room, _ENOUGH)
        left = room - len(TITLE) - _INDEX_SHARE * shared
        for draft in drafts:
            left -= self._grow(draft, min(draft.place.share * shared, left))
        for draft in drafts:
            if draft.missing and draft.place.is_complete:
                left -= self._grow(draft, min(self._least(draft) - len(draft.text), left))
        text = _with_index(drafts, index, room)
        if room - len(text) > _PARAGRAPH:
            left = room - len(text)
            for draft in drafts:
                left -= self._grow(draft, left)
            text = _with_index(drafts, index, room)
        return text

    def _grow(self, draft: _Draft, more: float) -> int:
        """Show as much more of a section; return how much it was."""
        before = len(draft.text)
        room = before + more - len(f"\n\n## {draft.place.heading}")
        lines = draft.offered
        ranked = sorted(range(len(lines)), key=lambda at: -lines[at].rank)
        shorts = [_item(self._short(line)) for line in lines]
        if sum(map(len, shorts)) + len(shorts) > room:
            room -= len(self._rest(draft, len(lines)))
        shown: dict[int, str] = {}
        for at in ranked:
            if len(shorts[at]) < room:
                shown[at] = shorts[at]
                room -= len(shorts[at]) + 1
        for at in filter(shown.__contains__, ranked):
            longer = self._longer(lines[at], int(room) + len(shown[at]))
            if len(shown[at]) < len(longer) <= len(shown[at]) + room:
                room -= len(longer) - len(shown[at])
                shown[at] = longer
        draft.items = [shown[at] for at in sorted(shown)]
        draft.missing = len(lines) - len(shown)
        if shown and draft.missing:
            draft.items.append(self._rest(draft, draft.missing))
        return len(draft.text) - before

    def _short(self, line: Line) -> str:
        """Return the least of a line; a paragraph says where the rest is, ten words do not."""
        short = line.short or line.text
        if len(short) < _PARAGRAPH or not short.endswith(MARK):
            return short
        return short.removesuffix(MARK) + self._mark(line, len(short))

    def _longer(self, line: Line, room: int) -> str:
        """Return as much of a line as there is room for, as an item."""
        item, length = _item(line.text), room
        while len(item) > room and length > 0 and line.ref is not None:
            item = _item(cut(line.text, length, self._mark(line, length)))
            # What marker, indentation and escapes add is known only afterwards.
            length -= max(len(item) - room, 1)
        return item

    def _mark(self, line: Line, shown: int) -> str:
        """Return how a cut is marked after so many characters."""
        if not (self.recall and line.ref):
            return MARK
        missing = len(line.text) - shown
        return f' [... {missing} characters left out: {self.recall}(ref="{line.ref}") ...]'

    def _least(self, draft: _Draft) -> int:
        """Return what a section takes that has every line, in short."""
        shorts = [len(_item(self._short(line))) + 1 for line in draft.offered]
        return len(f"\n\n## {draft.place.heading}") + sum(shorts)

    def _rest(self, draft: _Draft, missing: int) -> str:
        where = f"; {self.recall} finds them" if self.recall else ""
        return f"- ({missing} more {draft.place.noun}{where})"


def _with_index(drafts: Sequence[_Draft], index: Index, room: int) -> str:
    """Return sections and, in the room that is left, the index in a fence that is none of it."""
    head = "".join([TITLE, *(draft.text for draft in drafts)])
    heading, fence = f"\n\n## {_INDEX}\n", "```"
    lines = index.choose(room - len(head) - len(heading) - 2 * len(fence), head)
    body = "\n".join(["", *lines, ""])
    while fence in body:
        fence += "`"
    return f"{head}{heading}{fence}{body}{fence}" if lines else head


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
