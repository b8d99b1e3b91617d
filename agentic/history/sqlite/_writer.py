"""The only writer of a session in a database that many sessions share.

If another process writes despite the session's lock, the sequence number, which is unique within
the session, is already taken: entries are never interleaved.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import attrs

from agentic.errors import HistoryConflict, HistoryError
from agentic.history._abilities import Lease
from agentic.history._disk import LockedFile, reporting
from agentic.history._entries import Entry, encode_view
from agentic.history._outputs import make_ref
from agentic.history._redaction import RedactionRequest, log_redaction
from agentic.history._replace import CallerView, LoadedList
from agentic.history._rows import NEW, State
from agentic.history._stores import Addition
from agentic.history.sqlite._database import (
    Busy,
    begin,
    connect_writer,
    lock_session,
    not_written,
    purge,
    unlock,
)
from agentic.history.sqlite._rows import SqliteRows, check, refuse_leased
from agentic.messages import Message

T = TypeVar("T")
_Point: TypeAlias = tuple[int, int]
"""Up to where a caller knows the session, as `SessionRows.locate` returns it."""


@attrs.define(eq=False)
class SqliteWriter:
    """The writer's side of a session. Each step is done completely or not at all.

    A step waits `wait_seconds` for another process that is writing, then raises `Busy`. All steps
    may raise `HistoryConflict`, `HistoryCorrupt` and `HistoryNotWritten`.
    """

    path: Path
    session_id: str
    fsync: bool
    lease: Lease | None
    """The lease that every write requires, instead of the lock file."""
    caller_view: CallerView
    """What the caller knows, as the session's number and its latest entry."""
    _connection: sqlite3.Connection | None = attrs.field(default=None, init=False)
    """The connection; None while the lock is not held."""
    _lock: LockedFile | None = attrs.field(default=None, init=False)
    _identity: tuple[int, int, int] = attrs.field(default=(0, 0, 0), init=False)
    """This process, and the device and inode of the database."""
    _rows: SqliteRows | None = attrs.field(default=None, init=False)
    """Known while nobody else can have written."""
    _state: State = attrs.field(default=NEW, init=False)
    _committed: int = attrs.field(default=0, init=False)
    """The latest entry that others can read."""

    @property
    def name(self) -> str:
        """The session's name in error messages."""
        return f"session {self.session_id!r} in {self.path}"

    @property
    def is_ready(self) -> bool:
        """Return whether this object is already the writer."""
        return self._connection is not None

    @property
    def seq(self) -> int | None:
        """The number of the latest entry; None while others may have written."""
        return self._committed if self._connection and self._rows else None

    @property
    def point(self) -> _Point | None:
        """The point in the session at which it stands; None while others may have written."""
        rows, seq = self._rows, self.seq
        return None if rows is None or seq is None or not self._is_there() else rows.locate(seq)

    def append(self, batch: Sequence[Addition], wait_seconds: float) -> None:
        """Add messages, each unless the session has one with its key."""
        # Only now that all is committed: what is rolled back must not count as known.
        for before, after, message in self._take(partial(self._append, batch=batch), wait_seconds):
            self.caller_view.append(after[1], before, after, message)

    def replace(
        self,
        messages: list[Message],
        line: bytes,
        loaded_list: LoadedList | None,
        replaces: int,
        wait_seconds: float,
    ) -> None:
        """Add a view with these messages and the stored ones that they do not replace.

        Without a loaded list, they replace all, unless that would hide what the caller does not
        know.
        """
        after = self._take(
            lambda rows: self._replace(rows, messages, line, loaded_list, replaces), wait_seconds
        )
        self.caller_view.replace(after)

    def restore(self, wait_seconds: float) -> None:
        """Add the view that preceded the latest replace in force."""
        self.caller_view.restore(*self._take(self._restore, wait_seconds))

    def put(self, content: bytes, wait_seconds: float) -> str:
        """Add an encoded output, and return its reference."""
        ref = make_ref(content)
        self._take(lambda rows: rows.put_output(ref, content), wait_seconds)
        return ref

    def redact(self, request: RedactionRequest, wait_seconds: float) -> None:
        """Change the entries that hold a message, and the rest of the database as it is stored."""
        self._take(lambda rows: self._redact(rows, request), wait_seconds)
        # Before the purge, which may fail: the entries have changed all the same.
        self.caller_view.redact()
        purge(self.path, self.name)
        log_redaction(request, self.name)

    def close(self) -> None:
        """Release the lock. The next step takes it again."""
        connection, self._connection = self._connection, None
        lock, self._lock = self._lock, None
        self._rows = None
        with contextlib.ExitStack() as stack:
            # The lock goes last, and also if the connection cannot be closed.
            if lock:
                stack.callback(unlock, lock)
            if connection:
                connection.close()

    def _append(
        self, rows: SqliteRows, batch: Sequence[Addition]
    ) -> list[tuple[_Point, _Point, Message]]:
        """Add messages, and return what `_add` returns for each that was not added before."""
        fresh = rows.ask(rows.fresh(batch, self.caller_view))
        return [(*self._add(rows, each.entry, each.line), each.message) for each in fresh]

    def _replace(
        self,
        rows: SqliteRows,
        messages: list[Message],
        line: bytes,
        base: LoadedList | None,
        replaces: int,
    ) -> _Point:
        here = rows.locate(self._state.seq)
        if base is None:
            self.caller_view.check_seen(here, self.name)
        elif not self.caller_view.covers(here, base, replaces):
            messages = rows.ask(rows.merged(self._state, messages, base, replaces))
            line = encode_view("replace", messages)
        _, after = self._add(rows, Entry("replace", tuple(messages)), line)
        return after

    def _restore(self, rows: SqliteRows) -> tuple[_Point, _Point]:
        view, former = rows.ask(rows.restored(self._state))
        entry = Entry("restore", tuple(view))
        return self._add(rows, entry, encode_view("restore", view), former)

    def _redact(self, rows: SqliteRows, request: RedactionRequest) -> None:
        record = rows.ask(rows.redact(request))
        self._state = self._state.follow(None)
        rows.append("optional", record, self._state)

    def _add(
        self, rows: SqliteRows, entry: Entry, line: bytes, former: State | None = None
    ) -> tuple[_Point, _Point]:
        """Add an entry; return what a caller knew with all before it, and knows with it."""
        before = rows.locate(self._state.seq)
        self._state = self._state.follow(entry, former)
        rows.append(entry.kind, line.removesuffix(b"\n"), self._state, entry.key)
        return before, rows.locate(self._state.seq)

    def _take(self, step: Callable[[SqliteRows], T], wait_seconds: float) -> T:
        """Take a step in a transaction of its own.

        This is plain code because it runs at every append: four context managers took as long as
        SQLite.
        """
        connection = self._claim()
        rows = self._rows
        try:
            begin(connection, wait_seconds)
            # SQLite has one writer at a time, so nobody takes the lease over before the commit.
            if self.lease:
                check(connection, self.lease, self.name)
            # In the same transaction, so that a first write that fails leaves no empty session.
            rows = rows or self._look(connection)
            answer = step(rows)
            connection.execute("COMMIT")
        except Busy:
            raise
        except BaseException as problem:
            # Also for KeyboardInterrupt: a transaction left open would block every other process.
            self._rows = None  # must be looked up again
            with contextlib.suppress(sqlite3.Error):  # it may already have been rolled back
                connection.execute("ROLLBACK")
            if isinstance(problem, sqlite3.Error):
                raise self._explain(problem) from problem
            raise
        self._committed, self._rows = self._state.seq, rows
        return answer

    def _explain(self, problem: sqlite3.Error) -> HistoryError:
        # Two entries of one number: a process that did not ask for the lock has written.
        if isinstance(problem, sqlite3.IntegrityError):
            what = "was changed by a writer that ignored its lock: load again"
            return HistoryConflict(self.name, what)
        return not_written(problem, self.path)

    def _claim(self) -> sqlite3.Connection:
        if self._connection and self._is_there():
            return self._connection
        self.close()
        with contextlib.ExitStack() as undo, reporting(self.path):
            lock = None
            if not self.lease:
                lock = lock_session(self.path, self.session_id, self.name)
                undo.callback(unlock, lock)
            connection = connect_writer(self.path, fsync=self.fsync)
            undo.callback(connection.close)
            stat = self.path.stat()
            # Nothing failed: lock and connection stay until `close`.
            undo.pop_all()
        self._lock, self._connection = lock, connection
        # The inode, not the path: somebody may have put another database in its place.
        self._identity = os.getpid(), stat.st_dev, stat.st_ino
        return connection

    def _is_there(self) -> bool:
        """Return whether our database is: a removed one must not be written, nor a parent's."""
        try:
            stat = self.path.stat()
        except OSError:  # to open it says why
            return False
        return (os.getpid(), stat.st_dev, stat.st_ino) == self._identity

    def _look(self, connection: sqlite3.Connection) -> SqliteRows:
        """Find the session, or make it, and see where it stands."""
        if not self.lease:
            refuse_leased(connection, self.session_id, self.name)
        rows = SqliteRows.find(connection, self.session_id, self.name)
        if rows is None:
            rows = SqliteRows.add(connection, self.session_id, self.name, time.time())
        self._state = rows.ask(rows.state())
        return rows
