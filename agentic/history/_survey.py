"""What a list of sessions says about a session file, found in one pass that decodes little.

A message entry is recognized by how this library begins one; an entry that begins otherwise, since
an editor or another program wrote it, is decoded to be counted. Damage is passed over: a list is no
place to fail.
"""

import json
from datetime import datetime
from typing import BinaryIO

import attrs

from agentic.errors import HistoryCorrupt
from agentic.history._entries import BEGINNING, Entry, decode
from agentic.history._lines import Line
from agentic.history._state import count_summarized

__all__ = ["Survey", "is_session", "survey"]

_MESSAGE = b'{"v":1,"type":"message",'
_SUMMARY = b'"summary":'


@attrs.define
class Survey:
    """What was found."""

    messages: int = 0
    """How many the archive holds."""
    summarized: int = 0
    """How many of them the summary in the history stands for."""
    begun: datetime | None = None
    """When the first message was said, if that says so."""
    is_session: bool | None = None
    """As `is_session` says."""


def survey(file: BinaryIO) -> Survey:
    r"""Read a session file from its start.

    >>> import io
    >>> survey(io.BytesIO(b'{"v":1,"type":"message","message":{"v":1,"role":"user"}}\n')).messages
    1
    """
    found = Survey(begun=_begun(file.readline()))
    file.seek(0)
    found.is_session = is_session(file)
    file.seek(0)
    telling: list[int] = []  # where the lines begin in which a summary may stand
    begin = end = 0
    for line in file:
        begin, end = end, end + len(line)
        if line.startswith(_MESSAGE) and line.endswith(b"\n"):
            found.messages += 1
            if _SUMMARY in line:
                telling.append(begin)
        elif entry := _decode(line):
            found.messages += entry.kind == "message"
            if entry.kind != "message":
                telling = [begin]
            elif entry.messages[0].summary:
                telling.append(begin)
    found.summarized = _summarized(file, telling)
    return found


def is_session(file: BinaryIO) -> bool | None:
    r"""Return whether a line is an entry, if only of another version; None if the file is blank.

    >>> import io
    >>> is_session(io.BytesIO(b"hello\n")), is_session(io.BytesIO(b"\n"))
    (False, None)
    """
    lines = (line for line in file if line.strip())
    if (first := next(lines, None)) is None:
        return None
    if not first.endswith(b"\n"):  # perhaps the beginning of an entry, which a kill cut short
        return first[: len(BEGINNING)] == BEGINNING[: len(first)]
    return _is_entry(first) or any(map(_is_entry, lines))


def _is_entry(line: bytes) -> bool:
    """Whether this is an entry, perhaps of another version or with a message that is none."""
    if line.startswith(_MESSAGE):
        return True
    try:
        plain = json.loads(line.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return isinstance(plain, dict) and type(plain.get("v")) is int and "type" in plain


def _begun(line: bytes) -> datetime | None:
    entry = _decode(line)
    return entry.messages[0].timestamp if entry and entry.messages else None


def _summarized(file: BinaryIO, telling: list[int]) -> int:
    for begin in reversed(telling):
        file.seek(begin)
        entry = _decode(file.readline())
        if entry and (count := count_summarized(entry.messages)) is not None:
            return count
    return 0


def _decode(line: bytes) -> Entry | None:
    if not line.endswith(b"\n"):  # torn
        return None
    try:
        return decode(Line(0, line[:-1]), "")
    except HistoryCorrupt:
        return None
