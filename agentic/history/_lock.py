"""The lock of a session: who holds it writes. It ends with its holder, `kill -9` included."""

import io
import os
from pathlib import Path

from agentic.errors import HistoryConflict
from agentic.history._disk import open_private

try:
    import fcntl
except ImportError:  # Windows, where reading works all the same
    fcntl = None  # type: ignore[assignment]

__all__ = ["open_locked", "require_flock"]


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


def open_locked(path: Path, session: str = "", *, wait: bool = False) -> io.FileIO:
    """Open for appending and take the lock, which lasts until the file is closed.

    Whoever holds the lock may remove the file.

    Raises:
        HistoryConflict: somebody else holds it.
        OSError: the file cannot be made or opened.
    """
    while True:
        file = io.FileIO(path, "a+", opener=open_private)
        try:
            _lock(file, session or str(path), wait=wait)
            # between opening and locking, the path may have come to name another file
            if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _lock(file: io.FileIO, session: str, *, wait: bool) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as refusal:
        raise HistoryConflict(session) from refusal
