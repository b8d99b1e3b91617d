"""A conversation that is kept in memory and lost when the process ends."""

from collections.abc import Sequence
from typing import Self

import attrs

from agentic.errors import HistoryConflict, NothingToRestore, OutputNotFound
from agentic.history._entries import Entry, decode, encode_message, encode_view
from agentic.history._keys import check_repeated
from agentic.history._outputs import check_ref, decode_output, encode_output, make_ref
from agentic.history._redaction import RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import Diff, Known, check_replaces, compare, merge
from agentic.history._validate import check_key, check_message, check_messages
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["MemoryStore"]

_NAME = "the session in memory"


@attrs.define
class _Layer:
    """The history that one replace made, and what was appended since."""

    messages: list[Message]
    given: int
    """How many of the messages came from the replace; the others were appended."""


@attrs.define(eq=False)
class MemoryStore:
    """An archive for tests, for scripts, and for sessions that need not be kept.

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
    _outdated: bool = attrs.field(default=False, init=False)
    """Whether a redaction removed something that the caller's loaded messages still contain."""
    _known: Known | None = attrs.field(factory=Known, init=False)
    """What `replaces` counts in; None from a replace or restore until the next load."""
    _revision: int = attrs.field(default=0, init=False)

    async def append(self, message: Message, *, key: str | None = None) -> None:
        """Store a message after all others, unless there is one with this key.

        Raises:
            ConfigError: `message` is not a Message, or the key is invalid.
            HistoryConflict: the message with this key says something else.
        """
        entry = Entry("message", (check_message(message),), check_key(key))
        history = self._layers[-1].messages
        if stored := self._keyed.get(key or ""):
            check_repeated(stored, message, _NAME)
            self._repeat(stored.messages[0], history)
            return
        self._appended.append(entry)
        if key is not None:
            self._keyed[key] = entry
        history.append(message)
        if self._known:
            self._known.note(len(history) - 1)
        self._revision += 1

    async def has_key(self, key: str) -> bool:
        """Return whether a message was appended with this key."""
        return key in self._keyed

    async def load(self) -> list[Message]:
        """Return the history in a form that a provider accepts."""
        self._outdated = False
        raw = self._layers[-1].messages
        # A copy: if nothing is open, the same list comes back, and the caller may change it.
        closed = close_open_rounds(raw.copy())
        self._known = Known(len(raw), len(closed))
        return closed

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or replace its first `replaces` messages with them.

        Raises:
            ConfigError: an item is not a Message, or `replaces` is more than were loaded and
                appended.
            HistoryConflict: with `replaces`, the history was replaced or a message was redacted
                since it was loaded.
        """
        view = reopen_rounds(check_messages(messages))
        # What the caller loaded still has the text that was removed, and a view made of it would
        # too.
        if self._outdated:
            raise HistoryConflict(_NAME, "was redacted since it was loaded: load again")
        if replaces is not None:
            known = check_replaces(replaces, self._known, _NAME)
            stored = list(enumerate(self._layers[-1].messages))
            view = merge(view, known, replaces, stored, _NAME)
        self._layers.append(_Layer(view, len(view)))
        self._known = None
        self._revision += 1

    async def revision(self) -> int:
        """Return how many times the session was written to."""
        return self._revision

    async def full(self) -> list[Message]:
        """Return every message ever appended, unrepaired and in order."""
        return [entry.messages[0] for entry in self._appended]

    async def restore(self) -> None:
        """Undo the latest replace that was not undone yet.

        Raises:
            NothingToRestore: there is no replace left to undo.
        """
        if len(self._layers) == 1:
            raise NothingToRestore(_NAME)
        undone = self._layers.pop()
        # What was appended since the replace stays.
        self._layers[-1].messages += undone.messages[undone.given :]
        self._known = None
        self._revision += 1

    async def diff(self) -> Diff:
        """Return what the latest replace in force removed, and what it added.

        Raises:
            NothingToRestore: no replace is in force.
        """
        if len(self._layers) == 1:
            raise NothingToRestore(_NAME)
        before, latest = self._layers[-2:]
        return compare(before.messages, latest.messages[: latest.given])

    async def put(self, output: str) -> str:
        """Store an output and return its reference."""
        content = encode_output(output)
        ref = make_ref(content)
        self._outputs[ref] = content
        return ref

    async def get(self, ref: str) -> str:
        """Return a stored output.

        Raises:
            ConfigError: `ref` is not a reference.
            OutputNotFound: the output was never stored here.
        """
        try:
            return decode_output(self._outputs[check_ref(ref)], ref)
        except KeyError:
            raise OutputNotFound(_NAME, ref) from None

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Replace the text of a message in the archive, in every view and in the stored outputs.

        Raises:
            ConfigError: a message is not JSON data, or an argument is invalid.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        count = len(self._appended)
        lines = [encode_message(entry.messages[0], entry.key)[:-1] for entry in self._appended]
        lines += [encode_view("replace", layer.messages)[:-1] for layer in self._layers]
        # Through the lines that a file would hold, so that all stores remove the same.
        redacted = redact_lines(lines, request, _NAME)
        entries = [entry for line in redacted.lines if (entry := decode(line, _NAME))]
        self._appended = entries[:count]
        self._keyed = {entry.key: entry for entry in self._appended if entry.key is not None}
        for layer, entry in zip(self._layers, entries[count:], strict=True):
            layer.messages = list(entry.messages)
        gone = {ref for ref, kept in self._outputs.items() if redacted.must_go(ref, kept)}
        for ref in gone:
            del self._outputs[ref]
        self._outdated, self._known = True, None
        self._revision += 1
        log_redaction(request, _NAME)

    def _repeat(self, stored: Message, history: list[Message]) -> None:
        # By identity: an equal message may have been appended under another key.
        position = next((at for at, message in enumerate(history) if message is stored), None)
        if self._known and position is not None and position not in self._known.appended:
            self._known.note(position)

    async def aclose(self) -> None:
        """Do nothing: a store in memory holds nothing open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
