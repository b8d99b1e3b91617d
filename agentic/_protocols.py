"""What rooms ask of each other's parts: a store, an executor, a compactor.

Each is declared here once and is public in the room that it belongs to, so that a room can name a
part without importing the room that it comes from.
"""

from collections.abc import Awaitable, Sequence
from typing import Protocol, runtime_checkable

from agentic._tool_definition import ToolDefinition
from agentic.messages import Message, ToolCall, ToolResult

__all__ = ["Compactor", "Executor", "GuidedCompactor", "Rewriter", "Store"]


class Compactor(Protocol):
    """Summarizes what leaves the conversation."""

    def compact(self, messages: list[Message], /) -> Awaitable[str]:
        """Return the text of a summary that replaces `messages`.

        The first of them may be the former summary, to be folded into the new one. It may fail or
        take long: whoever calls it carries on with the history as it was.

        What the next generation needs beside the text, it returns as the notes of a
        `messages.SummaryText`. They come back in `message.summary.notes`, if that summary was this
        compactor's; another one's notes, or none, may stand there as well.
        """
        ...


class GuidedCompactor(Compactor, Protocol):
    """A compactor that can be told what to look at."""

    def compact_with(self, messages: list[Message], instructions: str, /) -> Awaitable[str]:
        """Summarize as `compact` does, with regard to `instructions`."""
        ...


class Executor(Protocol):
    """The tools of an agent. `tools.Registry` is one."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """List what the model may call, in a stable order."""
        ...

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Carry out one call. What it raises becomes a result that the model can read."""
        ...


@runtime_checkable
class Store(Protocol):
    """Keeps a conversation."""

    async def append(self, message: Message, /) -> None:
        """Keep a message, after all others; once this returns, the message is not lost.

        An append that raises or is cancelled has stored the whole message or nothing.
        """
        ...

    async def load(self) -> list[Message]:
        """Return the history as a provider accepts it: `close_open_rounds` of what is stored.

        The list is the caller's own. What is stored stays raw: a result that is appended later
        takes the place of the synthetic one.
        """
        ...


@runtime_checkable
class Rewriter(Store, Protocol):
    """A store whose history can be replaced, which is what a compaction does."""

    async def replace(self, messages: Sequence[Message], /, *, replaces: int | None = None) -> None:
        """Make these messages the history, whole or not at all; what is appended comes after.

        With `replaces`, they take the place of that many messages only. It counts in the list that
        this store loaded last, followed by what this store has appended since. All other messages
        stay, after the new ones, whoever appended them: also one that arrives at this moment.
        Raises `HistoryConflict` if the history was replaced or restored since that load.

        Results that `load` made up are not stored: a real one can still take their place.
        """
        ...
