"""The archive of a session, read so that a summary which cannot be right is passed over."""

import logging
from collections.abc import Sequence
from typing import Any

import attrs

from agentic.history import Archive, Diff, begins_with, counts_replaced, replace_known
from agentic.messages import (
    ContextSummary,
    Message,
    close_open_rounds,
    find_summary,
    leading_system_count,
    reopen_rounds,
)

__all__ = ["Ledger"]

_log = logging.getLogger(__name__)


@attrs.define(eq=False)
class Ledger:
    """An archive like the one behind it, with all of its abilities."""

    store: Archive
    ignored: ContextSummary | None = attrs.field(default=None, init=False)
    """The summary that the latest `load` passed over."""
    _trusted: ContextSummary | None = attrs.field(default=None, init=False)
    """One that is known to stand for messages of this archive."""
    _told: ContextSummary | None = attrs.field(default=None, init=False)
    """One that the log tells of already."""
    _loaded: list[Message] = attrs.field(factory=list, init=False, repr=False)
    """What the store gave last, or was given by a replace."""
    _hidden: int = attrs.field(default=0, init=False)
    """How many messages more the store's list has than the one that was given on."""
    _history: list[Message] = attrs.field(factory=list, init=False, repr=False)
    """What `history` returned last; it grows with what is appended here."""
    _revision: int | None = attrs.field(default=None, init=False)
    """Of the store with exactly that history; None where it cannot tell, or was not asked."""

    async def append(self, message: Message) -> None:
        """Keep a message, after all others."""
        before = self._revision
        await self.store.append(message)
        # Meanwhile the history may have been loaded anew, with this message or without it.
        if before is not None and before == self._revision:
            self._revision = before + 1
            self._history.append(message)
            if message.role == "tool" and reopen_rounds(self._history) is not self._history:
                self._revision = None  # it may take the place of a result that was made up

    async def history(self) -> list[Message]:
        """Return the history, which is not to be changed.

        It is loaded when somebody else wrote to the store, and else costs nothing.
        """
        revision = await self._find_revision()
        if revision is None or revision != self._revision:
            # Whatever is written from here on makes another revision.
            self._history = await self.load()
            self._revision = revision
        return self._history

    async def compact(self, known: list[Message], messages: list[Message]) -> list[Message]:
        """Put messages in the place of the known ones, before what others appended meanwhile.

        Return the history as it is then.
        """
        await replace_known(self, known, messages)
        return (await self.history()).copy()

    async def load(self) -> list[Message]:
        """Return the history; every message there is where its summary points past them.

        A summary that comes from elsewhere is compared with the archive, once.
        """
        history = self._with_known_objects(await self.store.load())
        summary = find_summary(history)
        self.ignored, self._hidden = None, 0
        if summary is None or summary == self._trusted:
            return history
        full = await self.store.full()
        # Loaded once more, and last: what `replaces` counts in is what was loaded last.
        again = self._with_known_objects(await self.store.load())
        if len(again) != len(history) or not begins_with(again, history):
            return await self.load()  # the archive may have more than the history
        if not _points_past(summary, full):
            self._trusted = summary
            return history
        self.ignored = summary
        if summary != self._told:
            self._told = summary
            told = "a summary of messages up to number %d is ignored: the archive has %d"
            _log.warning(told, summary.last_message_idx + 1, _countable(full))
        given = close_open_rounds(
            [each for each in full if not (each.summary and _points_past(each.summary, full))]
        )
        self._hidden = len(history) - len(given)
        return given

    def _with_known_objects(self, history: list[Message]) -> list[Message]:
        """Put the messages of the last load in the place of their equals.

        A store on disk makes new ones each time; whoever knows a conversation by its objects, as
        every counter and strategy does, would compare all of their fields.
        """
        pairs = enumerate(zip(self._loaded, history, strict=False))
        shorter = min(len(self._loaded), len(history))
        same = next((at for at, (known, new) in pairs if known != new), shorter)
        history[:same] = self._loaded[:same]
        self._loaded = history.copy()
        return history

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or put them in the place of its first ones."""
        if replaces is None:
            await self.store.replace(messages)
        else:
            replaces = max(0, replaces + self._hidden)
            if counts_replaced(self.store):
                await self.store.replace(messages, replaces=replaces)
            else:
                await replace_known(self.store, self._loaded[:replaces], messages)
        self._trusted, self._loaded = find_summary(messages), list(messages)

    async def full(self) -> list[Message]:
        """Return every message ever appended."""
        return await self.store.full()

    async def restore(self) -> None:
        """Take the latest replace back."""
        await self.store.restore()

    async def diff(self) -> Diff:
        """Return what the latest replace dropped and brought in."""
        return await self.store.diff()

    def __getattr__(self, name: str) -> Any:
        # What not every archive can do: here exactly where the store behind can.
        if name in {"put", "get", "revision"}:
            return getattr(self.store, name)
        raise AttributeError(name)

    async def _find_revision(self) -> int | None:
        find = getattr(self.store, "revision", None)
        return await find() if callable(find) else None


def _points_past(summary: ContextSummary, full: Sequence[Message]) -> bool:
    return summary.last_message_idx >= _countable(full)


def _countable(full: Sequence[Message]) -> int:
    """Count what a summary may stand for: all but the system messages at the start."""
    return len(full) - leading_system_count(full)
