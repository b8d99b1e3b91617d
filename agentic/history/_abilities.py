"""What a store may do beyond the shared protocols, and a place with many sessions.

A store holds one session: one conversation with one writer at a time. Its *history* is what it
holds now; its *archive* is every message that was ever appended. A store may be an async context
manager, which releases what it holds open on exit. A `Sessions` is a place with many sessions.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import attrs

from agentic.history._replace import Diff
from agentic.messages import Message
from agentic.protocols import Archive, Store


@runtime_checkable
class Revisioned(Protocol):
    """A store that can tell cheaply whether anybody wrote to it."""

    async def revision(self) -> int:
        """Return a number that increases with every write to the session, whoever writes.

        An append, replace or restore by this store adds 1. What others have written since the last
        call, or since the last write by this store, adds at least 1.
        """
        ...


@runtime_checkable
class KeyedStore(Store, Protocol):
    """A store in which an append can be repeated, because the message has a key of its own.

    A workflow that is replayed appends again what it may have appended before. With a key, the
    message is stored once. The keys belong to the session: they outlive the store, a compaction, a
    restore, a redaction, an export and an import.
    """

    async def append(self, message: Message, /, *, key: str | None = None) -> None:
        """Store a message after all others, unless the archive has one with this key.

        If it has, nothing is stored, and the append succeeds. The stored message stays as it is,
        with its own timestamp, id and usage. It must say the same: a message with another role,
        text, call or result raises `HistoryConflict`, unless the stored one was redacted.

        A key is 1 to 200 characters of any text; any other raises `ConfigError`. It is stored with
        the message, so it must not hold a secret. Without a key, every append stores a message.
        """
        ...

    async def has_key(self, key: str, /) -> bool:
        """Return whether the archive has a message that was appended with this key."""
        ...


@runtime_checkable
class DiffArchive(Archive, Protocol):
    """An archive that knows what its latest replace did."""

    async def diff(self) -> Diff:
        """Return what the latest replace in force removed, and what it added.

        Raises `NothingToRestore` if no replace is in force.
        """
        ...


@runtime_checkable
class Redactor(Protocol):
    """A store from which a leaked secret can be removed: the only thing that may be lost."""

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        /,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> int | None:
        """Permanently replace the text of a message, in the archive and in every view.

        Return how often the secret was found; None if that is not counted.

        The message keeps its place, its id, and the ids and names of its calls and results. What
        summaries quote of it is removed too. So are the stored outputs that it refers to, or that
        contain a line of it; reading them then raises `OutputNotFound`. The session records who
        redacted which message, and when. Messages that were loaded before must be loaded again
        before a replace.

        Args:
            message_id: `Message.id`, or the position of the message in `full()`, from 0. Messages
                that are equal to it, or have the same id, are redacted with it.
            replacement: the text that replaces the message's text.
            secret: a text that is also removed from the rest of the session, however JSON spells
                it and its lines end.
            by: who redacts; by default the user of the operating system.

        Raises:
            MessageNotFound: there is no such message.
            HistoryConflict: another store is writing this session, or reading what is being
                removed.
        """
        ...


@attrs.frozen(kw_only=True)
class SessionInfo:
    """One line of a list of sessions."""

    id: str
    """The id that the session is opened by; it never changes."""
    title: str
    """The name that people use; empty until it is set."""
    messages: int
    """The number of messages in the archive."""
    summarized: int
    """How many of them the summary in the history covers; 0 without a summary."""
    created_at: datetime
    """Time zone aware, in UTC."""
    changed_at: datetime
    """When the last entry was written. Time zone aware, in UTC."""


class ListsSessions(Protocol):
    """A place whose sessions can be listed and opened."""

    def open(self, session_id: str, /) -> DiffArchive:
        """Return the store of a session, whether or not it exists. Reads and writes nothing."""
        ...

    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the most recently changed first."""
        ...


class EditsSessions(Protocol):
    """A place whose sessions can be renamed and deleted."""

    async def rename(self, session_id: str, title: str, /) -> None:
        """Set the title of a session; "" removes it. Raises `SessionNotFound`."""
        ...

    async def delete(self, session_id: str, /) -> None:
        """Remove a session with its outputs and everything else that belongs to it.

        Raises `SessionNotFound`, or `HistoryConflict` while another process is writing it.
        """
        ...


class RedactsSessions(Protocol):
    """A place from whose sessions a leaked secret can be removed."""

    async def redact(
        self,
        session_id: str,
        message_id: str | int,
        replacement: str,
        /,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> int | None:
        """Permanently replace the text of a session's message, like `Redactor.redact`.

        Return what that returns. Raises `SessionNotFound`, and whatever `Redactor.redact` raises.
        """
        ...


class MovesSessions(Protocol):
    """A place whose sessions can be moved to another place, of whatever kind."""

    def export(self, session_id: str, /) -> AsyncIterator[bytes]:
        """Return a session as lines, each with its newline: entries, title, kept outputs.

        The lines are a file that `JsonlStore` opens. Raises `SessionNotFound` at the first line.
        """
        ...

    async def import_(
        self, session_id: str, lines: Iterable[bytes] | AsyncIterable[bytes], /
    ) -> None:
        """Create a session from the lines of an export, completely or not at all.

        The export may come from another kind of store. Raises `HistoryConflict` if there already is
        such a session, and `HistoryCorrupt` for a bad line.
        """
        ...


@runtime_checkable
class Sessions(ListsSessions, EditsSessions, RedactsSessions, MovesSessions, Protocol):
    """A place with many sessions.

    A session id consists of 1 to 128 of the characters `A-Z a-z 0-9 . _ -` and does not begin with
    a dot or a dash; any other id raises `ConfigError`. A session exists from its first write on.
    """


@attrs.frozen
class Lease:
    """The right to write a session until it expires, or until its owner takes another lease."""

    session_id: str
    owner: str
    """The worker that took it."""
    epoch: int
    """Every lease of a place has a greater one than all before it."""
    expires_at: datetime
    """By the clock of the database. Time zone aware, in UTC."""

    def describe_loss(self) -> str:
        """Return what to say of a session whose lease is no longer in force."""
        return (
            f"is no longer leased by {self.owner!r} with epoch {self.epoch}, because the lease "
            "has expired or was taken over: stop this run, or acquire a lease and load again"
        )


class KeepsLeases(Protocol):
    """A place whose leases are renewed and released. Neither needs the store of the session."""

    async def renew(self, lease: Lease, seconds: float, /) -> Lease:
        """Return the lease, extended to that long from now.

        Raises `HistoryConflict` if it has expired or was taken over: then it stays lost.
        """
        ...

    async def release(self, lease: Lease, /) -> None:
        """Release the lease. Does nothing if it is lost."""
        ...


@runtime_checkable
class LeasedSessions(Sessions, KeepsLeases, Protocol):
    """A place whose sessions can be leased, so that a worker that is late cannot write any more.

    A worker takes a lease, renews it while it works, and opens the session with it. Every write
    checks in its own transaction that the lease is in force, and raises `HistoryConflict` if not.
    Whoever writes without a lease is refused meanwhile.
    """

    def open(self, session_id: str, /, *, lease: Lease | None = None) -> DiffArchive:
        """Return the store of a session. With a lease, it writes only while that is in force."""
        ...

    async def acquire(self, session_id: str, owner: str, seconds: float, /) -> Lease:
        """Take a lease for that long, on a session that need not exist.

        If the owner has one already, it is replaced: give each worker an id of its own. Raises
        `HistoryConflict` if another owner's lease is in force, or if somebody writes the session
        without one.
        """
        ...
