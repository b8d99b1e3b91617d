"""A conversation in a database that holds many.

A commit takes about 20 microseconds, less than handing it to a thread, so an append is done
synchronously. Anything that may wait is done in the store's single worker thread: opening the
database, waiting for another process that is writing, waiting for the disk. Steps never overtake
one another, and a cancellation finds an entry completely stored or not begun.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import attrs

from agentic.errors import MessageNotFound, NothingToRestore
from agentic.history._entries import encode_message, encode_view
from agentic.history._outputs import check_ref, encode_output, read_output
from agentic.history._protocols import Lease
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import Diff, Known, check_replaces
from agentic.history._rows import NEW, NOWHERE, Question
from agentic.history._validate import (
    absolute,
    check_key,
    check_lease,
    check_messages,
    check_session_id,
)
from agentic.history._waiting import finish
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
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["SqliteStore"]

T = TypeVar("T")
_PATIENCE_SECONDS = 0.01
"""How long an event loop waits for another process's commit before a thread does."""
_CHECKPOINT_BYTES = 4_000_000
"""How much is appended before it is moved from the WAL into the database. SQLite's own default,
1,000 pages, is about the same."""


@attrs.define(eq=False)
class SqliteStore:
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
    lease: Lease | None = attrs.field(default=None, kw_only=True)
    """A lease of this session: every write requires that it is in force. The caller renews it."""
    _writer: SqliteWriter = attrs.field(init=False, repr=False)
    _worker: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)
    _latest: Future[Any] | None = attrs.field(default=None, init=False, repr=False)
    """The last step that was passed to the worker."""
    _unmoved: int = attrs.field(default=0, init=False, repr=False)
    """How many bytes were appended since the last checkpoint."""

    @lease.validator
    def _check_lease(self, _: object, lease: Lease | None) -> None:
        check_lease(lease, self.session_id)

    @_writer.default
    def _make_writer(self) -> SqliteWriter:
        return SqliteWriter(self.path, self.session_id, self.fsync, self.lease)

    async def append(self, message: Message, *, key: str | None = None) -> None:
        """Store a message after all others, unless the session has one with this key.

        Raises:
            ConfigError: `message` is not a Message, or is not JSON data, or the key is invalid.
            HistoryConflict: another store is writing this session, or the message with this key
                says something else.
            HistoryCorrupt: the file is not a database of sessions.
            HistoryNotWritten: the message is not stored; the session is unchanged.
        """
        line = encode_message(message, check_key(key))
        await self._do(partial(self._writer.append, message, line, key))
        self._count(len(line))

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key.

        Raises:
            HistoryCorrupt: its entry cannot be read, or the file is not a database.
            OSError: the file exists but cannot be opened.
        """
        found = await asyncio.to_thread(self._read, lambda rows: rows.keyed(key), None)
        return found is not None

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts; empty if there is no session.

        Raises:
            HistoryCorrupt: an entry of the view cannot be read, or the file is not a database.
            OSError: the file exists but cannot be opened.
        """
        messages, seen = await asyncio.to_thread(self._read, SqliteRows.load, ([], NOWHERE))
        closed, (session, seq) = close_open_rounds(messages), seen
        known = Known(seq + 1, len(closed), session=session or None)
        self._writer.knowledge.load(seen, known)
        return closed

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or replace its first `replaces` messages with them.

        Raises:
            ConfigError: an item is not a Message or not JSON data, or `replaces` is more than were
                loaded and appended.
            HistoryConflict: another store is writing this session. Without `replaces`: another
                store has written to it since this one loaded it, and the new view would hide what
                it does not know. With `replaces`: the history was replaced since it was loaded.
            HistoryCorrupt: the file is not a database of sessions.
            HistoryNotWritten: nothing is stored; the session is unchanged.
        """
        view = reopen_rounds(check_messages(messages))
        line = encode_view("replace", view)
        if replaces is None:
            await self._do(partial(self._writer.replace, view, line))
        else:
            known = check_replaces(replaces, self._writer.knowledge.known, self._writer.name)
            await self._do(partial(self._writer.replace_known, view, line, known, replaces))
        self._count(len(line))

    async def revision(self) -> int:
        """Return the number of the latest entry, from memory if this store is the writer.

        Raises:
            HistoryCorrupt: the file is not a database.
            OSError: the file exists but cannot be opened.
        """
        if (seq := self._writer.seq) is not None:
            return seq
        return (await asyncio.to_thread(self._read, SqliteRows.state, NEW)).seq

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order.

        Raises:
            HistoryCorrupt: an entry cannot be read, or the file is not a database.
            OSError: the file exists but cannot be opened.
        """
        return await asyncio.to_thread(self._read, SqliteRows.full, [])

    async def restore(self) -> None:
        """Undo the latest replace that was not undone yet.

        Raises:
            NothingToRestore: there is no replace in force.
            HistoryConflict, HistoryCorrupt, HistoryNotWritten: nothing is stored.
        """
        if not self.path.exists():  # otherwise the claim would create it
            raise NothingToRestore(self._writer.name)
        await self._do_in_worker(self._writer.restore)

    async def diff(self) -> Diff:
        """Return what the latest replace in force removed, and what it added.

        Raises:
            NothingToRestore: there is no replace in force.
            HistoryCorrupt: an entry cannot be read, or the file is not a database.
            OSError: the file exists but cannot be opened.
        """
        found = await asyncio.to_thread(self._read, SqliteRows.latest_diff, None)
        if found is None:
            raise NothingToRestore(self._writer.name)
        return found

    async def put(self, output: str) -> str:
        """Store an output next to the entries, and return its reference.

        Raises:
            ConfigError: `output` is not a str.
            HistoryConflict: another store is writing this session.
            HistoryCorrupt, HistoryNotWritten: the output is not stored.
        """
        return await self._do_in_worker(partial(self._writer.put, encode_output(output)))

    async def get(self, ref: str) -> str:
        """Return a stored output.

        Raises:
            ConfigError: `ref` is not a reference.
            HistoryCorrupt: the output was changed since it was written.
            OutputNotFound: the output was never stored here.
        """
        check_ref(ref)
        content = await asyncio.to_thread(self._read, lambda rows: rows.output(ref), None)
        return read_output(content, ref, self._writer.name)

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Permanently replace the text of a message: the whole database is rewritten.

        Raises:
            ConfigError: an argument is invalid.
            HistoryConflict: another store is writing this session, or a reader does not stop.
            HistoryCorrupt: an entry cannot be read, or the file is not a database of sessions.
            HistoryNotWritten: nothing has changed, or the old text is not yet removed from the
                file.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        if not self.path.exists():  # or the claim would make it
            raise MessageNotFound(self._writer.name, message_id)
        await self._do_in_worker(partial(self._writer.redact, request))

    async def aclose(self) -> None:
        """Release the lock, after any write in progress is complete."""
        # A store that was only read holds nothing, and needs no thread to release it.
        if self._worker or self._writer.is_ready:
            await self._submit(self._writer.close)
        worker, self._worker = self._worker, None
        if worker:
            worker.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _read(self, question: Callable[[SqliteRows], Question[T]], nothing: T) -> T:
        """Ask a question about one moment of the session."""
        # A connection for each question: a store that is only read need not be closed.
        connection = connect_reader(self.path)
        if connection is None:
            return nothing
        with contextlib.closing(connection), reading(self.path):
            # One snapshot for all queries of the question.
            connection.execute("BEGIN")
            rows = SqliteRows.find(connection, self.session_id, self._writer.name)
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
            raise too_busy(self._writer.name) from busy

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
