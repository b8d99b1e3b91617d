"""Private files: of mode 0600, written completely or not at all, locked by their writer.

Only the holder of a session's lock writes the session. The lock ends with the process that holds
it, even after `kill -9`. A forked child shares the open file, so closing it in the parent would
leave the lock in force. The lock is therefore released explicitly, and only by the process that
took it.
"""

import contextlib
import errno
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentic.errors import HistoryConflict, HistoryNotWritten

try:
    import fcntl
except ImportError:  # Windows, where reading still works
    fcntl = None  # type: ignore[assignment]

_NO_LOCKS = "the file system does not support locks: choose a path on a local disk"
_REMEDIES = {
    errno.EACCES: "write access is missing: change the permissions, or choose another place",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EEXIST: "a file is where a folder is needed: move it, or choose another path",
    errno.EFBIG: "the file may not grow further: raise the limit, or begin a new session",
    errno.EISDIR: "a folder is where the file should be: choose a path inside it",
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
    errno.ENOTSUP: _NO_LOCKS,
    errno.ENOSPC: "the disk is full: free some space",
    errno.ENOTDIR: "a file is where a folder is needed: move it, or choose another path",
    errno.EROFS: "the place is read-only: choose another one",
}
"""The remedy for a system error, by its number."""


class _Reporting:
    # A class, because a generator takes as long at each append as the write.
    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, problem: BaseException | None, __: object) -> None:
        if isinstance(problem, OSError):
            remedy = _REMEDIES.get(problem.errno or 0, "the system refused")
            what = f"{problem.strerror or problem} ({remedy})"
            raise HistoryNotWritten(str(self._path), what) from problem


def reporting(path: Path) -> contextlib.AbstractContextManager[None]:
    """Turn an OSError into `HistoryNotWritten`, with a remedy."""
    return _Reporting(path)


def make_folders(folder: Path) -> list[Path]:
    """Create a folder and its missing parents, for the owner only; return the new ones."""
    # Not mkdir(parents=True), which gives the parents the default permissions.
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process has just created it
            each.mkdir(mode=0o700)
    folder.mkdir(exist_ok=True)  # raises if it is a file
    return missing


def open_private(path: str, flags: int) -> int:
    """Open a file, as an opener for `open`; a new file is accessible only to its owner."""
    # a conversation contains what files and commands said, secrets included
    return os.open(path, flags, 0o600)


def write_private(path: Path, content: bytes, *, fsync: bool) -> None:
    """Write a file under another name, then rename it: after a kill it is complete or absent."""
    with staged(path, content, fsync=fsync) as file:
        file.replace(path)
    if fsync:
        sync_folders([path.parent])


@contextlib.contextmanager
def staged(path: Path, content: bytes, *, fsync: bool) -> Iterator[Path]:
    """Write a file next to `path`, for the caller to rename; remove it if it is still there."""
    # In the same folder: a rename is atomic only within one file system.
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if fsync:
                os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def sync_folders(folders: list[Path]) -> None:
    """Make the names of new files and folders durable by syncing their folders."""
    for folder in folders:
        # A file that is on the disk may still be missing from its folder there.
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LockedFile(io.FileIO):
    """A file opened for appending, locked until the process that locked it closes it."""

    def __init__(self, path: Path) -> None:
        # Not "w": a file that somebody else has locked must not be emptied.
        super().__init__(path, "a+", opener=open_private)
        self._owner = os.getpid()

    @property
    def is_ours(self) -> bool:
        """Return whether this process took the lock, rather than inherited it in a fork."""
        return self._owner == os.getpid()

    def close(self) -> None:
        """Close the file, and release the lock if this process took it."""
        if not self.closed and self.is_ours:
            with contextlib.suppress(OSError):
                fcntl.flock(self, fcntl.LOCK_UN)
        super().close()


def require_flock(store: str) -> None:
    """Raise ImportError if the platform has no `flock`: an unlocked file must not be written."""
    if fcntl is None:
        raise ImportError(
            f"{store} writes under fcntl.flock, which this platform does not have: use "
            "MemoryStore, or run under Linux, macOS or WSL"
        )


def open_locked(path: Path, session: str = "", *, wait: bool = False) -> LockedFile:
    """Open a file for appending and lock it; the lock lasts until the file is closed.

    The holder of the lock may remove the file.

    Raises:
        HistoryConflict: another process holds the lock.
        OSError: the file cannot be created or opened, or locks have no effect there.
    """
    while True:
        file = LockedFile(path)
        try:
            _lock(file, session or str(path), wait=wait)
            # between opening and locking, the path may have been given to another file
            with contextlib.suppress(FileNotFoundError), io.FileIO(path, "r+") as again:
                if os.path.samestat(os.fstat(again.fileno()), os.fstat(file.fileno())):
                    _check_effect(again)
                    return file
        except BaseException:
            file.close()
            raise
        # The path no longer names this file, so its lock protects nothing: try again.
        file.close()


def _check_effect(again: io.FileIO) -> None:
    """Lock the file again, which must fail: some network file systems grant a lock to everyone."""
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
