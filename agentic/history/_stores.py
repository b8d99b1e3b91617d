"""What all stores do alike: check what is given, repair what is read, remember what a caller knows.

What differs is where a single step reads and writes; each store says that. The simplest one keeps a
conversation in memory, which is lost when the process ends.
"""

import abc
from collections.abc import Sequence
from typing import Self

import attrs

from agentic._base._short_repr import short_repr
from agentic._base._waiting import off_loop
from agentic.errors import MessageNotFound, NothingToRestore
from agentic.history._entries import Entry, decode, encode_message, encode_view
from agentic.history._outputs import check_ref, encode_output, make_ref, read_output
from agentic.history._redaction import RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import CallerView, Diff, LoadedList, StoredView, compare, merge
from agentic.history._validate import check_key, check_keys, check_message, check_messages
from agentic.messages import Message, close_open_rounds
from agentic.messages._rounds import count_sound, reopen_rounds

_HERE = 0
"""The point in a session in memory up to which its only caller knows it, who sees every write."""


@attrs.frozen
class Addition:
    """A message that is appended."""

    message: Message
    key: str | None
    line: bytes
    """Its entry, with the newline; empty where nothing is encoded."""

    @property
    def entry(self) -> Entry:
        """Its entry."""
        return Entry("message", (self.message,), self.key)


class BaseStore(abc.ABC):
    """An archive with keyed appends, outputs and redactions.

    Which of the errors can occur depends on the medium: OSError means a file that cannot be read,
    HistoryUnavailable a server, and MemoryStore raises only what a caller's mistake leads to.
    """

    __slots__ = ()

    _caller_view: CallerView

    async def append(
        self, *messages: Message, key: str | Sequence[str | None] | None = None
    ) -> None:
        """Store messages after all others, unless the session has one with this key.

        Several are stored together or not at all, and have a key each, if any. In a file, the first
        append with a key reads the whole file.

        Raises:
            ConfigError: an argument is not a Message, or is not JSON data; a key is invalid, or is
                that of two messages, or there is not one for each message.
            HistoryConflict: another store is writing this session, or the message with this key
                says something else.
            HistoryCorrupt: the file is neither a session nor a database of sessions.
            HistoryNotWritten: the message is not stored; the session is unchanged.
            HistoryUnavailable: the connection was lost, and it is unknown whether the message is
                stored. If it is appended again, it is stored once.
        """
        keys = check_keys(key, len(messages))
        if not messages:
            return
        await self._append(
            [
                Addition(check_message(message), one, self._encode(message, one))
                for message, one in zip(messages, keys, strict=True)
            ]
        )

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key. Reads a whole file.

        Raises:
            ConfigError: the key is invalid.
            HistoryCorrupt, HistoryUnavailable, OSError: as for `load`.
        """
        return await self._has_key(check_key(key) or "")

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts; empty if there is no session.

        What nobody else has changed is not read again: the same messages are returned.

        Raises:
            HistoryCorrupt: an entry of the present view cannot be read.
            HistoryUnavailable: the server cannot be reached, or refuses the request.
            OSError: the file exists but cannot be opened.
        """
        view = await self._recall() or await self._load()
        unchecked = len(view.messages) - view.sound
        history, sound = await off_loop(unchecked, _repair, view.messages, view.sound)
        self._caller_view.load(attrs.evolve(view, sound=sound), len(history))
        return history

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
        base = None if replaces is None else self._caller_view.find(replaces, self._name)
        await self._replace(view, base, replaces or 0)

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
        difference = await self._diff()
        if difference is None:
            raise NothingToRestore(self._name)
        return difference

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

    @staticmethod
    def _encode(message: Message, key: str | None) -> bytes:
        return encode_message(message, key)

    @abc.abstractmethod
    async def _append(self, batch: Sequence[Addition]) -> None: ...

    @abc.abstractmethod
    async def _has_key(self, key: str) -> bool: ...

    @abc.abstractmethod
    async def _load(self) -> StoredView: ...

    async def _recall(self) -> StoredView | None:
        """Return the history that was loaded and appended here, if nobody else has changed it."""
        return None

    @abc.abstractmethod
    async def _full(self) -> list[Message]: ...

    @abc.abstractmethod
    async def _replace(self, view: list[Message], base: LoadedList | None, replaces: int) -> None:
        """Replace the first messages of a loaded list; without one, the whole history."""

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


def _repair(messages: list[Message], sound: int) -> tuple[list[Message], int]:
    """Return the repaired history, and how many of the messages needed no repair."""
    sound = count_sound(messages, sound)
    return (messages if sound == len(messages) else close_open_rounds(messages)), sound


@attrs.define
class _Layer:
    """The history that one replace made, and what was appended since."""

    messages: list[Message]
    given: int
    """How many of the messages came from the replace; the others were appended."""


@short_repr
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
    _caller_view: CallerView = attrs.field(factory=CallerView, init=False)
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

    @staticmethod
    def _encode(message: Message, key: str | None) -> bytes:  # noqa: ARG004
        return b""

    async def _append(self, batch: Sequence[Addition]) -> None:
        # All before any is stored.
        for each in batch:
            if stored := self._keyed.get(each.key or ""):
                stored.check_repeated(each.message, self._name)
        for each in batch:
            self._add(each)

    def _add(self, addition: Addition) -> None:
        history, key = self._layers[-1].messages, addition.key
        if stored := self._keyed.get(key or ""):
            self._repeat(stored.messages[0], history)
            return
        self._appended.append(addition.entry)
        if key is not None:
            self._keyed[key] = addition.entry
        history.append(addition.message)
        self._caller_view.append(len(history) - 1, _HERE, _HERE, addition.message)
        self._revision += 1

    async def _has_key(self, key: str) -> bool:
        return key in self._keyed

    async def _full(self) -> list[Message]:
        return [entry.messages[0] for entry in self._appended]

    async def _load(self) -> StoredView:
        raw = self._layers[-1].messages
        # A copy: if no round is open, the caller gets this list, and may change it.
        return StoredView(raw.copy(), len(raw), _HERE)

    async def _replace(self, view: list[Message], base: LoadedList | None, replaces: int) -> None:
        if base is None:
            self._caller_view.check_seen(_HERE, self._name)
        else:
            entries = list(enumerate(self._layers[-1].messages))
            view = merge(view, base, replaces, entries, self._name)
        self._layers.append(_Layer(view, len(view)))
        self._caller_view.replace(_HERE)
        self._revision += 1

    async def _restore(self) -> None:
        if len(self._layers) == 1:
            raise NothingToRestore(self._name)
        layer = self._layers.pop()
        # What was appended since the replace stays.
        self._layers[-1].messages += layer.messages[layer.given :]
        self._caller_view.restore(_HERE, _HERE)
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
        redaction = redact_lines(lines, request, self._name)
        entries = [entry for line in redaction.lines if (entry := decode(line, self._name))]
        self._appended = entries[:count]
        self._keyed = {entry.key: entry for entry in self._appended if entry.key is not None}
        for layer, entry in zip(self._layers, entries[count:], strict=True):
            layer.messages = list(entry.messages)
        refs = {ref for ref, output in self._outputs.items() if redaction.must_go(ref, output)}
        for ref in refs:
            del self._outputs[ref]
        self._caller_view.redact()
        self._revision += 1
        log_redaction(request, self._name)

    def _repeat(self, former: Message, history: list[Message]) -> None:
        # By identity: an equal message may have been appended under another key.
        position = next((at for at, message in enumerate(history) if message is former), None)
        if position is not None:
            self._caller_view.repeat(position)
