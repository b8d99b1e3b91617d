"""Private files: made with mode 0600, written whole or not at all, their failures told in words."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from agentic.errors import HistoryNotWritten

__all__ = [
    "REMEDIES",
    "make_folders",
    "open_private",
    "reporting",
    "staged",
    "sync_folders",
    "write_private",
]

_NO_LOCKS = "the file system keeps no locks: choose a place on a local disk"
REMEDIES = {
    errno.EACCES: "write access is missing: change the permissions, or choose another place",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EEXIST: "a file stands where a folder is needed: move it, or choose another path",
    errno.EFBIG: "the file may not grow further: raise the limit, or begin a new session",
    errno.EISDIR: "a folder stands where the file belongs: choose a path inside it",
    errno.ENOLCK: _NO_LOCKS,
    errno.ENOSYS: _NO_LOCKS,
    errno.ENOTSUP: _NO_LOCKS,
    errno.ENOSPC: "the disk is full: free some space",
    errno.ENOTDIR: "a file stands where a folder is needed: move it, or choose another path",
    errno.EROFS: "the place is read-only: choose another one",
}
"""What to do about an error of the system, by its number."""


@contextlib.contextmanager
def reporting(path: Path) -> Iterator[None]:
    """Turn what the system says into `HistoryNotWritten`, with a remedy."""
    try:
        yield
    except OSError as problem:
        remedy = REMEDIES.get(problem.errno or 0, "the system refused")
        what = f"{problem.strerror or problem} ({remedy})"
        raise HistoryNotWritten(str(path), what) from problem


def make_folders(folder: Path) -> list[Path]:
    """Make a folder, and those on the way to it, their owner's only; return what was missing.

    Raises:
        OSError: a file stands in the way, or the place is read-only.
    """
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):  # made by somebody else just now
            each.mkdir(mode=0o700)
    folder.mkdir(exist_ok=True)  # complains about a file
    return missing


def open_private(path: str, flags: int) -> int:
    """Open a file as `open` asks its opener to; a new one is its owner's only."""
    # a conversation holds what its files and commands said, secrets included
    return os.open(path, flags, 0o600)


def write_private(path: Path, content: bytes, *, fsync: bool) -> None:
    """Write a file under another name, then give it its own: a kill leaves all of it or nothing."""
    with staged(path, content, fsync=fsync) as written:
        written.replace(path)
    if fsync:
        sync_folders([path.parent])


@contextlib.contextmanager
def staged(path: Path, content: bytes, *, fsync: bool) -> Iterator[Path]:
    """Write a file beside `path`, for the caller to put in its place; what is left there goes."""
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
    """Make the names of new files and folders durable, which is their folder's content."""
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
