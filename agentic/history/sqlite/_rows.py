"""The rows of one session in SQLite: how they are queried and added."""

import sqlite3
import time
from collections.abc import Iterator
from typing import Self, TypeVar

import attrs

from agentic.history._keys import hash_key
from agentic.history._rows import Question, SessionRows, State

__all__ = ["SqliteRows"]

T = TypeVar("T")


@attrs.frozen
class SqliteRows(SessionRows):
    """What the database holds of a session. Reading is for a transaction to make consistent."""

    connection: sqlite3.Connection

    @classmethod
    def find(cls, connection: sqlite3.Connection, session_id: str, name: str) -> Self | None:
        """Return the rows of a session; None if there is no such session."""
        find = "SELECT number FROM sessions WHERE id = ?"
        found = connection.execute(find, (session_id,)).fetchone()
        return cls(found[0], name, connection) if found else None

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
        try:
            query = next(question)
            while True:
                # the cursor itself, so that at most one undecoded row is in memory
                query = question.send(self.connection.execute(query.sql, query.values))
        except StopIteration as answered:
            answer: T = answered.value
            return answer

    def append(self, kind: str, text: bytes, state: State, key: str | None = None) -> None:
        """Add an entry after which the session is in this state.

        Raises:
            sqlite3.IntegrityError: somebody else has added an entry.
        """
        until = (state.seq, state.view, state.standing, state.messages, state.summarized)
        hashed = None if key is None else hash_key(key)
        values = (self.session, *until, kind, text, time.time(), hashed)
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def put_output(self, ref: str, content: bytes) -> None:
        """Store an encoded output."""
        # Replaced, not ignored: that repairs a damaged output.
        put = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)"
        self.connection.execute(put, (self.session, ref, content))

    def lines(self, batch_rows: int) -> Iterator[list[bytes]]:
        """Yield every entry as a line of a session file, in batches."""
        find = "SELECT text FROM entries WHERE session = ? ORDER BY seq"
        found = self.connection.execute(find, (self.session,))
        while batch := found.fetchmany(batch_rows):
            yield [text + b"\n" for (text,) in batch]
