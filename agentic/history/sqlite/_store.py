"""A conversation in a database that holds many.

A commit takes about 20 microseconds, less than handing it to a thread, so an append is done
synchronously. Anything that may wait is done in the store's single worker thread: opening the
database, waiting for another process that is writing, waiting for the disk. Steps never overtake
one another, and a cancellation finds an entry completely stored or not begun.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs

from agentic._waiting import finish
from agentic.history._entries import encode_message, encode_view
from agentic.history._protocols import Lease
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import Knowledge, Known
from agentic.history._rows import Question, RowStore, SessionRows
from agentic.history._validate import absolute, check_lease, check_session_id
from agentic.history.sqlite._database import (
    BUSY_SECONDS,
    Busy,
    checkpoint,
    connect_reader,
    reading,
    too_busy,
)
from agentic.history.sqlite._rows import SqliteRows
from agentic.history.sqlite._writer import SqliteWriter
from agentic.messages import Message

__all__ = ["SqliteStore"]

T = TypeVar("T")
_PATIENCE_SECONDS = 0.01
"""How long an event loop waits for another process's commit before a thread does."""
_CHECKPOINT_BYTES = 4_000_000
"""How much is appended before it is moved from the WAL into the database. SQLite's own default,
1,000 pages, is about the same."""


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
    _knowledge: Knowledge = attrs.field(factory=Knowledge, init=False, repr=False)
    _writer: SqliteWriter = attrs.field(init=False, repr=False)
    _worker: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)
    _latest: Future[Any] | None = attrs.field(default=None, init=False, repr=False)
    """The last step that was passed to the worker."""
    _unmoved: int = attrs.field(default=0, init=False, repr=False)
    """How many bytes were appended since the last checkpoint."""

    @_writer.default
    def _make_writer(self) -> SqliteWriter:
        return SqliteWriter(self.path, self.session_id, self.fsync, self.lease, self._knowledge)

    async def aclose(self) -> None:
        """Release the lock, after any write in progress is complete."""
        # A store that was only read holds nothing, and needs no thread to release it.
        if self._worker or self._writer.is_ready:
            await self._submit(self._writer.close)
        worker, self._worker = self._worker, None
        if worker:
            worker.shutdown()

    async def _exists(self) -> bool:
        return self.path.exists()

    async def _append(self, message: Message, key: str | None) -> None:
        line = encode_message(message, key)
        await self._do(partial(self._writer.append, message, line, key))
        self._count(len(line))

    async def _replace(self, view: list[Message], known: Known | None, replaces: int) -> None:
        line = encode_view("replace", view)
        await self._do(partial(self._writer.replace, view, line, known, replaces))
        self._count(len(line))

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
        connection = connect_reader(self.path)
        if connection is None:
            return nothing
        with contextlib.closing(connection), reading(self.path):
            # One snapshot for all queries of the question.
            connection.execute("BEGIN")
            rows = SqliteRows.find(connection, self.session_id, self._name)
            return rows.ask(question(rows)) if rows else nothing

    async def _do(self, step: Callable[[float], T]) -> T:
        """Run a writing step: synchronously, or in the worker if it has to wait."""
        waiting = self._latest is not None and not self._latest.done()
        # A commit without fsync takes less time than handing it to a thread. Behind a
        # step that is under way it would come out of turn.
        if self._writer.is_ready and not self.fsync and not waiting:
            try:
                return step(_PATIENCE_SECONDS)
            except Busy:
                pass
        return await self._do_in_worker(step)

    async def _do_in_worker(self, step: Callable[[float], T]) -> T:
        try:
            return await self._submit(partial(step, BUSY_SECONDS))
        except Busy as busy:
            raise too_busy(self._name) from busy

    async def _submit(self, step: Callable[[], T]) -> T:
        self._worker = self._worker or ThreadPoolExecutor(1, "agentic-history")
        work = self._worker.submit(step)
        self._latest = work
        return await finish(asyncio.wrap_future(work))

    def _count(self, appended_bytes: int) -> None:
        """Have the worker move appended data into the database from time to time."""
        self._unmoved += appended_bytes
        # With fsync, commits are in the worker anyway, and SQLite checkpoints in them by itself.
        if self._unmoved > _CHECKPOINT_BYTES and self._worker and not self.fsync:
            self._unmoved = 0
            self._worker.submit(checkpoint, self.path)
