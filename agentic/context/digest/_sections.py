"""The sections of a digest, in the order in which a successor reads them.

To add one, write a class with `take` and `lines` (see `Section`), and add a line to `_places`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import attrs

from agentic.context.digest._commands import Commands
from agentic.context.digest._files import Files
from agentic.context.digest._index import Index
from agentic.context.digest._quotes import FormerSummaries, Notices, Requests
from agentic.context.digest._section import Line, Section
from agentic.context.digest._statements import Statements
from agentic.context.digest._status import Status
from agentic.context.digest._turns import Summarized, Turn

__all__ = ["TITLE", "Place", "Sections"]

TITLE = "# Digest of the conversation so far"
_NOTES, _VERSION = "digest", 2
"""A higher version: notes of lower ones are no longer read, and their text is quoted."""
_MAIN, _SIDE = 0.18, 0.04
"""Shares of the room. Main sections seldom need all of theirs: what any leaves is the index's."""


@attrs.frozen
class Place:
    """Where a section stands, and what room it has."""

    key: str
    """What its data are called in the notes for the next generation."""
    heading: str
    noun: str
    """What its lines are, in the plural."""
    share: float
    section: Section[Any]
    is_complete: bool = False
    """Whether a successor needs every line of it, if only in short."""
    lines: Callable[[], Iterator[Line]] = attrs.Factory(
        lambda place: place.section.lines, takes_self=True
    )


def _places() -> list[Place]:
    files, commands = Files(), Commands()
    return [
        Place("requests", "What the user asked", "requests", _MAIN, Requests(), is_complete=True),
        Place("notices", "Said by the application, or pinned", "messages", _SIDE, Notices()),
        Place("former", "Former summary", "summaries", _MAIN, FormerSummaries()),
        Place("status", "Where things stand", "items", _MAIN, Status(commands=commands)),
        Place("statements", "Decided and found", "statements", _SIDE, Statements()),
        Place("files", "Files changed", "folders", _MAIN, files, is_complete=True),
        Place("files", "Files read", "folders", _SIDE, files, lines=files.read_lines),
        Place("commands", "Commands", "commands", _SIDE, commands),
    ]


@attrs.frozen
class Sections:
    """All sections and the index, as one reader of a conversation."""

    places: Sequence[Place] = attrs.field(factory=_places)
    index: Index = attrs.field(factory=Index)

    @property
    def _readers(self) -> Mapping[str, Section[Any] | Index]:
        return {**{place.key: place.section for place in self.places}, "index": self.index}

    def read(self, turns: Iterable[Turn]) -> None:
        """Take in turns; a former digest is gone on from, not quoted."""
        readers = self._readers
        for turn in turns:
            taken = turn
            if isinstance(turn, Summarized) and (plain := _notes_of(turn.notes)) is not None:
                for key, reader in readers.items():
                    reader.restore(plain.get(key))
                taken = Summarized(turn.text.partition(TITLE)[0])
            for reader in readers.values():
                reader.take(taken)

    def notes(self, max_chars: int) -> dict[str, Any]:
        """Return what the next generation needs, in about so many characters of JSON."""
        plain = {key: reader.to_plain() for key, reader in self._readers.items()}
        _shorten(plain, max_chars, {place.key for place in self.places if place.is_complete})
        return {
            _NOTES: {"v": _VERSION, **{key: entries for key, entries in plain.items() if entries}}
        }


def _notes_of(notes: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the notes of a digest of this version; None if there are none."""
    plain = notes.get(_NOTES)
    return plain if isinstance(plain, Mapping) and plain.get("v") == _VERSION else None


def _shorten(plain: Mapping[str, list[Any]], max_chars: int, complete: AbstractSet[str]) -> None:
    """Drop entries of the longest list, the oldest but one first; what should be complete last."""
    sizes = {key: len(json.dumps(entries)) for key, entries in plain.items()}
    excess = sum(sizes.values()) - max_chars
    while excess > 0 and sizes:
        key = max(sizes, key=lambda key: (key not in complete, sizes[key]))
        if plain[key][1:-1]:
            gone = len(json.dumps(plain[key].pop(1)))
            sizes[key] -= gone
            excess -= gone
        else:
            del sizes[key]
