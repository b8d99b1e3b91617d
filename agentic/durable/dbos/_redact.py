"""What a redaction changes in the records of a session's runs.

The engine and we keep what was said in many places: the message of a run, what its steps returned,
its outcome, its events, the messages to it. All of them are JSON in columns of text. What is
changed in them is decided where the store's own redaction is (`agentic.history._redaction`).
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import sqlalchemy as sa

from agentic._base._lazy import asyncio
from agentic.durable.dbos._tables import Tables, engine_url
from agentic.errors import HistoryConflict, HistoryNotWritten
from agentic.history import Sessions
from agentic.history._redaction import Redacted, RedactionRequest, redact_lines

_TEXTS = frozenset(("inputs", "output", "error", "message", "value", "body", "key"))
"""The columns that may hold what was said."""
_OWNERS = ("workflow_uuid", "run")
"""The columns that name a run."""
_ENGINE = "dbos"
"""The schema of the engine's tables in PostgreSQL; SQLite has none."""
_BUSY_MILLISECONDS = 30_000


async def redact_session(
    database_url: str,
    sessions: Sessions,
    session_id: str,
    message_id: str | int,
    replacement: str,
    *,
    secret: str | None = None,
    by: str | None = None,
) -> int:
    """Redact a session and the records of its runs; return how often the secret was found.

    It is what `Service.redact` does, for whoever has no agent: with the address of the runs, and
    sessions of any store.

    The runs first: while the session has the message, a redaction that was interrupted can be
    repeated. The runs again: one that was at work meanwhile has recorded what it knew.

    Raises:
        HistoryConflict: another program keeps the database of the runs in use.
        HistoryNotWritten: the redaction is incomplete; repeating it completes it.
        HistoryError, ConfigError: as raised by the `redact` of the sessions.
    """
    request = RedactionRequest(message_id=message_id, replacement=replacement, secret=secret, by=by)
    lines = [line.removesuffix(b"\n") async for line in sessions.export(session_id)]
    # Nothing is changed if the message is not there, or the secret is a part of the format.
    redaction = redact_lines(lines, request, f"session {session_id!r}")
    with _reporting(), contextlib.closing(Tables(engine_url(database_url))) as tables:
        records = _Records(tables, session_id, redaction)
        count = await asyncio.to_thread(records.redact)
        count += (
            await sessions.redact(session_id, message_id, replacement, secret=secret, by=request.by)
            or 0
        )
        count += await asyncio.to_thread(records.redact)
        await asyncio.to_thread(records.purge)
    return count


@contextlib.contextmanager
def _reporting() -> Iterator[None]:
    try:
        yield
    except sa.exc.SQLAlchemyError as problem:
        # Without the statement, whose parameters may hold the secret.
        text = str(getattr(problem, "orig", None) or type(problem).__name__)
        remedy = f"{text.strip().partition(chr(10))[0]}: repeat the redaction"
        raise HistoryNotWritten("the database of the runs", remedy) from None


@attrs.frozen(eq=False)
class _Records:
    """The rows of the runs of a session."""

    tables: Tables
    session_id: str
    redacted: Redacted

    def redact(self) -> int:
        """Change every row that says what is to be removed; return how often the secret was."""
        self.redacted.request.tally.count = 0
        with self.tables.engine.begin() as connection:
            tables = _reflect(connection, is_sqlite=self.tables.is_sqlite)
            runs = self._find_runs(connection, tables)
            for table in tables:
                self._redact_table(connection, table, runs)
        return self.redacted.request.tally.count

    def purge(self) -> None:
        """Remove what was there before from the files of the tables."""
        engine = self.tables.engine.execution_options(isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            if self.tables.is_sqlite:
                connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MILLISECONDS}")
                connection.exec_driver_sql("VACUUM")
                row = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
                if row[0]:  # a reader has kept the log
                    raise HistoryConflict(
                        "the database of the runs",
                        "is redacted, but another program was using it, so what was removed may "
                        "still be in its files: redact again when that program has finished",
                    )
                return
            for table in _reflect(connection, is_sqlite=False):
                name = connection.dialect.identifier_preparer.format_table(table)
                # VACUUM alone leaves what was removed in the pages that it frees, and without
                # ANALYZE the planner's statistics keep samples of it.
                connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {name}")

    def _find_runs(self, connection: sa.Connection, tables: list[sa.Table]) -> set[str]:
        runs: set[str] = set()
        for table in (table for table in tables if "inputs" in table.c):
            rows = connection.execute(sa.select(table.c.workflow_uuid, table.c.inputs))
            runs |= {run for run, inputs in rows if _session_of(inputs) == self.session_id}
            if (place := table.c.get("queue_partition_key")) is not None:
                query = sa.select(table.c.workflow_uuid).where(place == self.session_id)
                runs |= {run for (run,) in connection.execute(query)}
        return runs

    def _redact_table(self, connection: sa.Connection, table: sa.Table, runs: set[str]) -> None:
        owner = next(table.c[name] for name in _OWNERS if name in table.c)
        keys = [*table.primary_key.columns] or [owner]
        columns = [column for column in table.c if column.name in _TEXTS]
        for run in runs:
            for row in connection.execute(sa.select(table).where(owner == run)).mappings().all():
                here = [key == row[key.name] for key in keys]
                if _is_piece(row):
                    # A secret may be in two of them, and the whole follows.
                    connection.execute(sa.delete(table).where(*here))
                    continue
                after = {each.name: self._hide(row[each.name], each.name) for each in columns}
                changes = {name: text for name, text in after.items() if text != row[name]}
                if changes:
                    connection.execute(sa.update(table).where(*here).values(changes))

    def _hide(self, text: str | None, column: str) -> str | None:
        if text is None:
            return None
        if column == "key":  # by which a row is found again: no text of the conversation
            return self.redacted.request.hide(text)
        try:
            plain = json.loads(text)
        except (ValueError, RecursionError):
            return str(self.redacted.hide_record(text))
        clean = self.redacted.hide_record(plain)
        return text if clean == plain else json.dumps(clean, separators=(",", ":"))


def _reflect(connection: sa.Connection, *, is_sqlite: bool) -> list[sa.Table]:
    """Return the tables of the engine, of whatever version, and ours, that belong to runs."""
    metadata = sa.MetaData()
    for schema in (None,) if is_sqlite else (None, _ENGINE):
        metadata.reflect(connection, schema=schema, resolve_fks=False)
    return list(_select(metadata.tables))


def _select(tables: Mapping[str, sa.Table]) -> Iterator[sa.Table]:
    for table in tables.values():
        is_ours = table.name.startswith("agentic_") and "run" in table.c
        if (is_ours or "workflow_uuid" in table.c) and any(name in table.c for name in _TEXTS):
            yield table


def _session_of(inputs: str | None) -> str | None:
    """Return the session of a run, given the arguments of its workflow."""
    try:
        return str(json.loads(inputs or "")["args"][0])
    except (ValueError, TypeError, LookupError):  # no workflow of ours
        return None


def _is_piece(row: Mapping[Any, Any]) -> bool:
    """Return whether a row is an event with a piece of a reply."""
    return "body" in row and '"message_update"' in row["body"][:40]
