"""Sections, which read turns and offer lines, and the selection of the lines that fit a digest.

First, each section gets what it needs, up to its share of the room. Then sections that must be
complete get the rest of their lines in short form. Then all grow in reading order, up to twice,
four times and eight times their share. The index gets what they leave, and at most its own share;
what is left after it goes to the sections again. A sentence that an earlier section shows is left
out.

The index has the lines in which identifiers were last seen: paths, names with separators, inner
capitals or digits, and long numbers. Lines are ranked by the number of texts that mention their
identifiers, divided by the length of the line.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import attrs

from agentic.context.digest._text import (
    LINE,
    MARK,
    PARAGRAPH,
    cut,
    escape,
    one_line,
    plain_sentence,
    sentences,
    tidy,
)
from agentic.context.digest._turns import Called, Kind, Words

STORED_CHARS = 4000
"""The largest length of a text in the notes: a page, which is more than any section shows."""
TITLE = "# Digest of the conversation so far"
CHARS_PER_TOKEN = 4
"""The ratio of the first try: few texts have more characters per token, by any counter."""
_LEAST_STEP, _MOST_STEP = 0.5, 0.97
"""The range of the factor by which the room shrinks for the next try."""
_INDEX_MOST, _INDEX_LEAST = 0.35, 0.2
"""The share of the index: of a note, and of a large one that has enough to say. It is no more even
if the sections leave room: where nothing says why it matters, a line of code helps little."""
LARGE = 6_000
"""From this size on, in tokens, a note quotes what was said on the way before it lists code."""
_GROWTH = (2, 4, 8)
"""How many times its share a section may get while others still grow."""
_PAGE = 6 * LINE
"""So much of the best line of a section is shown before the others grow, in characters."""
_TEXT_PER_ITEM = 4
"""An item has at least a quarter of the characters of what it shows: only blanks are left out."""
_TWICE = 2
"""How often a line may occur in a digest: once in its own place, and once where it is quoted."""


_LOOK_BACK = 20
"""The number of characters that are read for each character of room. With 10, half a point fewer of
the identifiers that are used again are shown at 2,000 tokens."""
_READ_MOST = 200_000
"""So many characters are read at most, whatever the room: a large note has its prose."""
_SAID = 3
"""The weight of a mention in a message or a call; one in an output counts 1. With equal weights,
3 points fewer of the identifiers that are used again are shown."""

_IN_NAMES = re.compile(r"[\w./~@\n-]")
_BLANKS = {at: at if _IN_NAMES.match(chr(at)) else ord(" ") for at in range(128)}
"""Blanks for what is in no identifier. It has all of ASCII, because whatever is missing from a
table costs an exception in each text."""
_LONGEST_PIECE = 4096
# A part of a line in which identifiers are searched for. The time grows with its square, and data
# in JSON may be a single line of megabytes.
_PIECE = re.compile(rf".{{1,{_LONGEST_PIECE}}}(?= |\Z)|[^ ]+")
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


@attrs.frozen
class Fact:
    """Something that a summary has or lacks, which can be decided by its text."""

    line: str
    """How it is stated where a summary lacks it."""
    name: str = ""
    """What a summary that has it must contain, letter by letter; empty if its words decide."""
    is_request: bool = False
    """Whether it is the latest request, which stands behind most summaries itself."""


@attrs.define
class Section:
    """Reads a conversation into texts, each with a note."""

    known: dict[str, str] = attrs.field(factory=dict)
    """Each known text with what else is known of it, if anything; the newest is last. A section
    that takes no turns shares the texts of another one, and shows the rest of them."""
    heading: ClassVar[str]
    takes: ClassVar[tuple[Kind, ...]]
    """The kinds of turns that it reads."""
    is_quotation: ClassVar[bool] = False
    """Whether its lines are sentences that another section may quote, too."""
    complete: ClassVar[float] = 0.0
    """The share up to which a section gets all of its lines, at least in short form."""
    share: ClassVar[float] = 0.04
    """The share of the room, at first. Those of all sections make 0.59, so that something is left
    for what must be complete, and even 80 requests leave room for a few rules and decisions."""

    def take(self, turn: Any) -> None:
        """Read the next turn of the conversation."""

    def finish(self) -> None:
        """Do what could wait until all turns were read."""

    def lines(self) -> Iterator[Line]:
        """Yield the lines of the section in reading order."""
        raise NotImplementedError

    def facts(self) -> Iterator[Fact]:
        """Yield what a successor must know of it; nothing for most sections."""
        yield from ()

    def add(self, text: str, note: str = "") -> None:
        """Add a text; if it is known already, it moves to the end."""
        self.known.pop(text, None)
        self.known[text] = note

    def forget(self, obsolete: Collection[str]) -> None:
        """Leave out sentences that hold no longer, and texts that say nothing else."""
        texts = {}
        for text, note in self.known.items():
            line = " ".join(text.split())
            # Most have none of them, and need not be split.
            if line.isprintable() and not [each for each in obsolete if each in line]:
                texts[text] = note
                continue
            rest = [each for each in sentences(text) if one_line(each) not in obsolete]
            if len(rest) == len([*sentences(text)]):
                texts[text] = note
            elif rest:
                texts[" ".join(rest)] = note
        self.known = texts

    def to_plain(self, max_chars: int) -> list[list[str]]:
        """Return the first and the newest texts as plain JSON; `max_chars` limits the others."""
        ends = {0, len(self.known) - 1}
        entries = [
            [cut(text, STORED_CHARS if at in ends else PARAGRAPH), note]
            for at, (text, note) in enumerate(self.known.items())
        ]
        sizes = accumulate(len(text) for text, _ in reversed(entries))
        count = sum(size <= max_chars for size in sizes)
        return entries[:1] + entries[1:][-max(count, 1) :]

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
    _gone: Collection[str] = ()

    def forget(self, obsolete: Collection[str]) -> None:
        """Leave out lines with a sentence that holds no longer, and parts of one."""
        self._gone = obsolete

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
        if turn.notice:
            self._texts.append((turn.notice, 1))

    def write(self, room: int, text: str) -> str:
        """Return the best lines for what is not `text`, newest first, in `room` characters."""
        if not self._seen:
            read = min(room * _LOOK_BACK, _READ_MOST)
            self._read([*((line, _SAID) for line in self.known), *self._texts], read)
        heading, fence = f"\n\n## {self.heading}\n", "```"
        room -= len(heading) + 2 * len(fence)
        words: set[str] = set()
        # Line by line, because texts in ASCII are translated many times faster than others.
        for line in text.split("\n"):
            words.update(line.translate(_BLANKS).split())
        worths = {
            at: sum([self._mentions[name] for name in names - words]) / (len(line) + 1)
            for at, (line, names) in enumerate(self._seen)
        }
        for at, (line, _) in enumerate(self._seen if self._gone else ()):
            if [each for each in self._gone if line in each or each in line]:
                worths[at] = 0
        choice = []
        for at in sorted(filter(worths.get, worths), key=lambda at: -worths[at]):
            size = len(self._seen[at][0]) + 1
            if size <= room:
                room -= size
                choice.append(at)
        lines = list(dict.fromkeys(self._seen[at][0] for at in sorted(choice)))
        self.known = dict.fromkeys(reversed(lines), "")
        body = "\n".join(["", *lines, ""])
        # A line may hold a fence itself: only a longer one ends ours.
        while fence in body:
            fence += "`"
        return f"{heading}{fence}{body}{fence}" if lines else ""

    def _read(self, texts: list[tuple[str, int]], remaining: int) -> None:
        """Find the newest line of each identifier."""
        # From the newest text back, so that the time depends on the room, not on the conversation.
        others: set[str] = set()
        while texts and remaining > 0:
            text, weight = texts.pop()
            remaining -= len(text)
            plain = text.translate(_BLANKS)
            words = set(plain.split()) - others
            new = words - self._mentions.keys()
            # Most words have only lower-case letters, which is quicker to see than with a pattern.
            names = {
                word
                for word in new
                if not (word.isalpha() and word.islower()) and _NAMED.search(word)
            }
            others |= new - names
            self._mentions.update([*words.difference(new), *names] * weight)
            lines = zip(reversed(text.split("\n")), reversed(plain.split("\n")), strict=True)
            for line, padding in lines if names else ():
                self._seen += _shown_pieces(line, padding, names)
                if not names:
                    break


def _shown_pieces(line: str, spaced: str, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield what is shown of a line, with the names in it, which are removed."""
    for piece in _PIECE.finditer(spaced) if len(spaced) > _LONGEST_PIECE else [None]:
        here = names.intersection((piece[0] if piece else spaced).split())
        if here:
            names -= here
            # What is shown may reach beyond the piece.
            yield from _shown(line[piece.start() : piece.end() + 2 * LINE] if piece else line, here)


