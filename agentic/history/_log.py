r"""A file of lines that grows at its end, has one writer at a time, and keeps what it acknowledged.

`append` acknowledges a line by returning. The operating system then has the whole line, so it
survives `kill -9`. Nothing is ever overwritten. Bytes are cut off in two cases, neither of them
acknowledged: the start of a line that this writer could not finish, and a torn last line of another
writer, which is first copied to a file next to this one (`name.torn-1`).
"""

import contextlib
import io
import itertools
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import attrs

from agentic.errors import HistoryCorrupt
from agentic.history._disk import (
    LockedFile,
    make_folders,
    open_locked,
    open_private,
    reporting,
    require_flock,
    staged,
    sync_folders,
)
from agentic.history._entries import read_key
from agentic.history._session_file import FileLine, find_end, is_session, read_forwards


@attrs.define(eq=False)
class Log:
    """The writer's side of a file of lines.

    Each step but `close` raises HistoryConflict if another process is the writer, HistoryNotWritten
    if the system refuses what it has to do, and ImportError if the platform has no `flock`.
    """

    path: Path
    fsync: bool
    """If true, a write returns only after its data would survive a power failure."""
    _file: LockedFile | None = attrs.field(default=None, init=False)
    """The locked file; None while the lock is not held."""
    _identity: tuple[int, int] = attrs.field(default=(0, 0), init=False)
    """The device and inode of the open file."""
    _end: int = attrs.field(default=0, init=False)
    """Where the last complete line ends."""
    _unfinished: bool = attrs.field(default=False, init=False)
    """Whether bytes of ours may follow the end: they are cut off before anything is written."""
    _keys: dict[str, int] = attrs.field(factory=dict, init=False)
    """Where the first line with each key begins, as far as the lines were searched. Known while the
    lock is held."""
    _searched: int = attrs.field(default=0, init=False)
    """Where the lines begin that were not searched for keys."""

    def claim(self) -> int:
        """Become the only writer, inspect the file, and return where its last line ends."""
        with reporting(self.path):
            if self._file and not self._file.is_ours:  # in a forked child: the lock is the parent's
                self.close()
            # A cut that failed with its write is tried again before anything follows those bytes.
            if self._file and self._unfinished:
                self._cut(self._file)
            # Somebody may have removed the file, or written to it past the lock, which is only
            # advisory.
            if not self._file or not self._is_as_we_left_it():
                self.close()
                self._open()
        return self._end

    def find_key(self, key: str) -> FileLine | None:
        """Return the line that was appended with a key; the first call reads the whole file."""
        end = self.claim()
        if self._searched == end and key not in self._keys:
            return None
        with reporting(self.path), self.path.open("rb") as file:
            for line in read_forwards(file, self._searched):
                if (found := read_key(line.text)) is not None:
                    self._keys.setdefault(found, line.offset)
            self._searched = end
            begin = self._keys.get(key)
            return None if begin is None else next(read_forwards(file, begin))

    def append(self, lines: Sequence[bytes], keys: Sequence[str | None] = ()) -> int:
        """Write lines, completely or not at all, and return where they end.

        All but the last must begin with `MORE`. `keys` are those of the lines.
        """
        self.claim()
        content = lines[0] if len(lines) == 1 else b"".join(lines)
        file = self._file
        assert file  # noqa: S101  claim() has opened it
        with reporting(self.path):
            self._unfinished = True
            try:
                _write_all(file, content)
                if self.fsync:
                    os.fsync(file.fileno())
            # KeyboardInterrupt as well: the next line would continue what is left of this one.
            except BaseException:
                # The caller needs the error of the write; the next claim repeats the cut.
                with contextlib.suppress(OSError):
                    self._cut(file)
                raise
        self._unfinished = False
        # Only if the lines before it were searched: otherwise the search must find this one, too.
        if self._searched == self._end:
            self._searched += len(content)
            begins = itertools.accumulate(map(len, lines), initial=self._end)
            self._keys.update((key, at) for key, at in zip(keys, begins, strict=False) if key)
        self._end += len(content)
        return self._end

    def rewrite(self, content: bytes) -> None:
        """Replace the file by a new one, completely or not at all, and stay its writer.

        The new file is synced to the disk before it replaces the old one, whatever `fsync` says:
        otherwise a power failure could lose both.
        """
        self.claim()
        path = self.path.resolve()  # replace the file itself, not a link to it
        with reporting(self.path), staged(path, content, fsync=True) as new_file:
            with contextlib.ExitStack() as undo:
                # locked before it gets the name, so that no other writer can come first
                file = undo.enter_context(open_locked(new_file))
                new_file.replace(path)
                undo.pop_all()
            # The former file stays locked until here, so no other writer can open it meanwhile.
            self.close()
            self._file, self._end, stat = file, len(content), os.fstat(file.fileno())
            self._identity = stat.st_dev, stat.st_ino
            sync_folders([path.parent])

    def close(self) -> None:
        """Release the lock. The next claim takes it again."""
        file, self._file = self._file, None
        self._keys.clear()
        self._searched = 0
        if file:
            with file, contextlib.suppress(OSError):
                # Before the lock goes: the next writer would move these bytes aside as a torn line.
                if self._unfinished and file.is_ours:
                    self._cut(file)
        self._unfinished = False

    def _is_as_we_left_it(self) -> bool:
        """Return whether the path still names our file, and nobody wrote to it despite the lock."""
        try:
            stat = os.stat(self.path)  # noqa: PTH116  Path.stat takes twice as long
        except FileNotFoundError:
            return False
        return (stat.st_dev, stat.st_ino) == self._identity and stat.st_size == self._end

    def _open(self) -> None:
        require_flock("JsonlStore")  # before any file is created
        missing = make_folders(self.path.parent)
        with contextlib.ExitStack() as undo:
            file = undo.enter_context(open_locked(self.path))
            stat = os.fstat(file.fileno())
            end = find_end(file)
            # Before anything is moved: somebody's notes without a final newline are no torn line.
            if stat.st_size:
                self._check_session(file)
            if end < stat.st_size:
                self._move_aside(file, end)
            if end == 0:  # a title without entries was left by an import that was killed
                Path(f"{self.path}.title").unlink(missing_ok=True)
            # The name of a new folder is kept in its parent, so that is what must reach the disk.
            if self.fsync:
                sync_folders([self.path.parent, *(folder.parent for folder in missing)])
            undo.pop_all()
        self._file, self._end, self._unfinished = file, end, False
        self._identity = stat.st_dev, stat.st_ino

    def _check_session(self, file: io.FileIO) -> None:
        """Raise unless the file is a session or the beginning of one: it may be any other file."""
        file.seek(0)
        reader = io.BufferedReader(file)
        try:
            foreign = is_session(reader) is False
        finally:
            # Otherwise the reader closes the file when it is collected, and the lock is gone.
            reader.detach()
        if foreign:
            raise HistoryCorrupt(str(self.path), 0, "it is not a session: choose another file")

    def _move_aside(self, file: io.FileIO, end: int) -> None:
        """Copy a torn last line to another file, then cut it off."""
        file.seek(end)
        with _open_beside(self.path) as copy:
            try:
                shutil.copyfileobj(file, copy)
                copy.flush()
                if self.fsync:
                    os.fsync(copy.fileno())
            except BaseException:
                # Half a copy would pass for all that the killed writer left.
                Path(copy.name).unlink()
                raise
        # Only now that the copy is written: a crash between the two leaves the torn line in both
        # files.
        file.truncate(end)

    def _cut(self, file: io.FileIO) -> None:
        file.truncate(self._end)
        self._unfinished = False


def _write_all(file: io.FileIO, line: bytes) -> None:
    """Continue after a short write until everything is written, or raise."""
    rest = memoryview(line)
    while rest:
        rest = rest[file.write(rest) :]


def _open_beside(path: Path) -> io.BufferedWriter:
    number = 1
    while True:
        try:
            # Exclusive, so that what was moved aside before is never overwritten.
            return open(f"{path}.torn-{number}", "xb", opener=open_private)
        except FileExistsError:
            number += 1
