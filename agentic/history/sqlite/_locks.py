"""The lock files of one database, in the folder `<database>.locks` next to it.

A lock file exists while its session is being written. After a `kill -9` it stays behind, which
means nothing: the lock itself ended with its holder.
"""

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path

from agentic.history._disk import LockedFile, make_folders, open_locked, reporting, require_flock

__all__ = ["lock_session", "locked_for_making", "locked_session", "unlock"]

_MAKING = ".making"
"""Session ids do not begin with a dot, so this is none."""


def lock_session(database: Path, session_id: str, name: str) -> LockedFile:
    """Become the only writer of a session, which is called `name` in errors.

    Raises:
        HistoryConflict: another store is the writer.
        HistoryNotWritten: the lock file cannot be created.
        ImportError: the platform has no `flock`.
    """
    require_flock("SqliteStore")
    return _open(database, session_id, name, wait=False)


@contextlib.contextmanager
def locked_session(database: Path, session_id: str, name: str) -> Iterator[None]:
    """Be the only writer of a session for a while. Raises what `lock_session` raises."""
    lock = lock_session(database, session_id, name)
    try:
        yield
    finally:
        unlock(lock)


@contextlib.contextmanager
def locked_for_making(database: Path) -> Iterator[None]:
    """Be the only process that creates this database.

    Raises:
        HistoryNotWritten: the lock file cannot be created.
    """
    lock = _open(database, _MAKING, str(database), wait=True)
    try:
        yield
    finally:
        unlock(lock)


def unlock(lock: LockedFile) -> None:
    """Release the lock and remove its file."""
    path = Path(str(lock.name))
    if not lock.is_ours:  # a forked child leaves the file to its parent
        lock.close()
        return
    with lock, contextlib.suppress(OSError):  # the folder is not empty, or is gone
        path.unlink()
        path.parent.rmdir()


def _open(database: Path, lock: str, name: str, *, wait: bool) -> LockedFile:
    folder = Path(f"{database}.locks")
    with reporting(database):
        while True:
            with contextlib.suppress(FileNotFoundError):  # its last user removed the folder
                _make_folder(folder)
                return open_locked(folder / lock, name, wait=wait)


def _make_folder(folder: Path) -> None:
    try:
        make_folders(folder)
    except FileExistsError:
        # it was just removed or created again, so no file is in the way
        if not stat.S_ISDIR(folder.lstat().st_mode):
            raise
