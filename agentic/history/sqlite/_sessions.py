"""The sessions of one database file, and the store of each.

A commit takes about 20 microseconds, less than handing it to a thread, so an append is done
synchronously. Anything that may wait is done in the store's single worker thread: opening the
database, waiting for another process that is writing, waiting for the disk. Steps never overtake
one another, and a cancellation finds an entry completely stored or not begun.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import attrs

from agentic._base._waiting import SerialThread, in_thread, threaded
from agentic.errors import HistoryCorrupt
from agentic.history._abilities import Lease, SessionInfo
from agentic.history._entries import encode_view
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import CallerView, LoadedList
from agentic.history._rows import Question, RowStore, SessionRows
from agentic.history._sessions import (
    Exported,
    LeasedBase,
    already_exists,
    encode_output_line,
    encode_title_line,
)
from agentic.history._stores import Addition
from agentic.history._validate import absolute, check_lease, check_session_id, from_timestamp
from agentic.history.sqlite._database import (
    BUSY_SECONDS,
    Busy,
    checkpoint,
    connect_writer,
    locked_session,
    measure_wal,
    reading,
    transaction,
    writing,
)
from agentic.history.sqlite._rows import SqliteRows, acquire, refuse_leased, release, renew
from agentic.history.sqlite._writer import SqliteWriter
from agentic.messages import Message

T = TypeVar("T")
_PATIENCE_SECONDS = 0.01
"""How long an event loop waits for another process's commit before a thread does."""
_CHECKPOINT_BYTES = 2_000_000
"""How far the WAL grows before it is moved into the database: half of SQLite's own default, since
it goes on growing meanwhile."""
_BATCH_ROWS = 500
_LIST = """
    SELECT id, title, messages, summarized, created_at,
        coalesce(written_at, created_at) AS changed_at
    FROM sessions LEFT JOIN entries ON session = number
        AND seq = (SELECT max(seq) FROM entries WHERE session = number)
    ORDER BY changed_at DESC, number DESC
"""


@attrs.define(eq=False)
class SqliteStore(RowStore):
    """An archive in a database of mode 0600, created with its folders at the first write.

    Entries are rows that never change, except in a redaction. Every row records where its view
    begins, so `load`, `diff` and `restore` read only the rows that they need.

    The first write takes the session's lock and `aclose` releases it; until then, a second writer
    of this session raises `HistoryConflict`. Readers, and writers of other sessions, are not
    affected. A closed store can be used again.

    >>> import tempfile
    >>> async def talk(path: str) -> list[str]:
    ...     async with SqliteStore(path, "monday") as store:
    ...         await store.append(Message("user", "Why is the build red?"))
    ...     return [message.content for message in await SqliteStore(path, "monday").load()]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(talk(f"{folder}/sessions.db"))
    ['Why is the build red?']
    """

    path: Path = attrs.field(converter=absolute)
    """An absolute path; a relative one is resolved against the current directory on creation."""
    session_id: str = attrs.field(default="main", converter=check_session_id)
    fsync: bool = attrs.field(default=False, kw_only=True)
    """If true, a write returns only after its data would survive a power failure; a thread waits
    for the disk."""
    lease: Lease | None = attrs.field(default=None, kw_only=True, validator=check_lease)
    """A lease of this session: every write requires that it is in force. The caller renews it."""
    _caller_view: CallerView = attrs.field(factory=CallerView, init=False, repr=False)
    _writer: SqliteWriter = attrs.field(init=False, repr=False)
    _worker: SerialThread = attrs.field(factory=SerialThread, init=False, repr=False)
    _wal_bytes: int = attrs.field(default=0, init=False, repr=False)
    """The size of the WAL when it was last to be moved; 0 once it has been."""

    @_writer.default
    def _make_writer(self) -> SqliteWriter:
        return SqliteWriter(self.path, self.session_id, self.fsync, self.lease, self._caller_view)

    async def aclose(self) -> None:
        """Release the lock, after any write in progress is complete."""
        # A store that was only read holds nothing, and needs no thread to release it.
        if self._writer.is_ready or not self._worker.is_idle:
            await self._worker.run(self._writer.close)
        self._worker.close()
        self._caller_view.history = None

    async def _exists(self) -> bool:
        return self.path.exists()

    async def _append(self, batch: Sequence[Addition]) -> None:
        await self._do(partial(self._writer.append, batch))

    async def _replace(self, view: list[Message], base: LoadedList | None, replaces: int) -> None:
        line = encode_view("replace", view)
        await self._do(partial(self._writer.replace, view, line, base, replaces))

    async def _restore(self) -> None:
        await self._do_in_worker(self._writer.restore)

    async def _put(self, content: bytes) -> str:
        return await self._do_in_worker(partial(self._writer.put, content))

    async def _redact(self, request: RedactionRequest) -> None:
        await self._do_in_worker(partial(self._writer.redact, request))

    async def _answer(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
        return await asyncio.to_thread(self._read, question, nothing)

    def _read(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
        # A connection for each question: a store that is only read need not be closed.
        with reading(self.path) as connection:
            if connection is None:
                return nothing
            # One snapshot for all queries of the question.
            connection.execute("BEGIN")
            rows = SqliteRows.find(connection, self.session_id, self._name)
            return rows.ask(question(rows)) if rows else nothing

    async def _do(self, step: Callable[[float], T]) -> T:
        """Run a writing step: synchronously, or in the worker if it has to wait."""
        # A commit without fsync takes less time than handing it to a thread. Behind a
        # step that is under way it would come out of turn.
        if self._writer.is_ready and not self.fsync and self._worker.is_idle:
            try:
                answer = step(_PATIENCE_SECONDS)
            except Busy:
                pass
            else:
                self._bound_wal()
                return answer
        return await self._do_in_worker(step)

    async def _do_in_worker(self, step: Callable[[float], T]) -> T:
        with writing(self.path):
            answer = await self._worker.run(partial(step, BUSY_SECONDS))
        self._bound_wal()
        return answer

    def _bound_wal(self) -> None:
        """Have the worker move the WAL into the database if it has grown."""
        size = measure_wal(self.path)
        self._wal_bytes = min(self._wal_bytes, size)
        # Readers may have kept it from being emptied: then not before it has grown as much again.
        if size - self._wal_bytes > _CHECKPOINT_BYTES:
            self._wal_bytes = size
            self._worker.submit(partial(checkpoint, self.path))


@attrs.frozen
class SqliteSessions(LeasedBase):
    """A database of sessions, created at the first write; listing reads one row per session.

    >>> import tempfile
    >>> from agentic.messages import Message
    >>> async def talk(path: str) -> list[str]:
    ...     sessions = SqliteSessions(path)
    ...     async with sessions.open("monday") as store:
    ...         await store.append(Message("user", "Why is the build red?"))
    ...     await sessions.rename("monday", "A red build")
    ...     return [info.title for info in await sessions.list()]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(talk(f"{folder}/sessions.db"))
    ['A red build']
    """

    path: Path = attrs.field(converter=absolute)
    """An absolute path; a relative one is resolved against the current directory on creation."""
    fsync: bool = attrs.field(default=False, kw_only=True)
    """If true, a write returns only after its data would survive a power failure."""

    def open(self, session_id: str, *, lease: Lease | None = None) -> SqliteStore:
        """Return the store of a session, whether or not it exists. Reads and writes nothing.

        Raises:
            ConfigError: the session id is invalid, or the lease is one of another session.
        """
        return SqliteStore(self.path, session_id, fsync=self.fsync, lease=lease)

    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the most recently changed first.

        Raises:
            HistoryCorrupt: the file is not a database of sessions.
            OSError: the file exists but cannot be opened.
        """
        return await asyncio.to_thread(self._list)

    @threaded
    def release(self, lease: Lease) -> None:
        """Release the lease. Does nothing if it is lost.

        Raises:
            HistoryCorrupt, HistoryNotWritten: it is not given up, and will expire.
        """
        with self._writing() as connection:
            release(connection, lease)

    @property
    def _place(self) -> str:
        return str(self.path)

    async def _export(self, session_id: str) -> AsyncIterator[bytes]:
        batches = self._read_lines(check_session_id(session_id))
        try:
            while batch := await in_thread(next, batches, None):
                for line in batch:
                    yield line
        finally:
            # An abandoned export would keep its snapshot, and the WAL could not restart.
            batches.close()

    @threaded
    def _acquire(self, session_id: str, owner: str, seconds: float) -> Lease:
        name = self._name(session_id)
        # Whoever writes without a lease holds the lock.
        with locked_session(self.path, session_id, name), self._writing() as connection:
            return acquire(connection, session_id, owner, seconds, name)

    @threaded
    def _renew(self, lease: Lease, seconds: float) -> Lease:
        with self._writing() as connection:
            return renew(connection, lease, seconds, self._name(lease.session_id))

    def _list(self) -> Sequence[SessionInfo]:
        with reading(self.path) as connection:
            if connection is None:
                return []
            connection.row_factory = sqlite3.Row
            try:
                # All at once: the error below would keep an open cursor, as in `SqliteRows.ask`.
                return [_describe(row) for row in connection.execute(_LIST).fetchall()]
            except TypeError as problem:  # a column may hold any type
                raise HistoryCorrupt(str(self.path), 0, str(problem)) from problem

    @threaded
    def _rename(self, session_id: str, title: str) -> None:
        with self._changing(session_id) as rows:
            rows.ask(rows.set_title(title))

    @threaded
    def _check_exists(self, session_id: str) -> None:
        with reading(self.path) as connection:
            self._find(connection, session_id)

    @threaded
    def _delete(self, session_id: str) -> None:
        with locked_session(self.path, session_id, self._name(session_id)):
            with self._changing(session_id) as rows:
                refuse_leased(rows.connection, session_id, rows.name)
                rows.connection.execute("PRAGMA secure_delete = ON")  # overwrites the content
                rows.ask(rows.delete())
            checkpoint(self.path)  # the WAL also holds what was deleted

    def _read_lines(self, session_id: str) -> Generator[Sequence[bytes], None, None]:
        """Yield the lines of a session in batches, all from one snapshot of it."""
        with reading(self.path) as connection:
            if connection:
                connection.execute("BEGIN")
            rows = self._find(connection, session_id)
            yield from rows.lines(_BATCH_ROWS)
            if title := rows.ask(rows.title()):
                yield [encode_title_line(title)]
            for ref in rows.ask(rows.refs()):
                content = rows.ask(rows.output(ref))
                yield [encode_output_line(ref, content, rows.name)]

    @threaded
    def _import(self, session_id: str, export: Exported) -> None:
        created_at = export.created_at.timestamp() if export.created_at else time.time()
        name = self._name(session_id)
        # The lock, because an agent may begin a session of this name meanwhile.
        with locked_session(self.path, session_id, name), self._writing() as connection:
            refuse_leased(connection, session_id, name)
            if SqliteRows.find(connection, session_id, name):
                raise already_exists(name)
            rows = SqliteRows.add(connection, session_id, name, created_at)
            rows.ask(rows.set_title(export.title))
            for entry in export.entries:
                rows.append(entry.kind, entry.text, entry.state, entry.key)
            for ref, content in export.outputs.items():
                rows.put_output(ref, content)

    def _find(self, connection: sqlite3.Connection | None, session_id: str) -> SqliteRows:
        name = self._name(session_id)
        rows = SqliteRows.find(connection, session_id, name) if connection else None
        if rows is None:
            raise self._missing(session_id)
        return rows

    @contextlib.contextmanager
    def _changing(self, session_id: str) -> Iterator[SqliteRows]:
        if not self.path.exists():  # or it would be made
            raise self._missing(session_id)
        with self._writing() as connection:
            yield self._find(connection, session_id)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with (
            contextlib.closing(connect_writer(self.path, fsync=self.fsync)) as connection,
            writing(self.path),
            transaction(connection, BUSY_SECONDS),
        ):
            yield connection


def _describe(row: sqlite3.Row) -> SessionInfo:
    return SessionInfo(
        id=row["id"],
        title=row["title"],
        # NULL if the session holds outputs and no entry yet.
        messages=row["messages"] or 0,
        summarized=row["summarized"] or 0,
        created_at=from_timestamp(row["created_at"]),
        changed_at=from_timestamp(row["changed_at"]),
    )
