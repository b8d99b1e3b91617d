"""Sections, which read turns and offer lines, and the selection of the lines that fit a digest.

First, each section gets what it needs, up to its share of the room. Then sections that must be
complete get the rest of their lines in short form. Then the index gets its share and what the
sections left over. What it does not use goes to lines that were cut or left out, in reading order.

The index has the lines in which identifiers were last seen: paths, names with separators, inner
capitals or digits, and long numbers. Lines are ranked by the number of texts that mention their
identifiers, divided by the length of the line.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import attrs

from agentic.context.digest._text import LINE, MARK, PARAGRAPH, cut, escape, tidy
from agentic.context.digest._turns import Called, Kind, Words

STORED_CHARS = 4000
"""The largest length of a text in the notes: a page, which is more than any section shows."""
TITLE = "# Digest of the conversation so far"
CHARS_PER_TOKEN = 4
"""The ratio of the first try: few texts have more characters per token, by any counter."""
_LEAST_STEP, _MOST_STEP = 0.5, 0.97
"""The range of the factor by which the room shrinks for the next try."""
_INDEX_SHARE = 0.2
"""The share of the index, even if the sections could fill all of the room."""
_TWICE = 2
"""How often a line may occur in a digest: once in its own place, and once where it is quoted."""


_LOOK_BACK = 20
"""The number of characters that are read for each character of room. With 10, half a point fewer of
the identifiers that are used again are shown at 2,000 tokens."""
_SAID = 3
"""The weight of a mention in a message or a call; one in an output counts 1. With equal weights,
3 points fewer of the identifiers that are used again are shown."""

_SEPARATORS = "".join(chr(code) for code in range(128) if not re.match(r"[\w./~@-]", chr(code)))
_BLANKS = str.maketrans(dict.fromkeys(_SEPARATORS, " ") | {"\n": "\n"})
# A part of a line in which identifiers are searched for. The time grows with its square, and data
# in JSON may be a single line of megabytes.
_PIECE = re.compile(r".{1,4096}(?= |\Z)|[^ ]+")
_NAMED = re.compile(r"\w[/._-]\w|[a-z][A-Z]|[0-9][^\W0-9_]|[^\W0-9_][0-9]|[0-9]{4}")


@attrs.frozen
class Line:
    """A line that a section offers, as plain text. `fit` adds the list marker and escapes."""

    text: str
    short: str = ""
    """A short form for when there is little room; empty if only the full text may be shown."""
    rank: float = 0.0
    """Higher ranks are shown first, and earlier lines first among equals."""
    ref: str | None = None
    """The reference of the quoted message, empty if the quoted text is not one. The text may be cut
    anywhere beyond `short`; if this is None, it may not be cut."""


@attrs.define
class Section:
    """Reads a conversation into texts, each with a note."""

    known: dict[str, str] = attrs.field(factory=dict)
    """Each known text with what else is known of it, if anything; the newest is last. A section
    that takes no turns shares the texts of another one, and shows the rest of them."""
    heading: ClassVar[str]
    takes: ClassVar[tuple[Kind, ...]]
    """The kinds of turns that it reads."""
    is_complete: ClassVar[bool] = False
    """Whether a successor needs every line, at least in short form."""
    share: ClassVar[float] = 0.08
    """The share of the room, at first. With 0.12 for all, a digest of 2,000 tokens shows 1 point
    fewer of the identifiers; with 0.06, 9 points fewer of the failed commands."""

    def take(self, turn: Any) -> None:
        """Read the next turn of the conversation."""

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the section in reading order."""
        raise NotImplementedError

    def add(self, text: str, note: str = "") -> None:
        """Add a text; if it is known already, it moves to the end."""
        self.known.pop(text, None)
        self.known[text] = note

    def to_plain(self, max_chars: int) -> list[list[str]]:
        """Return the first and the newest texts as plain JSON; `max_chars` limits the others."""
        ends = {0, len(self.known) - 1}
        entries = [
            [cut(text, STORED_CHARS if at in ends else PARAGRAPH), note]
            for at, (text, note) in enumerate(self.known.items())
        ]
        sizes = accumulate(len(text) for text, _ in reversed(entries))
        kept = sum(size <= max_chars for size in sizes)
        return entries[:1] + entries[1:][-max(kept, 1) :]

    def restore(self, plain: object) -> None:
        """Restore what `to_plain` returned; damaged entries are skipped."""
        for entry in plain if isinstance(plain, list) else ():
            match entry:
                case [str(text), str(note)]:
                    self.known[text] = note


