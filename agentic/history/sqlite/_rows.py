"""The rows of one session in SQLite, and of its lease: how they are queried and added.

A lease says who may write a session; every write checks it in its own transaction. SQLite has one
writer at a time, so what the check has found holds until the commit. The times are those of the
machine, which all processes on one file share.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from typing import Self, TypeVar

import attrs

from agentic.errors import HistoryConflict
from agentic.history._abilities import Lease
from agentic.history._entries import hash_key
from agentic.history._rows import Question, SessionRows, State, is_leased
from agentic.history._validate import from_timestamp

T = TypeVar("T")
_FIND = "SELECT owner FROM leases WHERE session = ? AND expires_at > ?"
_HELD = "SELECT 1 FROM leases WHERE session = ? AND epoch = ? AND expires_at > ?"


@attrs.frozen
class SqliteRows(SessionRows):
    """What the database holds of a session. Reading is for a transaction to make consistent."""

    connection: sqlite3.Connection

    @classmethod
    def find(cls, connection: sqlite3.Connection, session_id: str, name: str) -> Self | None:
        """Return the rows of a session; None if there is no such session."""
        find = "SELECT number FROM sessions WHERE id = ?"
        row = connection.execute(find, (session_id,)).fetchone()
        return cls(row[0], name, connection) if row else None

    @classmethod
    def add(
        cls, connection: sqlite3.Connection, session_id: str, name: str, created_at: float
    ) -> Self:
        """Create a session without rows."""
        add = "INSERT INTO sessions (id, created_at) VALUES (?, ?)"
        number = connection.execute(add, (session_id, created_at)).lastrowid
        return cls(number or 0, name, connection)

    def ask(self, question: Question[T]) -> T:
        """Return the answer to a question about this session."""
        # Closed at once: an error that somebody keeps would keep it, too, and it would hold the
        # snapshot, for which a redaction then waits in vain.
        with contextlib.closing(self.connection.cursor()) as cursor:
            try:
                query = next(question)
                while True:
                    # the cursor itself, so that at most one undecoded row is in memory
                    query = question.send(cursor.execute(query.sql, query.values))
            except StopIteration as end:
                answer: T = end.value
                return answer

    def append(self, kind: str, text: bytes, state: State, key: str | None = None) -> None:
        """Add an entry after which the session is in this state.

        Raises:
            sqlite3.IntegrityError: somebody else has added an entry.
        """
        until = (state.seq, state.view, state.standing, state.messages, state.summarized)
        digest = None if key is None else hash_key(key)
        values = (self.session, *until, kind, text, time.time(), digest)
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def put_output(self, ref: str, content: bytes) -> None:
        """Store an encoded output."""
        # Replaced, not ignored: that repairs a damaged output.
        put = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)"
        self.connection.execute(put, (self.session, ref, content))

    def lines(self, batch_rows: int) -> Iterator[list[bytes]]:
        """Yield every entry as a line of a session file, in batches."""
        find = "SELECT text FROM entries WHERE session = ? ORDER BY seq"
        rows = self.connection.execute(find, (self.session,))
        while batch := rows.fetchmany(batch_rows):
            yield [text + b"\n" for (text,) in batch]


def acquire(
    connection: sqlite3.Connection, session_id: str, owner: str, seconds: float, name: str
) -> Lease:
    """Take a lease with a new epoch, unless another owner's is in force. Requires a transaction."""
    # Its own lease does not stop an owner: a worker that was killed and restarted goes on at once.
    refuse_leased(connection, session_id, name, owner)
    connection.execute("DELETE FROM leases WHERE session = ?", (session_id,))
    # Not time.monotonic(): the row may outlive a restart of the machine.
    expires_at = time.time() + seconds
    # AUTOINCREMENT never gives a number again, whatever was deleted.
    add = "INSERT INTO leases (session, owner, expires_at) VALUES (?, ?, ?)"
    epoch = connection.execute(add, (session_id, owner, expires_at)).lastrowid
    return Lease(session_id, owner, epoch or 0, from_timestamp(expires_at))


def renew(connection: sqlite3.Connection, lease: Lease, seconds: float, name: str) -> Lease:
    """Extend a lease, or raise what `check` raises. Requires a transaction."""
    check(connection, lease, name)
    expires_at = time.time() + seconds
    extend = "UPDATE leases SET expires_at = ? WHERE epoch = ?"
    connection.execute(extend, (expires_at, lease.epoch))
    return Lease(lease.session_id, lease.owner, lease.epoch, from_timestamp(expires_at))


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Remove a lease, unless somebody else has taken the session over."""
    remove = "DELETE FROM leases WHERE session = ? AND epoch = ?"
    connection.execute(remove, (lease.session_id, lease.epoch))


def check(connection: sqlite3.Connection, lease: Lease, name: str) -> None:
    """Raise HistoryConflict if a lease has expired, or somebody else has it."""
    values = (lease.session_id, lease.epoch, time.time())
    if connection.execute(_HELD, values).fetchone() is None:
        raise HistoryConflict(name, lease.describe_loss())


def refuse_leased(
    connection: sqlite3.Connection, session_id: str, name: str, owner: str | None = None
) -> None:
    """Raise HistoryConflict if a lease on the session is in force, unless it is this owner's."""
    row = connection.execute(_FIND, (session_id, time.time())).fetchone()
    if row is not None and row[0] != owner:
        raise is_leased(name, row[0])
