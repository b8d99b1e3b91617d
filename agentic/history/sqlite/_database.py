"""The database file: how it is created, opened and purged, and what its errors mean.

It is in WAL mode: readers and the current writer do not wait for each other. When a commit returns,
the operating system has it, so it survives `kill -9`; with `fsync` it is on the disk. Only SQLite
may open the file: closing another file descriptor for it would release SQLite's locks.

A page keeps deleted content until it is overwritten, and the WAL keeps earlier pages until it
restarts. So after a redaction the whole database is rewritten from its tables, and the WAL is
emptied into it.
"""

import contextlib
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from agentic.errors import HistoryConflict, HistoryCorrupt, HistoryNotWritten
from agentic.history._disk import (
    LockedFile,
    make_folders,
    open_locked,
    reporting,
    require_flock,
    staged,
    sync_folders,
)

APPLICATION_ID = 0x61677463
"""The bytes `agtc`, by which `file` and SQLite recognize our databases."""
# Entries have no rowid: stored by (session, seq), the rows of a view lie next to each other.
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
    """
    ALTER TABLE entries ADD COLUMN key INTEGER;
    CREATE INDEX entries_key ON entries (session, key) WHERE key IS NOT NULL;
    """,
    """
    CREATE TABLE leases (
        epoch INTEGER PRIMARY KEY AUTOINCREMENT,
        session TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        expires_at REAL NOT NULL
    );
    """,
]
"""The migrations from one version of the schema to the next; never edited, only added to. The
version, `PRAGMA user_version`, is the number of those that were applied."""
BUSY_SECONDS = 30.0
"""How long a step waits for others; a commit of ours takes far less than a thousandth of this."""
_PAGE_BYTES = 1_024
"""What a row does not fill of its last page is lost: half a page on average, and an entry has a
kilobyte or two. Pages of 4,096 bytes took 2.4 times the bytes of bare JSON, these 1.75
(`benchmarks/stores.py`, 2026-11-28). A database keeps the size that it was made with."""
_CHECKPOINT_MILLISECONDS = 100
"""How long the end of a checkpoint waits for readers, while writers wait for it."""
_RETRY_SECONDS = 0.0005  # a commit takes 0.00002; SQLite's own handler sleeps up to 0.1
_REMEDIES = {
    sqlite3.SQLITE_BUSY: "another program holds the database: let it finish, then try again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: check the path and the permissions",
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "the disk failed or is full: free some space, or choose another place",
    sqlite3.SQLITE_READONLY: "write access is missing: change the permissions, or the place",
    sqlite3.SQLITE_TOOBIG: "it is larger than SQLite allows, about 1 GB: shorten it",
}
_UNWRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}
"""SQLite's error for a reader that may not create the files that a WAL needs."""
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_MAKING = ".making"  # no session id begins with a dot


class Busy(sqlite3.OperationalError):
    """Somebody else is writing at this moment."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY


def connect_writer(path: Path, *, fsync: bool) -> sqlite3.Connection:
    """Open a database for writing, and create it, with its folders, if it does not exist.

    Raises:
        HistoryCorrupt: the file is something else, or of a newer version.
        HistoryNotWritten: it cannot be created or opened.
    """
    with reporting(path), writing(path):
        if not path.exists():
            _make(path, fsync=fsync)
        connection = _connect(path)
        with _closing_on_error(connection):
            if _version(connection, path) < len(MIGRATIONS):
                _migrate(connection, path)
            # NORMAL syncs the WAL at checkpoints only: a power failure loses the latest commits.
            connection.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
            # Off by default for each connection; without it, deleting a session leaves its rows.
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA busy_timeout = 0")  # `transaction` does the waiting
            # No disk sync in the event loop, and none that leaves the WAL as large as it is: the
            # store's thread runs `checkpoint`.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Open a database for reading, and close it; None if nothing was ever written there.

    It needs no write permission, unless the latest commits are still in a WAL. SQLite's errors
    become errors that say what to do.

    Raises:
        HistoryCorrupt: the file is something else, or of a newer version, or damaged.
        OSError: the file exists but cannot be read.
    """
    try:
        connection = _connect_reader(path) if path.exists() else None
        if connection is None:
            yield None
            return
        with contextlib.closing(connection):
            yield connection
    except sqlite3.Error as problem:
        if _is_damage(problem):
            raise HistoryCorrupt(str(path), 0, str(problem)) from problem
        raise OSError(f"{path} cannot be read: {_explain(problem)}") from problem


