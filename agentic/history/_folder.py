"""Sessions in a folder, a file of JSON lines for each.

What belongs to the session `monday` has a name that begins with `monday.jsonl`: the file itself,
`.title`, the folder `.outputs`, and `.torn-N`, what killed writers left behind.
"""

import logging
import re
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import BinaryIO

import attrs

from agentic._lazy import asyncio
from agentic.errors import HistoryConflict, HistoryCorrupt, SessionNotFound
from agentic.history._disk import (
    make_folders,
    open_locked,
    reporting,
    require_flock,
    staged,
    sync_folders,
    write_private,
)
from agentic.history._export import (
    Exported,
    Lines,
    encode_output_line,
    encode_title_line,
    read_export,
)
from agentic.history._jsonl import JsonlStore
from agentic.history._outputs import Outputs, outputs_beside
from agentic.history._protocols import SessionInfo
from agentic.history._session_file import find_end, is_session, survey
from agentic.history._validate import (
    absolute,
    check_session_id,
    check_title,
    from_timestamp,
    in_utc,
    is_session_id,
)
from agentic.history._waiting import in_thread

__all__ = ["JsonlSessions"]

_log = logging.getLogger(__name__)

_SUFFIX = ".jsonl"
_BELONGS = re.compile(r"\.(title|outputs|torn-\d+|\w+\.part|title\.\w+\.part)")
"""How the names of a session's other files go on where the name of its own ends."""
_BATCH_BYTES = 1024 * 1024


