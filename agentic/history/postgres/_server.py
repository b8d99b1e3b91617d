"""The server: how to reach it, and what its errors mean. No error shows a password.

A connection commits every statement on its own. Both the client and the server notice within half a
minute if the other end has disappeared without closing the connection; the server then releases the
session's locks. If a server is reachable but does not answer, the connection is given up after a
minute.
"""

import asyncio
import contextlib
import os
import re
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeAlias

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow

from agentic.errors import ConfigError, HistoryNotWritten, HistoryUnavailable

Connection: TypeAlias = psycopg.AsyncConnection[TupleRow]


class _Connection(psycopg.AsyncConnection[Any]):
    """A connection that closes itself if the server is silent for too long."""

    patience_seconds: float | None = None
    """None means `ANSWER_SECONDS`; infinite for steps that may take any time."""
    is_pooled = False
    """Whether nothing may be set for longer than a transaction."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.process = os.getpid()
        """The process that opened it."""

    async def wait(self, *args: Any, **kwargs: Any) -> Any:
        """Wait for the server; every step of psycopg calls this."""
        patience = ANSWER_SECONDS if self.patience_seconds is None else self.patience_seconds
        if patience == float("inf"):
            return await super().wait(*args, **kwargs)
        # Not asyncio.timeout(): when cancelled, psycopg waits for the server once more.
        watchdog = asyncio.get_running_loop().call_later(patience, self._break_off)
        try:
            return await super().wait(*args, **kwargs)
        finally:
            watchdog.cancel()

    def _break_off(self) -> None:
        # as if the other end had closed it: whoever waits learns that the connection is lost
        with (
            contextlib.suppress(OSError, psycopg.Error),
            # A duplicate, because the socket itself is for libpq to close.
            socket.socket(fileno=os.dup(self.pgconn.socket)) as ours,
        ):
            ours.shutdown(socket.SHUT_RDWR)


_inherited: list[Connection] = []
"""Connections of a parent, which must not be closed: the server would end the parent's session."""


def is_inherited(connection: Connection | None) -> bool:
    """Return whether another process opened a connection, of which this one is a forked child.

    Both would read from one socket. An inherited connection is kept, and never used or closed.
    """
    if not isinstance(connection, _Connection) or connection.process == os.getpid():
        return False
    if connection not in _inherited:
        _inherited.append(connection)
    return True


@contextlib.asynccontextmanager
async def without_limit(connection: Connection) -> AsyncIterator[None]:
    """Let the steps inside take as long as they need: a long import, a table being rewritten."""
    assert isinstance(connection, _Connection)  # noqa: S101  `connect` created it
    row = None
    if not connection.is_pooled:  # else another client would get what is set
        row = await (await connection.execute("SHOW statement_timeout")).fetchone()
        await connection.execute("SET statement_timeout = 0")
    before, connection.patience_seconds = connection.patience_seconds, float("inf")
    try:
        yield
    finally:
        connection.patience_seconds = before
        if row and not connection.closed:
            reset = "SELECT set_config('statement_timeout', %s, false)"
            await connection.execute(reset, row)


_DEFAULTS: dict[str, str | int] = {
    "connect_timeout": 10,  # seconds
    "fallback_application_name": "agentic",
    "keepalives_idle": 15,  # seconds, as is the next one
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}
"""Defaults that the connection string may override."""
SYNCHRONOUS = """
    CASE WHEN NOT %s THEN 'off'
        WHEN current_setting('synchronous_commit') = 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END
"""
"""The value of `synchronous_commit`, given whether a commit must survive a crash of the server."""
_SETTINGS = f"""
    SELECT set_config('tcp_keepalives_idle', '15', false),
        set_config('tcp_keepalives_interval', '5', false),
        set_config('tcp_keepalives_count', '3', false),
        set_config('default_transaction_isolation', 'read committed', false),
        set_config('synchronous_commit', {SYNCHRONOUS}, false),
        set_config('statement_timeout', CASE
            WHEN current_setting('statement_timeout') = '0' THEN %s
            ELSE current_setting('statement_timeout') END, false)
"""
_LIMIT = "SELECT extract(epoch FROM current_setting('statement_timeout')::interval)::float8"
STATEMENT_SECONDS = 30.0
"""How long the server works on a statement, unless the server or the dsn sets another limit.

An append takes milliseconds; anything that takes longer is waiting for a lock on a table.
"""
ANSWER_SECONDS = 60.0
"""How long to wait for a silent server: longer than the server's own limit for a statement."""
_STATES = {
    "22P05": "its encoding does not have this character: use a UTF8 database",
    "25006": "it is read-only: connect to the primary server",
    "42501": "a right is missing: ask its owner for CREATE SCHEMA agentic AUTHORIZATION your_role",
    "53100": "the server's disk is full: free some space",
    "54000": "it is larger than PostgreSQL allows, about 1 GB: shorten it",
    "55P03": "another program holds the tables: let it finish, or raise lock_timeout",
    "57014": "it took longer than the server allows: raise its statement_timeout",
}
"""Remedies by SQLSTATE: https://www.postgresql.org/docs/current/errcodes-appendix.html"""
_WORDS = {
    r"authentication failed|no password supplied|no pg_hba.conf entry|role .* does not exist": (
        "check the user and the password of the dsn"
    ),
    r"database .* does not exist": "make it with createdb, or correct the name in the dsn",
    r"too many (clients|connections)|connection slots": (
        "every open session has a connection: close some, or raise max_connections"
    ),
    r"refused|timeout|timed out|resolve|translate|No such file|closed|terminat|starting up": (
        "check the address, and that the server runs"
    ),
}
"""Remedies for connections that could not be made, for which libpq reports no SQLSTATE."""
_CONNECTION_CLASSES = {"08", "28", "3D", "53", "57"}
"""The classes of SQLSTATE for the same problems, if they come later or from a pooler."""


