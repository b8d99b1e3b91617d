"""The only writer of a session in a database that many processes share.

It holds the session's lock with its connection. If the connection is lost, the server may have
stored what was just sent although its answer was lost: that entry is in doubt. Once the lost
connection has ended on the server, the entry's sequence number settles the question. So nothing is
stored twice, and nothing is considered stored that is not.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

import attrs
import psycopg
from psycopg import errors

from agentic.errors import HistoryConflict, HistoryUnavailable, MessageNotFound, NothingToRestore
from agentic.history._entries import Entry, encode_view
from agentic.history._outputs import make_ref
from agentic.history._redaction import RedactionRequest, log_redaction
from agentic.history._replace import CallerView, LoadedList, merge
from agentic.history._rows import NEW, NOWHERE, State
from agentic.history._stores import Addition
from agentic.history.postgres._database import Link, check_owner, end_former, lock_session, purge
from agentic.history.postgres._rows import Fence, NewEntry, PostgresRows, refuse_leased
from agentic.history.postgres._server import Connection, explain, is_inherited, writing
from agentic.messages import Message


@attrs.frozen
class _Sent:
    """An entry that has not been confirmed."""

    seq: int
    kind: str
    line: bytes
    """The caller's data, without what a replace keeps, which depends on when it is done."""
    entries: tuple[Entry, ...]
    """What was sent: the entry of this number is the last of them."""


