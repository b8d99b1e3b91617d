"""The database file: how it is made, opened and purged, and what its errors mean.

It is in WAL mode: readers and the one writer of the moment do not wait for each other. A commit is
with the operating system when it returns, which is what survives `kill -9`; with `fsync` it is on
the disk. Nobody but SQLite opens the file: closing it would let go of SQLite's own locks.

A page keeps what was moved or deleted until something else is written over it, and the WAL keeps
former pages until it begins anew. So after a redaction all of the database is written anew, from
its tables, and the WAL is emptied into it.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from agentic.errors import HistoryConflict, HistoryCorrupt, HistoryNotWritten
from agentic.history._disk import make_folders, reporting, staged, sync_folders
from agentic.history.sqlite._locks import locked_for_making

__all__ = [
    "BUSY_SECONDS",
    "Busy",
    "begin",
    "checkpoint",
    "connect_reader",
    "connect_writer",
    "not_written",
    "purge",
    "reading",
    "too_busy",
    "transaction",
    "writing",
]

APPLICATION_ID = 0x61677463
"""The bytes `agtc`, by which `file` and SQLite tell our databases from others."""
MIGRATIONS = [
    """
    CREATE TABLE sessions (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL
    );
    CREATE TABLE entries (
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        seq INTEGER NOT NULL,
        view INTEGER NOT NULL,
        standing INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        summarized INTEGER NOT NULL,
        kind TEXT NOT NULL,
        text BLOB NOT NULL,
        written_at REAL NOT NULL,
        PRIMARY KEY (session, seq)
    ) WITHOUT ROWID;
    CREATE TABLE outputs (
        session INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
        ref TEXT NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (session, ref)
    );
    """,
]
"""What takes a database from one version of the schema to the next; it is never changed, only
added to. The version, `PRAGMA user_version`, is how many have been carried out."""
BUSY_SECONDS = 30.0
"""How long a step waits for others; a commit of ours takes far less than a thousandth of it."""
_CHECKPOINT_MILLISECONDS = 100
"""How long the end of a checkpoint waits for readers; writers wait for it."""
_RETRY_SECONDS = 0.0005
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another program holds the database: let it finish, then try again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check the path and the permissions",
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "the disk failed or is full: free some space, or choose another place",
    sqlite3.SQLITE_READONLY: "write access is missing: change the permissions, or the place",
    sqlite3.SQLITE_TOOBIG: "it is larger than SQLite allows, about 1 GB: shorten it",
}
_UNWRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""What SQLite says to a reader that may not make the files that a WAL needs."""
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class Busy(Exception):
    """Somebody else is writing at this very moment."""


def too_busy(session: str) -> HistoryNotWritten:
    """Return the error that says that waiting was in vain."""
    problem = f"another program has held the database for {BUSY_SECONDS:.0f} seconds"
    return HistoryNotWritten(session, problem)


def connect_writer(path: Path, *, fsync: bool) -> sqlite3.Connection:
    """Open a database for writing; make it, with its folders, if it is not there.

    Raises:
        HistoryCorrupt: the file is something else, or of a newer version.
        HistoryNotWritten: it cannot be made or opened.
    """
    with reporting(path), writing(path):
        if not path.exists():
            _make(path, fsync=fsync)
        connection = _connect(path)
        with _closing_on_error(connection):
            if _version(connection, path) < len(MIGRATIONS):
                _migrate(connection, path)
            connection.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
            # Off by default for each connection; without it, deleting a session leaves its rows.
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA busy_timeout = 0")  # `transaction` waits, where it may
            if not fsync:  # an event loop does not wait for a disk: `checkpoint` is for a thread
                connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def connect_reader(path: Path) -> sqlite3.Connection | None:
    """Open a database for reading; None if nothing was ever written there.

    It needs no write permission, unless a WAL holds what was committed last.

    Raises:
        HistoryCorrupt: the file is something else, or of a newer version.
        OSError: the file is there and cannot be opened.
    """
    if not path.exists():
        return None
    with reading(path):
        try:
            return _open_reader(_connect(path), path)
        except sqlite3.OperationalError as problem:
            if _code(problem) not in _UNWRITABLE:
                raise
        return _open_reader(_connect_unwritable(path), path)


def checkpoint(path: Path, last: Literal["FULL", "TRUNCATE"] = "FULL") -> None:
    """Move what was committed from the WAL into the database, as far as readers let us.

    Most of it moves while others go on writing; they wait for what they wrote meanwhile, since the
    WAL begins anew only when all of it has moved. Nothing but its size depends on it: it never
    fails.
    """
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_connect(path)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MILLISECONDS}")
        for mode in ("PASSIVE", last):
            connection.execute(f"PRAGMA wal_checkpoint({mode})")


