"""Keeping the newest tool rounds, by number."""

import attrs

from agentic._validate import whole
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.messages import Message

__all__ = ["TrimRounds"]


@attrs.frozen(eq=False)
class TrimRounds:
    """Keep the system prompt, the task, and the newest tool rounds with what stands between them.

    The task is the latest user message, and the request that the work began with; pinned messages
    stay too.

    >>> from agentic.messages import ToolCall, ToolResult
    >>> talk = [Message("user", "Count.")]
    >>> for name in ("a", "b"):
    ...     talk.append(Message("assistant", name, tool_calls=[ToolCall(name, "next")]))
    ...     talk.append(Message("tool", tool_results=[ToolResult(name, "next", "done")]))
    >>> [message.content for message in TrimRounds(1).compact(talk)]
    ['Count.', 'b', '']
    """

    max_rounds: int = attrs.field(validator=whole(1, remedy="pass how many tool rounds to keep"))
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "TrimRounds":
        """Return this for one conversation, with a memory of its own."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        cut = len(rounds.tool_rounds) > self.max_rounds
        start = rounds.tool_rounds[-self.max_rounds] if cut else 0
        task = rounds.task.requests
        return rounds.view(messages, start, {*rounds.leading, *rounds.pinned, *task})
