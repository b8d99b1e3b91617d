"""A conversation in one append-only file of JSON lines, and its redaction.

Writing is synchronous. With `fsync`, and for a restore or a redaction, which read the whole file, a
single worker thread writes. Either way the steps of one store never overlap, and a cancellation
finds an entry completely stored or not begun.

A redaction also covers what is next to the file: outputs, title, torn lines. The lines are
rewritten last. So a redaction that was killed is not yet recorded, and can be repeated: it finds
the message again. The old file is replaced, not overwritten, so its blocks may persist on the disk
until the file system reuses them.
"""

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import BinaryIO, ParamSpec, TypeVar

import attrs

from agentic._base._lazy import asyncio
from agentic._base._waiting import SerialThread, in_thread
from agentic.errors import NothingToRestore
from agentic.history._disk import reporting, sync_folders, write_private
from agentic.history._entries import MESSAGE, MORE, decode, encode_view
from agentic.history._log import Log
from agentic.history._outputs import Outputs
from agentic.history._redaction import Redacted, RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import CallerView, Diff, LoadedList, StoredView, merge
from agentic.history._session_file import (
    read_diff,
    read_forwards,
    read_full,
    read_keys,
    read_placed,
    read_restored,
    read_view,
)
from agentic.history._stores import Addition, BaseStore
from agentic.history._validate import absolute
from agentic.messages import Message

P = ParamSpec("P")
T = TypeVar("T")
REMAINS = r"torn-\d+|\w+\.part|title\.\w+\.part"
"""What follows the name of a session file, and a dot, in files that killed writers left."""