def begin(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Begin to write, after waiting for who writes at the moment.

    Raises:
        Busy: it would have to wait longer.
    """
    deadline = 0.0
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as problem:
            if _code(problem) != sqlite3.SQLITE_BUSY:
                raise
            deadline = deadline or time.monotonic() + wait_seconds
            if time.monotonic() >= deadline:
                raise Busy from problem
            time.sleep(_RETRY_SECONDS)
        else:
            return


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, wait_seconds: float) -> Iterator[None]:
    """Write whole or not at all, after waiting for who writes at the moment.

    Raises:
        Busy: it would have to wait longer.
    """
    begin(connection, wait_seconds)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what SQLite says into errors that say what to do."""
    try:
        yield
    except sqlite3.Error as problem:
        raise not_written(problem, path) from problem


def not_written(problem: sqlite3.Error, path: Path) -> HistoryCorrupt | HistoryNotWritten:
    """Turn what SQLite says into an error that says what to do."""
    code = _code(problem)
    if _is_damage(problem):
        return HistoryCorrupt(str(path), 0, str(problem))
    what = f"{problem} ({_REMEDIES.get(code, 'the database refused')})"
    return HistoryNotWritten(str(path), what)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Do the same where nothing was to be written."""
    try:
        yield
    except sqlite3.Error as problem:
        code = _code(problem)
        if _is_damage(problem):
            raise HistoryCorrupt(str(path), 0, str(problem)) from problem
        remedy = _REMEDIES.get(code, "the database refused")
        raise OSError(f"{path} cannot be read: {problem} ({remedy})") from problem


def _is_damage(problem: sqlite3.Error) -> bool:
    # the driver's own complaint about bytes that are not text has no code
    return _code(problem) in _DAMAGE or "decode to UTF-8" in str(problem)


def _code(problem: sqlite3.Error) -> int:
    """Return the primary result code: the extended ones add to it above the lowest byte."""
    return getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _connect(path: Path, how: str = "mode=rw") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # a store uses it from one thread at a time
    )


def _connect_unwritable(path: Path) -> sqlite3.Connection:
    """Connect without the files that a WAL needs, as to a medium that cannot change.

    Who writes meanwhile changes it all the same when a checkpoint comes: hence only without a WAL.
    """
    wal = Path(f"{path}-wal")
    if wal.exists() and wal.stat().st_size:
        problem = f"its latest entries are in {wal}, which cannot be read without write permission"
        remedy = "change the permissions, or have its writer close it"
        raise OSError(f"{path} cannot be read: {problem} ({remedy})")
    return _connect(path, "mode=ro&immutable=1")


def _open_reader(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection | None:
    with _closing_on_error(connection):
        if version := _version(connection, path):
            if version < len(MIGRATIONS):
                _migrate(connection, path)
            return connection
    connection.close()
    return None


@contextlib.contextmanager
def _closing_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _make(path: Path, *, fsync: bool) -> None:
    """Make a database under another name, complete, and give it its own."""
    missing = make_folders(path.parent)
    with locked_for_making(path), staged(path, b"", fsync=False) as written:
        if path.exists():
            return
        with contextlib.closing(_connect(written)) as connection:
            _migrate(connection, written)
        for left in ("-wal", "-shm"):  # of a database that somebody removed: not of this one
            Path(f"{path}{left}").unlink(missing_ok=True)
        # The migrations are in it by now, so nobody ever opens a database without tables.
        written.replace(path)
        if fsync:
            sync_folders([path.parent, *(folder.parent for folder in missing)])


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the schema; 0 for a file in which nothing is yet.

    Raises:
        HistoryCorrupt: the database is not ours, or newer.
    """
    ((application,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    # A file of zero bytes is an empty database of nobody's, and may become ours.
    ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_master")
    if application != APPLICATION_ID and (application or version or tables):
        raise HistoryCorrupt(str(path), 0, "it is a database of another application")
    if version > len(MIGRATIONS):
        problem = (
            f"its schema has version {version}, and this version of agentic-weave knows "
            f"{len(MIGRATIONS)}: a newer one can read it"
        )
        raise HistoryCorrupt(str(path), 0, problem)
    return int(version)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    with transaction(connection, BUSY_SECONDS):
        for migration in MIGRATIONS[_version(connection, path) :]:
            for statement in migration.split(";"):  # executescript would commit
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def purge(path: Path, name: str) -> None:
    """Leave nothing in the files of a database but what its tables hold.

    Raises:
        HistoryConflict: another program is reading or writing all the time.
        HistoryNotWritten: the disk is full, for instance: it takes as much again as the database.
    """
    with contextlib.closing(connect_writer(path, fsync=True)) as connection, writing(path):
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
        try:
            # Copies the database to a temporary file and back: so much disk must be free.
            connection.execute("VACUUM")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            raise _in_use(name) from problem
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise _in_use(name)


def _in_use(name: str) -> HistoryConflict:
    problem = (
        "is redacted, but another program has kept the database in use, and what was removed may "
        "still be in its files: redact again when that program is done"
    )
    return HistoryConflict(name, problem)
