"""A conversation in one append-only file of JSON lines, and its redaction.

Writing is synchronous, and with `fsync` one worker thread does it: either way steps of one store
never overlap, and a cancellation finds an entry stored whole or not begun.

A redaction also covers what lies next to the file: outputs, title, torn lines. The lines come last:
a redaction that is killed has not been recorded, finds the message again, and goes on. The old file
is replaced, not overwritten: its blocks are the file system's to use again.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, ParamSpec, Self, TypeVar

import attrs

from agentic._lazy import asyncio
from agentic.errors import MessageNotFound, NothingToRestore
from agentic.history._disk import reporting, sync_folders, write_private
from agentic.history._entries import encode_message, encode_view
from agentic.history._log import Log
from agentic.history._outputs import outputs_beside
from agentic.history._redaction import Redacted, RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import Diff, Knowledge, Known, check_replaces, merge
from agentic.history._session_file import (
    StoredView,
    read_diff,
    read_forwards,
    read_full,
    read_placed,
    read_restored,
    read_view,
)
from agentic.history._validate import absolute, check_messages
from agentic.history._waiting import finish, in_thread
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["JsonlStore"]

P = ParamSpec("P")
T = TypeVar("T")
_REMAINS = re.compile(r"\.(torn-\d+|\w+\.part|title\.\w+\.part)")
"""How the names go on of what killed writers left next to a session file."""


@attrs.define(eq=False)
class JsonlStore:
    """An archive in a file of mode 0600, made with its folders at the first write.

    Nothing is overwritten: a compaction is a line that holds the complete new view, so `load` reads
    backwards from the end, and only up to there. What `append` acknowledged survives `kill -9`.

    The first write takes the file's lock and `aclose` gives it back; until then a second writer
    gets `HistoryConflict`. Readers take no lock. A closed store can be used again.

    An entry that a killed writer left half written is passed over by readers; the next writer moves
    it to a file beside this one, `<name>.torn-1`. Kept outputs are in the folder `<name>.outputs`.

    >>> import asyncio, tempfile
    >>> async def talk(path: str) -> list[str]:
    ...     async with JsonlStore(path) as store:
    ...         await store.append(Message("user", "Why is the build red?"))
    ...     return [message.content for message in await JsonlStore(path).load()]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     asyncio.run(talk(f"{folder}/sessions/monday.jsonl"))
    ['Why is the build red?']
    """

    path: Path = attrs.field(converter=absolute)
    """Absolute; a relative path counts from the directory of the moment."""
    fsync: bool = attrs.field(default=False, kw_only=True)
    """Acknowledge only what survives a power cut as well.

    A thread waits for the disk, so that the event loop goes on. What it costs is the disk's affair:
    6 times a plain append on a virtual SSD, as `benchmarks/history.py` measured it.
    """
    _log: Log = attrs.field(init=False, repr=False)
    _worker: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)
    _knowledge: Knowledge = attrs.field(factory=Knowledge, init=False, repr=False)
    """Of the file, up to an offset."""
    _revision: int = attrs.field(default=0, init=False, repr=False)
    _revised: int | None = attrs.field(default=None, init=False, repr=False)
    """Up to where the file was when the revision was found out."""

    @_log.default
    def _make_log(self) -> Log:
        return Log(self.path, self.fsync)

    async def append(self, message: Message) -> None:
        """Keep a message, after all others.

        Raises:
            ConfigError: no message, or one that is not JSON data.
            HistoryConflict: somebody else is writing this session.
            HistoryNotWritten: the message is not stored; the session is as it was.
        """
        await self._do(self._append, encode_message(message))

    async def load(self) -> list[Message]:
        """Return the history as a provider accepts it; none if there is no file.

        Raises:
            HistoryCorrupt: a complete entry of the present view cannot be read.
            OSError: the file is there and cannot be opened.
        """
        view = await asyncio.to_thread(self._read, read_view, StoredView([], 0))
        closed = close_open_rounds(view.messages)
        self._knowledge.load(view.end, Known(view.end, len(closed)))
        return closed

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or put them in the place of its first ones.

        Raises:
            ConfigError: no messages, one that is not JSON data, or `replaces` is more than were
                loaded and appended.
            HistoryConflict: somebody else is writing this session. Without `replaces`, somebody
                else has written to it since this store loaded it: the new view would hide what it
                does not know. With `replaces`, the history was replaced since it was loaded.
            HistoryNotWritten: nothing is stored; the session is as it was.
        """
        view = reopen_rounds(check_messages(messages))
        line = encode_view("replace", view)
        if replaces is None:
            await self._do(self._replace, line)
            return
        known = check_replaces(replaces, self._knowledge.known, str(self.path))
        await self._do(self._replace_known, view, line, known, replaces)

    async def revision(self) -> int:
        """Return a number that every write to the file makes larger. Reads its size only."""
        return await self._do(self._find_revision)

    async def full(self) -> list[Message]:
        """Return every message ever appended, raw and in order. Reads the whole file.

        Raises:
            HistoryCorrupt: a complete entry cannot be read.
            OSError: the file is there and cannot be opened.
        """
        return await asyncio.to_thread(self._read, read_full, [])

    async def restore(self) -> None:
        """Take back the latest replace that still stands. Reads the whole file.

        Raises:
            NothingToRestore: no replace stands.
            HistoryConflict, HistoryCorrupt, HistoryNotWritten: nothing is stored.
        """
        await self._do(self._restore)

    async def diff(self) -> Diff:
        """Return what the latest replace that still stands dropped. Reads the whole file.

        Raises:
            NothingToRestore: no replace stands.
            HistoryCorrupt: a complete entry cannot be read.
            OSError: the file is there and cannot be opened.
        """
        found = await asyncio.to_thread(self._read, read_diff, None)
        if found is None:
            raise NothingToRestore(str(self.path))
        return found

    async def put(self, output: str) -> str:
        """Keep an output in a file of its own, and give its reference.

        Raises:
            ConfigError: no text.
            HistoryConflict: somebody else is writing this session.
            HistoryNotWritten: it is not kept.
        """
        await self._do(self._log.claim)
        return await in_thread(outputs_beside(self.path, fsync=self.fsync).write, output)

    async def get(self, ref: str) -> str:
        """Return a kept output.

        Raises:
            ConfigError: no reference.
            HistoryCorrupt: the file is not as it was written.
            OutputNotFound: it was never kept here.
        """
        return await asyncio.to_thread(outputs_beside(self.path, fsync=self.fsync).read, ref)

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Replace what a message says, for good: the file is written anew and put in its place.

        Raises:
            ConfigError: an argument that cannot be meant.
            HistoryConflict: somebody else is writing this session.
            HistoryCorrupt: an entry cannot be read.
            HistoryNotWritten: not all of it is done; redacted again, it goes on.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        await self._do(self._redact, request)

    async def aclose(self) -> None:
        """Release the lock, after what is being written is written."""
        await self._do(self._log.close)
        worker, self._worker = self._worker, None
        if worker:
            worker.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _append(self, line: bytes) -> None:
        end = self._write(line)
        begin = end - len(line)
        self._knowledge.append(begin, begin, end)

    def _replace(self, line: bytes) -> None:
        if self._knowledge.seen is not None:  # or the claim would look for nothing
            self._knowledge.check_seen(self._log.claim(), str(self.path))
        self._write_view(line)

    def _replace_known(
        self, messages: list[Message], line: bytes, known: Known, replaces: int
    ) -> None:
        if not self._knowledge.covers(self._log.claim(), known, replaces):
            nothing: list[tuple[int, Message]] = []
            stored = self._read(read_placed, nothing)
            line = encode_view("replace", merge(messages, known, replaces, stored, str(self.path)))
        self._write_view(line)

    def _restore(self) -> None:
        if self.path.exists():  # or the claim would make the file
            self._log.claim()
        restored = self._read(read_restored, None)
        if restored is None:
            raise NothingToRestore(str(self.path))
        self._write_view(encode_view("restore", restored))

    def _write_view(self, line: bytes) -> None:
        self._knowledge.replace(self._write(line))

    def _write(self, line: bytes) -> int:
        end = self._log.append(line)
        others = self._revised not in (None, end - len(line))
        # What others have written since counts once, however many entries it is.
        self._revision, self._revised = self._revision + 1 + others, end
        return end

    def _find_revision(self) -> int:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._revised:
            self._revision, self._revised = self._revision + 1, size
        return self._revision

    def _redact(self, request: RedactionRequest) -> None:
        _redact_file(self._log, request)
        self._knowledge.redact()
        self._revision, self._revised = self._revision + 1, self._log.claim()

    def _read(self, reader: Callable[[BinaryIO, str], T], nothing: T) -> T:
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return nothing
        with file:
            return reader(file, str(self.path))

    async def _do(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a step that writes: here and now, or where waiting for the disk blocks nobody."""
        # Without fsync a write takes microseconds, less than handing it to a thread.
        if not self.fsync:
            return step(*args, **kwargs)
        self._worker = self._worker or ThreadPoolExecutor(1, "agentic-history")
        return await finish(asyncio.wrap_future(self._worker.submit(step, *args, **kwargs)))


def _redact_file(log: Log, request: RedactionRequest) -> None:
    """Redact a message of the session that this is the log of.

    Raises:
        HistoryConflict: somebody else is the writer.
        HistoryCorrupt: an entry cannot be read.
        HistoryNotWritten: not all of it is done; redacted again, it goes on.
        MessageNotFound: there is no such message.
    """
    path, session = log.path, str(log.path)
    if not path.exists():  # or the claim would make it
        raise MessageNotFound(session, request.message_id)
    end = log.claim()
    with reporting(path), path.open("rb") as file:
        lines = [line.text for line in read_forwards(file)]
    redacted = redact_lines(lines, request, session)
    gone = _remove_outputs(path, redacted)
    _remove_remains(path)
    _change_title(path, request)
    log.rewrite(_join(redacted.lines, end) + request.record(gone) + b"\n")
    log_redaction(request, session)


def _join(lines: list[bytes], size: int) -> bytes:
    """Put lines together, and blanks after them where they are shorter than they were.

    So whoever knows the session up to its former end knows nothing that is there after it.
    """
    content = b"".join(line + b"\n" for line in lines)
    return content if len(content) >= size else content.ljust(size - 1) + b"\n"


def _remove_outputs(path: Path, redacted: Redacted) -> list[str]:
    outputs = outputs_beside(path, fsync=True)
    with reporting(outputs.folder):
        gone = [ref for ref in outputs.refs() if redacted.must_go(ref, outputs.get(ref))]
        for ref in gone:
            (outputs.folder / ref).unlink()
        if outputs.folder.is_dir():
            for left in outputs.folder.glob("*.part"):
                left.unlink()
            sync_folders([outputs.folder])
    return gone


def _remove_remains(path: Path) -> None:
    """Remove what was never acknowledged, and what nobody reads."""
    with reporting(path):
        for other in path.parent.iterdir():
            if other.name.startswith(path.name) and _REMAINS.fullmatch(other.name, len(path.name)):
                other.unlink()


def _change_title(path: Path, request: RedactionRequest) -> None:
    title = Path(f"{path}.title")
    with reporting(title):
        if not title.exists():
            return
        before = title.read_text("utf-8", "replace")
        after = request.hide_in_title(before)
        if after != before:
            write_private(title, after.encode(), fsync=True)