def check_dsn(dsn: object) -> str:
    """Return a connection string, or raise ConfigError, which does not show it.

    >>> check_dsn("postgresql://localhost/agents")
    'postgresql://localhost/agents'
    """
    safe: object = type(dsn).__name__
    if isinstance(dsn, str):
        safe = "***"  # the text may contain the password
        with contextlib.suppress(psycopg.ProgrammingError, UnicodeEncodeError):
            conninfo_to_dict(dsn)
            if "\0" not in dsn:  # libpq stops reading at NUL
                return dsn
    raise ConfigError(
        "dsn",
        safe,
        "a connection string, such as postgresql://user:password@host:5432/database",
        "correct it; in such an address, percent-encode what is special in the password",
    )


def place(dsn: str) -> str:
    """Return the part of a connection string that may be shown.

    >>> place("postgresql://ann:secret@db.example:5433/agents?sslmode=require")
    'postgresql://db.example:5433/agents'
    """
    parts = conninfo_to_dict(dsn)
    host = parts.get("host") or parts.get("hostaddr") or os.environ.get("PGHOST", "")
    port = parts.get("port") or os.environ.get("PGPORT", "")
    database = parts.get("dbname") or os.environ.get("PGDATABASE", "")
    return f"postgresql://{host}{':' if port else ''}{port}/{database}"


async def connect(dsn: str, *, fsync: bool, pooled: bool) -> Connection:
    """Open a connection.

    Raises:
        psycopg.Error: the server cannot be reached, or refuses the connection.
    """
    parts = conninfo_to_dict(dsn)
    defaults = {name: value for name, value in _DEFAULTS.items() if name not in parts}
    complete = make_conninfo(dsn, **defaults, client_encoding="UTF8")
    connection = await _Connection.connect(complete, autocommit=True)
    # What is set or prepared would stay on a connection of the server that others get next.
    if pooled:
        connection.is_pooled, connection.prepare_threshold = True, None
        await connection.set_isolation_level(psycopg.IsolationLevel.READ_COMMITTED)
        return connection
    try:
        milliseconds = f"{STATEMENT_SECONDS * 1000:.0f}"
        await connection.execute(_SETTINGS.encode(), [fsync, milliseconds])
        row = await (await connection.execute(_LIMIT)).fetchone()
        if row and row[0] > STATEMENT_SECONDS:  # a longer limit was set, so wait longer, too
            connection.patience_seconds = 2.0 * row[0]
    except BaseException:
        await connection.close()
        raise
    return connection


def is_over(connection: Connection, problem: psycopg.Error) -> bool:
    """Return whether the connection is lost, so that it is unknown whether the step was done."""
    # the server's last message may arrive before the end of the connection is noticed
    return connection.closed or problem.diag.severity_nonlocalized in {"FATAL", "PANIC"}


def explain(problem: psycopg.Error, dsn: str) -> str:
    """Return the error of the server or the driver in one line, and what to do about it."""
    lines = (problem.diag.message_primary or str(problem)).split("\n")
    text = " ".join(line.strip() for line in lines if not line.startswith("\t"))  # libpq guesses
    if password := conninfo_to_dict(dsn).get("password"):
        text = text.replace(str(password), "***")
    return f"{text.rstrip('.')} ({_find_remedy(problem, text)})"


@contextlib.contextmanager
def writing(name: str, dsn: str) -> Iterator[None]:
    """Turn PostgreSQL's errors into errors that say what to do."""
    try:
        yield
    except psycopg.Error as problem:
        raise HistoryNotWritten(name, explain(problem, dsn)) from problem


@contextlib.contextmanager
def reading(name: str, dsn: str) -> Iterator[None]:
    """Do the same for steps that only read."""
    try:
        yield
    except psycopg.Error as problem:
        raise HistoryUnavailable(name, explain(problem, dsn)) from problem


def _find_remedy(problem: psycopg.Error, text: str) -> str:
    state = problem.sqlstate or ""
    # The words occur in other errors, too: many a setting of the server is a timeout.
    if state in _STATES or (state and state[:2] not in _CONNECTION_CLASSES):
        return _STATES.get(state, "the server refused")
    remedies = (remedy for words, remedy in _WORDS.items() if re.search(words, text))
    return next(remedies, "the server refused")
