"""What rooms share: the protocols of a store, an executor and a compactor, and why one compacts.

Each is declared here once and is public in the room that it belongs to, so that a room can use a
protocol without importing that room. `for_conversation` is the only user of one optional method.
"""

import enum
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol, runtime_checkable

from agentic._tool_definition import ToolDefinition
from agentic.messages import Message, ToolCall, ToolResult

__all__ = [
    "CompactionReason",
    "Compactor",
    "Executor",
    "GuidedCompactor",
    "Rewriter",
    "Store",
    "for_conversation",
]


class CompactionReason(enum.StrEnum):
    """The trigger of a compaction."""

    WINDOW = "window"
    """The context exceeds the window less the reserve."""
    TOKENS = "tokens"
    """The context has reached `Policy.max_tokens`."""
    MESSAGES = "messages"
    """There have been `Policy.max_messages` messages since the last summary."""
    FORCE = "force"
    """It was requested explicitly."""


class Compactor(Protocol):
    """Summarizes the messages that a compaction replaces."""

    # Not `async def`: a method that returns any other awaitable fits, too.
    def compact(self, messages: list[Message], /) -> Awaitable[str]:
        """Return the text of a summary that replaces `messages`.

        The first of them may be the former summary, which must be merged into the new one. The call
        may fail or take long: the caller then continues with an unchanged history.

        If the next summary needs more than the text, return it as the notes of a
        `messages.SummaryText`. They are passed back in `message.summary.notes` if that summary was
        this compactor's. Otherwise that may hold another compactor's notes, or none.
        """
        ...


class GuidedCompactor(Compactor, Protocol):
    """A compactor that accepts instructions for a summary."""

    def compact_with(self, messages: list[Message], instructions: str, /) -> Awaitable[str]:
        """Summarize as `compact` does, with regard to `instructions`."""
        ...


class Executor(Protocol):
    """The tools of an agent. `tools.Registry` is an example."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """Return what the model may call, in a stable order."""
        ...

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run one call. An exception becomes a result that the model can read."""
        ...


@runtime_checkable
class Store(Protocol):
    """Stores a conversation."""

    async def append(self, message: Message, /) -> None:
        """Store a message after all others; once this returns, the message is not lost.

        An append that raises or is cancelled has stored the whole message or nothing.
        """
        ...

    async def load(self) -> list[Message]:
        """Return the history repaired by `close_open_rounds`, so that a provider accepts it.

        The list belongs to the caller. What is stored is not repaired: a result that is appended
        later replaces the synthetic one.
        """
        ...


# Checked at run time, because a store that cannot replace is one all the same.
@runtime_checkable
class Rewriter(Store, Protocol):
    """A store whose history can be replaced, which is what a compaction does."""

    async def replace(self, messages: Sequence[Message], /, *, replaces: int | None = None) -> None:
        """Make these messages the history, completely or not at all.

        With `replaces`, they replace only that many messages, counted in the list that this store
        loaded last, followed by what this store has appended since. All other messages are kept
        after the new ones, whoever appended them, even one that arrives during the call. Raises
        `HistoryConflict` if the history was replaced or restored since that load.

        Results that `load` made up are not stored, so that a real one can still replace them.
        """
        ...


def for_conversation(part: Any, recall: str | None) -> Any:
    """Return a part adapted to one conversation.

    A strategy or compactor may have `for_conversation(*, recall)`. It returns one that knows
    nothing of other conversations, and that mentions the recall tool, if there is one, in the text
    it writes. Other parts are used as they are.
    """
    adapt = getattr(part, "for_conversation", None)
    return part if adapt is None else adapt(recall=recall)
