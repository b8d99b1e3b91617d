"""The tables, in a schema of their own called `agentic`, and how they are brought up to date."""

from agentic.errors import HistoryUnavailable
from agentic.history.postgres._server import Connection

__all__ = ["MIGRATIONS", "is_there", "make"]

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


async def is_there(connection: Connection, name: str) -> bool:
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
        await make(connection)
    return version > 0


async def make(connection: Connection) -> None:
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
