"""Keeping the newest messages, by number."""

import attrs

from agentic._given import must_be, whole
from agentic.context.strategies._known_rounds import KnownRounds, Sorted
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
    """Whether the leading system messages stay."""
    preserve_tool_chains: bool = attrs.field(default=True, validator=must_be(bool))
    """Whether a tool round that lies across the cut stays whole; otherwise it goes whole."""
    _known: KnownRounds = attrs.field(factory=KnownRounds, init=False, repr=False)

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Give the view: the same list if nothing is left out."""
        rounds = self._known.of(messages)
        always = {*rounds.pinned, *rounds.requests[-1:]}
        dropped = frozenset[int]()
        if self.preserve_system:
            always.update(rounds.leading)
        else:
            dropped = frozenset(rounds.leading) - {*rounds.pinned}
        return rounds.view(messages, self._start(rounds), always, dropped)

    def _start(self, rounds: Sorted) -> int:
        """Find the first of the newest rounds that `keep_recent` has room for."""
        start, room = len(rounds.rounds), self.keep_recent
        while start > len(rounds.leading) and room > 0:
            found = rounds.rounds[start - 1]
            size = 0 if found.orphaned else len(found.messages)
            if size > room and not self.preserve_tool_chains:
                break
            start, room = start - 1, room - size
        return 0 if start == len(rounds.leading) else start
