"""A conversation in one append-only file of JSON lines, and its redaction.

Writing is synchronous; with `fsync`, a single worker thread writes. Either way the steps of one
store never overlap, and a cancellation finds an entry completely stored or not begun.

A redaction also covers what is next to the file: outputs, title, torn lines. The lines are
rewritten last. So a redaction that was killed is not yet recorded, and can be repeated: it finds
the message again. The old file is replaced, not overwritten, so its blocks may persist on the disk
until the file system reuses them.
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
from agentic.history._entries import decode, encode_message, encode_view
from agentic.history._keys import check_repeated
from agentic.history._log import Log
from agentic.history._outputs import outputs_beside
from agentic.history._redaction import Redacted, RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import Diff, Knowledge, Known, check_replaces, merge
from agentic.history._session_file import (
    StoredView,
    read_diff,
    read_forwards,
    read_full,
    read_keys,
    read_placed,
    read_restored,
    read_view,
)
from agentic.history._validate import absolute, check_key, check_messages
from agentic.history._waiting import finish, in_thread
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["JsonlStore"]

P = ParamSpec("P")
T = TypeVar("T")
_REMAINS = re.compile(r"\.(torn-\d+|\w+\.part|title\.\w+\.part)")
"""The suffixes of files that killed writers left next to a session file."""


@attrs.define(eq=False)
class JsonlStore:
    """An archive in a file of mode 0600, created with its folders at the first write.

    Nothing is overwritten. A compaction is a line that contains the complete new view, so `load`
    reads backwards from the end, only as far as that line. What `append` acknowledged survives
    `kill -9`.

    The first write takes the file's lock and `aclose` releases it; until then, a second writer
    raises `HistoryConflict`. Readers take no lock. A closed store can be used again.

    Readers skip an entry that a killed writer left incomplete; the next writer moves it to a file
    next to this one, `<name>.torn-1`. Stored outputs are in the folder `<name>.outputs`.

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
    """An absolute path; a relative one is resolved against the current directory on creation."""
    fsync: bool = attrs.field(default=False, kw_only=True)
    """If true, a write returns only after its data would survive a power failure.

    A thread waits for the disk, so that the event loop is not blocked. The cost depends on the
    disk: 6 times a plain append on a virtual SSD, as measured by `benchmarks/history.py`.
    """
    _log: Log = attrs.field(init=False, repr=False)
    _worker: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)
    _knowledge: Knowledge = attrs.field(factory=Knowledge, init=False, repr=False)
    """What the caller knows of the file, as an offset."""
    _revision: int = attrs.field(default=0, init=False, repr=False)
    # The size stands for the content: entries are only ever appended.
    _revised: int | None = attrs.field(default=None, init=False, repr=False)
    """The size of the file when the revision was last read."""

    @_log.default
    def _make_log(self) -> Log:
        return Log(self.path, self.fsync)

    async def append(self, message: Message, *, key: str | None = None) -> None:
        """Store a message after all others, unless the session has one with this key.

        The first append with a key reads the whole file.

        Raises:
            ConfigError: `message` is not a Message, or is not JSON data, or the key is invalid.
            HistoryConflict: another store is writing this session, or the message with this key
                says something else.
            HistoryNotWritten: the message is not stored; the session is unchanged.
        """
        await self._do(self._append, message, encode_message(message, check_key(key)), key)

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key. Reads the whole file.

        Raises:
            OSError: the file exists but cannot be opened.
        """
        return key in await asyncio.to_thread(self._read, read_keys, frozenset())

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts; empty if there is no file.

        Raises:
            HistoryCorrupt: a complete entry of the present view cannot be read.
            OSError: the file exists but cannot be opened.
        """
        view = await asyncio.to_thread(self._read, read_view, StoredView([], 0))
        closed = close_open_rounds(view.messages)
        self._knowledge.load(view.end, Known(view.end, len(closed)))
        return closed

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or replace its first `replaces` messages with them.

        Raises:
            ConfigError: an item is not a Message or not JSON data, or `replaces` is more than were
                loaded and appended.
            HistoryConflict: another store is writing this session. Without `replaces`: another
                store has written to it since this one loaded it, and the new view would hide what
                it does not know. With `replaces`: the history was replaced since it was loaded.
            HistoryNotWritten: nothing is stored; the session is unchanged.
        """
        view = reopen_rounds(check_messages(messages))
        line = encode_view("replace", view)
        if replaces is None:
            await self._do(self._replace, line)
            return
        # Before the step: a load that ends meanwhile changes what `replaces` counts in.
        known = check_replaces(replaces, self._knowledge.known, str(self.path))
        await self._do(self._replace_known, view, line, known, replaces)

    async def revision(self) -> int:
        """Return a number that increases with every write. Reads only the file's size."""
        return await self._do(self._find_revision)

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order. Reads the whole file.

        Raises:
            HistoryCorrupt: a complete entry cannot be read.
            OSError: the file exists but cannot be opened.
        """
        return await asyncio.to_thread(self._read, read_full, [])

    async def restore(self) -> None:
        """Undo the latest replace that was not undone yet. Reads the whole file.

        Raises:
            NothingToRestore: there is no replace left to undo.
            HistoryConflict, HistoryCorrupt, HistoryNotWritten: nothing is stored.
        """
        await self._do(self._restore)

    async def diff(self) -> Diff:
        """Return what the latest replace in force removed and added. Reads the whole file.

        Raises:
            NothingToRestore: no replace is in force.
            HistoryCorrupt: a complete entry cannot be read.
            OSError: the file exists but cannot be opened.
        """
        found = await asyncio.to_thread(self._read, read_diff, None)
        if found is None:
            raise NothingToRestore(str(self.path))
        return found

    async def put(self, output: str) -> str:
        """Store an output in a file of its own, and return its reference.

        Raises:
            ConfigError: `output` is not a str.
            HistoryConflict: another store is writing this session.
            HistoryNotWritten: the output is not stored.
        """
        # Outputs are written by whoever holds the lock, so that a redaction misses none.
        await self._do(self._log.claim)
        return await in_thread(outputs_beside(self.path, fsync=self.fsync).write, output)

    async def get(self, ref: str) -> str:
        """Return a stored output.

        Raises:
            ConfigError: `ref` is not a reference.
            HistoryCorrupt: the file was changed since it was written.
            OutputNotFound: the output was never stored here.
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
        """Permanently replace the text of a message: the file is rewritten and replaced.

        Raises:
            ConfigError: an argument is invalid.
            HistoryConflict: another store is writing this session.
            HistoryCorrupt: an entry cannot be read.
            HistoryNotWritten: the redaction is incomplete; repeating it completes it.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        await self._do(self._redact, request)

    async def aclose(self) -> None:
        """Release the lock, after any write in progress is complete."""
        await self._do(self._log.close)
        worker, self._worker = self._worker, None
        if worker:
            worker.shutdown()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _append(self, message: Message, line: bytes, key: str | None) -> None:
        if key is not None and self._is_repeated(message, key):
            return
        end = self._write(line, key)
        begin = end - len(line)
        self._knowledge.append(begin, begin, end)

    def _is_repeated(self, message: Message, key: str) -> bool:
        found = self._log.find_key(key)
        entry = decode(found.text, str(self.path), found.offset) if found else None
        if found is None or entry is None:
            return False
        check_repeated(entry, message, str(self.path))
        self._knowledge.repeat(found.offset)
        return True

    def _replace(self, line: bytes) -> None:
        if self._knowledge.seen is not None:  # otherwise claiming the file would be pointless
            self._knowledge.check_seen(self._log.claim(), str(self.path))
        self._write_view(line)

    def _replace_known(
        self, messages: list[Message], line: bytes, known: Known, replaces: int
    ) -> None:
        # The usual case covers everything, and then nothing has to be read.
        if not self._knowledge.covers(self._log.claim(), known, replaces):
            nothing: list[tuple[int, Message]] = []
            stored = self._read(read_placed, nothing)
            line = encode_view("replace", merge(messages, known, replaces, stored, str(self.path)))
        self._write_view(line)

    def _restore(self) -> None:
        if self.path.exists():  # otherwise the claim would create the file
            self._log.claim()
        restored = self._read(read_restored, None)
        if restored is None:
            raise NothingToRestore(str(self.path))
        line = encode_view("restore", restored)
        end = self._write(line)
        self._knowledge.restore(end - len(line), end)

    def _write_view(self, line: bytes) -> None:
        self._knowledge.replace(self._write(line))

    def _write(self, line: bytes, key: str | None = None) -> int:
        end = self._log.append(line, key)
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
        """Run a step that writes: synchronously, or in a thread if it waits for the disk."""
        # Without fsync a write takes microseconds, less than handing it to a thread.
        if not self.fsync:
            return step(*args, **kwargs)
        self._worker = self._worker or ThreadPoolExecutor(1, "agentic-history")
        return await finish(asyncio.wrap_future(self._worker.submit(step, *args, **kwargs)))


def _redact_file(log: Log, request: RedactionRequest) -> None:
    """Redact a message of the session that this is the log of.

    Raises:
        HistoryConflict: another store is the writer.
        HistoryCorrupt: an entry cannot be read.
        HistoryNotWritten: the redaction is incomplete; repeating it completes it.
        MessageNotFound: there is no such message.
    """
    path, session = log.path, str(log.path)
    if not path.exists():  # otherwise the claim would create it
        raise MessageNotFound(session, request.message_id)
    end = log.claim()
    with reporting(path), path.open("rb") as file:
        lines = [line.text for line in read_forwards(file)]
    redacted = redact_lines(lines, request, session)
    # The outputs first and the entries last: if it is interrupted, the redaction can be repeated,
    # because the entries still say what to remove.
    gone = _remove_outputs(path, redacted)
    _remove_remains(path)
    _change_title(path, request)
    log.rewrite(_join(redacted.lines, end) + request.record(gone) + b"\n")
    log_redaction(request, session)


def _join(lines: list[bytes], size: int) -> bytes:
    """Join lines, padded with blanks to the former size if they are shorter.

    Then a caller who knows the session up to its former end knows nothing that is appended after
    it.
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
            # A killed writer may have left the secret in a file that has no reference yet.
            for left in outputs.folder.glob("*.part"):
                left.unlink()
            sync_folders([outputs.folder])
    return gone


def _remove_remains(path: Path) -> None:
    """Remove incomplete lines, which were never acknowledged and are never read."""
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
