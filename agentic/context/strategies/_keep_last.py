"""Keeping the newest messages, by number."""

import attrs

from agentic._validate import must_be, whole
from agentic.context.strategies._known_rounds import KnownRounds
from agentic.messages import Message

__all__ = ["KeepLast"]


@attrs.frozen(eq=False)
class KeepLast:
    """Keep the system prompt and the last `keep_recent` messages, whole rounds only.

    Pinned messages and the latest user message stay too, whatever their place. The view begins
    elsewhere at every turn: where the provider's prompt cache matters, `FitContextWindow` is
    cheaper.

    >>> said = [Message("user", text) for text in ("one", "two", "three")]
    >>> [message.content for message in KeepLast(2).compact([Message("system", "Count."), *said])]
    ['Count.', 'two', 'three']
    """

    keep_recent: int = attrs.field(default=10, validator=whole(0))
    """How many messages; the system prompt is not one of them."""
    preserve_system: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether the leading system messages stay; otherwise they are messages like any other."""
    preserve_tool_chains: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether a tool round that lies across the cut stays whole; otherwise it goes whole."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def for_conversation(self, *, recall: str | None = None) -> "KeepLast":
        """Return this for one conversation, with a memory of its own."""
        return attrs.evolve(self)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Return the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        always = {*rounds.pinned, *rounds.task.requests[-1:]}
        system = rounds.leading if self.preserve_system else []
        start = rounds.start_of_last(
            self.keep_recent, after=len(system), stretch=self.preserve_tool_chains
        )
        return rounds.view(messages, start, always.union(system))
