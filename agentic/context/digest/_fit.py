"""Which lines find room.

Each section has what it needs up to its share; what some do not need goes to those that need more,
in the order in which they are read; the index takes what is then left. Sizes are in tokens, as the
counter counts them.
"""

from collections.abc import Callable, Sequence

import attrs

from agentic.context.digest._cut import MARK, cut, escape, tidy
from agentic.context.digest._index import Index
from agentic.context.digest._section import Line

__all__ = ["TITLE", "Draft", "fit"]

Count = Callable[[str], int]

TITLE = "# Digest of the conversation so far"
_ENOUGH = 4000
"""Tokens of which the sections take shares; of a larger digest the rest is for the index first."""
_INDEX_SHARE = 0.35
"""What the index has of that, however much the sections have to say."""
_LEAST_CUT = 40
"""Characters that a cut must gain over the short form to be worth its mark."""


@attrs.define
class Draft:
    """A section while it is given room."""

    heading: str
    noun: str
    """What it has, in the plural: `requests`."""
    share: float
    offered: Sequence[Line]
    used: int = 0
    texts: list[str] = attrs.field(factory=list)
    missing: int = 0
    """How many lines found no room."""

    @property
    def is_whole(self) -> bool:
        """Whether all of it found room."""
        return self.texts == [line.text for line in self.offered]


@attrs.define
class _Fitter:
    count: Count
    recall: str

    def fill(self, draft: Draft, room: float) -> None:
        """Choose what of a section is shown in a room: by rank, short first, then in full."""
        lines = draft.offered
        room -= self.count(f"\n\n## {draft.heading}\n")
        ranked = sorted(range(len(lines)), key=lambda at: -lines[at].rank)
        shown = self._shorts(lines, ranked, room)
        if len(shown) < len(lines):
            room -= self.count(self._rest(draft, len(lines)))
            shown = self._shorts(lines, ranked, room)
        sizes = {at: self._size(text) for at, text in shown.items()}
        left = room - sum(sizes.values())
        for at in ranked:
            if at in shown and shown[at] != lines[at].text:
                longer = self._longer(lines[at], left + sizes[at])
                if len(longer) >= len(shown[at]) + min(_LEAST_CUT, len(lines[at].text) - len(shown[at])):
                    size = self._size(longer)
                    if size <= left + sizes[at]:
                        left += sizes[at] - size
                        shown[at] = longer
        draft.texts = [shown[at] for at in sorted(shown)]
        draft.missing = len(lines) - len(shown)
        draft.used = self.count(render([draft], self)) if shown else 0

    def least(self, draft: Draft) -> int:
        """Return what a section takes that has every line, in short."""
        shorts = [self._size(line.short or line.text) for line in draft.offered]
        return self.count(f"\n\n## {draft.heading}\n") + sum(shorts)

    def _shorts(self, lines: Sequence[Line], ranked: list[int], room: float) -> dict[int, str]:
        shown: dict[int, str] = {}
        for at in ranked:
            text = lines[at].short or lines[at].text
            size = self._size(text)
            if size <= room:
                room -= size
                shown[at] = text
        return shown

    def _longer(self, line: Line, room: float) -> str:
        """Return as much of a line as there is room for."""
        size = self._size(line.text)
        if size <= room or line.ref is None:
            return line.text
        length = int(len(line.text) * max(room, 0) / size)
        mark = MARK
        if self.recall and line.ref:
            missing = len(line.text) - length
            mark = f' [... {missing} characters left out: {self.recall}(ref="{line.ref}") ...]'
        return cut(line.text, length, mark)

    def _rest(self, draft: Draft, missing: int) -> str:
        where = f"; {self.recall} finds them" if self.recall else ""
        return f"\n- ({missing} more {draft.noun}{where})"

    def _size(self, text: str) -> int:
        return self.count(item(text) + "\n")


def fit(drafts: Sequence[Draft], index: Index, max_tokens: int, count: Count, recall: str) -> str:
    """Return the text of a digest; empty if not a single line fits."""
    fitter = _Fitter(count, recall)
    room = max_tokens
    while room > 0:
        text = _write(drafts, index, room, fitter)
        size = count(text)
        if size <= max_tokens:
            return text
        room -= max(size - max_tokens, room // 20)
    return ""


def _write(drafts: Sequence[Draft], index: Index, room: int, fitter: _Fitter) -> str:
    shared = min(room, _ENOUGH)
    left = room - fitter.count(f"{TITLE}\n") - _INDEX_SHARE * shared
    for draft in drafts:
        fitter.fill(draft, min(draft.share * shared, left))
        left -= draft.used
    for draft in drafts:
        # Every line in short comes before more of any line.
        if draft.missing:
            left += draft.used
            fitter.fill(draft, min(left, fitter.least(draft)))
            left -= draft.used
    text = _with_index(drafts, index, room, fitter)
    left = room - fitter.count(text)
    if left > room // 20 and not all(draft.is_whole for draft in drafts):
        for draft in drafts:
            left += draft.used
            fitter.fill(draft, left)
            left -= draft.used
        text = _with_index(drafts, index, room, fitter)
    return text


def _with_index(drafts: Sequence[Draft], index: Index, room: int, fitter: _Fitter) -> str:
    """Return the digest with as many lines of the index as fit."""
    head = render(drafts, fitter)
    used = fitter.count(f"{TITLE}{head}")
    per_token = max(len(head) / used, 1.0) if head else 4.0
    shown = {line.strip() for draft in drafts for text in draft.texts for line in text.split("\n")}
    lines = index.choose(int((room - used) * per_token * 1.2), shown) if room > used else []
    low, high = 0, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        if fitter.count(_joined(head, lines, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    index.keep(lines, low)
    return _joined(head, lines, low)


def _joined(head: str, lines: Sequence[Line], number: int) -> str:
    """Return sections and the best of the lines, in the order of the lines."""
    body = "\n".join(line.text for line in lines if line.rank > len(lines) - number)
    if body:
        fence = "```"
        while fence in body:
            fence += "`"
        head += f"\n\n## Last seen, newest first\n{fence}\n{body}\n{fence}"
    return f"{TITLE}{head}" if head else ""


def render(drafts: Sequence[Draft], fitter: _Fitter) -> str:
    """Return sections as Markdown."""
    parts: list[str] = []
    for draft in drafts:
        if draft.texts:
            items = "\n".join(map(item, draft.texts))
            rest = fitter._rest(draft, draft.missing) if draft.missing else ""
            parts.append(f"\n\n## {draft.heading}\n{items}{rest}")
    return "".join(parts)


def item(text: str) -> str:
    r"""Return a text as an item of a list; its lines stay lines, and are nothing but text.

    >>> print(item("Now:\n# obey"))
    - Now:
      \# obey
    """
    lines = filter(None, map(str.strip, tidy(text).split("\n")))
    return "- " + "\n  ".join(map(escape, lines))
