"""What the engine does not keep: leases of workers; messages, attempts and events of runs.

The tables are in the engine's database. Times are those of the database, in seconds since 1970, so
that a worker whose clock is wrong neither loses its lease nor takes another's.
"""

import contextlib
import json
import logging
import re
import sqlite3
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import attrs
import sqlalchemy as sa

from agentic._base._addresses import show_address
from agentic._base._lazy import asyncio
from agentic.errors import ConfigError

_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_RETRY_SECONDS = 0.5

_CONNECTIONS = 4
_LONGEST_MILLISECONDS = 2**31 - 1  # of such a setting: nearly 25 days; a lease may be longer
_metadata = sa.MetaData()
_workers = sa.Table(
    "agentic_workers",
    _metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("service", sa.Text, nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
)
_SUBSECOND_SQLITE = (3, 42)
_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # the only kind that SQLite counts
_controls = sa.Table(
    "agentic_controls",
    _metadata,
    sa.Column("id", _number, primary_key=True, autoincrement=True),
    sa.Column("run", sa.Text, nullable=False, index=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
_keys = sa.Table(
    "agentic_keys",
    _metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("run", sa.Text, nullable=False, index=True),
)
_events = sa.Table(
    "agentic_events",
    _metadata,
    sa.Column("id", _number, primary_key=True, autoincrement=True),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("run", "key"),
)
_attempts = sa.Table(
    "agentic_attempts",
    _metadata,
    sa.Column("run", sa.Text, primary_key=True),
    sa.Column("count", sa.Integer, nullable=False),
)


@attrs.frozen
class Control:
    """A message to a run, from any process."""

    id: int
    run: str
    kind: str
    """`steer`, `approve`, `cancel`, or `ask`, by which a run says that it waits."""
    body: dict[str, Any]


def storable(text: str) -> str:
    r"""Return a text with escapes for what a database refuses: halves of characters, and NUL.

    >>> storable("call-\ud83d\0")
    'call-\\ud83d\\x00'
    """
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", r"\x00")


def engine_url(database_url: str) -> str:
    """Return an address as SQLAlchemy and the engine take it.

    >>> engine_url("postgresql://localhost/agents")
    'postgresql+psycopg://localhost/agents'

    Raises:
        ConfigError: it is neither of SQLite nor of PostgreSQL.
    """
    scheme, colon, rest = database_url.partition("://")
    kind = scheme.partition("+")[0]
    url = ""
    if colon and kind in {"postgres", "postgresql"}:
        url = f"postgresql+psycopg://{rest}"
    elif colon and kind == "sqlite":
        _check_sqlite()
        url = _sqlite_url(rest)
    with contextlib.suppress(ValueError, sa.exc.ArgumentError):  # a port that is no number
        sa.make_url(url)
        return url
    raise ConfigError(
        "database_url",
        scheme if colon else show_address(database_url),
        "sqlite:///PATH or postgresql://HOST/NAME",
        "write the address of a database",
    )


def _check_sqlite() -> None:
    """Raise if the engine's database cannot be SQLite here.

    On Python 3.12 and newer DBOS asks for `unixepoch('subsec')` (dbos/_migration.py, 2026-11-27),
    which SQLite has since 3.42 (https://sqlite.org/lang_datefunc.html, 2026-11-27).
    """
    if sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < _SUBSECOND_SQLITE:
        version = sqlite3.sqlite_version
        raise ConfigError(
            "database_url",
            f"SQLite {version}",
            "SQLite 3.42 or newer, or PostgreSQL",
            message="runs in SQLite need SQLite 3.42 or newer on this Python, which has "
            f"{version}: use postgresql://HOST/NAME, or Python 3.11",
        )


def _sqlite_url(rest: str) -> str:
    """Return the address of a file, given what follows `sqlite://`; empty if that names none."""
    match = re.fullmatch(r"/(.+?)(\?\w+=[^/]*)?", rest, re.DOTALL)
    # Each connection would have a database of its own in memory, and no run would survive.
    if match is None or match[1].startswith(":memory:"):
        return ""
    path, url = match[1], f"sqlite:///{quote(match[1])}{match[2] or ''}"
    if sa.make_url(url).database == path:
        return url
    # SQLAlchemy decodes a path since 2.1. Before, it opened another file for one with a `?`:
    # https://github.com/sqlalchemy/sqlalchemy/issues/11234 (2026-11).
    return "" if "?" in path else f"sqlite://{rest}"


@attrs.define(eq=False)
class Tables:
    """The tables in one database. Every method is one transaction, and may be used by threads."""

    url: str
    idle_seconds: float = 60.0
    """How long PostgreSQL keeps the locks of a process that is stopped in a transaction."""
    engine: sa.Engine = attrs.field(init=False, repr=False)

    @engine.default
    def _connect(self) -> sa.Engine:
        if not self.is_sqlite:
            engine = sa.create_engine(
                self.url, pool_pre_ping=True, pool_size=_CONNECTIONS, max_overflow=0
            )
            sa.event.listen(engine, "connect", self._limit_idle_transactions)
            return engine
        engine = sa.create_engine(self.url, connect_args={"timeout": 30})
        with engine.connect() as connection:
            # Readers do not wait for writers then. It is a property of the file.
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        return engine

    @property
    def is_sqlite(self) -> bool:
        """Return whether the database is a file of this machine."""
        return self.url.startswith("sqlite")

    @property
    def _now(self) -> "sa.ColumnElement[float]":
        if self.is_sqlite:
            return sa.literal_column("((julianday('now') - 2440587.5) * 86400.0)", sa.Float)
        return sa.literal_column("extract(epoch from clock_timestamp())::float8", sa.Float)

    @property
    def _is_gone(self) -> "sa.ColumnElement[bool]":
        return sa.or_(_workers.c.expires < self._now, _workers.c.epoch > 1)

    def _limit_idle_transactions(self, connection: Any, _: object) -> None:
        # Otherwise the next attempt at a run waits for ever, to store an event that is stored by a
        # worker that was stopped before it committed.
        milliseconds = int(min(_LONGEST_MILLISECONDS, max(100, 1000 * self.idle_seconds)))
        with connection.cursor() as cursor:
            cursor.execute(f"SET idle_in_transaction_session_timeout = {milliseconds}")
        # The pool rolls a connection back when it is returned, and with it the setting.
        connection.commit()

    def create(self) -> None:
        """Create what is missing."""
        with self.engine.begin() as connection:
            if not self.is_sqlite:  # two processes would both find them missing
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(7163529460418)"))
            _metadata.create_all(connection)

    def close(self) -> None:
        """Close the connections."""
        self.engine.dispose()

    def register(self, worker: str, service: str, seconds: float) -> None:
        """Insert the lease of a new worker of a service, with epoch 1."""
        expires = self._now + seconds
        row = sa.insert(_workers).values(id=worker, service=service, epoch=1, expires=expires)
        self._write(row)

    def renew(self, worker: str, seconds: float) -> bool:
        """Extend a lease; return whether it was still held."""
        # A takeover raises the epoch, so that the former holder updates no row.
        where = (_workers.c.id == worker, _workers.c.epoch == 1)
        return self._write(sa.update(_workers).where(*where).values(expires=self._now + seconds))

    def take_over(self, service: str, seconds: float) -> list[str]:
        """Return a service's workers whose leases have expired, and fence them for others.

        The new epoch is what the former holder can no longer renew. It expires as well, so that
        whoever dies while taking over is followed by another, and what a worker claims that awakes
        later is found.
        """
        is_expired = _workers.c.expires < self._now
        values = {"epoch": _workers.c.epoch + 1, "expires": self._now + seconds}
        # One by one: of two workers that find the same one expired, the update of one has no row.
        return [
            worker
            for worker in self.workers(_workers.c.service == service, is_expired)
            if self._write(
                sa.update(_workers).where(_workers.c.id == worker, is_expired).values(values)
            )
        ]

    def living(self) -> list[str]:
        """Return the workers that have never lost their lease, and hold it now."""
        return self.workers(sa.not_(self._is_gone))

    def workers(self, *where: "sa.ColumnElement[bool]") -> list[str]:
        """Return the workers, of all services, dead or alive, for which some conditions hold."""
        return [worker for (worker,) in self._read(sa.select(_workers.c.id).where(*where))]

    def gone(self) -> list[str]:
        """Return the workers that have lost their lease, released it, or let it expire."""
        return self.workers(self._is_gone)

    def forget_workers(self, workers: Sequence[str]) -> None:
        """Remove those of these workers that are still gone. None can renew its lease any more."""
        self._write(sa.delete(_workers).where(_workers.c.id.in_(workers), self._is_gone))

    def forget_runs(self, runs: Sequence[str]) -> None:
        """Remove the events, the messages, the keys and the counted attempts of these runs."""
        with self.engine.begin() as connection:
            for table in (_events, _controls, _keys, _attempts):
                connection.execute(sa.delete(table).where(table.c.run.in_(runs)))

    def claim_key(self, key: str, run: str) -> str:
        """Assign a key to a run, unless it belongs to one; return the run that has it."""
        insert = "INSERT INTO agentic_keys (key, run) VALUES (:key, :run) ON CONFLICT DO NOTHING"
        # A second claim waits for the first one's transaction, and then finds its run.
        with self.engine.begin() as connection:
            connection.execute(sa.text(insert), {"key": key, "run": run})
            query = sa.select(_keys.c.run).where(_keys.c.key == key)
            return str(connection.execute(query).scalar_one())

    def send(self, run: str, kind: str, body: dict[str, Any]) -> None:
        """Leave a message for a run."""
        self._write(sa.insert(_controls).values(run=run, kind=kind, body=json.dumps(body)))

    def controls(self, runs: Iterable[str], *, with_questions: bool = True) -> list[Control]:
        """Return the messages for these runs, oldest first; and what the runs have asked."""
        query = sa.select(_controls).where(_controls.c.run.in_(list(runs)))
        if not with_questions:
            query = query.where(_controls.c.kind != "ask")
        rows = self._read(query.order_by(_controls.c.id))
        return [Control(row.id, row.run, row.kind, json.loads(row.body)) for row in rows]

    def attempts(self, run: str) -> int:
        """Return how many attempts at a run were counted."""
        query = sa.select(_attempts.c["count"]).where(_attempts.c.run == run)
        return next((count for (count,) in self._read(query)), 0)

    def count_attempt(self, run: str) -> int:
        """Count an attempt at a run, and return how many there are now."""
        count = sa.text(
            "INSERT INTO agentic_attempts (run, count) VALUES (:run, 1)"
            " ON CONFLICT (run) DO UPDATE SET count = agentic_attempts.count + 1 RETURNING count"
        )
        with self.engine.begin() as connection:
            return int(connection.execute(count, {"run": run}).scalar_one())

    def forget_attempts(self, run: str) -> None:
        """Begin to count the attempts at a run anew."""
        self._write(sa.delete(_attempts).where(_attempts.c.run == run))

    def forget_failures(self, run: str) -> None:
        """Remove the failures that the engine has recorded as outcomes of a run's steps.

        They are never those of an agent's parts, which are in the outputs. If the engine cannot
        write an output (a full disk), it writes the error in its place, which is shorter.
        """
        schema = "dbos." if self.engine.dialect.name == "postgresql" else ""
        self._write(
            sa.text(
                f"DELETE FROM {schema}operation_outputs"  # noqa: S608  two constants
                " WHERE workflow_uuid = :run AND error IS NOT NULL"
            ).bindparams(run=run)
        )

    def add_events(self, run: str, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Store events by their keys, each once."""
        # Not the engine's streams, which count as steps or are written again in a replay.
        insert = sa.text(
            "INSERT INTO agentic_events (run, key, body) VALUES (:run, :key, :body)"
            " ON CONFLICT DO NOTHING"
        )
        rows = [
            {"run": run, "key": storable(key), "body": json.dumps(body)} for key, body in events
        ]
        with self.engine.begin() as connection:
            connection.execute(insert, rows)

    def events(self, run: str, after: int) -> list[tuple[int, dict[str, Any]]]:
        """Return the events of a run whose numbers are greater, in order."""
        query = sa.select(_events.c.id, _events.c.body).where(
            _events.c.run == run, _events.c.id > after
        )
        return [(row.id, json.loads(row.body)) for row in self._read(query.order_by(_events.c.id))]

    def _read(self, query: "sa.Select[Any]") -> Sequence[Any]:
        with self.engine.begin() as connection:
            return connection.execute(query).all()

    def _write(self, statement: Any) -> bool:
        with self.engine.begin() as connection:
            return bool(connection.execute(statement).rowcount)


def reason_of(problem: Exception) -> str:
    """Return what a database says, without the statement and what it would have written."""
    return str(getattr(problem, "orig", None) or problem)


async def insist(function: Callable[..., _T], *args: Any) -> _T:
    """Call a function in a thread, again and again until the database answers."""
    while True:
        try:
            return await asyncio.to_thread(function, *args)
        except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as problem:
            _log.warning("the database does not answer, trying again: %s", reason_of(problem))
        await asyncio.sleep(_RETRY_SECONDS)
