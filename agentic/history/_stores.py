"""What all stores do alike: check what is given, repair what is read, remember what a caller knows.

What differs is where a single step reads and writes; each store says that. The simplest one keeps a
conversation in memory, which is lost when the process ends.
"""

import abc
from collections.abc import Sequence
from typing import Self

import attrs

from agentic._waiting import off_loop
from agentic.errors import MessageNotFound, NothingToRestore
from agentic.history._entries import Entry, decode, encode_message, encode_view
from agentic.history._outputs import check_ref, encode_output, make_ref, read_output
from agentic.history._redaction import RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import Diff, Knowledge, Known, StoredView, compare, merge
from agentic.history._validate import check_key, check_message, check_messages
from agentic.messages import Message, close_open_rounds, reopen_rounds

_HERE = 0
"""The point in a session in memory up to which its only caller knows it, who sees every write."""


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

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key. Reads a whole file.

        Raises:
            ConfigError: the key is invalid.
            HistoryCorrupt, HistoryUnavailable, OSError: as for `load`.
        """
        return await self._has_key(check_key(key) or "")

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts; empty if there is no session.

        Raises:
            HistoryCorrupt: an entry of the present view cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OSError: the file exists but cannot be opened.
        """
        view = await self._load()
        closed = await off_loop(len(view.messages), close_open_rounds, view.messages)
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

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order. Reads a whole file.

        Raises:
            HistoryCorrupt: a complete entry cannot be read.
            HistoryUnavailable, OSError: as for `load`.
        """
        return await self._full()

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
    ) -> int:
        """Permanently replace the text of a message in the archive, in every view and in outputs.

        Return how often the secret was found. The session's file is rewritten, or the tables of all
        sessions in its database. Copies in a server's log, in replicas and in backups are not
        changed.

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
        return request.tally.count

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
    async def _has_key(self, key: str) -> bool: ...

    @abc.abstractmethod
    async def _load(self) -> StoredView: ...

    @abc.abstractmethod
    async def _full(self) -> list[Message]: ...

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


@attrs.define
class _Layer:
    """The history that one replace made, and what was appended since."""

    messages: list[Message]
    given: int
    """How many of the messages came from the replace; the others were appended."""


@attrs.define(eq=False)
class MemoryStore(BaseStore):
    """An archive for tests, for scripts, and for sessions that need not be kept.

    Only here need messages not be JSON data, until one of them is redacted.

    >>> import asyncio
    >>> async def compact() -> list[str]:
    ...     async with MemoryStore() as store:
    ...         await store.append(Message("user", "Why is the build red?"))
    ...         await store.replace([Message("system", "The build is red.")])
    ...         await store.append(Message("user", "Mend it."))
    ...         return [message.content for message in await store.load()]
    >>> asyncio.run(compact())
    ['The build is red.', 'Mend it.']
    """

    _appended: list[Entry] = attrs.field(factory=list, init=False)
    _keyed: dict[str, Entry] = attrs.field(factory=dict, init=False)
    """Those of them that have a key."""
    _layers: list[_Layer] = attrs.field(factory=lambda: [_Layer([], 0)], init=False)
    _outputs: dict[str, bytes] = attrs.field(factory=dict, init=False)
    _knowledge: Knowledge = attrs.field(factory=Knowledge, init=False)
    _revision: int = attrs.field(default=0, init=False)

    async def revision(self) -> int:
        """Return how many times the session was written to."""
        return self._revision

    async def aclose(self) -> None:
        """Do nothing: a store in memory holds nothing open."""

    @property
    def _name(self) -> str:
        return "the session in memory"

    async def _exists(self) -> bool:
        return True

    async def _append(self, message: Message, key: str | None) -> None:
        history = self._layers[-1].messages
        if stored := self._keyed.get(key or ""):
            stored.check_repeated(message, self._name)
            self._repeat(stored.messages[0], history)
            return
        entry = Entry("message", (message,), key)
        self._appended.append(entry)
        if key is not None:
            self._keyed[key] = entry
        history.append(message)
        self._knowledge.append(len(history) - 1, _HERE, _HERE)
        self._revision += 1

    async def _has_key(self, key: str) -> bool:
        return key in self._keyed

    async def _full(self) -> list[Message]:
        return [entry.messages[0] for entry in self._appended]

    async def _load(self) -> StoredView:
        raw = self._layers[-1].messages
        # A copy: if no round is open, the caller gets this list, and may change it.
        return StoredView(raw.copy(), len(raw), _HERE)

    async def _replace(self, view: list[Message], known: Known | None, replaces: int) -> None:
        if known is None:
            self._knowledge.check_seen(_HERE, self._name)
        else:
            stored = list(enumerate(self._layers[-1].messages))
            view = merge(view, known, replaces, stored, self._name)
        self._layers.append(_Layer(view, len(view)))
        self._knowledge.replace(_HERE)
        self._revision += 1

    async def _restore(self) -> None:
        if len(self._layers) == 1:
            raise NothingToRestore(self._name)
        undone = self._layers.pop()
        # What was appended since the replace stays.
        self._layers[-1].messages += undone.messages[undone.given :]
        self._knowledge.restore(_HERE, _HERE)
        self._revision += 1

    async def _diff(self) -> Diff | None:
        if len(self._layers) == 1:
            return None
        before, latest = self._layers[-2:]
        return compare(before.messages, latest.messages[: latest.given])

    async def _put(self, content: bytes) -> str:
        ref = make_ref(content)
        self._outputs[ref] = content
        return ref

    async def _get(self, ref: str) -> bytes | None:
        return self._outputs.get(ref)

    async def _redact(self, request: RedactionRequest) -> None:
        count = len(self._appended)
        lines = [encode_message(entry.messages[0], entry.key)[:-1] for entry in self._appended]
        lines += [encode_view("replace", layer.messages)[:-1] for layer in self._layers]
        # Through the lines that a file would hold, so that all stores remove the same.
        redacted = redact_lines(lines, request, self._name)
        entries = [entry for line in redacted.lines if (entry := decode(line, self._name))]
        self._appended = entries[:count]
        self._keyed = {entry.key: entry for entry in self._appended if entry.key is not None}
        for layer, entry in zip(self._layers, entries[count:], strict=True):
            layer.messages = list(entry.messages)
        gone = {ref for ref, kept in self._outputs.items() if redacted.must_go(ref, kept)}
        for ref in gone:
            del self._outputs[ref]
        self._knowledge.redact()
        self._revision += 1
        log_redaction(request, self._name)

    def _repeat(self, stored: Message, history: list[Message]) -> None:
        # By identity: an equal message may have been appended under another key.
        position = next((at for at, message in enumerate(history) if message is stored), None)
        if position is not None:
            self._knowledge.repeat(position)
