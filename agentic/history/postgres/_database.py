"""One database: the connection to it, its tables, and the locks of its sessions.

The tables are in their own schema, `agentic`. The lock of a session is an advisory lock of
PostgreSQL, with a number derived from the session id. One connection holds it, and the end of that
connection, for whatever reason, releases it.

A changed row leaves its old version in the table until a VACUUM, and samples in the planner's
statistics until an ANALYZE. So after a redaction the tables are rewritten, and nobody else may use
them meanwhile. Copies that the server has sent elsewhere or written to its log (WAL, replicas,
backups) are its administrator's responsibility.
"""

import asyncio
import hashlib
import time

import attrs
import psycopg
from psycopg import errors, pq

from agentic.errors import HistoryConflict, HistoryNotWritten, HistoryUnavailable
from agentic.history.postgres._server import (
    Connection,
    connect,
    is_inherited,
    is_over,
    without_limit,
)

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
    """
    ALTER TABLE agentic.entries ADD COLUMN key bigint;
    CREATE INDEX entries_key ON agentic.entries (session, key) WHERE key IS NOT NULL;
    """,
    """
    CREATE TABLE agentic.leases (
        session text COLLATE "C" PRIMARY KEY,
        owner text NOT NULL,
        epoch bigint GENERATED ALWAYS AS IDENTITY,
        expires_at timestamptz NOT NULL
    );
    """,
]
"""The migrations from one version of the schema to the next; never edited, only added to. The
version, the one row of `agentic.version`, is the number of those that were applied. Texts are
stored as `bytea`, because the type `text` can hold neither NUL nor lone surrogates."""
_MIGRATION_LOCK = 0x61677463_6D696772
"""`agtcmigr` in ASCII. The process that applies migrations holds this lock, if several start at the
same time."""
_GRACE_SECONDS = 0.5
"""How long a process that has just ended, or was killed, may still seem to hold the lock."""
_END_SECONDS = 10.0
"""How long the server may take to terminate one of its processes."""
_POLL_SECONDS = 0.02
_TABLES = ("entries", "outputs", "sessions")
_HAS_VERSION = """
    SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE nspname = 'agentic' AND relname = 'version'
"""
"""Not `to_regclass`, which answers from a cache that may be older than the wait for a lock."""
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
class KeptConnections:
    """Connections that stay open for whoever needs one next, all of one event loop."""

    count: int
    """How many stay open while nobody uses them."""
    _idle: list[Connection] = attrs.field(factory=list, init=False)

    def take(self) -> Connection | None:
        """Return an open connection, whose database has the tables; None if there is none."""
        while self._idle:
            connection = self._idle.pop()
            if not is_inherited(connection) and not connection.closed:
                return connection
        return None

    async def give(self, connection: Connection) -> None:
        """Keep a connection, which holds no lock, or close it."""
        is_clean = connection.info.transaction_status is pq.TransactionStatus.IDLE
        if is_clean and len(self._idle) < self.count:
            self._idle.append(connection)
        else:
            await connection.close()

    async def aclose(self) -> None:
        """Close what nobody uses."""
        while (connection := self.take()) is not None:
            await connection.close()


@attrs.define(eq=False)
class Link:
    """The connection to one database. It must not be used by two tasks at once.

    To get it raises HistoryUnavailable if the tables are newer than this version of the library,
    and psycopg.Error if the server does not respond, or not as expected.
    """

    dsn: str = attrs.field(repr=False)
    name: str
    """The name for the session or database in error messages."""
    fsync: bool
    pooled: bool = False
    """Whether each transaction may be on another connection of the server."""
    kept: KeptConnections | None = None
    """Where the connection comes from and goes to, unless it holds a lock."""
    _connection: Connection | None = attrs.field(default=None, init=False)
    _ready: bool = attrs.field(default=False, init=False)
    """Whether the tables are known to exist."""

    async def to_read(self) -> Connection | None:
        """Return the connection; None if nothing was ever written in the database."""
        connection = await self._connect()
        # Asked once for each connection: it costs a round trip, and tables do not go away.
        try:
            self._ready = self._ready or await _is_there(connection, self.name)
        except (errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction):
            # What an older version wrote can be read without the right to migrate it.
            return connection if await _find_version(connection) else None
        return connection if self._ready else None

    async def to_write(self) -> Connection:
        """Return the connection, after creating the tables if necessary."""
        connection = await self._connect()
        if not self._ready and not await _is_there(connection, self.name):
            await _make_tables(connection)
        self._ready = True
        return connection

    def is_lost(self, problem: psycopg.Error) -> bool:
        """Return whether a connection existed and this error ended it."""
        return self._connection is not None and is_over(self._connection, problem)

    async def aclose(self) -> None:
        """Close the connection, which releases its locks, or keep it for others."""
        connection, self._connection = self._connection, None
        is_ready, self._ready = self._ready, False
        if is_inherited(connection):
            return
        if connection and self.kept and is_ready:
            await self.kept.give(connection)
        elif connection:
            await connection.close()

    async def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed or is_inherited(self._connection):
            await self.aclose()
            spare = self.kept.take() if self.kept else None
            self._ready = spare is not None
            self._connection = spare or await connect(
                self.dsn, fsync=self.fsync, pooled=self.pooled
            )
        return self._connection


