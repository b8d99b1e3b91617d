"""The archive of a session, read so that a summary which cannot be right is passed over."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from agentic.history import Archive, Diff
from agentic.messages import (
    ContextSummary,
    Message,
    close_open_rounds,
    find_summary,
    leading_system_count,
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
    """What the store gave last."""
    _followed: list[list[Message]] = attrs.field(factory=list, init=False)

    async def append(self, message: Message) -> None:
        """Keep a message, after all others."""
        await self.store.append(message)
        for history in self._followed:
            history.append(message)

    async def load(self) -> list[Message]:
        """Give the history; every message there is where its summary points past them.

        A summary that comes from elsewhere is compared with the archive, once.
        """
        history = self._with_known_objects(await self.store.load())
        summary = find_summary(history)
        self.ignored = None
        if summary is None or summary == self._trusted:
            return history
        full = await self.store.full()
        if not _points_past(summary, full):
            self._trusted = summary
            return history
        self.ignored = summary
        if summary != self._told:
            self._told = summary
            told = "a summary of messages up to number %d is ignored: the archive has %d"
            _log.warning(told, summary.last_message_idx + 1, _countable(full))
        return close_open_rounds(
            [each for each in full if not (each.summary and _points_past(each.summary, full))]
        )

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

    async def replace(self, messages: Sequence[Message]) -> None:
        """Make these messages the history."""
        await self.store.replace(messages)
        self._trusted = find_summary(messages)

    async def full(self) -> list[Message]:
        """Give every message ever appended."""
        return await self.store.full()

    async def restore(self) -> None:
        """Take the latest replace back."""
        await self.store.restore()

    async def diff(self) -> Diff:
        """Give what the latest replace dropped and brought in."""
        return await self.store.diff()

    def __getattr__(self, name: str) -> Any:
        # The abilities of a Keeper: here exactly where the store behind has them.
        if name in {"keep", "read"}:
            return getattr(self.store, name)
        raise AttributeError(name)

    @contextlib.contextmanager
    def follow(self, history: list[Message]) -> Iterator[None]:
        """Add to `history` what is appended meanwhile, so that a slow summary hides none of it."""
        self._followed.append(history)
        try:
            yield
        finally:
            self._followed = [each for each in self._followed if each is not history]


def _points_past(summary: ContextSummary, full: Sequence[Message]) -> bool:
    return summary.last_message_idx >= _countable(full)


def _countable(full: Sequence[Message]) -> int:
    """Count what a summary may stand for: all but the system messages at the start."""
    return len(full) - leading_system_count(full)
