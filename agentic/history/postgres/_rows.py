"""The rows of one session in PostgreSQL: how they are queried and added."""

import asyncio
import functools
import re
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Any, Self, TypeVar

import attrs
from psycopg import AsyncCursor
from psycopg.errors import ProgramLimitExceeded
from psycopg.rows import TupleRow

from agentic.history._entries import hash_key
from agentic.history._rows import Query, Question, SessionRows, State
from agentic.history.postgres._leases import HELD, Fence
from agentic.history.postgres._server import Connection

__all__ = ["PostgresRows"]

T = TypeVar("T")
_LIMIT_BYTES = 1_000_000_000
"""A value must be smaller than 1 GiB: https://www.postgresql.org/docs/current/limits.html"""
_APPEND = """
    INSERT INTO agentic.entries
        (session, seq, view, standing, messages, summarized, kind, text, writer, key)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %b, %s, %s)
"""
_APPEND_FENCED = f"""
    WITH held AS ({HELD})
    INSERT INTO agentic.entries
        (session, seq, view, standing, messages, summarized, kind, text, writer, key)
    SELECT %s, %s, %s, %s, %s, %s, %s, %b, %s, %s::bigint FROM held
"""  # noqa: S608  constants
_PUT = """
    INSERT INTO agentic.outputs VALUES (%s, %s, %b)
    ON CONFLICT (session, ref) DO UPDATE SET content = excluded.content
"""
_TABLE = re.compile(r"\b(?=(?:entries|outputs|sessions)\b)")


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
        found = await (await connection.execute(find, [session_id])).fetchone()
        return cls(found[0], name, connection, fence) if found else None

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
        """Create a session without rows.

        Raises:
            psycopg.errors.UniqueViolation: somebody else has created it.
        """
        add = """
            INSERT INTO agentic.sessions (id, title, created_at)
            VALUES (%s, %s, coalesce(%s, clock_timestamp())) RETURNING number
        """
        found = await connection.execute(add, [session_id, title, created_at])
        (number,) = await found.fetchone() or (0,)
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

    async def append(
        self, kind: str, text: bytes, state: State, writer: int, key: str | None = None
    ) -> None:
        """Add an entry after which the session is in this state.

        Raises:
            HistoryConflict: the lease is lost.
            psycopg.errors.ProgramLimitExceeded: the entry is too large.
            psycopg.errors.UniqueViolation: somebody else has added an entry.
        """
        values = self._values(kind, text, state, writer, key)
        if self.fence is None:
            # psycopg would not prepare it before the sixth append of a connection.
            await self._cursor.execute(_APPEND, values, prepare=True)
            return
        fenced = (*self.fence.values, *values)
        await self._cursor.execute(_APPEND_FENCED.encode(), fenced, prepare=True)
        if not self._cursor.rowcount:
            raise self.fence.lost()

    async def append_all(
        self, rows: Iterable[tuple[str, bytes, State, str | None]], writer: int
    ) -> None:
        """Add entries, each with its key, in as few statements as possible."""
        values = [self._values(kind, text, at, writer, key) for kind, text, at, key in rows]
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

    def _values(
        self, kind: str, text: bytes, state: State, writer: int, key: str | None
    ) -> tuple[Any, ...]:
        reached = (state.seq, state.view, state.standing, state.messages, state.summarized)
        hashed = None if key is None else hash_key(key)
        return (self.session, *reached, kind, _check_size(text), writer, hashed)

    async def _fetch(self, query: Query) -> list[TupleRow]:
        # In its text form, bytea takes two characters a byte.
        async with self.connection.cursor(binary=True) as cursor:
            await cursor.execute(_translate(query.sql), query.values)
            return await cursor.fetchall() if cursor.description else []


@attrs.frozen
class _Answer:
    """The answer to a question: a thread cannot pass on the StopIteration that carries it."""

    value: Any


def _advance(question: Question[Any], rows: list[TupleRow] | None) -> Query | _Answer:
    try:
        return next(question) if rows is None else question.send(rows)
    except StopIteration as answered:
        return _Answer(answered.value)


@functools.cache
def _translate(sql: str) -> bytes:
    """Return a statement of the shared questions with psycopg's placeholders.

    >>> _translate("SELECT text FROM entries WHERE session = ?")
    b'SELECT text FROM agentic.entries WHERE session = %s'
    """
    # No shared statement has one of these names, or a question mark, in a text.
    return _TABLE.sub("agentic.", sql).replace("?", "%s").encode()


def _check_size(content: bytes) -> bytes:
    """Raise if the value is so large that the server would end the connection."""
    if len(content) > _LIMIT_BYTES:
        raise ProgramLimitExceeded(f"it has {len(content):,} bytes")
    return content
