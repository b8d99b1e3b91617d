"""Removing from a database file what its tables do not hold any more.

A page keeps what was moved or deleted until something else is written over it, and the WAL keeps
former pages until it begins anew. So all of the database is written anew, from its tables, and the
WAL is emptied into it.
"""

import contextlib
import sqlite3
from pathlib import Path

from agentic.errors import HistoryConflict
from agentic.history.sqlite._database import BUSY_SECONDS, connect_writer, writing

__all__ = ["purge"]


def purge(path: Path, name: str) -> None:
    """Leave nothing in the files of a database but what its tables hold.

    Raises:
        HistoryConflict: another program is reading or writing all the time.
        HistoryNotWritten: the disk is full, for instance: it takes as much again as the database.
    """
    with contextlib.closing(connect_writer(path, fsync=True)) as connection, writing(path):
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
        try:
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
