"""Where a list parts a call from its result, and how the result comes to stand behind it.

A run of replies may come before its results: a View sends it like this, since some providers read
it as one turn. What a framework makes of a run is not known here. A reply that is followed by the
results of its own calls is accepted everywhere.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

import attrs

from agentic.messages import Message
from agentic.providers.kit._messages import answer_each_reply


@attrs.define(eq=False)
class PartedRuns:
    """The messages of a list that another reply parts from the call that they belong to."""

    _positions: list[int] = attrs.field(factory=list, init=False)
    """Those of the replies that come too early, and of the results that come too late."""
    _settled: list[int] = attrs.field(factory=lambda: [0], init=False)
    """The positions before which every call of the run has its result."""
    _waiting: set[str] = attrs.field(factory=set, init=False)
    """The calls since the last of them."""

    @property
    def end(self) -> int:
        """The position behind the last of them; 0 if there are none."""
        return self._positions[-1] + 1 if self._positions else 0

    def has(self, position: int | None) -> bool:
        """Return whether the message at a position is one of them."""
        if position is None or position >= self.end:
            return False
        return self._positions[bisect_left(self._positions, position)] == position

    def add(self, position: int, message: Message) -> None:
        """Note the next message of the list."""
        waiting = self._waiting
        if message.role == "assistant":
            if waiting:
                self._positions.append(position)
            waiting.update([call.id for call in message.tool_calls if not call.is_async])
        elif message.role == "tool":
            if self.end > self._settled[-1]:
                self._positions.append(position)
            waiting.difference_update([result.call_id for result in message.tool_results])
        else:
            waiting.clear()
        if not waiting:
            self._settled.append(position + 1)

    def rewind(self, messages: Sequence[Message]) -> None:
        """Go back to the first messages of the list, which are these."""
        while self._settled[-1] > len(messages):
            del self._settled[-1]
        start = self._settled[-1]
        while self.end > start:
            del self._positions[-1]
        self._waiting.clear()
        for position in range(start, len(messages)):
            self.add(position, messages[position])


def answer_each_call(
    messages: list[Message], places: list[int | None]
) -> tuple[list[Message], list[int | None], set[int]]:
    """Return messages with the results of each reply right behind it, and their places.

    The messages are a view: in a run, the replies that call come before all results. Also return
    behind how many messages a word of the user's is needed, as `find_ends` says.
    """
    if not any(one.tool_calls and other.role == "assistant" for one, other in pairwise(messages)):
        return messages, places, find_ends(messages, places)
    by_id = {id(message): place for message, place in zip(messages, places, strict=True)}
    by_result = {
        id(result): place
        for message, place in zip(messages, places, strict=True)
        for result in message.tool_results
    }
    ordered = [message for run in _runs(messages) for message in answer_each_reply(run)]
    # A message with results of several replies has become one for each of them.
    of_parts = (by_result[id(each.tool_results[0])] for each in ordered if id(each) not in by_id)
    sources = [by_id[id(each)] if id(each) in by_id else next(of_parts) for each in ordered]
    return ordered, sources, find_ends(ordered, sources)


def find_ends(messages: Sequence[Message], places: Sequence[int | None]) -> set[int]:
    """Return behind how many messages the model would go on from a reply instead of a result.

    A reply without calls stood before a result of its run in the owner's list, and now stands
    behind it. `places` are those of the messages in that list, None for what is not in it.
    """
    ends: set[int] = set()
    latest, was_moved = -1, False
    for at, (message, place) in enumerate(zip(messages, places, strict=True)):
        is_moved = message.role == "assistant" and place is not None and place < latest
        if was_moved and not is_moved:
            ends.add(at)
        was_moved = is_moved and not message.tool_calls
        if message.role == "tool" and place is not None:
            latest = max(latest, place)
    return ends | {len(messages)} if was_moved else ends


def _runs(messages: Iterable[Message]) -> Iterable[list[Message]]:
    """Split messages into runs of replies with the results behind them, and the rest."""
    run: list[Message] = []
    for role, group in groupby(messages, key=lambda message: message.role):
        if role == "assistant" or (role == "tool" and run):
            run += group
            if role == "tool":
                yield run
                run = []
            continue
        if run:
            yield run
            run = []
        yield list(group)
    if run:
        yield run