@attrs.define
class Index(Section):
    """The lines of a conversation; `write` selects the best when the remaining room is known."""

    heading = "Last seen, newest first"
    takes = ("request", "reply", "notice", "call")
    _texts: list[tuple[str, int]] = attrs.field(factory=list)
    _mentions: Counter[str] = attrs.field(factory=Counter)
    """The total weight of the texts that contain each word."""
    _seen: list[tuple[str, set[str]]] = attrs.field(factory=list)
    """Lines with the identifiers that were last seen in them, newest first."""

    def take(self, turn: Words | Called) -> None:
        """Add the texts of a turn."""
        if isinstance(turn, Words):
            self._texts.append((turn.text, _SAID))
            return
        values: list[Any] = [turn.arguments]
        for value in values:  # It grows meanwhile.
            if isinstance(value, str):
                self._texts.append((value, _SAID))
            elif isinstance(value, dict | list):
                values += value.values() if isinstance(value, dict) else value
        self._texts.append((turn.output or "", 1))

    def write(self, room: int, shown: str) -> str:
        """Return the best lines for what is not `shown`, newest first, in `room` characters."""
        if not self._seen:
            self._read([*((line, _SAID) for line in self.known), *self._texts], room * _LOOK_BACK)
        heading, fence = f"\n\n## {self.heading}\n", "```"
        room -= len(heading) + 2 * len(fence)
        words = set(shown.translate(_BLANKS).split())
        worths = {
            at: sum([self._mentions[name] for name in names - words]) / (len(line) + 1)
            for at, (line, names) in enumerate(self._seen)
        }
        chosen = []
        for at in sorted(filter(worths.get, worths), key=lambda at: -worths[at]):
            size = len(self._seen[at][0]) + 1
            if size <= room:
                room -= size
                chosen.append(at)
        lines = list(dict.fromkeys(self._seen[at][0] for at in sorted(chosen)))
        self.known = dict.fromkeys(reversed(lines), "")
        body = "\n".join(["", *lines, ""])
        # A line may hold a fence itself: only a longer one ends ours.
        while fence in body:
            fence += "`"
        return f"{heading}{fence}{body}{fence}" if lines else ""

    def _read(self, texts: list[tuple[str, int]], left: int) -> None:
        """Find the newest line of each identifier."""
        # From the newest text back, so that the time depends on the room, not on the conversation.
        while texts and left > 0:
            text, weight = texts.pop()
            left -= len(text)
            plain = text.translate(_BLANKS)
            words = set(plain.split())
            names = {word for word in words if word not in self._mentions and _NAMED.search(word)}
            self._mentions.update([*words] * weight)
            lines = zip(reversed(text.split("\n")), reversed(plain.split("\n")), strict=True)
            for line, spaced in lines if names else ():
                for piece in _PIECE.finditer(spaced):
                    if here := names.intersection(piece[0].split()):
                        names -= here
                        # What is shown may reach beyond the piece.
                        self._seen += _shown(line[piece.start() : piece.end() + 2 * LINE], here)


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
            lines.append(f"- ({missing} more{where})")
        return "\n".join(lines)

    def grow(self, room: float, *, in_short: bool = False) -> int:
        """Add the best lines in short form, then extend them; return the growth in characters."""
        before = len(self.text)
        # Short forms first, so that no request disappears for the length of another.
        if not self.shown:
            room, before = room - before, 0
        for at, (short, _, _) in self.items.items():
            if at not in self.shown and len(short) < room:
                self.shown[at] = short
                room -= len(short) + 1
        for at, (_, item, ref) in self.items.items():
            if at in self.shown and not in_short:
                former = len(self.shown[at])
                most = int(room) + former
                left = len(item) - most
                mark = f' [... {left} characters left out: {self.recall}(ref="{ref}") ...]'
                mark = mark if self.recall and ref else MARK
                longer = item if ref is None else cut(item, most, mark)
                if former < len(longer) <= room + former:
                    room -= len(longer) - former
                    self.shown[at] = longer
        return len(self.text) - before if self.shown else 0


def fit(
    sections: Iterable[Section],
    index: Index,
    max_tokens: int,
    count: Callable[[str], int],
    recall: str,
) -> str:
    """Return the text of a digest; empty if no line fits."""
    drafts = [_Draft(section, recall) for section in sections]
    # Room is measured in characters: how many make up the allowed tokens is found by trying.
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
    """Return the sections and the index in the remaining room; no line occurs three times."""
    text = TITLE + "".join([draft.text for draft in drafts if draft.shown])
    text += index.write(room - len(text), text)
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
    """Return a text as a list item; line breaks are kept, and Markdown syntax is escaped."""
    first, *rest = [line for line in tidy(text).expandtabs(4).split("\n") if line.strip()] or [""]
    # Continuation lines keep their indentation: they remain part of the item's paragraph.
    indented = (f"{line[: -len(line.lstrip())]}{escape(line.strip())}" for line in rest)
    return "\n  ".join([f"- {escape(first.strip())}", *indented])


def _shown(line: str, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield a line, or pieces of a long line that each begin with an identifier."""
    line = tidy(line).strip()
    for name in sorted(names, key=lambda name: (line.find(name), name)):
        if name in names:
            shown = line if len(line) <= LINE else cut(line[line.find(name) :], LINE)
            found = {each for each in names if each in shown}
            names = names - found - {name}
            yield shown, found
