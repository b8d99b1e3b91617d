"""The lock files of one database, in the folder `<database>.locks` beside it.

Such a file is there while its session is being written, and after a `kill -9`, when it says
nothing: the lock itself has ended with its holder.
"""

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path

from agentic.history._disk import LockedFile, make_folders, open_locked, reporting, require_flock

__all__ = ["lock_session", "locked_for_making", "locked_session", "unlock"]

_MAKING = ".making"
"""No session id begins with a dot."""


def lock_session(database: Path, session_id: str, name: str) -> LockedFile:
    """Become the one writer of a session, called `name` in an error.

    Raises:
        HistoryConflict: somebody else is.
        HistoryNotWritten: the lock file cannot be made.
        ImportError: the platform has no `flock`.
    """
    require_flock("SqliteStore")
    return _open(database, session_id, name, wait=False)


@contextlib.contextmanager
def locked_session(database: Path, session_id: str, name: str) -> Iterator[None]:
    """Be the one writer of a session for a while. Raises what `lock_session` raises."""
    lock = lock_session(database, session_id, name)
    try:
        yield
    finally:
        unlock(lock)


@contextlib.contextmanager
def locked_for_making(database: Path) -> Iterator[None]:
    """Be the only one who makes this database.

    Raises:
        HistoryNotWritten: the lock file cannot be made.
    """
    lock = _open(database, _MAKING, str(database), wait=True)
    try:
        yield
    finally:
        unlock(lock)


def unlock(lock: LockedFile) -> None:
    """Let somebody else in."""
    path = Path(str(lock.name))
    if not lock.is_ours:  # a forked child, which leaves the file to its parent
        lock.close()
        return
    with lock, contextlib.suppress(OSError):  # others are in the folder, or it is gone
        path.unlink()
        path.parent.rmdir()


def _open(database: Path, lock: str, name: str, *, wait: bool) -> LockedFile:
    folder = Path(f"{database}.locks")
    with reporting(database):
        while True:
            with contextlib.suppress(FileNotFoundError):  # the last one took the folder away
                _make_folder(folder)
                return open_locked(folder / lock, name, wait=wait)


def _make_folder(folder: Path) -> None:
    try:
        make_folders(folder)
    except FileExistsError:
        # taken away just now, or even made again: then it is no file that stands in the way
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise
