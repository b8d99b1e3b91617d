r"""A session file as its readers see it: its lines, and what the entries in them result in.

A line ends at `\n` and nowhere else. Text after the last `\n` is not a line but an interrupted
write, so readers skip it, like lines at the end that were to be followed by more. Offsets are bytes
from the start of the file. What reads the entries of a session raises HistoryCorrupt at one that
cannot be read.

A list of sessions needs only counts, and obtains them in one pass that decodes little: a message
entry is recognized by the way this library begins one. An entry that begins otherwise, because an
editor or another program wrote it, is decoded. Damaged lines are skipped there, because listing
should not fail.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, NamedTuple

import attrs

from agentic.errors import HistoryCorrupt
from agentic.history._entries import (
    BEGINNING,
    MESSAGE,
    MORE,
    REDACTION,
    Entry,
    count_summarized,
    decode,
    parse_line,
    read_key,
)
from agentic.history._replace import Diff, StoredView, compare
from agentic.messages import Message

_BLOCK_BYTES = 64 * 1024
_SUMMARY = b'"summary":'


class FileLine(NamedTuple):
    """One complete line."""

    offset: int
    """The offset at which it begins."""
    text: bytes
    """The bytes, without the newline."""


def find_end(file: BinaryIO) -> int:
    r"""Find where the last line ends that was acknowledged; 0 if there is none.

    >>> import io
    >>> find_end(io.BytesIO(b"one\ntwo\nthr"))
    8
    """
    end = _find_newline(file)
    for line in read_backwards(file, end):
        if not line.text.startswith(MORE):
            break
        end = line.offset
    return end


def _find_newline(file: BinaryIO) -> int:
    """Find where the last complete line ends; 0 if there is none."""
    position = file.seek(0, os.SEEK_END)
    while position > 0:
        start = max(0, position - _BLOCK_BYTES)
        newline = _read_at(file, start, position - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        position = start
    return 0


def read_forwards(file: BinaryIO, begin: int = 0) -> Iterator[FileLine]:
    r"""Read the acknowledged lines from `begin` on, which is 0 or right after a newline.

    >>> import io
    >>> [line.text for line in read_forwards(io.BytesIO(b"one\ntwo\nthr"))]
    [b'one', b'two']
    """
    end = find_end(file)
    offset = file.seek(begin)
    for text in file:
        if offset >= end:
            break
        yield FileLine(offset, text[:-1])
        offset += len(text)


def read_backwards(
    file: BinaryIO, end: int, *, block_bytes: int = _BLOCK_BYTES
) -> Iterator[FileLine]:
    r"""Read the lines before `end`, last to first, and no block that nobody asked for.

    `end` is 0 or the offset right after a newline.

    >>> import io
    >>> [line.text for line in read_backwards(io.BytesIO(b"one\ntwo\nthr"), 8)]
    [b'two', b'one']
    """
    position = end - 1
    # Blocks are joined once for each line: to prepend each to the rest would be quadratic in a long
    # one.
    later: list[bytes] = []  # the end of a line whose start is not read yet, last block first
    while position > 0:
        start = max(0, position - block_bytes)
        block = _read_at(file, start, position - start)
        right = len(block)
        while (newline := block.rfind(b"\n", 0, right)) >= 0:
            later.append(block[newline + 1 : right])
            yield FileLine(start + newline + 1, b"".join(reversed(later)))
            later.clear()
            right = newline
        later.append(block[:right])
        position = start
    if end > 0:
        yield FileLine(0, b"".join(reversed(later)))


def _read_at(file: BinaryIO, start: int, size: int) -> bytes:
    """Read a block, in as many reads as necessary; shorter only at the end of the file."""
    file.seek(start)
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_view(file: BinaryIO, session: str) -> StoredView:
    """Read backwards, up to the newest entry that holds a complete view."""
    entries, end = read_placed(file, session)
    return StoredView([message for _, message in entries], end, end)


def read_placed(file: BinaryIO, session: str) -> tuple[list[tuple[int, Message]], int]:
    """Read what `read_view` reads, each message with the offset of its entry, and the end."""
    end = find_end(file)
    lines: list[FileLine] = []
    entries: dict[int, Entry | None] = {}
    for line in read_backwards(file, end):
        lines.append(line)
        if not line.text.startswith(MESSAGE):
            entry = entries[line.offset] = decode(line.text, session, line.offset)
            if entry is not None and entry.kind != "message":
                break
    placed: list[tuple[int, Message]] = []
    for offset, text in reversed(lines):
        entry = entries[offset] if offset in entries else decode(text, session, offset)
        if entry:
            placed += [(offset, message) for message in entry.messages]
        elif text.startswith(REDACTION):
            # A caller that loaded before the latest redaction knows nothing older.
            placed = [(offset, message) for _, message in placed]
    return placed, end


def read_full(file: BinaryIO, session: str) -> list[Message]:
    """Read every message ever appended, in order."""
    entries = _read_entries(file, session)
    return [entry.messages[0] for entry in entries if entry.kind == "message"]


def read_keys(file: BinaryIO, _: str) -> frozenset[str]:
    """Read the keys that messages were appended with; a damaged entry has none."""
    keys = (read_key(line.text) for line in read_forwards(file))
    return frozenset(key for key in keys if key is not None)


def read_restored(file: BinaryIO, session: str) -> list[Message] | None:
    """Read the history as if the latest replace in force never happened; None if there is none."""
    standing = _read_standing(file, session)
    position = _latest_replace(standing)
    return None if position is None else _fold(standing[:position] + standing[position + 1 :])


def read_diff(file: BinaryIO, session: str) -> Diff | None:
    """Read what the latest replace in force removed and added; None if there is none."""
    standing = _read_standing(file, session)
    position = _latest_replace(standing)
    if position is None:
        return None
    return compare(_fold(standing[:position]), standing[position].messages)


def _read_standing(file: BinaryIO, session: str) -> list[Entry]:
    """Read every message, and every replace that was not undone."""
    standing: list[Entry] = []
    for entry in _read_entries(file, session):
        if entry.kind != "restore":
            standing.append(entry)
        elif (position := _latest_replace(standing)) is not None:
            del standing[position]
    return standing


def _read_entries(file: BinaryIO, session: str) -> Iterator[Entry]:
    lines = read_forwards(file)
    return (entry for line in lines if (entry := decode(line.text, session, line.offset)))


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


@attrs.define
class Survey:
    """What a survey found."""

    messages: int = 0
    """The number of messages in the archive."""
    summarized: int = 0
    """How many of them the summary in the history covers."""
    begun: datetime | None = None
    """When the first message was said; None if it has no timestamp."""
    is_session: bool | None = None
    """The result of `is_session`."""


def survey(file: BinaryIO) -> Survey:
    r"""Survey a session file from its start.

    >>> import io
    >>> survey(io.BytesIO(b'{"v":1,"type":"message","message":{"v":1,"role":"user"}}\n')).messages
    1
    """
    overview = Survey(begun=_begun(file.readline()))
    file.seek(0)
    overview.is_session = is_session(file)
    acknowledged = find_end(file)
    file.seek(0)
    telling: list[int] = []  # the offsets of the lines that may contain a summary
    begin = end = 0
    for line in file:
        begin, end = end, end + len(line)
        if end > acknowledged:
            break
        if line.startswith(MESSAGE):
            overview.messages += 1
            if _SUMMARY in line:
                telling.append(begin)
        elif entry := _decode_line(line):
            overview.messages += entry.kind == "message"
            if entry.kind != "message":
                # Only a summary of this view or of what follows is still in the history.
                telling = [begin]
            elif entry.messages[0].summary:
                telling.append(begin)
    overview.summarized = _summarized(file, telling)
    return overview


def is_session(file: BinaryIO) -> bool | None:
    r"""Return whether a line is an entry, of any version; None if the file is blank.

    >>> import io
    >>> is_session(io.BytesIO(b"hello\n")), is_session(io.BytesIO(b"\n"))
    (False, None)
    """
    lines = (line for line in file if line.strip())
    if (first := next(lines, None)) is None:
        return None
    if not first.endswith(b"\n"):  # may be the beginning of an entry, cut off by a kill
        return first[: len(BEGINNING)] == BEGINNING[: len(first)]
    # A damaged first line does not make a session somebody else's file.
    return _is_entry(first) or any(map(_is_entry, lines))


def _is_entry(line: bytes) -> bool:
    """Return whether this is an entry, even of another version or with an invalid message."""
    if line.startswith(MESSAGE):
        return True
    try:
        plain = parse_line(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(plain, dict) and type(plain.get("v")) is int and "type" in plain


def _begun(line: bytes) -> datetime | None:
    entry = _decode_line(line)
    return entry.messages[0].timestamp if entry and entry.messages else None


def _summarized(file: BinaryIO, telling: list[int]) -> int:
    # The newest first: an older one is no longer in the history.
    for begin in reversed(telling):
        file.seek(begin)
        entry = _decode_line(file.readline())
        if entry and (count := count_summarized(entry.messages)) is not None:
            return count
    return 0


def _decode_line(line: bytes) -> Entry | None:
    if not line.endswith(b"\n"):  # torn
        return None
    try:
        return decode(line[:-1], "")
    except HistoryCorrupt:
        return None
