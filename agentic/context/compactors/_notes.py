"""What a digest holds, by sections, and the Markdown form of the whole, both ways."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

import attrs

from agentic.context.compactors._entries import CallNote, Entry, FileNote, Quote
from agentic.context.compactors._mentions import Mentions

__all__ = [
    "HEADINGS",
    "RANKS",
    "SEEN",
    "TITLE",
    "Heading",
    "Notes",
    "Section",
    "from_markdown",
    "left_out_line",
    "to_markdown",
]

E = TypeVar("E", bound=Entry)

TITLE = "# Digest of the conversation so far"
"""The first line of every digest, by which a former one is known."""


@attrs.define
class Section(Generic[E]):
    """Entries in the order in which they were last put, the newest last."""

    entries: dict[str, E] = attrs.field(factory=dict)
    left_out: int = 0
    """How many former entries there was no room for, over all generations."""

    def put(self, entry: E) -> None:
        """Add an entry as the newest; a former one with its key is merged into it."""
        former = self.entries.pop(entry.key, None)
        self.entries[entry.key] = entry if former is None else entry.after(former)


@attrs.define
class Quotes(Section[Quote]):
    """Texts, each once."""

    def put_text(self, text: str) -> None:
        """Add a text as the newest, unless there is nothing in it."""
        if text.strip():
            self.put(Quote(text))

    def put_texts(self, texts: Iterable[str]) -> None:
        """Add several, the newest last."""
        for text in texts:
            self.put_text(text)


@attrs.define
class Notes:
    """Everything that a digest can say. The order is that of the text."""

    asked: Quotes = attrs.field(factory=Quotes)
    pinned: Quotes = attrs.field(factory=Quotes)
    former: Quotes = attrs.field(factory=Quotes)
    reminders: Quotes = attrs.field(factory=Quotes)
    results: Quotes = attrs.field(factory=Quotes)
    findings: Quotes = attrs.field(factory=Quotes)
    changed: Section[FileNote] = attrs.field(factory=Section)
    read: Section[FileNote] = attrs.field(factory=Section)
    commands: Section[CallNote] = attrs.field(factory=Section)
    calls: Section[CallNote] = attrs.field(factory=Section)
    errors: Section[CallNote] = attrs.field(factory=Section)
    seen: Section[CallNote] = attrs.field(factory=Section)
    ranks: str = ""
    """What each line of `seen` counts for, as `write_ranks` writes it."""
    todos: Quotes = attrs.field(factory=Quotes)
    progress: Quotes = attrs.field(factory=Quotes)
    mentions: Mentions = attrs.field(factory=Mentions)
    """What `seen` is made of, as far as there is room."""

    def add(self, later: "Notes") -> None:
        """Add other notes, which are newer."""
        for heading in HEADINGS:
            former: Section[Any] = getattr(self, heading.name)
            newer: Section[Any] = getattr(later, heading.name)
            for entry in newer.entries.values():
                former.put(entry)
            former.left_out += newer.left_out

    def put_file(self, note: FileNote) -> None:
        """Add what was done to a file: it stands in one section, `changed` if it ever was."""
        former = self.changed.entries.pop(note.path, None) or self.read.entries.pop(note.path, None)
        whole = note if former is None else note.after(former)
        (self.changed if whole.changed else self.read).put(whole)


@attrs.frozen
class Heading:
    """How a section is written."""

    name: str
    """The field of `Notes`."""
    title: str
    entry: type[Entry]
    weight: int
    """Its part of the room, when there is too little for all; what it does not need, others get."""
    clips: bool = False
    """Long entries are clipped, so that more of them find room."""
    keeps_first: bool = False
    """The first entry is favoured besides the newest."""
    messages: bool = False
    """Each entry is a message: what is cut out of it can be read again."""
    stated: bool = False
    """Said once and nowhere else: old entries have the same right to the room as new ones."""


SEEN = Heading("seen", "Where things were last seen", CallNote, 0)
"""The lines in which identifiers were last seen: their part is worked out by itself."""
RANKS = "<!-- ranks "
"""What the last line begins with, which says what each line in `SEEN` counts for."""
HEADINGS = (
    Heading("asked", "Asked by the user", Quote, 30, clips=True, keeps_first=True, messages=True),
    Heading("pinned", "Pinned", Quote, 30, clips=True, messages=True),
    Heading("former", "Former summary", Quote, 20, clips=True),
    Heading("reminders", "Told on the way", Quote, 8, clips=True, messages=True),
    Heading("results", "Results, in the assistant's words", Quote, 14, stated=True),
    Heading("findings", "Found on the way", Quote, 8, stated=True),
    Heading("changed", "Files changed", FileNote, 14),
    Heading("read", "Files read", FileNote, 6),
    Heading("commands", "Commands and their outcome", CallNote, 12),
    Heading("calls", "Other calls and their outcome", CallNote, 12),
    Heading("errors", "Errors", CallNote, 12),
    SEEN,
    Heading("todos", "Open to-dos", Quote, 8),
    Heading("progress", "In progress at the end", Quote, 8),
)
_LEFT_OUT = re.compile(r"- \(([0-9]{1,9}) more, left out here\)")
_BY_LINE = {f"## {heading.title}": heading for heading in HEADINGS}


def to_markdown(notes: Notes) -> str:
    """Give the text of a digest; an empty text for empty notes."""
    parts = [TITLE]
    for heading in HEADINGS:
        section: Section[Any] = getattr(notes, heading.name)
        if section.entries:
            parts += ["", f"## {heading.title}", *_body(section, heading)]
    if notes.ranks:
        parts += ["", f"{RANKS}{notes.ranks} -->"]
    return "\n".join(parts) if len(parts) > 1 else ""


def from_markdown(text: str) -> Notes:
    """Read the text of a summary. What is no part of a digest is kept as a former summary."""
    notes = Notes()
    before, title, digest = f"\n{text}".partition(f"\n{TITLE}\n")
    if not title:
        _put_stray(notes, [text])
        return notes
    stray = before.split("\n") if before.strip() else []
    heading = None
    for block in _blocks(digest.split("\n")):
        if block[0] in _BY_LINE:
            heading = _BY_LINE[block[0]]
        elif len(block) == 1 and block[0].startswith(RANKS):
            notes.ranks = block[0].removeprefix(RANKS).removesuffix(" -->")
        elif heading is None or not _read_block(getattr(notes, heading.name), heading, block):
            stray += block
    _put_stray(notes, stray)
    return notes


def left_out_line(count: int) -> str:
    """Give the line that stands where entries are missing."""
    return f"- ({count} more, left out here)"


def _body(section: Section[Any], heading: Heading) -> list[str]:
    written = [entry.markdown() for entry in section.entries.values()]
    if section.left_out:
        where = 1 if heading.keeps_first and len(written) > 1 else 0
        written.insert(where, left_out_line(section.left_out))
    return written


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Group the lines: a fenced block, an item with what is indented below it, a single line."""
    position = 0
    while position < len(lines):
        end = _end_of_block(lines, position)
        if lines[position]:
            yield lines[position:end]
        position = end


def _end_of_block(lines: list[str], start: int) -> int:
    end = start + 1
    if lines[start].startswith("~~~"):
        closing = (at for at in range(end, len(lines)) if lines[at] == lines[start])
        return next(closing, len(lines) - 1) + 1
    if lines[start].startswith("- "):
        while end < len(lines) and lines[end].startswith("  "):
            end += 1
    return end


def _read_block(section: Section[Any], heading: Heading, block: list[str]) -> bool:
    missing = _LEFT_OUT.fullmatch(block[0])
    if missing and len(block) == 1:
        section.left_out += int(missing[1])
        return True
    entry = heading.entry.read(block)
    if entry is not None:
        section.put(entry)
    return entry is not None


def _put_stray(notes: Notes, lines: list[str]) -> None:
    text = "\n".join(lines).strip()
    notes.former.put_text(text)
