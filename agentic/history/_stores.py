"""What all stores do alike: check what is given, repair what is read, remember what a caller knows.

What differs is where a single step reads and writes; each store says that. Those that keep entries
as the rows of a database also answer the same questions.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeVar

from agentic.errors import MessageNotFound, NothingToRestore
from agentic.history._outputs import check_ref, encode_output, read_output
from agentic.history._redaction import RedactionRequest
from agentic.history._replace import Diff, Knowledge, Known, StoredView
from agentic.history._rows import NEW, NOWHERE, Question, SessionRows
from agentic.history._validate import check_key, check_message, check_messages
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["BaseStore", "RowStore"]

T = TypeVar("T")


class BaseStore(abc.ABC):
    """An archive with keyed appends, outputs and redactions.

    Which of the errors can occur depends on the medium: OSError means a file that cannot be read,
    HistoryUnavailable a server, and MemoryStore raises only what a caller's mistake leads to.
    """

    __slots__ = ()

    _knowledge: Knowledge

    async def append(self, message: Message, *, key: str | None = None) -> None:
        """Store a message after all others, unless the session has one with this key.

        In a file, the first append with a key reads the whole file.

        Raises:
            ConfigError: `message` is not a Message, or is not JSON data, or the key is invalid.
            HistoryConflict: another store is writing this session, or the message with this key
                says something else.
            HistoryCorrupt: the file is neither a session nor a database of sessions.
            HistoryNotWritten: the message is not stored; the session is unchanged.
            HistoryUnavailable: the connection was lost, and it is unknown whether the message is
                stored. If it is appended again, it is stored once.
        """
        await self._append(check_message(message), check_key(key))

    @abc.abstractmethod
    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key."""

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts; empty if there is no session.

        Raises:
            HistoryCorrupt: an entry of the present view cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OSError: the file exists but cannot be opened.
        """
        view = await self._load()
        closed = close_open_rounds(view.messages)
        self._knowledge.load(view, len(closed))
        return closed

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or replace its first `replaces` messages with them.

        Raises:
            ConfigError: an item is not a Message or not JSON data, or `replaces` is more than were
                loaded and appended.
            HistoryConflict: another store is writing this session. Without `replaces`: another
                store has written to it since this one loaded it, and the new view would hide what
                it does not know. With `replaces`: the history was replaced since it was loaded. In
                both cases: a message was redacted since.
            HistoryCorrupt: the file is neither a session nor a database of sessions.
            HistoryNotWritten: nothing is stored; the session is unchanged.
            HistoryUnavailable: as for `append`. If it is called again with the same messages, they
                are stored once, whatever has arrived meanwhile.
        """
        view = reopen_rounds(check_messages(messages))
        # Before the step: a load that ends meanwhile changes what `replaces` counts in.
        known = None if replaces is None else self._knowledge.find(replaces, self._name)
        await self._replace(view, known, replaces or 0)

    @abc.abstractmethod
    async def revision(self) -> int:
        """Return a number that increases with every write to the session, whoever writes.

        It costs little: the size of a file, or the number of the latest row.
        """

    @abc.abstractmethod
    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order."""

    async def restore(self) -> None:
        """Undo the latest replace that was not undone yet. Reads a whole file.

        Raises:
            NothingToRestore: there is no replace left to undo.
            HistoryConflict, HistoryCorrupt, HistoryNotWritten: nothing is stored.
            HistoryUnavailable: as for `append`.
        """
        if not await self._exists():  # otherwise the claim would create it
            raise NothingToRestore(self._name)
        await self._restore()

    async def diff(self) -> Diff:
        """Return what the latest replace in force removed and added. Reads a whole file.

        Raises:
            NothingToRestore: no replace is in force.
            HistoryCorrupt: an entry cannot be read, or the file is not a database.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OSError: the file exists but cannot be opened.
        """
        found = await self._diff()
        if found is None:
            raise NothingToRestore(self._name)
        return found

    async def put(self, output: str) -> str:
        """Store an output with the session, and return its reference.

        Raises:
            ConfigError: `output` is not a str.
            HistoryConflict: another store is writing this session.
            HistoryCorrupt, HistoryNotWritten: the output is not stored.
        """
        return await self._put(encode_output(output))

    async def get(self, ref: str) -> str:
        """Return a stored output.

        Raises:
            ConfigError: `ref` is not a reference.
            HistoryCorrupt: the output was changed since it was stored.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OutputNotFound: the output was never stored here.
        """
        return read_output(await self._get(check_ref(ref)), ref, self._name)

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Permanently replace the text of a message in the archive, in every view and in outputs.

        The session's file is rewritten, or the tables of all sessions in its database. Copies in a
        server's log, in replicas and in backups are not changed.

        Raises:
            ConfigError: an argument is invalid.
            HistoryConflict: another store is writing this session, or a reader does not stop.
            HistoryCorrupt: an entry cannot be read, or the file is not a database of sessions.
            HistoryNotWritten: the redaction is incomplete; repeating it completes it.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        if not await self._exists():  # otherwise the claim would create it
            raise MessageNotFound(self._name, message_id)
        await self._redact(request)

    @abc.abstractmethod
    async def aclose(self) -> None:
        """Release the lock and what else is held, after any write in progress is complete."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    @abc.abstractmethod
    def _name(self) -> str:
        """The session's name in error messages."""

    @abc.abstractmethod
    async def _exists(self) -> bool:
        """Return whether there is a session to change, or may be."""

    @abc.abstractmethod
    async def _append(self, message: Message, key: str | None) -> None: ...

    @abc.abstractmethod
    async def _load(self) -> StoredView: ...

    @abc.abstractmethod
    async def _replace(self, view: list[Message], known: Known | None, replaces: int) -> None:
        """Replace the first messages of a known list; without one, the whole history."""

    @abc.abstractmethod
    async def _restore(self) -> None: ...

    @abc.abstractmethod
    async def _diff(self) -> Diff | None: ...

    @abc.abstractmethod
    async def _put(self, content: bytes) -> str: ...

    @abc.abstractmethod
    async def _get(self, ref: str) -> bytes | None: ...

    @abc.abstractmethod
    async def _redact(self, request: RedactionRequest) -> None: ...


class _Writer(Protocol):
    """The writer's side of a session in a database."""

    @property
    def name(self) -> str: ...

    @property
    def seq(self) -> int | None: ...


class RowStore(BaseStore):
    """A store whose entries are rows: it reads by the questions of `SessionRows`."""

    __slots__ = ()

    _writer: _Writer

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key. Raises what `load` raises."""
        return await self._answer(lambda rows: rows.keyed(key), None) is not None

    async def revision(self) -> int:
        """Return the number of the latest entry, from memory if this store is the writer.

        Raises what `load` raises.
        """
        if (seq := self._writer.seq) is not None:
            return seq
        return (await self._answer(SessionRows.state, NEW)).seq

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order.

        Raises what `load` raises.
        """
        nothing: list[Message] = []
        return await self._answer(SessionRows.full, nothing)

    @property
    def _name(self) -> str:
        return self._writer.name

    async def _load(self) -> StoredView:
        return await self._answer(SessionRows.load, StoredView([], 1, NOWHERE))

    async def _diff(self) -> Diff | None:
        return await self._answer(SessionRows.diff, None)

    async def _get(self, ref: str) -> bytes | None:
        return await self._answer(lambda rows: rows.output(ref), None)

    @abc.abstractmethod
    async def _answer(self, question: Callable[[SessionRows], Question[T]], nothing: T) -> T:
        """Ask a question about one moment of the session; `nothing` if there is no session."""
