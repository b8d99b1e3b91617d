"""A growing history, repaired as a provider accepts it; each message is looked at once."""

import operator

import attrs

from agentic.messages import Message, continues, count_settled, split_rounds

__all__ = ["Repair"]


@attrs.define(eq=False)
class Repair:
    """`close_open_rounds` of one conversation, at the cost of what is new in it."""

    _settled: list[Message] = attrs.field(factory=list, init=False)
    """The messages of the rounds that no later message can change."""
    _closed: list[Message] = attrs.field(factory=list, init=False)
    """The same, repaired."""
    _sound: bool = attrs.field(default=True, init=False)
    """Whether there was nothing to repair in them."""

    def close(self, messages: list[Message]) -> list[Message]:
        """Return the messages with every call answered; the same list if they are sound."""
        if not continues(messages, self._settled):
            self._settled, self._closed, self._sound = [], [], True
        known = len(self._settled)
        fresh = split_rounds(messages, known)
        length = count_settled(messages, fresh)
        closed: list[Message] = []
        waiting: list[Message] = []
        for found in fresh:
            (closed if found.positions[0] < length else waiting).extend(found.repaired)
        self._sound = self._sound and _are_same(closed, messages[known:length])
        self._settled += messages[known:length]
        self._closed += closed
        if self._sound and _are_same(waiting, messages[length:]):
            return messages
        return [*self._closed, *waiting]


def _are_same(some: list[Message], others: list[Message]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))
