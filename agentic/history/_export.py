"""A session as lines that every kind of store can export and import.

The lines are those of a session file, followed by these. Each of them has `"optional": true`, so
that a store that reads only messages skips it:

    {"v":1,"type":"title","optional":true,"title":"..."}
    {"v":1,"type":"output","optional":true,"ref":"out-...","text":"..."}
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from agentic.errors import ConfigError, HistoryCorrupt
from agentic.history._entries import Entry, decode, dump_line, parse_line
from agentic.history._outputs import check_ref, decode_output, encode_output, read_output
from agentic.history._rows import NEW, State
from agentic.history._validate import check_title, in_utc

__all__ = [
    "Exported",
    "ExportedEntry",
    "Lines",
    "encode_output_line",
    "encode_title_line",
    "read_export",
]

Lines: TypeAlias = Iterable[bytes] | AsyncIterable[bytes]


@attrs.frozen
class ExportedEntry:
    """One entry of the session, in order."""

    kind: str
    """The type of the entry, or "optional" for one that this version skips."""
    text: bytes
    """The line, without its newline."""
    state: State
    """The state of the session after the entry."""
    key: str | None = None
    """The key that a message was appended with."""


@attrs.define
class Exported:
    """The contents of an export."""

    entries: list[ExportedEntry] = attrs.field(factory=list)
    title: str = ""
    outputs: dict[str, bytes] = attrs.field(factory=dict)
    """The encoded outputs, by reference."""
    created_at: datetime | None = None
    """When the first message was said; None if it has no timestamp."""

    def take(self, text: bytes, entry: Entry | None) -> None:
        """Add an entry; None stands for one that this version skips."""
        if entry and not self.entries and entry.messages:
            said = entry.messages[0].timestamp
            self.created_at = in_utc(said) if said else None
        state = self.entries[-1].state if self.entries else NEW
        # A restore leads back to the state before its replace, which is that of the entry before.
        undone = self.entries[state.standing - 2].state if state.standing > 1 else NEW
        kind, key = (entry.kind, entry.key) if entry else ("optional", None)
        self.entries.append(ExportedEntry(kind, text, state.follow(entry, undone), key))


def encode_title_line(title: str) -> bytes:
    r"""Return the line that carries a title.

    >>> encode_title_line("red")
    b'{"v":1,"type":"title","optional":true,"title":"red"}\n'
    """
    return _encode({"type": "title", "optional": True, "title": title})


def encode_output_line(ref: str, content: bytes | None, session: str) -> bytes:
    """Return the line that carries a kept output. Raises what `read_output` raises."""
    text = read_output(content, ref, session)
    return _encode({"type": "output", "optional": True, "ref": ref, "text": text})


async def read_export(lines: Lines, name: str) -> Exported:
    """Read the lines of an export into memory.

    Raises:
        ConfigError: the lines are not bytes.
        HistoryCorrupt: a line cannot be read, or there are no lines.
    """
    found, offset = Exported(), 0
    async for text in _each(lines):
        if not isinstance(text, bytes):
            raise ConfigError("lines", text, "bytes, a line each", "open the file with 'rb'")
        _read(found, text.removesuffix(b"\n"), name, offset)
        # Only for errors: where in the file that somebody imports the bad line begins.
        offset += len(text)
    if not found.entries and not found.outputs:
        raise HistoryCorrupt(name, 0, "it contains no entry")
    return found


def _read(found: Exported, line: bytes, name: str, offset: int) -> None:
    entry = decode(line, name, offset)
    if entry:
        found.take(line, entry)
    elif line.strip():
        try:
            _read_optional(found, line)
        # ConfigError is one: the title or reference in a line is no argument of the caller's.
        except ValueError as problem:
            raise HistoryCorrupt(name, offset, str(problem)) from problem


def _read_optional(found: Exported, text: bytes) -> None:
    match parse_line(text):
        case {"v": 1, "type": "title", "title": title}:
            found.title = check_title(title)
        case {"v": 1, "type": "output", "ref": ref, "text": output}:
            content = encode_output(output)
            decode_output(content, check_ref(ref))
            found.outputs[ref] = content
        case _:
            found.take(text, None)


async def _each(lines: Lines) -> AsyncIterator[bytes]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
        return
    if not isinstance(lines, Iterable):
        raise ConfigError("lines", lines, "the lines of an export", "open the file with 'rb'")
    for line in lines:
        yield line


def _encode(plain: dict[str, Any]) -> bytes:
    return dump_line({"v": 1, **plain}) + b"\n"
