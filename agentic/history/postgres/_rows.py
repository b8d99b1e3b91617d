"""The rows of one session in PostgreSQL, and of its lease: how they are queried and added.

A lease says who may write a session, and every write checks it in its own transaction: a write
locks the row of its lease until it has committed, and a takeover changes that row. So a takeover
waits for a write that is under way, and a write that comes later finds another epoch. The times are
those of the server: the clocks of the workers do not matter.

Direct writers hold the session's advisory lock. They are refused while a lease is in force, and a
lease is refused while one of them holds that lock.
"""

import asyncio
import functools
import math
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Self, TypeAlias, TypeVar

import attrs
from psycopg import AsyncCursor
from psycopg.errors import ProgramLimitExceeded
from psycopg.rows import TupleRow

from agentic.errors import HistoryConflict
from agentic.history._abilities import Lease
from agentic.history._entries import hash_key
from agentic.history._rows import Query, Question, SessionRows, State, is_leased
from agentic.history.postgres._database import lock_session
from agentic.history.postgres._server import SYNCHRONOUS, Connection

T = TypeVar("T")
NewEntry: TypeAlias = tuple[str, bytes, State, str | None]
"""An entry to add: its kind, its text, the state of the session after it, and its key."""
_LIMIT_BYTES = 1_000_000_000
"""A value must be smaller than 1 GiB: https://www.postgresql.org/docs/current/limits.html"""
_COMMIT = f"SELECT set_config('synchronous_commit', {SYNCHRONOUS}, true)"
# clock_timestamp(), not now(): that is the start of the transaction, which may have waited since.
_IN_FORCE = """
    FROM agentic.leases
    WHERE session = %s AND epoch = %s AND expires_at > clock_timestamp() FOR SHARE
"""
_HELD = f"{_COMMIT} {_IN_FORCE}"
"""One row if the lease is in force; it also sets for this transaction what a direct connection
sets once."""
_LONGEST_MILLISECONDS = 2**31 - 1
"""The most that such a setting of the server can be, nearly 25 days; a lease may be longer."""
# A client that is stopped between two statements must not hold the row for longer than its lease.
_HOLD = f"""
    {_COMMIT}, set_config('idle_in_transaction_session_timeout', least({_LONGEST_MILLISECONDS},
        greatest(100, ceil(1000 * extract(epoch FROM expires_at - clock_timestamp())))
        )::bigint::text, true)
    {_IN_FORCE}
"""
_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', %s, true)"
_ACQUIRE = """
    INSERT INTO agentic.leases AS held (session, owner, expires_at)
    VALUES (%s, %s, clock_timestamp() + make_interval(secs => %s))
    ON CONFLICT (session) DO UPDATE
        SET owner = excluded.owner, epoch = DEFAULT, expires_at = excluded.expires_at
        WHERE held.owner = excluded.owner OR held.expires_at <= clock_timestamp()
    RETURNING epoch, expires_at
"""
_RENEW = """
    UPDATE agentic.leases SET expires_at = clock_timestamp() + make_interval(secs => %s)
    WHERE session = %s AND epoch = %s AND expires_at > clock_timestamp() RETURNING epoch, expires_at
"""
_FIND = "SELECT owner FROM agentic.leases WHERE session = %s AND expires_at > clock_timestamp()"
_AWAIT = """
    SELECT 1 FROM agentic.leases
    WHERE session = %s AND epoch = %s AND expires_at > clock_timestamp() FOR UPDATE
"""
_SECONDS = 60.0
"""How long a store behind a pooler holds its session without writing before others may take it."""
_INSERT = """
    INSERT INTO agentic.entries
        (session, writer, seq, view, standing, messages, summarized, kind, text, key)
"""
_ONE = "%s, %s, %s, %s, %s, %s, %s, %s, %b, %s::bigint"
_SEVERAL = """
    %s, %s, entry.* FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[],
        %s::bigint[], %s::text[], %b::bytea[], %s::bigint[]) AS entry
"""
_APPEND = f"{_INSERT} VALUES ({_ONE})"
_APPEND_FENCED = f"WITH held AS ({_HELD}) {_INSERT} SELECT {_ONE} FROM held"  # noqa: S608  constants
_EXTEND = f"{_INSERT} SELECT {_SEVERAL}"
_EXTEND_FENCED = f"WITH held AS ({_HELD}) {_EXTEND}, held"
_PUT = """
    INSERT INTO agentic.outputs VALUES (%s, %s, %b)
    ON CONFLICT (session, ref) DO UPDATE SET content = excluded.content
"""
_TABLE = re.compile(r"\b(?=(?:entries|outputs|sessions)\b)")


