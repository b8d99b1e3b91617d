"""What the entries of a session file add up to.

Every function reads only, and reads what is complete only: a torn last line is not there.
"""

from collections.abc import Iterator
from typing import BinaryIO

import attrs

from agentic.history._diff import Diff, compare
from agentic.history._entries import REDACTION, Entry, decode
from agentic.history._lines import Line, find_end, read_backwards, read_forwards
from agentic.messages import Message

__all__ = ["View", "read_diff", "read_full", "read_placed", "read_restored", "read_view"]


@attrs.frozen
class View:
    """The history, and how much of the file it rests on."""

    messages: list[Message]
    """Raw: open rounds are open."""
    end: int
    """Where the last complete entry ends, in bytes."""


def read_view(file: BinaryIO, session: str) -> View:
    """Read backwards, up to the newest entry that holds a complete view.

    Raises:
        HistoryCorrupt: an entry on the way cannot be read.
    """
    end = find_end(file)
    return View([message for _, message in _read_placed(file, session, end)], end)


def read_placed(file: BinaryIO, session: str) -> list[tuple[int, Message]]:
    """Read what `read_view` reads, each message with the offset of its entry.

    Raises:
        HistoryCorrupt: an entry on the way cannot be read.
    """
    return _read_placed(file, session, find_end(file))


def _read_placed(file: BinaryIO, session: str, end: int) -> list[tuple[int, Message]]:
    newer: list[tuple[int, Message]] = []
    redacted = 0  # to who loaded before the latest redaction, all that is older is unknown
    for line in read_backwards(file, end):
        entry = decode(line, session)
        if line.text.startswith(REDACTION):
            redacted = redacted or line.offset
        if entry is None:
            continue
        placed = [(max(redacted, line.offset), message) for message in entry.messages]
        if entry.kind != "message":
            return [*placed, *reversed(newer)]
        newer += placed
    return newer[::-1]


def read_full(file: BinaryIO, session: str) -> list[Message]:
    """Read every message ever appended, in order.

    Raises:
        HistoryCorrupt: an entry cannot be read.
    """
    return [
        message
        for entry in _entries(read_forwards(file), session)
        if entry.kind == "message"
        for message in entry.messages
    ]


def read_restored(file: BinaryIO, session: str) -> list[Message] | None:
    """Read the history as if the latest standing replace had never been; None if none stands.

    Raises:
        HistoryCorrupt: an entry cannot be read.
    """
    standing = _read_standing(file, session)
    position = _latest_replace(standing)
    return None if position is None else _fold(standing[:position] + standing[position + 1 :])


def read_diff(file: BinaryIO, session: str) -> Diff | None:
    """Read what the latest standing replace dropped and brought in; None if none stands.

    Raises:
        HistoryCorrupt: an entry cannot be read.
    """
    standing = _read_standing(file, session)
    position = _latest_replace(standing)
    if position is None:
        return None
    return compare(_fold(standing[:position]), standing[position].messages)


def _read_standing(file: BinaryIO, session: str) -> list[Entry]:
    """Read every message and every replace that nothing has taken back."""
    standing: list[Entry] = []
    for entry in _entries(read_forwards(file), session):
        if entry.kind != "restore":
            standing.append(entry)
        elif (position := _latest_replace(standing)) is not None:
            del standing[position]
    return standing


def _entries(lines: Iterator[Line], session: str) -> Iterator[Entry]:
    return (entry for line in lines if (entry := decode(line, session)))


def _latest_replace(entries: list[Entry]) -> int | None:
    newest_first = reversed(range(len(entries)))
    return next((each for each in newest_first if entries[each].kind == "replace"), None)


def _fold(entries: list[Entry]) -> list[Message]:
    view: list[Message] = []
    for entry in entries:
        if entry.kind == "replace":
            view.clear()
        view += entry.messages
    return view