@attrs.define(eq=False)
class PostgresWriter:
    """The writer's side of a session. Each step is done completely or not at all, and only once.

    All steps may raise `HistoryConflict` and `HistoryNotWritten`, and raise `HistoryUnavailable` if
    an entry stays in doubt.
    """

    link: Link
    session_id: str
    caller_view: CallerView
    """What the caller knows, as the session's number and its latest entry."""
    fence: Fence | None
    """The lease that every write requires, instead of the lock of the connection."""
    _id: int = attrs.field(factory=lambda: secrets.randbits(63), init=False)
    """Identifies the entries of this writer."""
    _holder: Connection | None = attrs.field(default=None, init=False)
    """The connection that holds the lock."""
    _process: int | None = attrs.field(default=None, init=False)
    """The server's process at the other end of the latest one that had it."""
    _rows: PostgresRows | None = attrs.field(default=None, init=False)
    """None while there is no such session. Known, like the state, while we hold the lock."""
    _state: State = attrs.field(default=NEW, init=False)
    _doubt: _Sent | None = attrs.field(default=None, init=False)
    _late: _Sent | None = attrs.field(default=None, init=False)
    """An entry that turned out to be stored after the caller was told that it is in doubt."""

    @property
    def name(self) -> str:
        """The session's name in error messages."""
        return self.link.name

    @property
    def is_ready(self) -> bool:
        """Return whether this object is already the writer."""
        holder = self._holder
        return holder is not None and not is_inherited(holder) and not holder.closed

    @property
    def seq(self) -> int | None:
        """The number of the latest entry; None while others may have written."""
        return self._state.seq if self.is_ready else None

    @property
    def point(self) -> tuple[int, int] | None:
        """The point in the session at which it stands; None while others may have written."""
        return self._locate(self._state.seq) if self.is_ready and not self._doubt else None

    async def append(self, batch: Sequence[Addition]) -> None:
        """Add messages, each unless the session has one with its key."""
        await self._take(partial(self._append, batch))

    async def replace(
        self, messages: list[Message], line: bytes, loaded_list: LoadedList | None, replaces: int
    ) -> None:
        """Add a view with these messages and the stored ones that they do not replace.

        Without a loaded list, they replace all, unless that would hide what the caller does not
        know.
        """
        await self._take(partial(self._replace, messages, line, loaded_list, replaces))

    async def restore(self) -> None:
        """Add the view that preceded the latest replace in force."""
        await self._take(self._restore)

    async def put(self, content: bytes) -> str:
        """Add an encoded output, and return its reference."""
        ref = make_ref(content)
        await self._take(partial(self._keep, ref, content))
        return ref

    async def redact(self, request: RedactionRequest) -> None:
        """Change the entries that hold a message, and the tables as they are stored."""
        await self._take(partial(self._redact, request))
        log_redaction(request, self.name)

    async def settle(self) -> None:
        """Find out about an entry in doubt, as far as possible, because the caller will read."""
        try:
            if self._doubt:
                await self._take(_nothing)
        finally:
            # Whoever has looked and then appends an equal message means another one.
            self._late = None

    async def close(self) -> None:
        """Release the lock. The next step takes it again."""
        holder, self._holder = self._holder, None
        if self.fence and holder:
            with contextlib.suppress(psycopg.Error):  # it will expire
                await self.fence.release(holder)
        # In doubt, the former process of the server has to end before anybody can tell.
        if not self._doubt:
            self._process = None
        await self.link.aclose()

    async def _take(self, step: Callable[[], Awaitable[None]]) -> None:
        """Run a step as the only writer, and repeat it if the connection turns out to be lost."""
        with writing(self.name, self.link.dsn):
            try:
                try:
                    await self._claim()
                    await step()
                except psycopg.Error as problem:
                    if not self.link.is_lost(problem):
                        raise
                    await self.link.aclose()
                    # The claim finds out whether the first attempt was stored; then the step adds
                    # nothing.
                    await self._claim()
                    await step()
            except (errors.UniqueViolation, errors.ForeignKeyViolation) as problem:
                # An entry of this number is there already, or the session is gone: the advisory
                # lock binds only those who ask for it.
                self._holder = None  # must be looked up again
                what = "was changed or removed by a writer that ignored its lock: load again"
                raise HistoryConflict(self.name, what) from problem
            except (psycopg.Error, HistoryConflict) as problem:
                if self._doubt:
                    raise self._say_doubt(problem) from problem
                raise

    async def _claim(self) -> None:
        if is_inherited(self._holder):
            # The parent holds the lock, and its process at the server must not be ended.
            self._holder = self._process = self._rows = self._doubt = self._late = None
            self._id = secrets.randbits(63)
        connection = await self.link.to_write()
        if connection is self._holder and (not self.fence or await self.fence.keep(connection)):
            return
        if self.fence:
            self._holder = None
            await self.fence.claim(connection)
        # Before the lock is asked for: the lost process may still hold it, and may still write.
        if self._process:
            await end_former(connection, self.session_id, self.name, self._process)
            self._process = None
        # Before the lock: even if another has it by now, what is in doubt can be settled.
        await self._find_out(connection)
        if not self.fence:
            await self._lock(connection)
        rows = await PostgresRows.find(connection, self.session_id, self.name, self.fence)
        self._state = await rows.ask(rows.state()) if rows else NEW
        self._rows, self._holder = rows, connection

    async def _lock(self, connection: Connection) -> None:
        self.link.kept = None  # it is locked until it is closed
        await lock_session(connection, self.session_id, self.name)
        self._process = connection.info.backend_pid
        try:
            # Under the lock, which acquire() needs: from here on, nobody can take a lease.
            await refuse_leased(connection, self.session_id, self.name)
        except HistoryConflict:
            self._process = None
            await self.link.aclose()  # releases the lock
            raise

    async def _find_out(self, connection: Connection) -> None:
        """Find out whether the entry in doubt is stored, now that the lost connection has ended."""
        if self._doubt:
            rows = await PostgresRows.find(connection, self.session_id, self.name)
            is_there = rows is not None and await rows.has(self._doubt.seq, self._id)
            self._late, self._doubt = self._doubt if is_there else None, None

    async def _append(self, batch: Sequence[Addition]) -> None:
        line = b"".join([each.line for each in batch])
        # Entries that were in doubt have their keys, too, and are no repetition.
        late = self._find_late("message", line)
        fresh = [] if late else await self._find_fresh(batch)
        entries = late.entries if late else tuple([each.entry for each in fresh])
        if not entries:
            return
        seq = self._here("message", line)[1]
        await self._add(entries, line, texts=[each.line for each in fresh])
        for at, entry in enumerate(entries, seq + 1):
            before, after = self._locate(at - 1), self._locate(at)
            self.caller_view.append(at, before, after, entry.messages[0])

    async def _find_fresh(self, batch: Sequence[Addition]) -> Sequence[Addition]:
        if self._rows is None:
            return batch
        return await self._rows.ask(self._rows.fresh(batch, self.caller_view))

    async def _replace(
        self, messages: list[Message], line: bytes, base: LoadedList | None, replaces: int
    ) -> None:
        text, here = line, self._here("replace", line)
        is_stored = self._find_late("replace", line) is not None
        if base is None:
            self.caller_view.check_seen(here, self.name)
        elif not is_stored and not self.caller_view.covers(here, base, replaces):
            messages = await self._merge(messages, base, replaces)
            # In a thread, as a view may be megabytes, and other tasks of this loop wait meanwhile.
            text = await asyncio.to_thread(encode_view, "replace", messages)
        entry = Entry("replace", tuple(messages))
        self.caller_view.replace(await self._add((entry,), line, texts=[text]))

    async def _merge(
        self, messages: list[Message], base: LoadedList, replaces: int
    ) -> list[Message]:
        if self._rows is None:
            return merge(messages, base, replaces, [], self.name)
        return await self._rows.ask(self._rows.merged(self._state, messages, base, replaces))

    async def _restore(self) -> None:
        if self._find_late("restore", b""):
            before = self._here("restore", b"")
            self.caller_view.restore(before, await self._add((), b"", kind="restore"))
            return
        if self._rows is None:
            raise NothingToRestore(self.name)
        view, former = await self._rows.ask(self._rows.restored(self._state))
        line = await asyncio.to_thread(encode_view, "restore", view)
        before = self._locate(self._state.seq)
        after = await self._add((Entry("restore", tuple(view)),), line, former)
        self.caller_view.restore(before, after)

    async def _keep(self, ref: str, content: bytes) -> None:
        # One statement commits by itself. With a lease, the check belongs to the same transaction.
        if self._rows and not self.fence:
            await self._rows.put_output(ref, content)
            return
        connection = await self.link.to_write()
        async with self._transaction(connection):
            rows = self._rows or await self._make(connection)
            await rows.put_output(ref, content)
        self._rows = rows

    async def _redact(self, request: RedactionRequest) -> None:
        if self._rows is None:
            raise MessageNotFound(self.name, request.message_id)
        # First: without the right to VACUUM, what is removed would stay in the tables' files.
        await check_owner(self._rows.connection, self.name)
        try:
            async with self._transaction(self._rows.connection):
                record = await self._rows.ask(self._rows.redact(request))
                state = self._state.follow(None)
                await self._rows.append([("optional", record, state, None)], self._id)
            self._state = state
            # Before the purge, which may fail: the entries have changed all the same.
            self.caller_view.redact()
        except asyncio.CancelledError:
            self._holder = None  # must be looked up again
            raise
        await purge(self._rows.connection)

    def _locate(self, seq: int) -> tuple[int, int]:
        return self._rows.locate(seq) if self._rows else NOWHERE

    def _here(self, kind: str, line: bytes) -> tuple[int, int]:
        """Return where a step begins: before the same entry if it is already stored."""
        late = self._find_late(kind, line)
        return self._locate(late.seq - len(late.entries) if late else self._state.seq)

    def _find_late(self, kind: str, line: bytes) -> _Sent | None:
        """Return the late entry if a step repeats it; a restore does, whatever its result."""
        late = self._late
        is_same = late and late.kind == kind and (late.line == line or kind == "restore")
        return late if is_same else None

    async def _add(
        self,
        entries: tuple[Entry, ...],
        line: bytes,
        former: State | None = None,
        *,
        kind: str = "",
        texts: Sequence[bytes] = (),
    ) -> tuple[int, int]:
        """Add entries of a kind, unless they turned out to be stored, and return where that leads.

        `texts` is what is stored, if that is not just the caller's data.
        """
        kind = kind or entries[0].kind
        late, self._late = self._find_late(kind, line), None
        if late:
            return self._locate(late.seq)
        # The state is set only when the server has confirmed the entries.
        state = self._state
        rows: list[NewEntry] = []
        for entry, text in zip(entries, texts or [line], strict=True):
            state = state.follow(entry, former)
            rows.append((kind, text.removesuffix(b"\n"), state, entry.key))
        # From here until the server answers, nobody can know whether they are stored.
        self._doubt = _Sent(state.seq, kind, line, entries)
        try:
            await self._insert(rows)
        except psycopg.Error as problem:
            if not self.link.is_lost(problem):  # the server refused: nothing was stored
                self._doubt = None
            raise
        except BaseException:  # cancelled: the caller will not ask, but the state is now unknown
            self._doubt = self._holder = None
            raise
        self._doubt, self._state = None, state
        return self._locate(state.seq)

    async def _insert(self, entries: list[NewEntry]) -> None:
        if self._rows:
            await self._rows.append(entries, self._id)
            return
        # The session is made with its first entry, or not at all.
        connection = await self.link.to_write()
        async with self._transaction(connection):
            rows = await self._make(connection)
            await rows.append(entries, self._id)
        # Only now that it is committed.
        self._rows = rows

    async def _make(self, connection: Connection) -> PostgresRows:
        return await PostgresRows.add(connection, self.session_id, self.name, fence=self.fence)

    @contextlib.asynccontextmanager
    async def _transaction(self, connection: Connection) -> AsyncIterator[None]:
        """Write completely or not at all, and only under the lease, if there is one."""
        async with connection.transaction():
            if self.fence:
                await self.fence.check(connection)
            yield

    def _say_doubt(self, problem: Exception) -> HistoryUnavailable:
        text = explain(problem, self.link.dsn) if isinstance(problem, psycopg.Error) else problem
        return HistoryUnavailable(
            self.name,
            "the connection was lost before the server said whether the entry is stored, and then: "
            f"{text}. Write the same again, which stores it once, or load",
        )


async def _nothing() -> None:
    pass