@attrs.define
class _Draft:
    """A section while its lines are selected."""

    section: Section
    recall: str
    lines: Mapping[int, Line] = attrs.field(init=False)
    """The lines by their positions, the best first."""
    shown: dict[int, str] = attrs.field(factory=dict)
    """The selected items by the position of their lines."""
    repeated: set[int] = attrs.field(factory=set)
    """The positions of lines that an earlier section shows."""
    _size: int = 0
    """The characters of the selected items, each with a line break."""
    _items: dict[int, str] = attrs.field(factory=dict)
    """Full lines as list items, as far as they were needed."""
    _shorts: Mapping[int, str] = attrs.field(init=False)
    """All list items in short form, the best first."""
    _least: int = attrs.field(init=False)
    """The size of the shortest of them."""
    _said: dict[int, tuple[str, Collection[str]]] = attrs.field(factory=dict)
    """Selected items with the sentences in them."""

    @lines.default
    def _ranked(self) -> Mapping[int, Line]:
        by_rank = sorted(enumerate(self.section.lines()), key=lambda pair: -pair[1].rank)
        return dict(by_rank)

    @_shorts.default
    def _in_short(self) -> Mapping[int, str]:
        return {
            at: _item(line.short) if line.short else self._item(at)
            for at, line in self.lines.items()
        }

    @_least.default
    def _least_size(self) -> int:
        return min(map(len, self._shorts.values()), default=0)

    @property
    def text(self) -> str:
        """The section, after a blank line."""
        items = (f"\n{self.shown[at]}" for at in sorted(self.shown))
        return "".join([self._heading, *items, self._missing])

    @property
    def size(self) -> int:
        """The number of characters of the text."""
        return len(self._heading) + self._size + len(self._missing)

    @property
    def _heading(self) -> str:
        return f"\n\n## {self.section.heading}"

    @property
    def _missing(self) -> str:
        missing = len(self.lines) - len(self.shown) - len(self.repeated)
        where = f"; {self.recall} finds them" if self.recall else ""
        return f"\n- ({missing} more{where})" if missing else ""

    def clear(self) -> None:
        """Select nothing."""
        self.shown.clear()
        self.repeated.clear()
        self._size = 0

    def sentences(self) -> Iterator[Collection[str]]:
        """Yield the sentences that are shown, of each item."""
        for at, item in self.shown.items():
            if self._said.get(at, ("",))[0] != item:
                # Of a long text that is cut, what is behind the cut need not be read.
                text = self.lines[at].text[: _TEXT_PER_ITEM * len(item)]
                parts = [plain_sentence(each) for each in sentences(text)]
                if item != self._item(at):
                    flat = plain_sentence(item)
                    parts = [each for each in parts if each in flat]
                self._said[at] = item, parts
            yield self._said[at][1]

    def leave_out(self, text: Collection[str]) -> int:
        """Leave out the lines that were said already; return the growth in characters."""
        before = self.size if self.shown else 0
        self.repeated = {at for at, line in self.lines.items() if line.text in text}
        for at in self.repeated:
            self._show(at, None)
        return (self.size if self.shown else 0) - before

    def grow(self, room: float, *, in_short: bool = False) -> int:
        """Add the best lines in short form, then extend them; return the growth in characters."""
        if room <= 0:
            return 0
        before = self.size
        # Short forms first, so that no request disappears for the length of another.
        if not self.shown:
            room, before = room - before, 0
        for at, short in self._shorts.items():
            if room <= self._least:
                break
            if len(short) < room and at not in self.shown and at not in self.repeated:
                self._show(at, short)
                room -= len(short) + 1
        # Then a page of the best and a sentence or two of each, before others are quoted at length.
        best = [at for at in self.lines if at in self.shown]
        steps = [] if in_short else [(best[:1], _PAGE), (best, LINE), (best, None)]
        for lines, limit in steps:
            for at in lines:
                room -= self._extend(at, int(room), limit)
        return self.size - before if self.shown else 0

    def _item(self, at: int) -> str:
        """Return a line as a list item."""
        if at not in self._items:
            self._items[at] = _item(self.lines[at].text)
        return self._items[at]

    def _show(self, at: int, item: str | None) -> None:
        """Select an item instead of the former one, if any; None for nothing."""
        former = self.shown.pop(at, None)
        self._size -= 0 if former is None else len(former) + 1
        if item is not None:
            self.shown[at] = item
            self._size += len(item) + 1

    def _extend(self, at: int, room: int, limit: int | None) -> int:
        """Show more of a line, up to a limit; return the growth in characters."""
        item, ref = self._item(at), self.lines[at].ref
        former = len(self.shown[at])
        most = room + former if limit is None else min(room + former, limit)
        if not former < min(len(item), most):
            return 0
        mark = MARK
        if self.recall and ref:
            excess = len(item) - most
            mark = f' [... {excess} characters left out: {self.recall}(ref="{ref}") ...]'
        longer = item if ref is None else cut(item, most, mark)
        if not former < len(longer) <= room + former:
            return 0
        self._show(at, longer)
        return len(longer) - former


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
    is_large = room >= LARGE * CHARS_PER_TOKEN
    remaining = (1 - (_INDEX_LEAST if is_large else _INDEX_MOST)) * room - len(TITLE)
    for draft in drafts:
        draft.clear()
    for draft in drafts:
        remaining -= draft.grow(min(draft.section.share * room, remaining))
    # What takes little room comes first, and requests come last: they could fill any room.
    for draft in sorted(drafts, key=lambda each: each.section.share):
        most = draft.section.complete * room - draft.size
        if draft.section.complete:
            remaining -= draft.grow(min(most, remaining), in_short=True)
    for times in _GROWTH:
        for at, draft in enumerate(drafts):
            if draft.section.is_quotation:
                earlier = (said for each in drafts[:at] for said in each.sentences())
                remaining -= draft.leave_out(set().union(*earlier))
            most = times * draft.section.share * room - draft.size
            remaining -= draft.grow(min(most, remaining))
    text = _text_of(drafts)
    lines = index.write(min(room - len(text), int(_INDEX_MOST * room)), text)
    remaining = room - len(text) - len(lines)
    for draft in drafts:
        remaining -= draft.grow(remaining)
    return _without_repetitions(_text_of(drafts) + lines)


