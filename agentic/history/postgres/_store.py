"""A conversation on a database server that holds many.

Steps of one store never overtake one another, and a cancellation finds an entry completely stored
or not begun: it asks the server to stop, and is raised after the server has answered, or after some
seconds.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Self, TypeVar

import attrs
import psycopg

from agentic.errors import (
    HistoryError,
    MessageNotFound,
    NothingToRestore,
)
from agentic.history._entries import encode_message, encode_view
from agentic.history._outputs import check_ref, encode_output, read_output
from agentic.history._protocols import Lease
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import Diff, Known, check_replaces
from agentic.history._rows import NEW, NOWHERE, Question
from agentic.history._validate import check_key, check_lease, check_messages, check_session_id
from agentic.history.postgres._database import KeptConnections, Link
from agentic.history.postgres._leases import Fence
from agentic.history.postgres._rows import PostgresRows
from agentic.history.postgres._server import check_dsn, place, reading
from agentic.history.postgres._writer import PostgresWriter
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["PostgresStore"]

T = TypeVar("T")


@attrs.define(eq=False)
class PostgresStore:
    """An archive in a database, in tables of a schema `agentic` that the first write creates.

    Entries are rows that never change, except in a redaction. Every row records where its view
    begins, so `load`, `diff` and `restore` read only the rows that they need.

    The first write opens a connection and takes the session's lock with it, and `aclose` releases
    both; until then, a second writer of this session raises `HistoryConflict`. Readers, and writers
    of other sessions, are not affected. A process that ends, killed or not, loses its lock at once.
    If the connection is lost, the step that notices opens a new one. A closed store can be used
    again, also in another event loop.
    """

    dsn: str = attrs.field(converter=check_dsn, repr=False)
    """A connection string: a URI, or libpq's keywords. What it leaves out comes from PGHOST and the
    other environment variables."""
    session_id: str = attrs.field(default="main", converter=check_session_id)
    fsync: bool = attrs.field(default=True, kw_only=True)
    """If true, a write returns only after its data would survive a crash or power failure of the
    server.

    If false, `synchronous_commit` is off: writes need not wait for the server's disk, but such a
    crash loses the last moments. A killed agent loses nothing in either case.
    """
    pooled: bool = attrs.field(default=False, kw_only=True)
    """If true, the dsn may lead to a pooler that gives each transaction another connection of the
    server. The session's lock is then a lease of 60 seconds, which every write renews. A session
    that was idle for longer, or whose writer was killed, is free for others after that time."""
    lease: Lease | None = attrs.field(default=None, kw_only=True)
    """A lease of this session: every write requires that it is in force. The caller renews it."""
    _kept: KeptConnections | None = attrs.field(default=None, kw_only=True, repr=False)
    """Of the sessions that opened it."""
    _link: Link = attrs.field(init=False, repr=False)
    _writer: PostgresWriter = attrs.field(init=False, repr=False)
    _turn: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False, repr=False)
    """The event loop that the lock belongs to."""
    _entered: bool = attrs.field(default=False, init=False, repr=False)
    """Whether the store is used as a context manager, so that leaving it releases what it holds."""

    @lease.validator
    def _check_lease(self, _: object, lease: Lease | None) -> None:
        check_lease(lease, self.session_id)

    @_link.default
    def _make_link(self) -> Link:
        name = f"session {self.session_id!r} in {place(self.dsn)}"
        return Link(self.dsn, name, self.fsync, self.pooled, self._kept)

    @_writer.default
    def _make_writer(self) -> PostgresWriter:
        if not self.pooled and self.lease is None:
            return PostgresWriter(self._link, self.session_id)
        fence = Fence(self.session_id, self._link.name, self.fsync, self.lease)
        return PostgresWriter(self._link, self.session_id, fence=fence)

    async def append(self, message: Message, *, key: str | None = None) -> None:
        """Store a message after all others, unless the session has one with this key.

        Raises:
            ConfigError: `message` is not a Message, or is not JSON data, or the key is invalid.
            HistoryConflict: another store is writing this session, or the message with this key
                says something else.
            HistoryNotWritten: the message is not stored; the session is unchanged.
            HistoryUnavailable: the connection was lost, and it is unknown whether the message is
                stored. If it is appended again, it is stored once.
        """
        line = encode_message(message, check_key(key))
        await self._do(partial(self._writer.append, message, line, key))

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key.

        Raises:
            HistoryCorrupt: its entry cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
        """
        return await self._do(partial(self._read, lambda rows: rows.keyed(key), None)) is not None

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts; empty if there is no session.

        Raises:
            HistoryCorrupt: an entry of the present view cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
        """
        messages, seen = await self._do(self._load)
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
            HistoryNotWritten: nothing is stored; the session is unchanged.
            HistoryUnavailable: as for `append`. If it is called again with the same messages, they
                are stored once, whatever has arrived meanwhile.
        """
        view = reopen_rounds(check_messages(messages))
        line = encode_view("replace", view)
        if replaces is None:
            await self._do(partial(self._writer.replace, view, line))
            return
        known = check_replaces(replaces, self._writer.knowledge.known, self._link.name)
        await self._do(partial(self._writer.replace_known, view, line, known, replaces))

    async def revision(self) -> int:
        """Return the number of the latest entry, without a query if this store is the writer.

        Raises:
            HistoryUnavailable: the server cannot be reached, or refuses the request.
        """
        return await self._do(self._find_revision)

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order.

        Raises:
            HistoryCorrupt: an entry cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
        """
        nothing: list[Message] = []
        return await self._do(partial(self._read, PostgresRows.full, nothing))

    async def restore(self) -> None:
        """Undo the latest replace that was not undone yet.

        Raises:
            NothingToRestore: there is no replace in force.
            HistoryConflict, HistoryCorrupt, HistoryNotWritten: nothing is stored.
            HistoryUnavailable: as for `append`.
        """
        if not await self._do(self._is_there):  # otherwise a claim would create it
            raise NothingToRestore(self._link.name)
        await self._do(self._writer.restore)

    async def diff(self) -> Diff:
        """Return what the latest replace in force removed, and what it added.

        Raises:
            NothingToRestore: there is no replace in force.
            HistoryCorrupt: an entry cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
        """
        found = await self._do(partial(self._read, PostgresRows.latest_diff, None))
        if found is None:
            raise NothingToRestore(self._link.name)
        return found

    async def put(self, output: str) -> str:
        """Store an output next to the entries, and return its reference.

        Raises:
            ConfigError: `output` is not a str.
            HistoryConflict: another store is writing this session.
            HistoryNotWritten: the output is not stored.
        """
        return await self._do(partial(self._writer.put, encode_output(output)))

    async def get(self, ref: str) -> str:
        """Return a stored output.

        Raises:
            ConfigError: `ref` is not a reference.
            HistoryCorrupt: the output was changed since it was written.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OutputNotFound: the output was never stored here.
        """
        check_ref(ref)
        content = await self._do(partial(self._read, lambda rows: rows.output(ref), None))
        return read_output(content, ref, self._link.name)

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Permanently replace the text of a message: all tables are rewritten, one after another.

        Copies in the server's log, in replicas and in backups are not changed.

        Raises:
            ConfigError: an argument is invalid.
            HistoryConflict: another store is writing this session.
            HistoryCorrupt: an entry cannot be read.
            HistoryNotWritten: the redaction is incomplete; repeating it completes it.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        if not await self._do(self._is_there):  # or a claim would make it
            raise MessageNotFound(self._link.name, message_id)
        await self._do(partial(self._writer.redact, request))

    async def aclose(self) -> None:
        """Release the lock and the connection, after any write in progress is complete."""
        await self._do(self._writer.close)

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._entered = False
        await self.aclose()

    async def _find_revision(self) -> int:
        if (seq := self._writer.seq) is not None:
            return seq
        return (await self._read(PostgresRows.state, NEW)).seq

    async def _is_there(self) -> bool:
        return await self._read(PostgresRows.title, None) is not None

    async def _load(self) -> tuple[list[Message], tuple[int, int]]:
        # A doubt that cannot be settled now does not stop a reader, who sees what is stored.
        with contextlib.suppress(HistoryError):
            await self._writer.settle()
        return await self._read(PostgresRows.load, ([], NOWHERE))

    async def _read(self, question: Callable[[PostgresRows], Question[T]], nothing: T) -> T:
        """Ask a question, once more if the connection is found to be lost."""
        with reading(self._link.name, self.dsn):
            try:
                return await self._ask(question, nothing)
            except psycopg.Error as problem:
                # A query that failed for another reason would fail again.
                if not self._link.is_lost(problem):
                    raise
                await self._link.aclose()
                return await self._ask(question, nothing)

    async def _ask(self, question: Callable[[PostgresRows], Question[T]], nothing: T) -> T:
        connection = await self._link.to_read()
        if connection is None:
            return nothing
        # Each time: the session may have been deleted and begun anew under another number.
        rows = await PostgresRows.find(connection, self.session_id, self._link.name)
        return await rows.ask(question(rows)) if rows else nothing

    async def _do(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run a step after those that were begun before it."""
        loop = asyncio.get_running_loop()
        # A lock belongs to one loop, and a store may be used by several `asyncio.run` in turn.
        if self._loop is not loop:
            self._turn, self._loop = asyncio.Lock(), loop
        async with self._turn:
            try:
                return await step()
            finally:
                # A reader that is not in a `with` has no other moment to close its connection.
                if not self._entered and not self._writer.is_ready:
                    await self._link.aclose()  # nobody else would close it
