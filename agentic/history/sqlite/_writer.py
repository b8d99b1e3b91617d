"""The one writer of a session in a database that many sessions share.

Should somebody write past the session's lock, the sequence number, which is unique within the
session, is already taken: entries are never interleaved.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from agentic.errors import HistoryConflict, HistoryError
from agentic.history._entries import Entry, encode_view
from agentic.history._known import Known, merge
from agentic.history._lock import LockedFile
from agentic.history._redaction import Request, log_redaction, redact_lines
from agentic.history._refs import make_ref
from agentic.history._state import NEW, State
from agentic.history.sqlite._database import Busy, begin, connect_writer, not_written
from agentic.history.sqlite._locks import lock_session, unlock
from agentic.history.sqlite._purge import purge
from agentic.history.sqlite._rows import Rows
from agentic.messages import Message

__all__ = ["NOWHERE", "Writer", "locate"]


NOWHERE = (0, 0)
_OUTDATED = (-1, 0)
"""Where nobody can be: what was loaded before a redaction still says what was removed."""


def locate(rows: Rows, state: State) -> tuple[int, int]:
    """Return how far somebody knows a session who knows it in this state."""
    return (rows.session, state.seq) if state.seq else NOWHERE


@attrs.define(eq=False)
class Writer:
    """The writer's side of a session. Each step takes place whole or not at all.

    A step waits `wait_seconds` for another process that is writing at the moment, then raises
    `Busy`. All of them raise `HistoryConflict`, `HistoryCorrupt` and `HistoryNotWritten`.
    """

    path: Path
    session_id: str
    fsync: bool
    seen: tuple[int, int] | None = None
    """Up to where the caller knows the session, by its number and the latest entry: what it loaded,
    and what it wrote right after. A session without entries is `NOWHERE`."""
    known: Known | None = attrs.field(factory=Known)
    """What `replaces` counts in; None from a replace or restore on until the next load."""
    _connection: sqlite3.Connection | None = attrs.field(default=None, init=False)
    """Open while the lock is held."""
    _lock: LockedFile | None = attrs.field(default=None, init=False)
    _identity: tuple[int, int] = attrs.field(default=(0, 0), init=False)
    """Device and inode of the database."""
    _rows: Rows | None = attrs.field(default=None, init=False)
    """Known while nobody else can have written."""
    _state: State = attrs.field(default=NEW, init=False)
    _committed: int = attrs.field(default=0, init=False)
    """The latest entry that others can read."""

    @property
    def name(self) -> str:
        """What the session is called in an error."""
        return f"session {self.session_id!r} in {self.path}"

    @property
    def is_ready(self) -> bool:
        """Return whether this is the writer already."""
        return self._connection is not None

    @property
    def seq(self) -> int | None:
        """The latest entry; None while somebody else may have written."""
        return self._committed if self._connection and self._rows else None

    def append(self, message: Message, line: bytes, wait_seconds: float) -> None:
        """Add a message."""
        self._take(lambda rows: self._append(rows, message, line), wait_seconds)
        if self.known:
            self.known.note(self._state.seq)

    def replace(self, messages: list[Message], line: bytes, wait_seconds: float) -> None:
        """Add a view, unless it would hide what the caller does not know."""
        self._take(lambda rows: self._replace(rows, messages, line), wait_seconds)
        self.known = None

    def replace_known(
        self,
        messages: list[Message],
        line: bytes,
        known: Known,
        replaces: int,
        wait_seconds: float,
    ) -> None:
        """Add a view that holds these messages, and what they do not stand for."""
        self._take(
            lambda rows: self._replace_known(rows, messages, line, known, replaces), wait_seconds
        )
        self.known = None

    def restore(self, wait_seconds: float) -> None:
        """Add the view that the latest standing replace took away."""
        self._take(self._restore, wait_seconds)
        self.known = None

    def put(self, content: bytes, wait_seconds: float) -> str:
        """Add an encoded output, and give its reference."""
        ref = make_ref(content)
        self._take(lambda rows: rows.put_output(ref, content), wait_seconds)
        return ref

    def redact(self, request: Request, wait_seconds: float) -> None:
        """Change the entries that hold a message, and the rest of the database as it is stored."""
        self._take(lambda rows: self._redact(rows, request), wait_seconds)
        self.seen, self.known = _OUTDATED, None
        purge(self.path, self.name)
        log_redaction(request, self.name)

    def close(self) -> None:
        """Let somebody else write. The next step takes the lock anew."""
        connection, self._connection = self._connection, None
        lock, self._lock = self._lock, None
        self._rows = None
        with contextlib.ExitStack() as stack:
            if lock:
                stack.callback(unlock, lock)
            if connection:
                connection.close()

    def _append(self, rows: Rows, message: Message, line: bytes) -> None:
        knew = self.seen == self._here(rows)
        self._add(rows, Entry("message", (message,)), line)
        if knew:
            self.seen = self._here(rows)

    def _replace(self, rows: Rows, messages: list[Message], line: bytes) -> None:
        if self.seen not in {None, self._here(rows)}:
            problem = "has been written by somebody else since it was loaded: load again"
            raise HistoryConflict(self.name, problem)
        self._add(rows, Entry("replace", tuple(messages)), line)
        self.seen = self._here(rows)

    def _replace_known(
        self, rows: Rows, messages: list[Message], line: bytes, known: Known, replaces: int
    ) -> None:
        replaces_all = known is self.known and replaces == known.length
        if self.seen != self._here(rows) or not replaces_all:
            stored = rows.placed(self._state) if known.session in {None, rows.session} else []
            messages = merge(messages, known, replaces, stored, self.name)
            line = encode_view("replace", messages)
        self._add(rows, Entry("replace", tuple(messages)), line)
        self.seen = self._here(rows)

    def _restore(self, rows: Rows) -> None:
        restored = rows.restored(self._state)
        before = rows.before_replace(self._state)
        self._add(rows, Entry("restore", tuple(restored)), encode_view("restore", restored), before)
        self.seen = self._here(rows)

    def _redact(self, rows: Rows, request: Request) -> None:
        numbers, texts = rows.texts()
        redacted = redact_lines(texts, request, self.name)
        for seq, before, after in zip(numbers, texts, redacted.lines, strict=True):
            if after is not before:
                rows.change(seq, after)
        gone = [ref for ref in rows.refs() if redacted.must_go(ref, rows.output(ref) or b"")]
        rows.remove_outputs(gone)
        rows.set_title(request.hide_in_title(rows.title()))
        self._state = self._state.follow(None)
        rows.append("optional", request.record(gone), self._state)

    def _here(self, rows: Rows) -> tuple[int, int]:
        return locate(rows, self._state)

    def _add(self, rows: Rows, entry: Entry, line: bytes, before: State | None = None) -> None:
        self._state = self._state.follow(entry, before)
        rows.append(entry.kind, line.removesuffix(b"\n"), self._state)

    def _take(self, step: Callable[[Rows], None], wait_seconds: float) -> None:
        """Take a step in a transaction of its own.

        Plain code, since it is at every append: four context managers took as long as SQLite.
        """
        connection = self._claim()
        rows, seen = self._rows, self.seen
        try:
            begin(connection, wait_seconds)
            rows = rows or self._look(connection)
            step(rows)
            connection.execute("COMMIT")
        except Busy:
            raise
        except BaseException as problem:
            self._rows, self.seen = None, seen  # what stands where is to be looked up again
            with contextlib.suppress(sqlite3.Error):  # it may have been taken back already
                connection.execute("ROLLBACK")
            if isinstance(problem, sqlite3.Error):
                raise self._explain(problem) from problem
            raise
        self._committed, self._rows = self._state.seq, rows

    def _explain(self, problem: sqlite3.Error) -> HistoryError:
        if isinstance(problem, sqlite3.IntegrityError):
            what = "has been written by somebody else past its lock: load again"
            return HistoryConflict(self.name, what)
        return not_written(problem, self.path)

    def _claim(self) -> sqlite3.Connection:
        if self._connection and self._is_there():
            return self._connection
        self.close()
        with contextlib.ExitStack() as undo:
            lock = lock_session(self.path, self.session_id, self.name)
            undo.callback(unlock, lock)
            connection = connect_writer(self.path, fsync=self.fsync)
            undo.pop_all()
        found = self.path.stat()
        self._lock, self._connection = lock, connection
        self._identity = found.st_dev, found.st_ino
        return connection

    def _is_there(self) -> bool:
        """Return whether the path still names our database: nothing is written to a removed one."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self._identity

    def _look(self, connection: sqlite3.Connection) -> Rows:
        """Find the session, or make it, and see where it stands."""
        rows = Rows.find(connection, self.session_id, self.name)
        if rows is None:
            rows = Rows.add(connection, self.session_id, self.name, time.time())
        self._state = rows.state()
        return rows
