"""What a list of sessions says about a session file, found in one pass that decodes little.

A message entry is recognized by how this library begins one; an entry that begins otherwise, since
an editor or another program wrote it, is decoded to be counted. Damage is passed over: a list is no
place to fail.
"""

from datetime import datetime
from typing import BinaryIO

import attrs

from agentic.errors import HistoryDamaged
from agentic.history._entries import Entry, decode
from agentic.history._lines import Line
from agentic.history._state import count_summarized

__all__ = ["Survey", "survey"]

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


def survey(file: BinaryIO) -> Survey:
    r"""Read a session file from its start.

    >>> import io
    >>> survey(io.BytesIO(b'{"v":1,"type":"message","message":{"v":1,"role":"user"}}\n')).messages
    1
    """
    found = Survey(begun=_begun(file.readline()))
    file.seek(0)
    telling: list[bytes] = []  # the lines in which a summary may stand
    for line in file:
        if line.startswith(_MESSAGE) and line.endswith(b"\n"):
            found.messages += 1
            if _SUMMARY in line:
                telling.append(line)
        elif entry := _decode(line):
            found.messages += entry.kind == "message"
            telling = [*telling, line] if entry.kind == "message" else [line]
    found.summarized = _summarized(telling)
    return found


def _begun(line: bytes) -> datetime | None:
    entry = _decode(line)
    return entry.messages[0].timestamp if entry and entry.messages else None


def _summarized(lines: list[bytes]) -> int:
    for line in reversed(lines):
        entry = _decode(line)
        if entry and (count := count_summarized(entry.messages)) is not None:
            return count
    return 0


def _decode(line: bytes) -> Entry | None:
    if not line.endswith(b"\n"):  # torn
        return None
    try:
        return decode(Line(0, line[:-1]), "")
    except HistoryDamaged:
        return None
