"""A conversation on a database server that holds many.

Steps of one store never overtake one another, and a cancellation finds an entry completely stored
or not begun: it asks the server to stop, and is raised after the server has answered, or after some
seconds.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Self, TypeVar

import attrs
import psycopg

from agentic.errors import HistoryError
from agentic.history._entries import encode_message, encode_view
from agentic.history._protocols import Lease
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import Knowledge, Known, StoredView
from agentic.history._rows import NOWHERE, Question, RowStore, SessionRows
from agentic.history._validate import check_lease, check_session_id
from agentic.history.postgres._database import KeptConnections, Link
from agentic.history.postgres._leases import Fence
from agentic.history.postgres._rows import PostgresRows
from agentic.history.postgres._server import check_dsn, place, reading
from agentic.history.postgres._writer import PostgresWriter
from agentic.messages import Message

__all__ = ["PostgresStore"]

T = TypeVar("T")


@attrs.define(eq=False)
class PostgresStore(RowStore):
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
    lease: Lease | None = attrs.field(default=None, kw_only=True, validator=check_lease)
    """A lease of this session: every write requires that it is in force. The caller renews it."""
    _kept: KeptConnections | None = attrs.field(default=None, kw_only=True, repr=False)
    """Of the sessions that opened it."""
    _knowledge: Knowledge = attrs.field(factory=Knowledge, init=False, repr=False)
    _link: Link = attrs.field(init=False, repr=False)
    _writer: PostgresWriter = attrs.field(init=False, repr=False)
    _turn: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False, repr=False)
    _loop: asyncio.AbstractEventLoop | None = attrs.field(default=None, init=False, repr=False)
    """The event loop that the lock belongs to."""
    _entered: bool = attrs.field(default=False, init=False, repr=False)
    """Whether the store is used as a context manager, so that leaving it releases what it holds."""

    @_link.default
    def _make_link(self) -> Link:
        name = f"session {self.session_id!r} in {place(self.dsn)}"
        return Link(self.dsn, name, self.fsync, self.pooled, self._kept)

    @_writer.default
    def _make_writer(self) -> PostgresWriter:
        fence = None
        if self.pooled or self.lease is not None:
            fence = Fence(self.session_id, self._link.name, self.fsync, self.lease)
        return PostgresWriter(self._link, self.session_id, self._knowledge, fence)

    async def aclose(self) -> None:
        """Release the lock and the connection, after any write in progress is complete."""
        await self._do(self._writer.close)

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._entered = False
        await self.aclose()

    async def _exists(self) -> bool:
        return await self._answer(SessionRows.title, None) is not None

    async def _append(self, message: Message, key: str | None) -> None:
        line = encode_message(message, key)
        await self._do(partial(self._writer.append, message, line, key))

    async def _load(self) -> StoredView:
        return await self._do(self._settle_and_load)

    async def _settle_and_load(self) -> StoredView:
        # A doubt that cannot be settled now does not stop a reader, who sees what is stored.
        with contextlib.suppress(HistoryError):
            await self._writer.settle()
        return await self._read(SessionRows.load, StoredView([], 1, NOWHERE))

    async def _replace(self, view: list[Message], known: Known | None, replaces: int) -> None:
        line = encode_view("replace", view)
        await self._do(partial(self._writer.replace, view, line, known, replaces))

    async def _restore(self) -> None:
        await self._do(self._writer.restore)

    async def _put(self, content: bytes) -> str:
        return await self._do(partial(self._writer.put, content))

    async def _redact(self, request: RedactionRequest) -> None:
        await self._do(partial(self._writer.redact, request))

    async def _answer(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
        return await self._do(partial(self._read, question, nothing))

    async def _read(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
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

    async def _ask(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
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
