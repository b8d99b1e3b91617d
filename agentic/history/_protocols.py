"""What a runner, a budget and an undo ask of the place where a conversation is kept.

A store is one session: one conversation, one writer at a time. *History* is what it holds now, the
*archive* is every message that was ever appended to it. A store may be an async context manager;
leaving it lets go of whatever it holds open. A place with many sessions opens, lists, moves them.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable

import attrs

from agentic._protocols import Rewriter
from agentic.history._replace import Diff
from agentic.messages import Message

__all__ = [
    "Archive",
    "OutputStore",
    "Redactor",
    "Revisioned",
    "SessionInfo",
    "Sessions",
]


@runtime_checkable
class Revisioned(Protocol):
    """A store that can tell at little cost whether anybody wrote to it."""

    async def revision(self) -> int:
        """Return a number that every write to the session makes larger, whoever writes.

        An append, replace or restore by this store adds 1. What others have written since the last
        call, or since the last write by this store, adds at least 1.
        """
        ...


@runtime_checkable
class Archive(Rewriter, Protocol):
    """A rewriter that loses nothing."""

    async def full(self) -> list[Message]:
        """Return every message ever appended, raw and in order, whatever was replaced since.

        A message that only a replace brought in, such as a summary, is not among them.
        """
        ...

    async def restore(self) -> None:
        """Take back the latest replace that still stands; once more takes back the one before.

        The history is then as if that replace had never been: what was appended after it follows
        the earlier history. Raises `NothingToRestore` when no replace stands.
        """
        ...

    async def diff(self) -> Diff:
        """Return what the latest replace that still stands dropped, and what it brought in.

        Raises `NothingToRestore` when no replace stands.
        """
        ...


@runtime_checkable
class OutputStore(Protocol):
    """A store that keeps whole tool outputs beside the session, for what the history cut short."""

    async def put(self, output: str, /) -> str:
        """Keep an output and give its reference; once this returns, the output is not lost.

        The reference follows from the text alone: the same output is kept once.
        """
        ...

    async def get(self, ref: str, /) -> str:
        """Return a kept output, whole. Raises `OutputNotFound` if it was never kept here."""
        ...


@runtime_checkable
class Redactor(Protocol):
    """A store from which a leaked secret can be removed: the one thing that may be lost."""

    async def redact(
        self,
        message_id: str | int,
        replacement: str,
        /,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Replace what a message says, in the archive and in every view, for good.

        The message keeps its place, its id and the ids and names of its calls and results. What
        summaries quote of it goes too, and so do the kept outputs that it refers to or that hold a
        line of it; they raise `OutputNotFound` from then on. The session records who redacted which
        message, and when. What was loaded before must be loaded again to be replaced.

        Args:
            message_id: `Message.id`, or the position of the message in `full()`, from 0. Messages
                that are equal to it, or have the same id, are redacted with it.
            replacement: the text that stands for what the message said.
            secret: a text that is removed wherever else the session has it.
            by: who redacts; by default the user of the operating system.

        Raises:
            MessageNotFound: there is no such message.
            HistoryConflict: somebody else is writing this session, or is reading what is removed.
        """
        ...


@attrs.frozen(kw_only=True)
class SessionInfo:
    """One line of a list of sessions."""

    id: str
    """What it is opened by; never changes."""
    title: str
    """What people call it; empty until somebody does."""
    messages: int
    """How many there are in the archive."""
    summarized: int
    """How many of them the summary in the history stands for; 0 without one."""
    created_at: datetime
    """Aware, UTC."""
    changed_at: datetime
    """When the last entry was written. Aware, UTC."""


@runtime_checkable
class Sessions(Protocol):
    """A place with many sessions.

    A session id has 1 to 128 of the characters `A-Z a-z 0-9 . _ -` and begins with no dot or dash;
    any other is a `ConfigError`. A session is there from its first write on.
    """

    def open(self, session_id: str, /) -> Archive:
        """Return the store of a session, there or not. Reads and writes nothing."""
        ...

    async def list(self) -> Sequence[SessionInfo]:
        """Return a line for every session, the one that changed last first."""
        ...

    async def rename(self, session_id: str, title: str, /) -> None:
        """Set the title of a session, for people; "" removes it. Raises `SessionNotFound`."""
        ...

    async def delete(self, session_id: str, /) -> None:
        """Remove a session with its outputs and all that belongs to it.

        Raises `SessionNotFound`, and `HistoryConflict` while somebody writes it.
        """
        ...

    async def redact(
        self,
        session_id: str,
        message_id: str | int,
        replacement: str,
        /,
        *,
        secret: str | None = None,
        by: str | None = None,
    ) -> None:
        """Replace what a message of a session says, for good, as `Redactor.redact` does.

        Raises `SessionNotFound`, and what that raises.
        """
        ...

    def export(self, session_id: str, /) -> AsyncIterator[bytes]:
        """Return a session as lines, each with its newline: entries, title, kept outputs.

        The lines are a file that `JsonlStore` opens. Raises `SessionNotFound` at the first line.
        """
        ...

    async def import_(
        self, session_id: str, lines: Iterable[bytes] | AsyncIterable[bytes], /
    ) -> None:
        """Make a session of the lines of an export, of any kind: whole or not at all.

        Raises `HistoryConflict` if there is such a session, `HistoryCorrupt` for a bad line.
        """
        ...
