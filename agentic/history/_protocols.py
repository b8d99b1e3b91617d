"""What a runner, a budget and an undo ask of the place where a conversation is kept.

A store is one session: one conversation, one writer at a time. *History* is what it holds now, the
*archive* is every message that was ever appended to it. A store may be an async context manager;
leaving it lets go of whatever it holds open.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from agentic.messages import Message

__all__ = ["Archive", "Rewriter", "Store"]


@runtime_checkable
class Store(Protocol):
    """Keeps a conversation."""

    async def append(self, message: Message, /) -> None:
        """Keep a message, after all others; once this returns, the message is not lost.

        An append that raises or is cancelled has stored the whole message or nothing.
        """
        ...

    async def load(self) -> list[Message]:
        """Give the history as a provider accepts it: `close_open_rounds` of what is stored.

        The list is the caller's own. What is stored stays raw: a result that is appended later
        takes the place of the synthetic one.
        """
        ...


@runtime_checkable
class Rewriter(Store, Protocol):
    """A store whose history can be replaced, which is what a compaction does."""

    async def replace(self, messages: Sequence[Message], /) -> None:
        """Make these messages the history, whole or not at all; what is appended comes after."""
        ...


@runtime_checkable
class Archive(Rewriter, Protocol):
    """A rewriter that loses nothing."""

    async def full(self) -> list[Message]:
        """Give every message ever appended, raw and in order, whatever was replaced since.

        A message that only a replace brought in, such as a summary, is not among them.
        """
        ...

    async def restore(self) -> None:
        """Take back the latest replace that still stands; once more takes back the one before.

        The history is then as if that replace had never been: what was appended after it follows
        the earlier history. Raises `NothingToRestore` when no replace stands.
        """
        ...
