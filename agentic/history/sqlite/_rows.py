"""The rows of one session: its state, its view, its archive.

`text` is an entry as a line of a session file has it, without the newline. Each row carries the
state of the session after it, so that every question here reads only the rows of its answer.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from typing import Self

import attrs

from agentic.errors import NothingToRestore
from agentic.history._diff import Diff, compare
from agentic.history._known import Placed
from agentic.history._state import NEW, State, read_placed, read_rows
from agentic.messages import Message

__all__ = ["Rows"]

_STATES = "SELECT seq, view, standing, messages, summarized FROM entries WHERE session = ?"
_TEXTS = "SELECT seq, text FROM entries WHERE session = ?"

_APPENDED = "kind NOT IN ('replace', 'restore')"
"""Not `= 'message'`: an entry of a kind that is not known is to be refused, not to be left out."""


@attrs.frozen
class Rows:
    """What the database holds of a session. Reading is for a transaction to make consistent."""

    connection: sqlite3.Connection
    session: int
    """Its number, which no later session of the same id has."""
    name: str
    """What it is called in an error."""

    @classmethod
    def find(cls, connection: sqlite3.Connection, session_id: str, name: str) -> Self | None:
        """Return the rows of a session; None if it is not there."""
        find = "SELECT number FROM sessions WHERE id = ?"
        found = connection.execute(find, (session_id,)).fetchone()
        return cls(connection, found[0], name) if found else None

    @classmethod
    def add(
        cls, connection: sqlite3.Connection, session_id: str, name: str, created_at: float
    ) -> Self:
        """Make a session, which has no rows yet."""
        add = "INSERT INTO sessions (id, created_at) VALUES (?, ?)"
        number = connection.execute(add, (session_id, created_at)).lastrowid
        return cls(connection, number or 0, name)

    def append(self, kind: str, text: bytes, state: State) -> None:
        """Add an entry, which leaves the session in this state.

        Raises:
            sqlite3.IntegrityError: somebody else has added one.
        """
        until = (state.seq, state.view, state.standing, state.messages, state.summarized)
        values = (self.session, *until, kind, text, time.time())
        self.connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def state(self) -> State:
        """Return the present state."""
        return self._find_state("ORDER BY seq DESC LIMIT 1")

    def before_replace(self, state: State) -> State:
        """Return the state before the replace that stands in this one.

        Raises:
            NothingToRestore: none stands.
        """
        if not state.standing:
            raise NothingToRestore(self.name)
        return self._find_state("AND seq = ?", state.standing - 1)

    def view(self, state: State) -> list[Message]:
        """Return the history in this state, raw.

        Raises:
            HistoryCorrupt: one of its entries cannot be read.
        """
        return [message for _, message in self.placed(state)]

    def placed(self, state: State) -> Placed:
        """Return the same, each message with the sequence number of its entry.

        Raises:
            HistoryCorrupt: one of its entries cannot be read.
        """
        condition = "AND seq BETWEEN ? AND ? ORDER BY seq"
        return read_placed(self._find_texts(condition, state.view, state.seq), self.name)

    def full(self) -> list[Message]:
        """Return every message ever appended.

        Raises:
            HistoryCorrupt: one of them cannot be read.
        """
        return self._read_appended(0)

    def restored(self, state: State) -> list[Message]:
        """Return the history as if the latest standing replace had never been.

        Raises:
            HistoryCorrupt: an entry cannot be read.
            NothingToRestore: none stands.
        """
        return self.view(self.before_replace(state)) + self._read_appended(state.standing)

    def diff(self, state: State) -> Diff:
        """Return what the latest standing replace dropped and brought in.

        Raises:
            HistoryCorrupt: an entry cannot be read.
            NothingToRestore: none stands.
        """
        before = self.view(self.before_replace(state))
        return compare(before, self._read("AND seq = ?", state.standing))

    def put_output(self, ref: str, content: bytes) -> None:
        """Keep an encoded output."""
        put = "INSERT OR REPLACE INTO outputs VALUES (?, ?, ?)"
        self.connection.execute(put, (self.session, ref, content))

    def output(self, ref: str) -> bytes | None:
        """Return an encoded output; None if it was never kept here."""
        find = "SELECT content FROM outputs WHERE session = ? AND ref = ?"
        found = self.connection.execute(find, (self.session, ref)).fetchone()
        return found[0] if found else None

    def refs(self) -> list[str]:
        """Name the kept outputs."""
        find = "SELECT ref FROM outputs WHERE session = ? ORDER BY ref"
        return [ref for (ref,) in self.connection.execute(find, (self.session,))]

    def lines(self, batch_rows: int) -> Iterator[list[bytes]]:
        """Yield every entry as a line of a session file, in batches."""
        found = self.connection.execute(f"{_TEXTS} ORDER BY seq", (self.session,))
        while batch := found.fetchmany(batch_rows):
            yield [text + b"\n" for _, text in batch]

    def texts(self) -> tuple[list[int], list[bytes]]:
        """Return every entry: the numbers, and the lines without their newlines."""
        found = self.connection.execute(f"{_TEXTS} ORDER BY seq", (self.session,)).fetchall()
        return [seq for seq, _ in found], [text for _, text in found]

    def change(self, seq: int, text: bytes) -> None:
        """Have an entry say something else, which only a redaction does."""
        update = "UPDATE entries SET text = ? WHERE session = ? AND seq = ?"
        self.connection.execute(update, (text, self.session, seq))

    def remove_outputs(self, refs: Iterable[str]) -> None:
        """Remove kept outputs."""
        delete = "DELETE FROM outputs WHERE session = ? AND ref = ?"
        self.connection.executemany(delete, [(self.session, ref) for ref in refs])

    def title(self) -> str:
        """Return what people call the session."""
        find = "SELECT title FROM sessions WHERE number = ?"
        found = self.connection.execute(find, (self.session,)).fetchone()
        return str(found[0])

    def set_title(self, title: str) -> None:
        """Have people call it something else."""
        update = "UPDATE sessions SET title = ? WHERE number = ?"
        self.connection.execute(update, (title, self.session))

    def delete(self) -> None:
        """Remove the session and all that belongs to it, and overwrite where it stood."""
        self.connection.execute("PRAGMA secure_delete = ON")
        self.connection.execute("DELETE FROM sessions WHERE number = ?", (self.session,))

    def _find_state(self, condition: str, *values: int) -> State:
        found = self.connection.execute(f"{_STATES} {condition}", (self.session, *values))
        row = found.fetchone()
        return State(*row) if row else NEW

    def _read_appended(self, after: int) -> list[Message]:
        return self._read(f"AND seq > ? AND {_APPENDED} ORDER BY seq", after)

    def _read(self, condition: str, *values: int) -> list[Message]:
        return read_rows(self._find_texts(condition, *values), self.name)

    def _find_texts(self, condition: str, *values: int) -> sqlite3.Cursor:
        return self.connection.execute(f"{_TEXTS} {condition}", (self.session, *values))
