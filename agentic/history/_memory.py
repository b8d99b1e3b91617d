"""A conversation that is kept in memory and lost when the process ends."""

import attrs

from agentic.errors import NothingToRestore
from agentic.history._entries import Entry, decode, encode_message, encode_view
from agentic.history._outputs import make_ref
from agentic.history._redaction import RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import Diff, Knowledge, Known, StoredView, compare, merge
from agentic.history._stores import BaseStore
from agentic.messages import Message

__all__ = ["MemoryStore"]

_HERE = 0
"""The point in the session up to which its only caller knows it, who sees every write."""


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

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key."""
        return key in self._keyed

    async def revision(self) -> int:
        """Return how many times the session was written to."""
        return self._revision

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order."""
        return [entry.messages[0] for entry in self._appended]

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
