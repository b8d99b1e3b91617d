"""One database: the connection to it, its tables, and the locks of its sessions.

The tables are in a schema of their own called `agentic`. The lock of a session is an advisory lock
of PostgreSQL, under a number made of the session id: one connection holds it, and whatever ends the
connection frees it.

A changed row leaves its former version in the table until a VACUUM, and what the planner sampled in
its statistics until an ANALYZE. So after a redaction the tables are written anew, for which nobody
else may use them meanwhile. What the server has sent elsewhere or written to its log (WAL,
replicas, backups) is its administrator's.
"""

import asyncio
import hashlib
import time

import attrs
import psycopg

from agentic.errors import HistoryConflict, HistoryNotWritten, HistoryUnavailable
from agentic.history.postgres._server import Connection, connect, is_over, without_limit

__all__ = ["MIGRATIONS", "Link", "check_owner", "end_former", "lock_session", "purge"]
MIGRATIONS = [
    """
    CREATE TABLE agentic.version (version integer NOT NULL);
    CREATE TABLE agentic.sessions (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        title text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL DEFAULT clock_timestamp()
    );
    CREATE TABLE agentic.entries (
        session bigint NOT NULL REFERENCES agentic.sessions ON DELETE CASCADE,
        seq bigint NOT NULL,
        view bigint NOT NULL,
        standing bigint NOT NULL,
        messages bigint NOT NULL,
        summarized bigint NOT NULL,
        kind text NOT NULL,
        text bytea NOT NULL,
        writer bigint NOT NULL,
        written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (session, seq)
    );
    CREATE TABLE agentic.outputs (
        session bigint NOT NULL REFERENCES agentic.sessions ON DELETE CASCADE,
        ref text NOT NULL,
        content bytea NOT NULL,
        PRIMARY KEY (session, ref)
    );
    """,
]
"""What takes a database from one version of the schema to the next; it is never changed, only
added to. The version, the one row of `agentic.version`, is how many have been carried out. What a
session says is `bytea`, since the type `text` holds neither NUL nor lone surrogates."""
_MIGRATION_LOCK = 0x61677463_6D696772
"""`agtcmigr`: whoever carries out migrations holds it, of as many as start at the same time."""
_GRACE_SECONDS = 0.5
"""How long somebody who has just ended, or was killed, may still seem to hold the lock."""
_END_SECONDS = 10.0
"""How long the server may take to end a process that it is told to end."""
_POLL_SECONDS = 0.02
_TABLES = ("entries", "outputs", "sessions")
_OWNED = """
    SELECT bool_and(pg_has_role(relowner, 'USAGE')) FROM pg_class
    WHERE relnamespace = 'agentic'::regnamespace AND relname = ANY(%s)
"""
_TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid = %s
        AND classid::bigint = %s AND objid::bigint = %s
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@attrs.define(eq=False)
class Link:
    """The way to one database. Not for two tasks at once."""

    dsn: str = attrs.field(repr=False)
    name: str
    """What is asked for there, as an error calls it."""
    fsync: bool
    _connection: Connection | None = attrs.field(default=None, init=False)
    _ready: bool = attrs.field(default=False, init=False)
    """The tables are known to be there."""

    async def to_read(self) -> Connection | None:
        """Return the connection; None if nothing was ever written in the database.

        Raises:
            HistoryUnavailable: the tables are newer than this version of the library.
            psycopg.Error: the server does not answer, or not as it should.
        """
        connection = await self._connect()
        # Asked once for each connection: it costs a round trip, and tables do not go away.
        self._ready = self._ready or await _is_there(connection, self.name)
        return connection if self._ready else None

    async def to_write(self) -> Connection:
        """Return the connection to a database that has the tables.

        Raises:
            HistoryUnavailable: they are newer than this version of the library.
            psycopg.Error: the server does not answer, or not as it should.
        """
        connection = await self._connect()
        if not self._ready and not await _is_there(connection, self.name):
            await _make_tables(connection)
        self._ready = True
        return connection

    def is_lost(self, problem: psycopg.Error) -> bool:
        """Return whether there was a connection and this was its end."""
        return self._connection is not None and is_over(self._connection, problem)

    async def aclose(self) -> None:
        """Let the connection go, with the locks that it holds."""
        connection, self._connection, self._ready = self._connection, None, False
        if connection:
            await connection.close()

    async def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            await self.aclose()
            self._connection = await connect(self.dsn, fsync=self.fsync)
        return self._connection