@attrs.define(eq=False)
class Fence:
    """The lease under which one writer writes: its caller's, or one of its own.

    Each step raises HistoryConflict if the lease is lost, or somebody else writes the session.
    """

    session_id: str
    name: str
    """The name for the session in error messages."""
    fsync: bool
    given: Lease | None
    _owner: str = attrs.field(factory=lambda: secrets.token_hex(8), init=False)
    _lease: Lease | None = attrs.field(default=None, init=False)
    _renewed: float = attrs.field(default=0.0, init=False)

    @property
    def values(self) -> tuple[object, ...]:
        """The values of the placeholders in `_HELD`."""
        return self.fsync, self.session_id, self._lease.epoch if self._lease else 0

    async def claim(self, connection: Connection) -> None:
        """Take the lease, after all that was sent under it before is done or has failed."""
        if self.given:
            # An entry that a lost connection had sent holds the row, so this waits for its end.
            wait = await connection.execute(_AWAIT, [self.session_id, self.given.epoch])
            if await wait.fetchone() is None:
                raise self.lost()
            self._lease = self.given
        else:
            # A new epoch: what a lost connection had sent under the former one fails from now on.
            self._lease = await acquire(
                connection, self.session_id, self._owner, _SECONDS, self.name
            )
        self._renewed = time.monotonic()

    async def keep(self, connection: Connection) -> bool:
        """Renew the writer's own lease if it is time; return False if it is lost."""
        if self.given or time.monotonic() < self._renewed + _SECONDS / 3:
            return True
        try:
            self._lease = self._lease and await renew(connection, self._lease, _SECONDS, self.name)
        except HistoryConflict:
            return False
        self._renewed = time.monotonic()
        return True

    async def check(self, connection: Connection) -> None:
        """Hold the lease until the end of this transaction, which ends with it if it is idle."""
        rows = await connection.execute(_HOLD.encode(), self.values)
        if await rows.fetchone() is None:
            raise self.lost()

    async def release(self, connection: Connection) -> None:
        """Release a lease of the writer's own."""
        lease, self._lease = self._lease, None
        if lease and not self.given:
            await release(connection, lease)

    def lost(self) -> HistoryConflict:
        """Return the error for a lease that is no longer in force."""
        lease = self._lease or self.given
        assert lease  # noqa: S101  claim() comes before every write
        return HistoryConflict(self.name, lease.describe_loss())


@attrs.frozen
class PostgresRows(SessionRows):
    """What the database holds of a session. Entries are only added, and never change."""

    connection: Connection
    fence: Fence | None = None
    """The lease that an append requires."""
    _cursor: AsyncCursor[TupleRow] = attrs.field(init=False, repr=False)
    """Reused for appends, because creating one for each would take a fifth of their time."""

    @_cursor.default
    def _make_cursor(self) -> AsyncCursor[TupleRow]:
        return self.connection.cursor()

    @classmethod
    async def find(
        cls, connection: Connection, session_id: str, name: str, fence: Fence | None = None
    ) -> Self | None:
        """Return the rows of a session; None if there is no such session."""
        find = "SELECT number FROM agentic.sessions WHERE id = %s"
        row = await (await connection.execute(find, [session_id])).fetchone()
        return cls(row[0], name, connection, fence) if row else None

    @classmethod
    async def add(
        cls,
        connection: Connection,
        session_id: str,
        name: str,
        *,
        title: str = "",
        created_at: datetime | None = None,
        fence: Fence | None = None,
    ) -> Self:
        """Create a session without rows, or raise UniqueViolation if somebody else has."""
        add = """
            INSERT INTO agentic.sessions (id, title, created_at)
            VALUES (%s, %s, coalesce(%s, clock_timestamp())) RETURNING number
        """
        rows = await connection.execute(add, [session_id, title, created_at])
        (number,) = await rows.fetchone() or (0,)
        return cls(number, name, connection, fence)

    async def ask(self, question: Question[T]) -> T:
        """Return the answer to a question about this session."""
        step = _advance(question, None)
        while isinstance(step, Query):
            rows = await self._fetch(step)
            if step.is_long:  # decoding messages would block the event loop
                step = await asyncio.to_thread(_advance, question, rows)
            else:
                step = _advance(question, rows)
        answer: T = step.value
        return answer

    async def append(self, entries: Sequence[NewEntry], writer: int) -> None:
        """Add entries, all in one statement.

        Raises:
            HistoryConflict: the lease is lost.
            psycopg.errors.ProgramLimitExceeded: the entries are too large.
            psycopg.errors.UniqueViolation: somebody else has added an entry.
        """
        rows = [_values(*entry) for entry in entries]
        direct, fenced, values = _APPEND, _APPEND_FENCED, [*rows[0]]
        if len(rows) > 1:  # an array for each column, which takes longer to write than one value
            direct, fenced, values = _EXTEND, _EXTEND_FENCED, [*map(list, zip(*rows, strict=True))]
        parameters = (self.session, writer, *values)
        if self.fence is None:
            # psycopg would not prepare it before the sixth append of a connection.
            await self._cursor.execute(direct.encode(), parameters, prepare=True)
            return
        parameters = (*self.fence.values, *parameters)
        await self._cursor.execute(fenced.encode(), parameters, prepare=True)
        if not self._cursor.rowcount:
            raise self.fence.lost()

    async def append_all(self, entries: Iterable[NewEntry], writer: int) -> None:
        """Add entries of any size together, without a lease."""
        values = [(self.session, writer, *_values(*entry)) for entry in entries]
        async with self.connection.cursor() as cursor:
            await cursor.executemany(_APPEND, values)

    async def has(self, seq: int, writer: int) -> bool:
        """Return whether an entry exists and was written by this writer."""
        find = "SELECT writer FROM entries WHERE session = ? AND seq = ?"
        return await self._fetch(Query(find, (self.session, seq))) == [(writer,)]

    async def put_output(self, ref: str, content: bytes) -> None:
        """Store an encoded output."""
        await self.connection.execute(_PUT, (self.session, ref, _check_size(content)))

    async def texts(self, batch_rows: int) -> AsyncIterator[bytes]:
        """Yield every entry, with at most one batch in memory. Requires a transaction."""
        find = "SELECT text FROM agentic.entries WHERE session = %s ORDER BY seq"
        async with self.connection.cursor(name="agentic", binary=True) as cursor:
            cursor.itersize = batch_rows
            await cursor.execute(find, [self.session])
            async for (text,) in cursor:
                yield text

    async def _fetch(self, query: Query) -> list[TupleRow]:
        # In its text form, bytea takes two characters a byte.
        async with self.connection.cursor(binary=True) as cursor:
            await cursor.execute(_translate(query.sql), query.values)
            return await cursor.fetchall() if cursor.description else []


