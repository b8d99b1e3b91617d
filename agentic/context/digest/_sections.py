"""The sections of a digest, in the order in which a successor reads them.

To add one, write a class with the four methods of `Section`, and add a line to `_places`.
"""

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Self

import attrs

from agentic.context.digest._commands import Commands
from agentic.context.digest._files import ChangedFiles, FileRecord, ReadFiles
from agentic.context.digest._fit import TITLE, Draft
from agentic.context.digest._index import Index
from agentic.context.digest._quotes import FormerSummaries, Notices
from agentic.context.digest._requests import Requests
from agentic.context.digest._section import Reader, Section
from agentic.context.digest._statements import Statements
from agentic.context.digest._status import Status
from agentic.context.digest._tools import ToolTable
from agentic.context.digest._turns import Summarized, Turn

__all__ = ["Sections"]

_NOTES, _VERSION = "digest", 1
"""A higher version: notes of lower ones are no longer read, and their text is quoted."""


@attrs.frozen
class _Place:
    """Where a section stands, and what room it has."""

    key: str
    """What its data are called in the notes for the next generation."""
    heading: str
    noun: str
    """What its lines are, in the plural."""
    share: float
    """Of the room. The index has what they leave."""
    section: Section
    is_complete: bool = False
    """Whether a successor needs every line of it, if only in short."""


def _places(tools: ToolTable) -> list[_Place]:
    files, commands = FileRecord(tools), Commands(tools)
    return [
        _Place("requests", "What the user asked", "requests", 0.28, Requests(), is_complete=True),
        _Place("notices", "Said by the application, or pinned", "messages", 0.03, Notices()),
        _Place("former", "Former summary", "summaries", 0.06, FormerSummaries()),
        _Place("status", "Where things stand", "items", 0.15, Status(commands)),
        _Place("statements", "Decided and found", "statements", 0.03, Statements()),
        _Place("changed", "Files changed", "folders", 0.12, ChangedFiles(files), is_complete=True),
        _Place("read", "Files read", "folders", 0.02, ReadFiles(files)),
        _Place("commands", "Commands", "commands", 0.04, commands),
    ]


@attrs.frozen
class Sections:
    """All sections and the index, as one reader of a conversation."""

    places: Sequence[_Place]
    index: Index
    _readers: Mapping[str, Reader]

    @classmethod
    def of(cls, tools: ToolTable) -> Self:
        """Return sections that know nothing yet."""
        places, index = _places(tools), Index()
        return cls(places, index, {**{each.key: each.section for each in places}, "index": index})

    def take(self, turn: Turn) -> None:
        """Take in a turn; a former digest is gone on from, not quoted."""
        if isinstance(turn, Summarized) and (plain := _notes_of(turn.notes)) is not None:
            for key, reader in self._readers.items():
                reader.restore(plain.get(key))
            turn = Summarized(turn.text.partition(TITLE)[0])
        for reader in self._readers.values():
            reader.take(turn)

    def drafts(self) -> list[Draft]:
        """Return what the sections offer that have anything to say."""
        offered = [(place, list(place.section.lines())) for place in self.places]
        return [
            Draft(p.heading, p.noun, p.share, p.is_complete, lines) for p, lines in offered if lines
        ]

    def notes(self, max_chars: int) -> dict[str, Any]:
        """Return what the next generation needs, in about so many characters of JSON."""
        plain = {key: reader.to_plain() for key, reader in self._readers.items()}
        complete = {place.key for place in self.places if place.is_complete}
        _shorten(plain, max_chars, complete)
        return {_NOTES: {"v": _VERSION, **{key: each for key, each in plain.items() if each}}}


def _notes_of(notes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the notes of a digest of this version; None if there are none."""
    plain = notes.get(_NOTES)
    return plain if isinstance(plain, Mapping) and plain.get("v") == _VERSION else None


def _shorten(plain: Mapping[str, Any], max_chars: int, complete: AbstractSet[str]) -> None:
    """Drop the oldest entries of the longest lists, but never the first and the last of one.

    Those that should be complete come last.
    """
    lists: dict[str, list[Any]] = {key: e for key, e in plain.items() if isinstance(e, list)}
    sizes = {key: _size(entries) for key, entries in lists.items()}
    excess = _size(plain) - max_chars
    while excess > 0 and sizes:
        key = max(sizes, key=lambda key: (key not in complete, sizes[key]))
        if lists[key][1:-1]:
            gone = _size(lists[key].pop(1))
            sizes[key] -= gone
            excess -= gone
        else:
            del sizes[key]


def _size(plain: Any) -> int:
    return len(json.dumps(plain))
