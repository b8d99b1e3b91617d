"""The sessions of one database on a server, and the store of each.

Steps of one store never overtake one another, and a cancellation finds an entry completely stored
or not begun: it asks the server to stop, and is raised after the server has answered, or after some
seconds.
"""

import asyncio
import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from datetime import UTC
from functools import partial
from typing import Any, ParamSpec, Self, TypeVar

import attrs
import psycopg
from psycopg.rows import TupleRow

from agentic._base._validate import is_whole
from agentic._base._waiting import LoopLock, finish
from agentic.errors import HistoryError, HistoryUnavailable
from agentic.history._abilities import Lease, SessionInfo
from agentic.history._entries import encode_view
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import CallerView, LoadedList, StoredView
from agentic.history._rows import Question, RowStore, SessionRows
from agentic.history._sessions import (
    Exported,
    LeasedBase,
    already_exists,
    encode_output_line,
    encode_title_line,
)
from agentic.history._stores import Addition
from agentic.history._validate import check_lease, check_session_id
from agentic.history.postgres._database import KeptConnections, Link, lock_session
from agentic.history.postgres._rows import (
    Fence,
    PostgresRows,
    acquire,
    refuse_leased,
    release,
    renew,
)
from agentic.history.postgres._server import (
    Connection,
    check_dsn,
    explain,
    place,
    reading,
    without_limit,
    writing,
)
from agentic.history.postgres._writer import PostgresWriter
from agentic.messages import Message

T = TypeVar("T")
P = ParamSpec("P")
_BATCH_ROWS = 500
_GRACE_SECONDS = 10.0
"""How long a step may go on after a cancellation: enough unless the server is stalled."""
_NOBODY = 0
"""The writer that imported entries are attributed to."""
# timestamptz reaches further than datetime, and psycopg refuses what datetime cannot represent.
_LIST = """
    SELECT id, title, coalesce(messages, 0), coalesce(summarized, 0),
        least(greatest(created_at, '0001-01-02 00:00+00'), '9999-12-30 00:00+00'),
        coalesce(written_at, created_at) AS changed_at
    FROM agentic.sessions LEFT JOIN LATERAL (
        SELECT messages, summarized, written_at FROM agentic.entries
        WHERE session = number ORDER BY seq DESC LIMIT 1
    ) AS latest ON true
    ORDER BY changed_at DESC, number DESC
"""


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
    _caller_view: CallerView = attrs.field(factory=CallerView, init=False, repr=False)
    _link: Link = attrs.field(init=False, repr=False)
    _writer: PostgresWriter = attrs.field(init=False, repr=False)
    _turn: LoopLock = attrs.field(factory=LoopLock, init=False, repr=False)
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
        return PostgresWriter(self._link, self.session_id, self._caller_view, fence)

    async def aclose(self) -> None:
        """Release the lock and the connection, after any write in progress is complete."""
        await self._do(self._writer.close)
        self._caller_view.history = None

    async def __aenter__(self) -> Self:
        self._entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self._entered = False
        await self.aclose()

    async def _exists(self) -> bool:
        return await self._answer(SessionRows.title, None) is not None

    async def _append(self, batch: Sequence[Addition]) -> None:
        await self._do(partial(self._writer.append, batch))

    async def _recall(self) -> StoredView | None:
        # A doubt that cannot be settled now does not stop a reader, who sees what is stored.
        with contextlib.suppress(HistoryError):
            await self._do(self._writer.settle)
        return await super()._recall()

    async def _replace(self, view: list[Message], base: LoadedList | None, replaces: int) -> None:
        line = encode_view("replace", view)
        await self._do(partial(self._writer.replace, view, line, base, replaces))

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
        async with self._turn:
            try:
                return await step()
            finally:
                # A reader that is not in a `with` has no other moment to close its connection.
                if not self._entered and not self._writer.is_ready:
                    await self._link.aclose()  # nobody else would close it


def _finished(
    step: Callable[P, Coroutine[Any, Any, None]],
) -> Callable[P, Coroutine[Any, Any, None]]:
    """Decorate a step that runs to its end, cancelled or not, unless the server is silent."""

    @functools.wraps(step)
    async def run(*args: P.args, **kwargs: P.kwargs) -> None:
        work = asyncio.ensure_future(step(*args, **kwargs))
        await finish(work, grace_seconds=_GRACE_SECONDS)

    return run