async def check_owner(connection: Connection, name: str) -> None:
    """Raise HistoryNotWritten if the tables are another role's: VACUUM would only skip them."""
    row = await (await connection.execute(_OWNED, [[*_TABLES]])).fetchone()
    if not row or not row[0]:
        problem = "only the owner of the tables in the schema agentic can remove former rows"
        raise HistoryNotWritten(name, problem)


async def purge(connection: Connection) -> None:
    """Remove everything from the tables' files except the current rows."""
    async with without_limit(connection):
        for table in _TABLES:
            await connection.execute(f"VACUUM (FULL, ANALYZE) agentic.{table}".encode())


async def _is_there(connection: Connection, name: str) -> bool:
    """Return whether the tables exist; older ones are migrated."""
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
    """Apply every migration that was not applied yet, all or none."""
    # Without a limit, because an index of a large table takes long to build.
    async with without_limit(connection), connection.transaction():
        # Whoever waits sees the tables as they are afterwards: the isolation is READ COMMITTED.
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MIGRATION_LOCK])
        await _migrate(connection, await _find_version(connection))


async def _migrate(connection: Connection, version: int) -> None:
    if version >= len(MIGRATIONS):
        return
    # IF NOT EXISTS would require the privilege to create a schema even if it exists
    if not await _ask(connection, "SELECT 1 FROM pg_namespace WHERE nspname = 'agentic'"):
        await connection.execute("CREATE SCHEMA agentic")
    for migration in MIGRATIONS[version:]:
        await connection.execute(migration.encode())
    await connection.execute("DELETE FROM agentic.version")
    await connection.execute("INSERT INTO agentic.version VALUES (%s)", [len(MIGRATIONS)])


async def _find_version(connection: Connection) -> int:
    """Return the version of the schema; 0 if there is no schema."""
    if not await _ask(connection, _HAS_VERSION):
        return 0
    return await _ask(connection, "SELECT max(version) FROM agentic.version") or 0


async def _ask(connection: Connection, question: str) -> int:
    row = await (await connection.execute(question.encode())).fetchone()
    return row[0] if row else 0


async def lock_session(
    connection: Connection, session_id: str, name: str, *, until_commit: bool = False
) -> None:
    """Take the session's lock with this connection, or with its present transaction only.

    Raises:
        HistoryConflict: another connection holds it.
    """
    # Polled: pg_advisory_lock() would wait for as long as the other writer has the session open.
    key, deadline = _make_key(session_id), time.monotonic() + _GRACE_SECONDS
    while not await _try(connection, key, "_xact" if until_commit else ""):
        if time.monotonic() > deadline:
            raise HistoryConflict(name)
        await asyncio.sleep(_POLL_SECONDS)


async def end_former(connection: Connection, session_id: str, name: str, process: int) -> None:
    """Make sure that a lost connection has ended on the server, too.

    If the network failed, its server process still holds the lock and waits for a client that will
    not return. Once it no longer holds the lock, all of its work is finished and it will do nothing
    more.

    Raises:
        HistoryConflict: the process does not end.
    """
    key, deadline = _make_key(session_id), time.monotonic() + _END_SECONDS
    while await _end(connection, key, process):
        if time.monotonic() > deadline:
            raise HistoryConflict(name)
        await asyncio.sleep(_POLL_SECONDS)


def _make_key(session_id: str) -> int:
    """Return the number of a session's lock: a hash, so a collision is most unlikely.

    >>> _make_key("main") == _make_key("main") != _make_key("Main")
    True
    """
    digest = hashlib.blake2b(session_id.encode(), digest_size=8, person=b"agentic").digest()
    return int.from_bytes(digest, signed=True)


async def _try(connection: Connection, key: int, scope: str) -> bool:
    ask = f"SELECT pg_try_advisory{scope}_lock(%s)".encode()
    row = await (await connection.execute(ask, [key])).fetchone()
    return row is not None and row[0] is True


async def _end(connection: Connection, key: int, process: int) -> bool:
    """Terminate a process that holds the lock; return False if it does not hold it."""
    # pg_locks shows a key of 64 bits as two halves, and objsubid 1 for such a key.
    high, low = (key >> 32) & 0xFFFFFFFF, key & 0xFFFFFFFF
    rows = await connection.execute(_TERMINATE, [process, high, low])
    return await rows.fetchone() is not None
