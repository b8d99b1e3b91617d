"""Sessions in a folder, each in a file of JSON lines.

The files of the session `monday` have names that begin with `monday.jsonl`: the file itself,
`.title`, the folder `.outputs`, and `.torn-N`, which hold incomplete lines of killed writers.
"""

import logging
import shutil
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import attrs

from agentic._base._lazy import asyncio
from agentic._base._waiting import threaded
from agentic.errors import HistoryCorrupt
from agentic.history._abilities import SessionInfo
from agentic.history._disk import (
    make_folders,
    open_locked,
    reporting,
    require_flock,
    sync_folders,
    write_private,
)
from agentic.history._jsonl import REMAINS, JsonlStore, find_beside
from agentic.history._outputs import Outputs
from agentic.history._session_file import find_end, is_session, survey
from agentic.history._sessions import (
    BaseSessions,
    Exported,
    already_exists,
    encode_output_line,
    encode_title_line,
)
from agentic.history._validate import (
    absolute,
    check_session_id,
    from_timestamp,
    in_utc,
    is_session_id,
    is_title,
)

_log = logging.getLogger(__name__)

_SUFFIX = ".jsonl"
_BATCH_BYTES = 1024 * 1024


@attrs.frozen
class JsonlSessions(BaseSessions):
    """A folder of sessions, created at the first write.

    `history.sqlite` is the better choice if many processes write or if listing must be fast: here
    `list` reads every file, which takes about four seconds per GB.

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
    """An absolute path; a relative one is resolved against the current directory on creation."""
    fsync: bool = attrs.field(default=False, kw_only=True)
    """If true, a write returns only after its data would survive a power failure."""

    def open(self, session_id: str) -> JsonlStore:
        """Return the store of a session, whether or not the session exists. No file is touched.

        Raises:
            ConfigError: the session id is invalid.
        """
        return JsonlStore(self._path(session_id), fsync=self.fsync)

    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the most recently changed first. Reads every file.

        A file that cannot be read, or that contains no entry, is left out and named in the log.

        Raises:
            OSError: the folder exists but cannot be read.
        """
        return await asyncio.to_thread(self._list)

    async def _export(self, session_id: str) -> AsyncIterator[bytes]:
        path = self._find(session_id)
        title, outputs = self._title(path), Outputs(path, self.fsync)
        with path.open("rb") as file:
            rest = await asyncio.to_thread(find_end, file)
            file.seek(0)
            while rest > 0:
                for line in await asyncio.to_thread(file.readlines, min(rest, _BATCH_BYTES)):
                    # readlines() stops only past its hint: it may return what was appended since.
                    if rest > 0 and line.strip():
                        yield line
                    rest -= len(line)
        if title:
            yield encode_title_line(title)
        for ref in outputs.refs():
            content = await asyncio.to_thread(outputs.get, ref)
            yield encode_output_line(ref, content, str(path))

    @property
    def _place(self) -> str:
        return str(self.folder)

    @threaded
    def _check_exists(self, session_id: str) -> None:
        self._find(session_id)

    def _path(self, session_id: str) -> Path:
        return absolute(self.folder / f"{check_session_id(session_id)}{_SUFFIX}")

    def _find(self, session_id: str, *, empty: bool = False) -> Path:
        path = self._path(session_id)
        if path.is_file():
            with path.open("rb") as file:
                match = is_session(file)
            if match is False:
                raise HistoryCorrupt(str(path), 0, "it is not a session")
            if match or empty:
                return path
        raise self._missing(session_id)

    def _list(self) -> Sequence[SessionInfo]:
        # not by glob, which treats an unreadable folder as an empty one
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        infos = (
            self._try(path)
            for path in paths
            # Other programs keep JSON lines, too: a file whose name is no id was not made here.
            if path.suffix == _SUFFIX and is_session_id(path.name.removesuffix(_SUFFIX))
        )
        sessions = [info for info in infos if info is not None]
        return sorted(sessions, key=lambda info: info.changed_at, reverse=True)

    def _try(self, path: Path) -> SessionInfo | None:
        """Describe the session in a file; None if it is not a session, or was removed meanwhile."""
        try:
            return self._describe(path) if path.is_file() else None
        except FileNotFoundError:
            return None
        except OSError as problem:
            why = (problem.strerror or str(problem)).lower()
            _log.warning("%s is not listed: %s", path, why)
            return None

    def _describe(self, path: Path) -> SessionInfo | None:
        moment = from_timestamp(path.stat().st_mtime)
        with path.open("rb") as file:
            overview = survey(file)
        if overview.is_session is None:
            return None
        if not overview.is_session:
            _log.warning("%s is not listed: no line of it is an entry of a session", path)
            return None
        return SessionInfo(
            id=path.name.removesuffix(_SUFFIX),
            title=self._title(absolute(path)),
            messages=overview.messages,
            summarized=overview.summarized,
            created_at=in_utc(overview.begun or moment),
            changed_at=moment,
        )

    def _title(self, path: Path) -> str:
        try:
            text = Path(f"{path}.title").read_text("utf-8", "replace")
        except OSError:  # mostly there is no title, and listing should not fail
            return ""
        title = text.partition("\n")[0]  # a text editor may have added a line
        return title if is_title(title) else ""

    @threaded
    def _rename(self, session_id: str, title: str) -> None:
        self._set_title(self._find(session_id), title)

    def _set_title(self, path: Path, title: str) -> None:
        # Not an entry: that would need the lock, and make the writer's view outdated.
        beside = Path(f"{path}.title")
        with reporting(beside):
            if title:
                write_private(beside, title.encode(), fsync=self.fsync)
            else:
                beside.unlink(missing_ok=True)

    @threaded
    def _delete(self, session_id: str) -> None:
        # A killed import leaves an empty file, which is no session but must be removable.
        path = self._find(session_id, empty=True)
        require_flock("JsonlSessions")
        with reporting(path), open_locked(path):
            for other in find_beside(path, f"title|outputs|{REMAINS}"):
                if other.is_dir() and not other.is_symlink():
                    shutil.rmtree(other)
                else:
                    other.unlink()
            path.unlink()  # last, so that a delete that was killed can be repeated
            if self.fsync:
                sync_folders([self.folder])

    @threaded
    def _import(self, session_id: str, export: Exported) -> None:
        """Create a session under its own lock; its file stays empty until all is written."""
        path = self._path(session_id)
        require_flock("JsonlSessions")
        with reporting(path):
            make_folders(self.folder)
            with open_locked(path):
                with path.open("rb") as file:
                    if any(line.strip() for line in file):
                        raise already_exists(str(path))
                try:
                    self._fill(path, export)
                # Still under the lock, so that nobody finds half an import.
                except BaseException:
                    self._clear(path)
                    path.unlink()
                    raise

    def _fill(self, path: Path, export: Exported) -> None:
        # Outputs and title first, and the entries last: only they make it a session.
        self._clear(path)  # what a killed import left
        outputs = Outputs(path, self.fsync)
        for output in export.outputs.values():
            outputs.put(output)
        self._set_title(path, export.title)
        content = b"".join(entry.text + b"\n" for entry in export.entries)
        write_private(path, content, fsync=self.fsync)

    def _clear(self, path: Path) -> None:
        self._set_title(path, "")
        shutil.rmtree(Outputs(path, self.fsync).folder, ignore_errors=True)