@attrs.frozen
class PostgresSessions(LeasedBase):
    """The sessions of a database, in tables that the first write creates; listing reads a row each.

    Every method opens a connection and closes it. `open` opens none: each store has its own.
    """

    dsn: str = attrs.field(converter=check_dsn, repr=False)
    """A connection string: a URI, or libpq's keywords. What it leaves out comes from PGHOST and the
    other environment variables."""
    fsync: bool = attrs.field(default=True, kw_only=True)
    """If true, a write returns only after its data would survive a crash or power failure of the
    server."""

    pooled: bool = attrs.field(default=False, kw_only=True)
    """If true, the dsn may lead to a pooler in transaction mode: see `PostgresStore.pooled`."""
    _kept: KeptConnections | None = attrs.field(default=None, kw_only=True, repr=False, eq=False)

    def keeping(self, connections: int) -> "PostgresSessions":
        """Return the same sessions, whose stores and leases share connections that stay open.

        For a worker that writes many sessions under leases, each for a moment, in one event loop:
        to connect takes longer than to write. A store that is written without a lease still has a
        connection of its own, which holds its lock. `aclose` closes what is kept.

        Raises:
            ConfigError: `connections` is not a whole number >= 1.
        """
        is_whole(1, connections, "connections", "count the sessions written at the same time")
        return attrs.evolve(self, kept=KeptConnections(connections))

    async def aclose(self) -> None:
        """Close the connections that are kept. The sessions can be used again."""
        if self._kept is not None:
            await self._kept.aclose()

    def open(self, session_id: str, *, lease: Lease | None = None) -> PostgresStore:
        """Return the store of a session, whether or not it exists. Reads and writes nothing.

        Raises:
            ConfigError: the session id is invalid, or the lease is one of another session.
        """
        return PostgresStore(
            self.dsn, session_id, fsync=self.fsync, pooled=self.pooled, lease=lease, kept=self._kept
        )

    async def release(self, lease: Lease) -> None:
        """Release the lease. Does nothing if it is lost.

        Raises:
            HistoryNotWritten, HistoryUnavailable: it is not given up, and will expire.
        """
        async with self._writing(self._name(lease.session_id)) as link:
            await release(await link.to_write(), lease)

    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the most recently changed first.

        Raises:
            HistoryUnavailable: the server cannot be reached, or refuses the request.
        """
        async with self._reading(place(self.dsn)) as connection:
            if connection is None:
                return []
            return [_describe(row) async for row in await connection.execute(_LIST)]

    @property
    def _place(self) -> str:
        return place(self.dsn)

    async def _acquire(self, session_id: str, owner: str, seconds: float) -> Lease:
        name = self._name(session_id)
        async with self._writing(name) as link:
            return await acquire(await link.to_write(), session_id, owner, seconds, name)

    async def _renew(self, lease: Lease, seconds: float) -> Lease:
        name = self._name(lease.session_id)
        async with self._writing(name) as link:
            return await renew(await link.to_write(), lease, seconds, name)

    async def _check_exists(self, session_id: str) -> None:
        async with self._reading(self._name(session_id)) as connection:
            await self._find(connection, session_id)

    async def _export(self, session_id: str) -> AsyncIterator[bytes]:
        name = self._name(check_session_id(session_id))
        async with self._reading(name) as connection:
            rows = await self._find(connection, session_id)
            # one snapshot of the session, however long the export takes
            await rows.connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
            async with rows.connection.transaction():
                async for text in rows.texts(_BATCH_ROWS):
                    yield text + b"\n"
                if title := await rows.ask(rows.title()):
                    yield encode_title_line(title)
                for ref in await rows.ask(rows.refs()):
                    content = await rows.ask(rows.output(ref))
                    yield encode_output_line(ref, content, name)

    @_finished
    async def _rename(self, session_id: str, title: str) -> None:
        async with self._writing(self._name(session_id)) as link:
            rows = await self._find(await link.to_read(), session_id)
            await rows.ask(rows.set_title(title))

    @_finished
    async def _delete(self, session_id: str) -> None:
        async with self._writing(self._name(session_id)) as link:
            rows = await self._find(await link.to_read(), session_id)
            async with rows.connection.transaction():
                await _lock(rows.connection, session_id, rows.name)
                await rows.ask(rows.delete())

    @_finished
    async def _import(self, session_id: str, export: Exported) -> None:
        name = self._name(session_id)
        async with self._writing(name) as link:
            connection = await link.to_write()
            async with without_limit(connection), connection.transaction():
                # Also keeps a second import of the same name away, until this one has committed.
                await _lock(connection, session_id, name)
                if await PostgresRows.find(connection, session_id, name):
                    raise already_exists(name)
                rows = await PostgresRows.add(
                    connection, session_id, name, title=export.title, created_at=export.created_at
                )
                entries = ((each.kind, each.text, each.state, each.key) for each in export.entries)
                await rows.append_all(entries, _NOBODY)
                for ref, content in export.outputs.items():
                    await rows.put_output(ref, content)

    async def _find(self, connection: Connection | None, session_id: str) -> PostgresRows:
        name = self._name(session_id)
        rows = await PostgresRows.find(connection, session_id, name) if connection else None
        if rows is None:
            raise self._missing(session_id)
        return rows

    @contextlib.asynccontextmanager
    async def _reading(self, name: str) -> AsyncIterator[Connection | None]:
        with reading(name, self.dsn):
            async with contextlib.aclosing(Link(self.dsn, name, self.fsync, self.pooled)) as link:
                yield await link.to_read()

    @contextlib.asynccontextmanager
    async def _writing(self, name: str) -> AsyncIterator[Link]:
        made = Link(self.dsn, name, self.fsync, self.pooled, self._kept)
        with writing(name, self.dsn):
            async with contextlib.aclosing(made) as link:
                try:
                    yield link
                except psycopg.Error as problem:
                    if not link.is_lost(problem):
                        raise
                    text = f"{explain(problem, self.dsn)}, and it may have been done or not"
                    raise HistoryUnavailable(name, text) from problem


async def _lock(connection: Connection, session_id: str, name: str) -> None:
    """Be the session's only writer until the end of the transaction."""
    await lock_session(connection, session_id, name, until_commit=True)
    await refuse_leased(connection, session_id, name)


def _describe(row: TupleRow) -> SessionInfo:
    session_id, title, messages, covers, created_at, changed_at = row
    return SessionInfo(
        id=session_id,
        title=title,
        messages=messages,
        summarized=covers,
        # psycopg returns times in the time zone of the connection.
        created_at=created_at.astimezone(UTC),
        changed_at=changed_at.astimezone(UTC),
    )