def _text_of(drafts: Sequence[_Draft]) -> str:
    return TITLE + "".join([draft.text for draft in drafts if draft.shown])


def _without_repetitions(text: str) -> str:
    """Return a digest in which no line occurs three times."""
    counts: Counter[str] = Counter()
    rest = []
    for line in text.split("\n"):
        counts[line] += 1 if line else 0
        if counts[line] <= _TWICE:
            rest.append(line)
        elif line.startswith("  ") and rest[-1].startswith(("- ", "  ")):
            rest[-1] = f"{rest[-1].removesuffix(MARK)}{MARK}"
    return "\n".join(rest)


def _item(text: str) -> str:
    """Return a text as a list item; line breaks are kept, and Markdown syntax is escaped."""
    if "\n" not in text:
        return f"- {escape(tidy(text).expandtabs(4).strip())}"
    first, *rest = [line for line in tidy(text).expandtabs(4).split("\n") if line.strip()] or [""]
    # Continuation lines keep their indentation: they remain part of the item's paragraph.
    continuation = (f"{line[: -len(line.lstrip())]}{escape(line.strip())}" for line in rest)
    return "\n  ".join([f"- {escape(first.strip())}", *continuation])


def _shown(line: str, names: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Yield a line, or pieces of a long line that each begin with an identifier."""
    line = tidy(line).strip()
    if len(line) <= LINE:
        yield line, {name for name in names if name in line}
        return
    for name in sorted(names, key=lambda name: (line.find(name), name)):
        if name in names:
            excerpt = cut(line[line.find(name) :], LINE)
            matches = {each for each in names if each in excerpt}
            names = names - matches - {name}
            yield excerpt, matches
