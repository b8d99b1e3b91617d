"""The rows of one session: its state, its view, its archive.

`text` is an entry as a line of a session file has it, without the newline. Each row carries the
state of the session after it, so that every question here reads only the rows of its answer.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Any, Self

import attrs
from psycopg import AsyncCursor
from psycopg.errors import ProgramLimitExceeded
from psycopg.rows import TupleRow

from agentic.errors import NothingToRestore
from agentic.history._diff import Diff, compare
from agentic.history._known import Placed
from agentic.history._state import NEW, State, read_placed, read_rows
from agentic.history.postgres._server import Connection
from agentic.messages import Message

__all__ = ["Rows"]

_LIMIT_BYTES = 1_000_000_000
"""A value has less than 1 GiB: https://www.postgresql.org/docs/current/limits.html"""
_STATES = "SELECT seq, view, standing, messages, summarized FROM agentic.entries WHERE session = %s"
_TEXTS = "SELECT seq, text FROM agentic.entries WHERE session = %s"
_APPEND = """
    INSERT INTO agentic.entries
        (session, seq, view, standing, messages, summarized, kind, text, writer)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %b, %s)
"""
_PUT = """
    INSERT INTO agentic.outputs VALUES (%s, %s, %b)
    ON CONFLICT (session, ref) DO UPDATE SET content = excluded.content
"""

_APPENDED = "kind NOT IN ('replace', 'restore')"
"""Not `= 'message'`: an entry of a kind that is not known is to be refused, not to be left out."""