def checkpoint(path: Path) -> None:
    """Move commits from the WAL into the database and empty the WAL, as far as readers allow.

    Most of it moves while others go on writing. Then they wait until what they wrote meanwhile has
    moved, because the WAL can be emptied only as a whole. It never raises: only the size of the WAL
    depends on it.
    """
    with contextlib.suppress(sqlite3.Error), contextlib.closing(_connect(path)) as connection:
        connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MILLISECONDS}")
        for mode in ("PASSIVE", "TRUNCATE"):
            connection.execute(f"PRAGMA wal_checkpoint({mode})")


def measure_wal(path: Path) -> int:
    """Return the size of the WAL, in bytes; 0 if there is none."""
    try:
        return os.stat(f"{path}-wal").st_size  # noqa: PTH116  a Path a commit would cost more
    except OSError:
        return 0


def begin(connection: sqlite3.Connection, wait_seconds: float) -> None:
    """Begin a write transaction, or raise Busy if another writer goes on for so many seconds."""
    deadline = time.monotonic() + wait_seconds
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")  # a deferred one may fail to write later
        except sqlite3.OperationalError as problem:
            if _code(problem) != sqlite3.SQLITE_BUSY:
                raise
            if time.monotonic() >= deadline:
                raise Busy(str(problem)) from problem
            time.sleep(_RETRY_SECONDS)
        else:
            return


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection, wait_seconds: float) -> Iterator[None]:
    """Write completely or not at all. Waits like `begin`, and raises what it raises."""
    begin(connection, wait_seconds)
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # after a full disk, SQLite has rolled back by itself
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into errors that say what to do."""
    try:
        yield
    except sqlite3.Error as problem:
        raise not_written(problem, path) from problem


def not_written(problem: sqlite3.Error, path: Path) -> HistoryCorrupt | HistoryNotWritten:
    """Return SQLite's error as an error that says what to do."""
    if _is_damage(problem):
        return HistoryCorrupt(str(path), 0, str(problem))
    return HistoryNotWritten(str(path), _explain(problem))


def _explain(problem: sqlite3.Error) -> str:
    return f"{problem} ({_REMEDIES.get(_code(problem), 'the database refused')})"


def _is_damage(problem: sqlite3.Error) -> bool:
    # the driver's own complaint about bytes that are not text has no code
    return _code(problem) in _DAMAGE or "decode to UTF-8" in str(problem)


def _code(problem: sqlite3.Error) -> int:
    """Return the primary result code: extended codes differ only above the lowest byte."""
    return getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def _connect(path: Path, how: str = "mode=rw") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?{how}",
        uri=True,  # for its modes: by default, a missing file would be created
        timeout=BUSY_SECONDS,
        isolation_level=None,  # the driver would begin transactions itself, and not IMMEDIATE
        check_same_thread=False,  # a store uses it from only one thread at a time
    )


def _connect_unwritable(path: Path) -> sqlite3.Connection:
    """Connect without the files that a WAL needs, as if the medium were read-only.

    A checkpoint by another process would still change the file, so use this only without a WAL.
    """
    wal = Path(f"{path}-wal")
    if wal.exists() and wal.stat().st_size:
        problem = f"its latest entries are in {wal}, which cannot be read without write permission"
        remedy = "change the permissions, or have its writer close it"
        raise OSError(f"{path} cannot be read: {problem} ({remedy})")
    return _connect(path, "mode=ro&immutable=1")


def _connect_reader(path: Path) -> sqlite3.Connection | None:
    try:
        return _open_reader(_connect(path), path)
    except sqlite3.OperationalError as problem:
        if _code(problem) not in _UNWRITABLE:
            raise
    return _open_unwritable(path)


