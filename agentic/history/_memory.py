"""A conversation that is kept in memory and ends with the process."""

from collections.abc import Sequence
from typing import Self

import attrs

from agentic.errors import HistoryConflict, NothingToRestore, OutputNotFound
from agentic.history._entries import decode, encode_message, encode_view
from agentic.history._outputs import check_ref, decode_output, encode_output, make_ref
from agentic.history._redaction import RedactionRequest, log_redaction, redact_lines
from agentic.history._replace import Diff, Known, check_replaces, compare, merge
from agentic.history._validate import check_message, check_messages
from agentic.messages import Message, close_open_rounds, reopen_rounds

__all__ = ["MemoryStore"]

_NAME = "the session in memory"


@attrs.define
class _Layer:
    """What one replace made of the history, and what was appended since."""

    messages: list[Message]
    given: int
    """How many of the messages came with the replace; the others were appended."""


@attrs.define(eq=False)
class MemoryStore:
    """An archive for tests, for scripts, and for sessions that need no tomorrow.

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

    _appended: list[Message] = attrs.field(factory=list, init=False)
    _layers: list[_Layer] = attrs.field(factory=lambda: [_Layer([], 0)], init=False)
    _outputs: dict[str, bytes] = attrs.field(factory=dict, init=False)
    _outdated: bool = attrs.field(default=False, init=False)
    """What the caller loaded still says what a redaction removed."""
    _known: Known | None = attrs.field(factory=Known, init=False)
    """None from a replace or restore on until the next load."""
    _revision: int = attrs.field(default=0, init=False)

    async def append(self, message: Message) -> None:
        """Keep a message, after all others."""
        self._appended.append(check_message(message))
        history = self._layers[-1].messages
        history.append(message)
        if self._known:
            self._known.note(len(history) - 1)
        self._revision += 1

    async def load(self) -> list[Message]:
        """Return the history as a provider accepts it."""
        self._outdated = False
        raw = self._layers[-1].messages
        closed = close_open_rounds(raw.copy())
        self._known = Known(len(raw), len(closed))
        return closed

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or put them in the place of its first ones.

        Raises:
            ConfigError: no messages, or `replaces` is more than were loaded and appended.
            HistoryConflict: with `replaces`, the history was replaced since it was loaded; or a
                message was redacted since then.
        """
        view = reopen_rounds(check_messages(messages))
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
        """Return every message ever appended, raw and in order."""
        return self._appended.copy()

    async def restore(self) -> None:
        """Take back the latest replace that still stands.

        Raises:
            NothingToRestore: no replace stands.
        """
        if len(self._layers) == 1:
            raise NothingToRestore(_NAME)
        undone = self._layers.pop()
        self._layers[-1].messages += undone.messages[undone.given :]
        self._known = None
        self._revision += 1

    async def diff(self) -> Diff:
        """Return what the latest replace that still stands dropped, and what it brought in.

        Raises:
            NothingToRestore: no replace stands.
        """
        if len(self._layers) == 1:
            raise NothingToRestore(_NAME)
        before, latest = self._layers[-2:]
        return compare(before.messages, latest.messages[: latest.given])

    async def put(self, output: str) -> str:
        """Keep an output and give its reference."""
        content = encode_output(output)
        ref = make_ref(content)
        self._outputs[ref] = content
        return ref

    async def get(self, ref: str) -> str:
        """Return a kept output.

        Raises:
            ConfigError: no reference.
            OutputNotFound: it was never kept here.
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
        """Replace what a message says, in the archive, every view and the kept outputs.

        Raises:
            ConfigError: a message that is not JSON data, or an argument that cannot be meant.
            MessageNotFound: there is no such message.
        """
        request = RedactionRequest(
            message_id=message_id, replacement=replacement, secret=secret, by=by
        )
        count = len(self._appended)
        lines = [encode_message(message)[:-1] for message in self._appended]
        lines += [encode_view("replace", layer.messages)[:-1] for layer in self._layers]
        # Through the lines that a file would hold, so that all stores remove the same.
        redacted = redact_lines(lines, request, _NAME)
        entries = [decode(line, _NAME) for line in redacted.lines]
        found = [list(entry.messages) if entry else [] for entry in entries]
        self._appended = [message for each in found[:count] for message in each]
        for layer, messages in zip(self._layers, found[count:], strict=True):
            layer.messages = messages
        gone = {ref for ref, kept in self._outputs.items() if redacted.must_go(ref, kept)}
        for ref in gone:
            del self._outputs[ref]
        self._outdated, self._known = True, None
        self._revision += 1
        log_redaction(request, _NAME)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