@attrs.frozen
class Rows:
    """What the database holds of a session. Entries are only added, and never change."""

    connection: Connection
    session: int
    """Its number, which no later session of the same id has."""
    name: str
    """What it is called in an error."""
    _cursor: AsyncCursor[TupleRow] = attrs.field(init=False, repr=False)
    """For appends: to make one for each would take a fifth of their time here."""

    @_cursor.default
    def _make_cursor(self) -> AsyncCursor[TupleRow]:
        return self.connection.cursor()

    @classmethod
    async def find(cls, connection: Connection, session_id: str, name: str) -> Self | None:
        """Return the rows of a session; None if it is not there."""
        find = "SELECT number FROM agentic.sessions WHERE id = %s"
        found = await (await connection.execute(find, [session_id])).fetchone()
        return cls(connection, found[0], name) if found else None

    @classmethod
    async def add(
        cls,
        connection: Connection,
        session_id: str,
        name: str,
        *,
        title: str = "",
        created_at: datetime | None = None,
    ) -> Self:
        """Make a session, which has no rows yet.

        Raises:
            psycopg.errors.UniqueViolation: somebody else has made it.
        """
        add = """
            INSERT INTO agentic.sessions (id, title, created_at)
            VALUES (%s, %s, coalesce(%s, clock_timestamp())) RETURNING number
        """
        found = await connection.execute(add, [session_id, title, created_at])
        (number,) = await found.fetchone() or (0,)
        return cls(connection, number, name)

    async def append(self, kind: str, text: bytes, state: State, writer: int) -> None:
        """Add an entry, which leaves the session in this state.

        Raises:
            psycopg.errors.ProgramLimitExceeded: it is too large.
            psycopg.errors.UniqueViolation: somebody else has added one.
        """
        values = self._values(kind, _check_size(text), state, writer)
        await self._cursor.execute(_APPEND, values, prepare=True)

    async def append_all(self, rows: Iterable[tuple[str, bytes, State]], writer: int) -> None:
        """Add entries, in as few turns as it takes."""
        values = [self._values(*row, writer) for row in rows]
        async with self.connection.cursor() as cursor:
            await cursor.executemany(_APPEND, values)

    async def has(self, seq: int, writer: int) -> bool:
        """Return whether an entry is there and this writer's."""
        find = "SELECT writer FROM agentic.entries WHERE session = %s AND seq = %s"
        found = await self._fetch(find, seq)
        return found == [(writer,)]

    async def state(self) -> State:
        """Return the present state."""
        return await self._find_state("ORDER BY seq DESC LIMIT 1")

    async def view(self, state: State) -> list[Message]:
        """Return the history in this state, raw.

        Raises:
            HistoryCorrupt: one of its entries cannot be read.
        """
        return [message for _, message in await self.placed(state)]

    async def placed(self, state: State) -> Placed:
        """Return the same, each message with the sequence number of its entry.

        Raises:
            HistoryCorrupt: one of its entries cannot be read.
        """
        condition = f"{_TEXTS} AND seq BETWEEN %s AND %s ORDER BY seq"
        found = await self._fetch(condition, state.view, state.seq)
        return await asyncio.to_thread(read_placed, found, self.name)

    async def full(self) -> list[Message]:
        """Return every message ever appended.

        Raises:
            HistoryCorrupt: one of them cannot be read.
        """
        return await self._read_appended(0)

    async def before_replace(self, state: State) -> State:
        """Return the state before the replace that stands in this one.

        Raises:
            NothingToRestore: none stands.
        """
        if not state.standing:
            raise NothingToRestore(self.name)
        return await self._find_state("AND seq = %s", state.standing - 1)

    async def restored(self, state: State) -> list[Message]:
        """Return the history as if the latest standing replace had never been.

        Raises:
            HistoryCorrupt: an entry cannot be read.
            NothingToRestore: none stands.
        """
        before = await self.view(await self.before_replace(state))
        return before + await self._read_appended(state.standing)

    async def diff(self, state: State) -> Diff:
        """Return what the latest standing replace dropped and brought in.

        Raises:
            HistoryCorrupt: an entry cannot be read.
            NothingToRestore: none stands.
        """
        before = await self.view(await self.before_replace(state))
        after = await self._read("AND seq = %s", state.standing)
        return await asyncio.to_thread(compare, before, after)

    async def put_output(self, ref: str, content: bytes) -> None:
        """Keep an encoded output."""
        await self.connection.execute(_PUT, (self.session, ref, _check_size(content)))

    async def output(self, ref: str) -> bytes | None:
        """Return an encoded output; None if it was never kept here."""
        find = "SELECT content FROM agentic.outputs WHERE session = %s AND ref = %s"
        found = await self._fetch(find, ref)
        return found[0][0] if found else None

    async def refs(self) -> list[str]:
        """Name the kept outputs."""
        find = 'SELECT ref FROM agentic.outputs WHERE session = %s ORDER BY ref COLLATE "C"'
        return [ref for (ref,) in await self._fetch(find)]

    async def texts(self, batch_rows: int) -> AsyncIterator[bytes]:
        """Yield every entry, no more than a batch of them in memory. Needs a transaction."""
        async with self.connection.cursor(name="agentic", binary=True) as cursor:
            cursor.itersize = batch_rows
            await cursor.execute(f"{_TEXTS} ORDER BY seq".encode(), [self.session])
            async for _, text in cursor:
                yield text

    async def all_texts(self) -> tuple[list[int], list[bytes]]:
        """Return every entry: the numbers, and the lines without their newlines."""
        found = await self._fetch(f"{_TEXTS} ORDER BY seq")
        return [seq for seq, _ in found], [text for _, text in found]

    async def change(self, seq: int, text: bytes) -> None:
        """Have an entry say something else, which only a redaction does."""
        update = "UPDATE agentic.entries SET text = %b WHERE session = %s AND seq = %s"
        await self.connection.execute(update, [text, self.session, seq])

    async def remove_outputs(self, refs: Iterable[str]) -> None:
        """Remove kept outputs."""
        delete = "DELETE FROM agentic.outputs WHERE session = %s AND ref = ANY(%s)"
        await self.connection.execute(delete, [self.session, [*refs]])

    async def title(self) -> str:
        """Return what people call the session."""
        found = await self._fetch("SELECT title FROM agentic.sessions WHERE number = %s")
        return str(found[0][0]) if found else ""

    async def set_title(self, title: str) -> None:
        """Have people call it something else."""
        update = "UPDATE agentic.sessions SET title = %s WHERE number = %s"
        await self.connection.execute(update, [title, self.session])

    async def delete(self) -> None:
        """Remove the session and all that belongs to it."""
        delete = "DELETE FROM agentic.sessions WHERE number = %s"
        await self.connection.execute(delete, [self.session])

    def _values(self, kind: str, text: bytes, state: State, writer: int) -> tuple[Any, ...]:
        reached = (state.seq, state.view, state.standing, state.messages, state.summarized)
        return (self.session, *reached, kind, text, writer)

    async def _find_state(self, condition: str, *values: int) -> State:
        found = await self._fetch(f"{_STATES} {condition}", *values)
        return State(*found[0]) if found else NEW

    async def _read_appended(self, after: int) -> list[Message]:
        return await self._read(f"AND seq > %s AND {_APPENDED} ORDER BY seq", after)

    async def _read(self, condition: str, *values: int) -> list[Message]:
        found = await self._fetch(f"{_TEXTS} {condition}", *values)
        return await asyncio.to_thread(read_rows, found, self.name)

    async def _fetch(self, query: str, *values: Any) -> list[TupleRow]:
        async with self.connection.cursor(binary=True) as cursor:
            await cursor.execute(query.encode(), (self.session, *values))
            return await cursor.fetchall()


def _check_size(content: bytes) -> bytes:
    """Refuse what the server would answer by ending the connection."""
    if len(content) > _LIMIT_BYTES:
        raise ProgramLimitExceeded(f"it has {len(content):,} bytes")
    return content
