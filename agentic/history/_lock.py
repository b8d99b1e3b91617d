"""The lock of a session: who holds it writes. It ends with its holder, `kill -9` included.

A forked child has the same file open, and would keep the lock of a parent who only closes it: so it
is given back by name, and only by the process that took it.
"""

import contextlib
import errno
import io
import os
from pathlib import Path

from agentic.errors import HistoryConflict
from agentic.history._disk import open_private

try:
    import fcntl
except ImportError:  # Windows, where reading works all the same
    fcntl = None  # type: ignore[assignment]

__all__ = ["LockedFile", "open_locked", "require_flock"]


class LockedFile(io.FileIO):
    """A file for appending, locked until the process that locked it closes it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "a+", opener=open_private)
        self._owner = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Return whether this process took the lock, rather than the one that it was forked of."""
        return self._owner == os.getpid()

    def close(self) -> None:
        """Release the lock, if it is ours."""
        if not self.closed and self.is_ours:
            with contextlib.suppress(OSError):
                fcntl.flock(self, fcntl.LOCK_UN)
        super().close()


def require_flock(store: str) -> None:
    """Refuse to write unlocked.

    Raises:
        ImportError: the platform has no `flock`.
    """
    if fcntl is None:
        raise ImportError(
            f"{store} writes under fcntl.flock, which this platform does not have: use "
            "MemoryStore, or run under Linux, macOS or WSL"
        )


def open_locked(path: Path, session: str = "", *, wait: bool = False) -> LockedFile:
    """Open for appending and take the lock, which lasts until the file is closed.

    Whoever holds the lock may remove the file.

    Raises:
        HistoryConflict: somebody else holds it.
        OSError: the file cannot be made or opened, or locks have no effect there.
    """
    while True:
        file = LockedFile(path)
        try:
            _lock(file, session or str(path), wait=wait)
            # between opening and locking, the path may have come to name another file
            with contextlib.suppress(FileNotFoundError), io.FileIO(path, "r+") as again:
                if os.path.samestat(os.fstat(again.fileno()), os.fstat(file.fileno())):
                    _check_effect(again)
                    return file
        except BaseException:
            file.close()
            raise
        file.close()


def _check_effect(again: io.FileIO) -> None:
    """Try what has to fail: some network file systems give a lock to everybody who asks."""
    try:
        fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    raise OSError(errno.ENOLCK, "locks have no effect")


def _lock(file: io.FileIO, session: str, *, wait: bool) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as refusal:
        raise HistoryConflict(session) from refusal
