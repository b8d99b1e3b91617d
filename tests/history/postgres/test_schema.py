import asyncio
import secrets
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from agentic.errors import HistoryNotWritten, HistoryUnavailable
from agentic.history.postgres import PostgresSessions, PostgresStore, _database
from agentic.messages import Message

HELLO = Message("user", "hello")
COMPAT = Path(__file__).parents[1] / "compat"


async def _append(dsn: str, session_id: str) -> None:
    async with PostgresStore(dsn, session_id) as store:
        await store.append(HELLO)


def _do(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


def test_sixteen_starters_make_tables_once(dsn: str) -> None:
    """Each finds an empty database, and none of them fails."""

    async def start() -> int:
        await asyncio.gather(*(_append(dsn, f"s{number}") for number in range(16)))
        return len(await PostgresSessions(dsn).list())

    assert asyncio.run(start()) == 16


def test_newer_tables_are_left_alone(dsn: str) -> None:
    """What this version does not know it neither reads nor writes, and it says so."""
    asyncio.run(_append(dsn, "main"))
    _do(dsn, "UPDATE agentic.version SET version = 99")

    for step in (
        PostgresStore(dsn).append(HELLO),
        PostgresStore(dsn).load(),
        PostgresSessions(dsn).list(),
        PostgresSessions(dsn).delete("main"),
    ):
        with pytest.raises(HistoryUnavailable, match=r"version 99, .* \(install a newer one\)"):
            asyncio.run(step)


def test_tables_of_older_version_are_migrated(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next version's migration is carried out once, by a reader too, and nothing is lost."""
    asyncio.run(_append(dsn, "main"))
    add = "ALTER TABLE agentic.sessions ADD COLUMN colour text"
    monkeypatch.setattr(_database, "MIGRATIONS", [*_database.MIGRATIONS, add])

    for _ in range(2):
        assert asyncio.run(PostgresStore(dsn).load()) == [HELLO]

    _do(dsn, "SELECT colour FROM agentic.sessions")


def test_a_migration_that_fails_changes_nothing(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it or nothing: the version of before goes on with what is there."""
    monkeypatch.setattr(_database, "MIGRATIONS", [*_database.MIGRATIONS, "CREATE TABLE oops ("])
    with pytest.raises(HistoryNotWritten, match="syntax error"):
        asyncio.run(_append(dsn, "main"))
    monkeypatch.undo()

    asyncio.run(_append(dsn, "main"))

    assert asyncio.run(PostgresStore(dsn).load()) == [HELLO]


def _make_role(server: Any, dsn: str) -> tuple[str, str]:
    """Make a user who may do nothing yet, and give its name and its address."""
    database = str(conninfo_to_dict(dsn)["dbname"])
    role = f"role_{secrets.token_hex(6)}"
    _do(dsn, f"CREATE ROLE {role} LOGIN PASSWORD 'secret-of-the-role'")
    return role, str(server.dsn(database, user=role, password="secret-of-the-role"))  # noqa: S106


def test_missing_rights_are_named_to_user(server: Any, dsn: str) -> None:
    """Nobody but the owner of the database may make the schema; the error says how."""
    role, theirs = _make_role(server, dsn)
    with pytest.raises(HistoryNotWritten, match="ask its owner for CREATE SCHEMA agentic"):
        asyncio.run(_append(theirs, "main"))
    _do(dsn, f"CREATE SCHEMA agentic AUTHORIZATION {role}")

    asyncio.run(_append(theirs, "main"))

    assert asyncio.run(PostgresStore(theirs).load()) == [HELLO]


def test_reader_without_rights_reads_older_tables(server: Any, dsn: str) -> None:
    """Who may only read cannot migrate the tables, and need not wait for somebody who can."""
    role, theirs = _make_role(server, dsn)
    _do(dsn, (COMPAT / "v1" / "postgres.sql").read_text())
    _do(dsn, f"GRANT USAGE ON SCHEMA agentic TO {role}")
    _do(dsn, f"GRANT SELECT ON ALL TABLES IN SCHEMA agentic TO {role}")

    assert asyncio.run(PostgresStore(theirs, "undone").load())
    with pytest.raises(HistoryNotWritten, match="must be owner"):
        asyncio.run(_append(theirs, "undone"))


def test_a_reader_without_rights_is_told(server: Any, dsn: str) -> None:
    """The sessions of somebody else are not to be seen."""
    _, theirs = _make_role(server, dsn)
    asyncio.run(_append(dsn, "main"))

    with pytest.raises(HistoryUnavailable, match="permission denied for schema agentic"):
        asyncio.run(PostgresStore(theirs).load())