@attrs.define(eq=False)
class JsonlStore(BaseStore):
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
    _worker: SerialThread = attrs.field(factory=SerialThread, init=False, repr=False)
    _caller_view: CallerView = attrs.field(factory=CallerView, init=False, repr=False)
    """What the caller knows of the file, as an offset."""
    _revision: int = attrs.field(default=0, init=False, repr=False)
    # The size stands for the content: entries are only ever appended.
    _revised: int | None = attrs.field(default=None, init=False, repr=False)
    """The size of the file when the revision was last read."""

    _signature: tuple[int, ...] = attrs.field(default=(), init=False, repr=False)
    """What `_sign` returned of the file whose history is known."""

    @_log.default
    def _make_log(self) -> Log:
        return Log(self.path, self.fsync)

    async def revision(self) -> int:
        """Return a number that increases with every write. Reads only the file's size."""
        return await self._do(self._find_revision)

    async def aclose(self) -> None:
        """Release the lock, after any write in progress is complete."""
        await self._do(self._log.close)
        self._worker.close()
        self._caller_view.history = None

    @property
    def _name(self) -> str:
        return str(self.path)

    async def _exists(self) -> bool:
        return self.path.exists()

    async def _append(self, batch: Sequence[Addition]) -> None:
        await self._do(self._append_lines, batch)

    async def _has_key(self, key: str) -> bool:
        nothing: frozenset[str] = frozenset()
        return key in await self._look(read_keys, nothing)

    async def _full(self) -> list[Message]:
        nothing: list[Message] = []
        return await self._look(read_full, nothing)

    async def _load(self) -> StoredView:
        # Before it is read: what is written meanwhile gives it another signature.
        self._signature = self._sign()
        return await self._look(read_view, StoredView([], 0, 0))

    async def _recall(self) -> StoredView | None:
        history, signature = self._caller_view.history, self._signature
        if history is None or not self._worker.is_idle or signature != self._sign():
            return None
        end = signature[-1]
        # Else an append was stored while the file was read.
        if end != self._caller_view.seen:
            return None
        return StoredView(history.copy(), end, end, sound=self._caller_view.sound)

    async def _replace(self, view: list[Message], base: LoadedList | None, replaces: int) -> None:
        await self._do(self._replace_view, view, encode_view("replace", view), base, replaces)

    async def _restore(self) -> None:
        await self._worker.run(self._restore_view)

    async def _diff(self) -> Diff | None:
        return await self._look(read_diff, None)

    async def _put(self, content: bytes) -> str:
        # Outputs are written by whoever holds the lock, so that a redaction misses none.
        await self._do(self._log.claim)
        return await in_thread(Outputs(self.path, self.fsync).put, content)

    async def _get(self, ref: str) -> bytes | None:
        return await asyncio.to_thread(Outputs(self.path, self.fsync).get, ref)

    async def _redact(self, request: RedactionRequest) -> None:
        await self._worker.run(partial(self._redact_file, request))

    def _append_lines(self, batch: Sequence[Addition]) -> None:
        fresh = [each for each in batch if each.key is None or not self._repeats(each, each.key)]
        if not fresh:
            return
        lines = [each.line for each in fresh]
        # Only with its last line is a batch complete.
        lines[:-1] = [MORE + line.removeprefix(MESSAGE) for line in lines[:-1]]
        end = self._write(lines, [each.key for each in fresh])
        begin = end - sum(map(len, lines))
        for each, line in zip(fresh, lines, strict=True):
            self._caller_view.append(begin, begin, begin + len(line), each.message)
            begin += len(line)
        if self._caller_view.history is not None:
            self._signature = self._sign()

    def _repeats(self, addition: Addition, key: str) -> bool:
        """Return whether a message with this key is stored; the caller then knows it."""
        match = self._log.find_key(key)
        entry = decode(match.text, self._name, match.offset) if match else None
        if match is None or entry is None:
            return False
        entry.check_repeated(addition.message, self._name)
        self._caller_view.repeat(match.offset)
        return True

    def _replace_view(
        self, view: list[Message], line: bytes, base: LoadedList | None, replaces: int
    ) -> None:
        here = self._log.claim()
        if base is None:
            self._caller_view.check_seen(here, self._name)
        # The usual case covers everything, and then nothing has to be read.
        elif not self._caller_view.covers(here, base, replaces):
            nothing: tuple[list[tuple[int, Message]], int] = ([], 0)
            entries, _ = self._read(read_placed, nothing)
            line = encode_view("replace", merge(view, base, replaces, entries, self._name))
        self._caller_view.replace(self._write([line]))

    def _restore_view(self) -> None:
        self._log.claim()
        view_before = self._read(read_restored, None)
        if view_before is None:
            raise NothingToRestore(self._name)
        line = encode_view("restore", view_before)
        end = self._write([line])
        self._caller_view.restore(end - len(line), end)

    def _write(self, lines: Sequence[bytes], keys: Sequence[str | None] = ()) -> int:
        end = self._log.append(lines, keys)
        others = self._revised not in (None, end - sum(map(len, lines)))
        # What others have written since counts once, however many entries it is.
        self._revision, self._revised = self._revision + len(lines) + others, end
        return end

    def _find_revision(self) -> int:
        size = self.path.stat().st_size if self.path.exists() else 0
        if size != self._revised:
            self._revision, self._revised = self._revision + 1, size
        return self._revision

    def _sign(self) -> tuple[int, ...]:
        """Return what changes with every write to the file; its size comes last."""
        try:
            stat = os.stat(self.path)  # noqa: PTH116  Path.stat takes twice as long
        except OSError:  # whoever reads it says why
            return (0,)
        return (stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size)

    def _redact_file(self, request: RedactionRequest) -> None:
        end = self._log.claim()
        with reporting(self.path), self.path.open("rb") as file:
            lines = [line.text for line in read_forwards(file)]
        redaction = redact_lines(lines, request, self._name)
        # The outputs first and the entries last: if it is interrupted, the redaction can be
        # repeated, because the entries still say what to remove.
        refs = _remove_outputs(self.path, redaction)
        with reporting(self.path):
            # Incomplete lines, which were never acknowledged and are never read.
            for remains in find_beside(self.path, REMAINS):
                remains.unlink()
        _change_title(self.path, request)
        self._log.rewrite(_join(redaction.lines, end) + request.record(refs) + b"\n")
        log_redaction(request, self._name)
        self._caller_view.redact()
        self._revision, self._revised = self._revision + 1, self._log.claim()

    async def _look(self, reader: Callable[[BinaryIO, str], T], nothing: T) -> T:
        return await asyncio.to_thread(self._read, reader, nothing)

    def _read(self, reader: Callable[[BinaryIO, str], T], nothing: T) -> T:
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return nothing
        with file:
            return reader(file, self._name)

    async def _do(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a step that writes: synchronously, or in a thread if it waits for the disk."""
        # Without fsync a write takes microseconds, less than handing it to a thread. Behind a step
        # that is under way there it would come out of turn.
        if self.fsync or not self._worker.is_idle:
            return await self._worker.run(partial(step, *args, **kwargs))
        return step(*args, **kwargs)


def _join(lines: list[bytes], size: int) -> bytes:
    """Join lines, padded with blanks to the former size if they are shorter.

    Then a caller who knows the session up to its former end knows nothing that is appended after
    it.
    """
    content = b"".join(line + b"\n" for line in lines)
    return content if len(content) >= size else content.ljust(size - 1) + b"\n"


def _remove_outputs(path: Path, redaction: Redacted) -> list[str]:
    outputs = Outputs(path, fsync=True)
    with reporting(outputs.folder):
        refs = [ref for ref in outputs.refs() if redaction.must_go(ref, outputs.get(ref) or b"")]
        for ref in refs:
            (outputs.folder / ref).unlink()
        if outputs.folder.is_dir():
            # A killed writer may have left the secret in a file that has no reference yet.
            for part in outputs.folder.glob("*.part"):
                part.unlink()
            sync_folders([outputs.folder])
    return refs


def find_beside(path: Path, suffixes: str) -> list[Path]:
    """Find the files next to a session file that begin with its name, a dot and such a suffix."""
    names = re.compile(rf"{re.escape(path.name)}\.({suffixes})")
    return [other for other in path.parent.iterdir() if names.fullmatch(other.name)]


def _change_title(path: Path, request: RedactionRequest) -> None:
    title = Path(f"{path}.title")
    with reporting(title):
        if not title.exists():
            return
        before = title.read_text("utf-8", "replace")
        # An editor may have added lines, which nobody reads, but which may hold the secret.
        after = request.hide_in_title(before.partition("\n")[0])
        if after != before:
            write_private(title, after.encode(), fsync=True)