@attrs.frozen
class JsonlSessions:
    """A folder of sessions, made at the first write.

    Where many processes write, or a list must be quick, `history.sqlite` serves better: `list`
    reads every file here, some four seconds for each GB.

    >>> import tempfile
    >>> async def talk(folder: str) -> list[str]:
    ...     sessions = JsonlSessions(folder)
    ...     async with sessions.open("monday") as store:
    ...         await store.append(Message("user", "Why is the build red?"))
    ...     await sessions.rename("monday", "A red build")
    ...     return [info.title for info in await sessions.list()]
    >>> from agentic.messages import Message
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(talk(folder))
    ['A red build']
    """

    folder: Path = attrs.field(converter=absolute)
    """Absolute; a relative path counts from the directory of the moment."""
    fsync: bool = attrs.field(default=False, kw_only=True)
    """Acknowledge only what survives a power cut as well."""

    def open(self, session_id: str) -> JsonlStore:
        """Return the store of a session, there or not. Reads and writes nothing.

        Raises:
            ConfigError: no session id.
        """
        return JsonlStore(self._path(session_id), fsync=self.fsync)

    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the one that changed last first. Reads every file.

        A file that cannot be read, or no line of which is an entry, is left out, and the log names
        it.

        Raises:
            OSError: the folder is there and cannot be read.
        """
        return await asyncio.to_thread(self._list)

    async def rename(self, session_id: str, title: str) -> None:
        """Set the title of a session, or with "" remove it; its writer is not disturbed.

        Raises:
            ConfigError: no session id, or no title.
            HistoryNotWritten: the title is as it was.
            SessionNotFound: there is no such session.
        """
        check_title(title)
        await in_thread(self._set_title, self._find(session_id), title)

    async def delete(self, session_id: str) -> None:
        """Remove a session with its outputs, its title and what killed writers left of it.

        Raises:
            ConfigError: no session id.
            HistoryConflict: somebody is writing it.
            HistoryNotWritten: it could not be removed, or not all of it.
            SessionNotFound: there is no such session.
        """
        await in_thread(self._delete, self._find(session_id, empty=True))

    async def redact(
        self,
        session_id: str,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Replace what a message of a session says, for good, as the store's `redact` does.

        Raises:
            SessionNotFound: there is no such session.
            ConfigError, HistoryConflict, HistoryCorrupt, HistoryNotWritten, MessageNotFound: as the
                store's `redact` raises them.
        """
        self._find(session_id)
        async with self.open(session_id) as store:
            await store.redact(message_id, replacement, secret=secret, by=by)

    async def export(self, session_id: str) -> AsyncIterator[bytes]:
        """Yield a session as lines, as it is now: its entries, its title, its outputs.

        Raises:
            ConfigError: no session id.
            HistoryCorrupt: an output is not as it was kept; the lines before it were given.
            SessionNotFound: there is no such session.
        """
        path = self._find(session_id)
        title, outputs = self._title(path), outputs_beside(path, fsync=self.fsync)
        with path.open("rb") as file:
            left = await asyncio.to_thread(_rewind, file)
            while left > 0:
                for line in await asyncio.to_thread(file.readlines, min(left, _BATCH_BYTES)):
                    if left > 0 and line.strip():
                        yield line
                    left -= len(line)
        if title:
            yield encode_title_line(title)
        for ref in outputs.refs():
            yield await asyncio.to_thread(_encode_output, outputs, ref)

    async def import_(self, session_id: str, lines: Lines) -> None:
        """Make a session of an export, whole or not at all. The lines stay in memory meanwhile.

        Raises:
            ConfigError: no session id, or no lines.
            HistoryConflict: there is such a session.
            HistoryCorrupt: a line cannot be read.
            HistoryNotWritten: there is no new session.
        """
        path = self._path(session_id)
        found = await read_export(lines, f"the import of {session_id}")
        await in_thread(self._import, path, found)

    def _path(self, session_id: str) -> Path:
        return self.folder / f"{check_session_id(session_id)}{_SUFFIX}"

    def _find(self, session_id: str, *, empty: bool = False) -> Path:
        path = self._path(session_id)
        if path.is_file():
            with path.open("rb") as file:
                found = is_session(file)
            if found is False:
                raise HistoryCorrupt(str(path), 0, "it is no session")
            if found or empty:
                return path
        raise SessionNotFound(session_id, str(self.folder))

    def _list(self) -> Sequence[SessionInfo]:
        # not by glob, to which a folder that cannot be read is an empty one
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        infos = (
            self._try(path)
            for path in paths
            # Other programs keep JSON lines, too: a file whose name is no id was not made here.
            if path.suffix == _SUFFIX and is_session_id(path.name.removesuffix(_SUFFIX))
        )
        found = [info for info in infos if info is not None]
        return sorted(found, key=lambda info: info.changed_at, reverse=True)

    def _try(self, path: Path) -> SessionInfo | None:
        """Describe what is there; None if that is no session, or was taken away meanwhile."""
        try:
            return self._describe(path) if path.is_file() else None
        except FileNotFoundError:
            return None
        except OSError as problem:
            why = (problem.strerror or str(problem)).lower()
            _log.warning("%s is not listed: %s", path, why)
            return None

    def _describe(self, path: Path) -> SessionInfo | None:
        changed = from_timestamp(path.stat().st_mtime)
        with path.open("rb") as file:
            seen = survey(file)
        if seen.is_session is None:
            return None
        if not seen.is_session:
            _log.warning("%s is not listed: no line of it is an entry of a session", path)
            return None
        return SessionInfo(
            id=path.name.removesuffix(_SUFFIX),
            title=self._title(path),
            messages=seen.messages,
            summarized=seen.summarized,
            created_at=in_utc(seen.begun or changed),
            changed_at=changed,
        )

    def _title(self, path: Path) -> str:
        try:
            text = Path(f"{path}.title").read_text("utf-8", "replace")
        except OSError:  # mostly there is none, and a list is no place to fail
            return ""
        return text.partition("\n")[0]  # an editor may have been there

    def _set_title(self, path: Path, title: str) -> None:
        beside = Path(f"{path}.title")
        with reporting(beside):
            if title:
                write_private(beside, title.encode(), fsync=self.fsync)
            else:
                beside.unlink(missing_ok=True)

    def _delete(self, path: Path) -> None:
        require_flock("JsonlSessions")
        with reporting(path), open_locked(path):
            for other in self.folder.iterdir():
                if other.name.startswith(path.name) and _BELONGS.fullmatch(
                    other.name, len(path.name)
                ):
                    _remove(other)
            path.unlink()  # last: until then, what a kill leaves can be deleted again
            if self.fsync:
                sync_folders([self.folder])

    def _import(self, path: Path, found: Exported) -> None:
        """Make a session under its own lock: an empty file, which is none, until all is there."""
        require_flock("JsonlSessions")
        with reporting(path):
            make_folders(self.folder)
            with open_locked(path):
                with path.open("rb") as file:
                    if any(line.strip() for line in file):
                        raise _there_already(path)
                try:
                    self._fill(path, found)
                except BaseException:
                    self._clear(path)
                    path.unlink()
                    raise
            if self.fsync:
                sync_folders([self.folder])

    def _fill(self, path: Path, found: Exported) -> None:
        # Outputs and title first, and the entries last: only they make it a session.
        self._clear(path)  # what a killed import left
        outputs = outputs_beside(path, fsync=self.fsync)
        for ref, output in found.outputs.items():
            outputs.put(ref, output)
        self._set_title(path, found.title)
        content = b"".join(entry.text + b"\n" for entry in found.entries)
        with staged(path, content, fsync=self.fsync) as written:
            written.replace(path)  # last: only now there is a session

    def _clear(self, path: Path) -> None:
        self._set_title(path, "")
        shutil.rmtree(outputs_beside(path, fsync=self.fsync).folder, ignore_errors=True)


def _there_already(path: Path) -> HistoryConflict:
    return HistoryConflict(str(path), "already exists: choose another id, or delete it first")


def _rewind(file: BinaryIO) -> int:
    """Find where the last complete line ends, and go back to the first."""
    end = find_end(file)
    file.seek(0)
    return end


def _encode_output(outputs: Outputs, ref: str) -> bytes:
    return encode_output_line(ref, outputs.get(ref), outputs.session)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
