"""The archive of a session, which ignores a summary that cannot be right."""

from collections.abc import Sequence
from typing import Any

import attrs

from agentic._base._lazy import logging
from agentic._base._waiting import off_loop
from agentic.history import DiffArchive, replace_known
from agentic.history._replace import Diff, begins_with, counts_replaced
from agentic.messages import ContextSummary, Message, close_open_rounds, leading_system_count
from agentic.messages._landmarks import find_summary
from agentic.messages._rounds import reopen_rounds
from agentic.messages._timeline import keep_known


@attrs.define(eq=False)
class SessionArchive:
    """A wrapper around an archive. It keeps outputs and has a revision if that archive does."""

    store: DiffArchive
    ignored: ContextSummary | None = attrs.field(default=None, init=False)
    """The summary that the latest `load` ignored."""
    _trusted: ContextSummary | None = attrs.field(default=None, init=False)
    """A summary that was checked: it covers messages of this archive."""
    _told: ContextSummary | None = attrs.field(default=None, init=False)
    """A summary that the log has already reported."""
    _loaded: list[Message] = attrs.field(factory=list, init=False, repr=False)
    """What the store last returned, or what a replace passed to it."""
    _hidden: int = attrs.field(default=0, init=False)
    """How many messages longer the store's list is than the one that was returned."""
    _history: list[Message] = attrs.field(factory=list, init=False, repr=False)
    """What `history` last returned; messages that are appended here are added to it."""
    _revision: int | None = attrs.field(default=None, init=False)
    """The store's revision with exactly that history; None if unknown or not supported."""

    async def append(self, message: Message) -> None:
        """Store a message after all others."""
        before = self._revision
        await self.store.append(message)
        # Meanwhile the history may have been reloaded, with or without this message.
        if before is not None and before == self._revision:
            self._revision = before + 1
            self._history.append(message)
            if message.role == "tool" and reopen_rounds(self._history) is not self._history:
                self._revision = None  # it may replace a result that was made up

    async def history(self) -> list[Message]:
        """Return the history, which must not be modified.

        It is loaded only if somebody else wrote to the store. Otherwise this costs nothing.
        """
        revision = await self._find_revision()
        if revision is None or revision != self._revision:
            # Found before the load, so that any later write results in another revision.
            self._history = await self.load()
            self._revision = revision
        return self._history

    async def compact(self, known: list[Message], messages: list[Message]) -> list[Message]:
        """Replace the known messages; those that others appended meanwhile stay after the new ones.

        Return the resulting history.
        """
        await replace_known(self, known, messages)
        return (await self.history()).copy()

    async def load(self) -> list[Message]:
        """Return the history, or every message of the archive if the summary points past its end.

        A summary from elsewhere is compared with the archive once.
        """
        history = await self._load()
        summary = find_summary(history)
        self.ignored, self._hidden = None, 0
        # Checking costs a read of the whole archive, and nothing that is appended later can make a
        # good summary point past its end.
        if summary is None or summary == self._trusted:
            return history
        full = await self.store.full()
        # Load again, so that this is the latest load: `replaces` counts in what was loaded last.
        again = await self._load()
        if len(again) != len(history) or not begins_with(again, history):
            return await self.load()  # the archive may have more than the history
        if not _points_past(summary, full):
            self._trusted = summary
            return history
        self.ignored = summary
        if summary != self._told:
            self._told = summary
            warning = "a summary of messages up to number %d is ignored: the archive has %d"
            logging.getLogger(__name__).warning(
                warning, summary.last_message_idx + 1, _countable(full)
            )
        given = close_open_rounds(
            [each for each in full if not (each.summary and _points_past(each.summary, full))]
        )
        self._hidden = len(history) - len(given)
        return given

    async def _load(self) -> list[Message]:
        """Load the history, with the objects of the last load."""
        messages = await self.store.load()
        history = await off_loop(len(messages), keep_known, messages, self._loaded)
        self._loaded = history.copy()
        return history

    async def replace(self, messages: Sequence[Message], *, replaces: int | None = None) -> None:
        """Make these messages the history, or replace its first `replaces` messages with them."""
        if replaces is None:
            await self.store.replace(messages)
        else:
            # The caller counts in what `load` returned, the store in what it holds itself.
            replaces = max(0, replaces + self._hidden)
            if counts_replaced(self.store):
                await self.store.replace(messages, replaces=replaces)
            else:
                await replace_known(self.store, self._loaded[:replaces], messages)
        # A summary of our own covers what was just read, and need not be checked.
        self._trusted, self._loaded = find_summary(messages), list(messages)

    async def full(self) -> list[Message]:
        """Return every message ever appended."""
        return await self.store.full()

    async def restore(self) -> None:
        """Undo the latest replace."""
        await self.store.restore()

    async def diff(self) -> Diff:
        """Return what the latest replace removed and what it added."""
        return await self.store.diff()

    def __getattr__(self, name: str) -> Any:
        # Optional abilities: present here exactly if the wrapped store has them.
        if name in {"put", "get", "revision"}:
            return getattr(self.store, name)
        raise AttributeError(name)

    async def _find_revision(self) -> int | None:
        find = getattr(self.store, "revision", None)
        return await find() if callable(find) else None


def _points_past(summary: ContextSummary, full: Sequence[Message]) -> bool:
    return summary.last_message_idx >= _countable(full)


def _countable(full: Sequence[Message]) -> int:
    """Return how many messages a summary may cover: all except system messages at the start."""
    return len(full) - leading_system_count(full)