async def acquire(
    connection: Connection, session_id: str, owner: str, seconds: float, name: str
) -> Lease:
    """Take a lease with a new epoch, unless somebody else writes, with or without a lease."""
    async with connection.transaction():
        milliseconds = math.ceil(min(_LONGEST_MILLISECONDS, max(100, 1000 * seconds)))
        # Nor must a client that is stopped here keep others away for longer than its lease would.
        await connection.execute(_LIMIT, [f"{milliseconds}ms"])
        await lock_session(connection, session_id, name, until_commit=True)
        rows = await connection.execute(_ACQUIRE, [session_id, owner, seconds])
        row = await rows.fetchone()
        if row is None:
            await refuse_leased(connection, session_id, name)
            raise HistoryConflict(name)  # it expired just now
    epoch, expires_at = row
    return Lease(session_id, owner, epoch, expires_at.astimezone(UTC))


async def renew(connection: Connection, lease: Lease, seconds: float, name: str) -> Lease:
    """Extend a lease, or raise HistoryConflict if it has expired, or somebody else has it."""
    rows = await connection.execute(_RENEW, [seconds, lease.session_id, lease.epoch])
    row = await rows.fetchone()
    if row is None:
        raise HistoryConflict(name, lease.describe_loss())
    return attrs.evolve(lease, expires_at=row[1].astimezone(UTC))


async def release(connection: Connection, lease: Lease) -> None:
    """Remove a lease, unless somebody else has taken the session over."""
    remove = "DELETE FROM agentic.leases WHERE session = %s AND epoch = %s"
    await connection.execute(remove, [lease.session_id, lease.epoch])


async def refuse_leased(connection: Connection, session_id: str, name: str) -> None:
    """Raise HistoryConflict if a lease on the session is in force: only its owner may write."""
    row = await (await connection.execute(_FIND, [session_id])).fetchone()
    if row is not None:
        raise is_leased(name, row[0])


@attrs.frozen
class _Answer:
    """The answer to a question: a thread cannot pass on the StopIteration that carries it."""

    value: Any


def _advance(question: Question[Any], rows: list[TupleRow] | None) -> Query | _Answer:
    try:
        return next(question) if rows is None else question.send(rows)
    except StopIteration as end:
        return _Answer(end.value)


@functools.cache
def _translate(sql: str) -> bytes:
    """Return a statement of the shared questions with psycopg's placeholders.

    >>> _translate("SELECT text FROM entries WHERE session = ?")
    b'SELECT text FROM agentic.entries WHERE session = %s'
    """
    # No shared statement has one of these names, or a question mark, in a text.
    return _TABLE.sub("agentic.", sql).replace("?", "%s").encode()


def _values(kind: str, text: bytes, state: State, key: str | None) -> tuple[Any, ...]:
    position = (state.seq, state.view, state.standing, state.messages, state.summarized)
    return (*position, kind, _check_size(text), None if key is None else hash_key(key))


def _check_size(content: bytes) -> bytes:
    """Raise if the value is so large that the server would end the connection."""
    if len(content) > _LIMIT_BYTES:
        raise ProgramLimitExceeded(f"it has {len(content):,} bytes")
    return content