async def check_owner(connection: Connection, name: str) -> None:
    """Refuse to begin what would end with a warning: VACUUM leaves out tables of others.

    Raises:
        HistoryNotWritten: the tables belong to somebody else.
    """
    row = await (await connection.execute(_OWNED, [[*_TABLES]])).fetchone()
    if not row or not row[0]:
        problem = "only the owner of the tables in the schema agentic can remove former rows"
        raise HistoryNotWritten(name, problem)


async def purge(connection: Connection) -> None:
    """Leave nothing in the tables' files but the rows that are there."""
    async with without_limit(connection):
        for table in _TABLES:
            await connection.execute(f"VACUUM (FULL, ANALYZE) agentic.{table}".encode())


async def _is_there(connection: Connection, name: str) -> bool:
    """Return whether the tables are there; older ones are brought up to date.

    Raises:
        HistoryUnavailable: they are newer than this version of the library.
        psycopg.Error: a right is missing.
    """
    version = await _find_version(connection)
    if version > len(MIGRATIONS):
        raise HistoryUnavailable(
            name,
            f"its schema has version {version}, and this version of agentic-weave knows "
            f"{len(MIGRATIONS)} (install a newer one)",
        )
    if 0 < version < len(MIGRATIONS):
        await _make_tables(connection)
    return version > 0


async def _make_tables(connection: Connection) -> None:
    """Carry out every migration that nobody has carried out yet, all or none.

    Raises:
        psycopg.Error: a right is missing.
    """
    # before the transaction: one that waited for it would still see the tables as they were
    await connection.execute("SELECT pg_advisory_lock(%s)", [_MIGRATION_LOCK])
    try:
        async with connection.transaction():
            await _migrate(connection, await _find_version(connection))
    finally:
        if not connection.closed:
            await connection.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATION_LOCK])


async def _migrate(connection: Connection, version: int) -> None:
    if version >= len(MIGRATIONS):
        return
    # IF NOT EXISTS would ask for the right to make a schema even where there is one
    if not await _ask(connection, "SELECT to_regnamespace('agentic') IS NOT NULL"):
        await connection.execute("CREATE SCHEMA agentic")
    for migration in MIGRATIONS[version:]:
        await connection.execute(migration.encode())
    await connection.execute("DELETE FROM agentic.version")
    await connection.execute("INSERT INTO agentic.version VALUES (%s)", [len(MIGRATIONS)])


async def _find_version(connection: Connection) -> int:
    """Return the version of the schema; 0 if there is none."""
    if not await _ask(connection, "SELECT to_regclass('agentic.version') IS NOT NULL"):
        return 0
    return await _ask(connection, "SELECT max(version) FROM agentic.version") or 0


async def _ask(connection: Connection, question: str) -> int:
    row = await (await connection.execute(question.encode())).fetchone()
    return row[0] if row else 0


async def lock_session(connection: Connection, session_id: str, name: str) -> None:
    """Take the lock for this connection.

    Raises:
        HistoryConflict: somebody else has it.
        psycopg.Error: the connection is lost.
    """
    key, deadline = _make_key(session_id), time.monotonic() + _GRACE_SECONDS
    while not await _try(connection, key):
        if time.monotonic() > deadline:
            raise HistoryConflict(name)
        await asyncio.sleep(_POLL_SECONDS)


async def end_former(connection: Connection, session_id: str, name: str, process: int) -> None:
    """See to it that a lost connection has ended for the server, too.

    Where the network broke, its process there still has the lock, and waits for somebody who will
    not come back. Once it has no lock any more, what it did is done, and it will do nothing else.

    Raises:
        HistoryConflict: it does not end.
        psycopg.Error: the connection is lost.
    """
    key, deadline = _make_key(session_id), time.monotonic() + _END_SECONDS
    while await _end(connection, key, process):
        if time.monotonic() > deadline:
            raise HistoryConflict(name)
        await asyncio.sleep(_POLL_SECONDS)


def _make_key(session_id: str) -> int:
    """Make the number of a lock, in which an accidental equality is not to be expected.

    >>> _make_key("main") == _make_key("main") != _make_key("Main")
    True
    """
    digest = hashlib.blake2b(session_id.encode(), digest_size=8, person=b"agentic").digest()
    return int.from_bytes(digest, signed=True)


async def _try(connection: Connection, key: int) -> bool:
    row = await (await connection.execute("SELECT pg_try_advisory_lock(%s)", [key])).fetchone()
    return row is not None and row[0] is True


async def _end(connection: Connection, key: int, process: int) -> bool:
    """End a process that holds the lock; False if it does not."""
    high, low = (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF
    found = await connection.execute(_TERMINATE, [process, high, low])
    return await found.fetchone() is not None