def _open_reader(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection | None:
    with _closing_on_error(connection):
        version = _version(connection, path)
        if 0 < version < len(MIGRATIONS):  # the questions name columns that older tables lack
            _migrate(connection, path)
    return _unless_empty(connection, version)


def _open_unwritable(path: Path) -> sqlite3.Connection | None:
    connection = _connect_unwritable(path)
    with _closing_on_error(connection):
        version = _version(connection, path)
        if version == 1:  # it cannot be migrated, but a view of it can have the columns
            view = "CREATE TEMP VIEW entries AS SELECT *, NULL AS key FROM main.entries"
            connection.execute(view)
    return _unless_empty(connection, version)


def _unless_empty(connection: sqlite3.Connection, version: int) -> sqlite3.Connection | None:
    if version:
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
    """Create a complete database under another name, then rename it."""
    missing = make_folders(path.parent)
    # Staged empty, so that the database is private from its first byte.
    lock = _open_lock(path, _MAKING, str(path), wait=True)
    with _unlocking(lock), staged(path, b"", fsync=False) as file:
        if path.exists():  # another, for which this one has waited, has made it
            return
        with contextlib.closing(_connect(file)) as connection:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            _migrate(connection, file)
        for suffix in ("-wal", "-shm"):  # of a former database that was removed, not of this one
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        # The migrations are in it by now, so nobody ever opens a database without tables.
        file.replace(path)
        if fsync:
            sync_folders([path.parent, *(folder.parent for folder in missing)])


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the schema, 0 for an empty file; raise HistoryCorrupt if not ours."""
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
    connection.execute("PRAGMA journal_mode = WAL")  # impossible within a transaction
    with transaction(connection, BUSY_SECONDS):
        # The version again: another process may have migrated before this transaction began.
        for migration in MIGRATIONS[_version(connection, path) :]:
            for statement in migration.split(";"):  # executescript would commit first
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def purge(path: Path, name: str) -> None:
    """Remove everything from the files of a database except what its tables contain.

    Raises:
        HistoryConflict: another program is constantly reading or writing.
        HistoryNotWritten: the disk is full, for instance: this needs as much space again.
    """
    with contextlib.closing(connect_writer(path, fsync=True)) as connection, writing(path):
        # VACUUM and the checkpoint begin by themselves, so `begin` cannot wait for them.
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
        try:
            # Copies the database to a temporary file and back: so much disk must be free.
            connection.execute("VACUUM")
        except sqlite3.OperationalError as problem:
            if _code(problem) != sqlite3.SQLITE_BUSY:
                raise
            raise _in_use(name) from problem
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        if busy:
            raise _in_use(name)


def _in_use(name: str) -> HistoryConflict:
    problem = (
        "is redacted, but another program was using the database, so what was removed may still "
        "be in its files: redact again when that program has finished"
    )
    return HistoryConflict(name, problem)


def lock_session(database: Path, session_id: str, name: str) -> LockedFile:
    """Become the one writer of a session, called `name` in an error.

    Raises:
        HistoryConflict: somebody else is.
        HistoryNotWritten: the lock file cannot be made.
        ImportError: the platform has no `flock`.
    """
    require_flock("SqliteStore")
    return _open_lock(database, session_id, name, wait=False)


@contextlib.contextmanager
def locked_session(database: Path, session_id: str, name: str) -> Iterator[None]:
    """Be the one writer of a session for a while. Raises what `lock_session` raises."""
    with _unlocking(lock_session(database, session_id, name)):
        yield


@contextlib.contextmanager
def _unlocking(lock: LockedFile) -> Iterator[None]:
    try:
        yield
    finally:
        unlock(lock)


def unlock(lock: LockedFile) -> None:
    """Release a lock, and remove its file."""
    path = Path(str(lock.name))
    if not lock.is_ours:  # a forked child, which leaves the file to its parent
        lock.close()
        return
    with lock, contextlib.suppress(OSError):  # others are in the folder, or it is gone
        path.unlink()  # while locked: whoever has just opened it notices, and opens it again
        path.parent.rmdir()


def _open_lock(database: Path, lock: str, name: str, *, wait: bool) -> LockedFile:
    folder = Path(f"{database}.locks")
    with reporting(database):
        while True:
            with contextlib.suppress(FileNotFoundError):  # the last one took the folder away
                try:
                    make_folders(folder)
                except FileExistsError:
                    # taken away just now, or even made again: then no file stands in the way
                    if not stat.S_ISDIR(folder.lstat().st_mode):
                        raise
                return open_locked(folder / lock, name, wait=wait)
