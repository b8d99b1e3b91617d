"""What all places with many sessions do alike: check what is given, and promise the same."""

import abc
from collections.abc import AsyncIterator, Sequence

from agentic.errors import HistoryConflict, SessionNotFound
from agentic.history._export import Exported, Lines, read_export
from agentic.history._protocols import Lease, SessionInfo
from agentic.history._stores import BaseStore
from agentic.history._validate import check_lease_terms, check_session_id, check_title

__all__ = ["BaseSessions", "LeasedBase", "already_exists"]


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
    ) -> None:
        """Permanently replace the text of a session's message, like the store's `redact`.

        Raises:
            SessionNotFound: there is no such session.
            ConfigError, HistoryConflict, HistoryCorrupt, HistoryNotWritten, MessageNotFound: as
                raised by the store's `redact`.
        """
        await self._check_exists(check_session_id(session_id))
        async with self.open(session_id) as store:
            await store.redact(message_id, replacement, secret=secret, by=by)

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
        found = await read_export(lines, f"the import of {session_id}")
        await self._import(session_id, found)

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
    async def _import(self, session_id: str, found: Exported) -> None: ...


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
