"""What all places with many sessions do alike: check what is given, promise, import and export.

An export consists of the lines of a session file, followed by these. Each of them has
`"optional": true`, so that a store that reads only messages skips it:

    {"v":1,"type":"title","optional":true,"title":"..."}
    {"v":1,"type":"output","optional":true,"ref":"out-...","text":"..."}
"""

import abc
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from agentic.errors import ConfigError, HistoryConflict, HistoryCorrupt, SessionNotFound
from agentic.history._abilities import Lease, SessionInfo
from agentic.history._entries import Entry, decode, dump_line, parse_line
from agentic.history._outputs import check_ref, decode_output, encode_output, read_output
from agentic.history._rows import NEW, State
from agentic.history._stores import BaseStore
from agentic.history._validate import check_lease_terms, check_session_id, check_title, in_utc

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
            at = entry.messages[0].timestamp
            self.created_at = in_utc(at) if at else None
        state = self.entries[-1].state if self.entries else NEW
        # A restore leads back to the state before its replace, which is that of the entry before.
        former = self.entries[state.standing - 2].state if state.standing > 1 else NEW
        kind, key = (entry.kind, entry.key) if entry else ("optional", None)
        self.entries.append(ExportedEntry(kind, text, state.follow(entry, former), key))


class BaseSessions(abc.ABC):
    """A place with many sessions: a folder or a database."""

    __slots__ = ()

    @abc.abstractmethod
    def open(self, session_id: str) -> BaseStore:
        """Return the store of a session, whether or not it exists. Reads and writes nothing."""

    @abc.abstractmethod
    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the most recently changed first."""

    async def rename(self, session_id: str, title: str) -> None:
        """Set the title of a session, or remove it with ""; this does not disturb a writer.

        Raises:
            ConfigError: the session id or the title is invalid.
            HistoryCorrupt, HistoryNotWritten: the title is unchanged.
            HistoryUnavailable: the connection was lost; the title may be the old or the new one.
            SessionNotFound: there is no such session.
        """
        await self._rename(check_session_id(session_id), check_title(title))

    async def delete(self, session_id: str) -> None:
        """Remove a session with its outputs, its title, and the incomplete lines of killed writers.

        In a SQLite database, its content is overwritten.

        Raises:
            ConfigError: the session id is invalid.
            HistoryConflict: another process is writing the session.
            HistoryCorrupt, HistoryNotWritten: nothing was removed, or not all files of the session.
            HistoryUnavailable: the connection was lost; the session may or may not exist.
            SessionNotFound: there is no such session.
        """
        await self._delete(check_session_id(session_id))

    async def redact(
        self,
        session_id: str,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> int:
        """Permanently replace the text of a session's message, like the store's `redact`.

        Return how often the secret was found.

        Raises:
            SessionNotFound: there is no such session.
            ConfigError, HistoryConflict, HistoryCorrupt, HistoryNotWritten, MessageNotFound: as
                raised by the store's `redact`.
        """
        await self._check_exists(check_session_id(session_id))
        async with self.open(session_id) as store:
            return await store.redact(message_id, replacement, secret=secret, by=by)

    def export(self, session_id: str) -> AsyncIterator[bytes]:
        """Yield the session, as it is now, as lines: its entries, its title, its outputs.

        Nothing is raised before the first line.

        Raises:
            ConfigError: the session id is invalid.
            HistoryCorrupt: the file is not a database of sessions, or an output was changed since
                it was stored; the lines before it were yielded.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OSError: the file exists but cannot be opened.
            SessionNotFound: there is no such session.
        """
        return self._export(session_id)

    async def import_(self, session_id: str, lines: Lines) -> None:
        """Create a session from an export, completely or not at all. Its lines are held in memory.

        Raises:
            ConfigError: the session id or the type of the lines is invalid.
            HistoryConflict: there already is such a session.
            HistoryCorrupt: a line cannot be read, or the file is not a database of sessions.
            HistoryNotWritten: no session was created.
            HistoryUnavailable: the connection was lost; the session may or may not exist.
        """
        check_session_id(session_id)
        export = await _read_export(lines, f"the import of {session_id}")
        await self._import(session_id, export)

    def _name(self, session_id: str) -> str:
        return f"session {session_id!r} in {self._place}"

    def _missing(self, session_id: str) -> SessionNotFound:
        return SessionNotFound(session_id, self._place)

    @property
    @abc.abstractmethod
    def _place(self) -> str:
        """The name of this place in error messages."""

    @abc.abstractmethod
    async def _check_exists(self, session_id: str) -> None:
        """Raise SessionNotFound if there is no such session."""

    @abc.abstractmethod
    async def _rename(self, session_id: str, title: str) -> None: ...

    @abc.abstractmethod
    async def _delete(self, session_id: str) -> None: ...

    @abc.abstractmethod
    def _export(self, session_id: str) -> AsyncIterator[bytes]:
        """Check the id, and yield the lines."""

    @abc.abstractmethod
    async def _import(self, session_id: str, export: Exported) -> None: ...


class LeasedBase(BaseSessions):
    """A place whose sessions can be leased."""

    __slots__ = ()

    async def acquire(self, session_id: str, owner: str, seconds: float) -> Lease:
        """Take a lease of a session for that long; the owner's former one ends.

        Raises:
            ConfigError: an argument is invalid.
            HistoryConflict: another owner has a lease, or somebody writes without one.
            HistoryCorrupt, HistoryNotWritten: there is no new lease.
            HistoryUnavailable: the connection was lost; repeat it.
        """
        check_lease_terms(owner, seconds)
        return await self._acquire(check_session_id(session_id), owner, seconds)

    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """Return the lease, extended to that long from now.

        Raises:
            ConfigError: the seconds are not > 0.
            HistoryConflict: it has expired or was taken over.
            HistoryCorrupt, HistoryNotWritten, HistoryUnavailable: as for `acquire`.
        """
        check_lease_terms(lease.owner, seconds)
        return await self._renew(lease, seconds)

    @abc.abstractmethod
    async def release(self, lease: Lease) -> None:
        """Release the lease. Does nothing if it is lost.

        Raises:
            HistoryCorrupt, HistoryNotWritten, HistoryUnavailable: it is not given up, and will
                expire.
        """

    @abc.abstractmethod
    async def _acquire(self, session_id: str, owner: str, seconds: float) -> Lease: ...

    @abc.abstractmethod
    async def _renew(self, lease: Lease, seconds: float) -> Lease: ...


def already_exists(name: str) -> HistoryConflict:
    """Return the error for an import under the id of another session."""
    return HistoryConflict(name, "already exists: choose another id, or delete it first")


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


async def _read_export(lines: Lines, name: str) -> Exported:
    """Read the lines of an export into memory.

    Raises:
        ConfigError: the lines are not bytes.
        HistoryCorrupt: a line cannot be read, or there are no lines.
    """
    export, offset = Exported(), 0
    async for text in _each(lines):
        if not isinstance(text, bytes):
            raise ConfigError("lines", text, "bytes, a line each", "open the file with 'rb'")
        _read_line(export, text.removesuffix(b"\n"), name, offset)
        # Only for errors: where in the file that somebody imports the bad line begins.
        offset += len(text)
    if not export.entries and not export.outputs:
        raise HistoryCorrupt(name, 0, "it contains no entry")
    return export


def _read_line(export: Exported, line: bytes, name: str, offset: int) -> None:
    # In a file it would be two lines, neither of them an entry.
    if b"\n" in line:
        raise HistoryCorrupt(name, offset, "an entry continues after the end of its line")
    entry = decode(line, name, offset)
    if entry:
        export.take(line, entry)
    elif line.strip():
        try:
            _read_optional(export, line)
        # ConfigError is one: the title or reference in a line is no argument of the caller's.
        except ValueError as problem:
            raise HistoryCorrupt(name, offset, str(problem)) from problem


def _read_optional(export: Exported, text: bytes) -> None:
    match parse_line(text):
        case {"v": 1, "type": "title", "title": title}:
            export.title = check_title(title)
        case {"v": 1, "type": "output", "ref": ref, "text": output}:
            content = encode_output(output)
            decode_output(content, check_ref(ref))
            export.outputs[ref] = content
        case _:
            export.take(text, None)


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
