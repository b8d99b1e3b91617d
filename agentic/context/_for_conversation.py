"""How a part that is shared becomes the part of one conversation, and a compactor is told of it."""

import abc
from collections.abc import Awaitable
from typing import Any

from agentic.messages import Message
from agentic.protocols import CompactionContext, Compactor


def for_conversation(part: Any, recall: str | None) -> Any:
    """Return a part adapted to one conversation.

    A strategy or compactor may have `for_conversation(*, recall)`. It returns one that knows
    nothing of other conversations, and that mentions the recall tool, if there is one, in the text
    it writes. Other parts are used as they are.
    """
    # Optional: a plain callable is a strategy, too.
    adapt = getattr(part, "for_conversation", None)
    return part if adapt is None else adapt(recall=recall)


def start_compactor(
    compactor: Compactor, messages: list[Message], context: CompactionContext
) -> Awaitable[str]:
    """Call a compactor with as much of the context as it takes."""
    contextual = getattr(compactor, "compact_in", None)
    compact_with = getattr(compactor, "compact_with", None)
    summary: Awaitable[str]
    if contextual is not None:
        summary = contextual(messages, context)
    elif context.instructions and compact_with is not None:
        summary = compact_with(messages, context.instructions)
    else:
        summary = compactor.compact(messages)
    return summary


class ContextualBase(abc.ABC):
    """What a compactor has in common whose work is all in `compact_in`."""

    __slots__ = ()

    async def compact(self, messages: list[Message], /) -> str:
        """Return what `compact_in` returns, without a context."""
        return await self.compact_in(messages, CompactionContext())

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        """Return what `compact_in` returns, with regard to the instructions."""
        return await self.compact_in(messages, CompactionContext(instructions=instructions))

    @abc.abstractmethod
    async def compact_in(self, messages: list[Message], context: CompactionContext, /) -> str:
        """Return the text of a summary."""
