"""A history as a provider accepts it: every call answered, and no result without its call.

A call without a result is answered for its tool. Once the model has replied to that, it is part of
what was sent and stays until an epoch begins: a result that comes later follows as a text.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence

import attrs

from agentic.messages import Message, Round, ToolCall, close_open_rounds, split_rounds
from agentic.messages._rounds import count_settled, repair_rounds
from agentic.messages._timeline import continues, renew

_LATE = "This came after the call was given up:"


@attrs.define(eq=False)
class Repair:
    """`close_open_rounds` for one conversation, at the cost of its new messages only."""

    _settled: list[Message] = attrs.field(factory=list, init=False)
    """The messages of the rounds that no later message can change."""
    _closed: list[Message] = attrs.field(factory=list, init=False)
    """The settled messages after the repair."""
    _sound: bool = attrs.field(default=True, init=False)
    """Whether the settled messages needed no repair."""
    _latest: tuple[list[Message], bool] = attrs.field(factory=lambda: ([], False), init=False)
    """The list that was closed last, and whether a call at its end was answered for its tool."""
    _sent: list[Message] = attrs.field(factory=list, init=False)
    """Such an end of the latest request, behind the settled messages; empty if it had none."""
    _given_up: dict[str, ToolCall] = attrs.field(factory=dict, init=False)
    """The calls that the model has seen answered for their tool, by id."""
    _lengths: list[int] = attrs.field(factory=list, init=False)
    """The lengths of the history at which these calls were given up."""
    _stored: Sequence[int] = attrs.field(default=(), init=False)
    """The same of an earlier process, until a history is seen."""

    def close(self, messages: list[Message]) -> list[Message]:
        """Return the messages with every call answered; the same list if nothing needs repair."""
        # The list was rewound or edited before the end of what is settled.
        if not continues(messages, self._settled):
            self._forget()
        elif not self._sound:
            self._closed = renew(self._closed, self._settled, messages)
            self._settled = messages[: len(self._settled)]
        self._give_up_calls(messages)
        start = len(self._settled)
        if self._sound and _is_plain(messages[start:]):
            self._settle(messages[start:], messages[start:])
            self._latest = messages, False
            return messages
        # Only the tail: a result answers the nearest call, so nothing later changes a settled
        # round.
        fresh = split_rounds(messages, start)
        length = count_settled(messages, fresh)
        late = [group for group in fresh if group.positions[0] >= length]
        early = [group for group in fresh if group.positions[0] < length]
        self._settle(messages[start:length], _with_late(early, self._given_up, has_answers=True))
        waiting = [*_with_late(late, self._given_up)]
        self._latest = messages, any(group.open_calls for group in late)
        if self._sound and are_same(waiting, messages[length:]):
            return messages
        return [*self._closed, *waiting]

    def close_anew(self, messages: list[Message], result: list[Message]) -> list[Message]:
        """Return what `close` would for a new epoch: a late result takes its place.

        `result` is what `close` returned for the messages.
        """
        return close_open_rounds(messages) if self._lengths else result

    def note_sent(self, messages: list[Message], *, is_epoch: bool) -> None:
        """Record that the messages were sent, perhaps as the first of an epoch."""
        if is_epoch and self._lengths:
            self._forget()
        latest, is_open = self._latest
        self._sent = messages[len(self._settled) :] if is_open and messages is latest else []

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the history at which a call without a result was sent as given up."""
        if self._stored:
            return tuple(self._stored)
        return (*self._lengths, *([len(self._settled) + len(self._sent)] if self._sent else []))

    def restore(self, lengths: Sequence[int]) -> None:
        """Go on from the `lengths` of an earlier process."""
        self._stored = lengths

    def _forget(self) -> None:
        self._settled, self._closed, self._sound = [], [], True
        self._sent, self._given_up, self._lengths = [], {}, []

    def _give_up_calls(self, messages: list[Message]) -> None:
        """Settle open calls to whose answer the model has replied."""
        ids, self._stored = self._stored, ()
        for length in ids:
            self._sent = messages[len(self._settled) : length]
            self._give_up(messages, length)
        if self._sent:
            self._give_up(messages, len(self._settled) + len(self._sent))

    def _give_up(self, messages: list[Message], length: int) -> None:
        start = len(self._settled)
        if len(messages) <= length or messages[length].role != "assistant":
            return
        messages_sent, self._sent = self._sent, []
        rounds = split_rounds(messages[:length], start)
        # The result of an asynchronous call may come in any later request.
        if not continues(messages[start:], messages_sent) or any(group.awaited for group in rounds):
            return
        self._settle(messages[start:length], _with_late(rounds, self._given_up, has_answers=True))
        self._given_up.update({call.id: call for each in rounds for call in each.open_calls})
        self._lengths.append(length)

    def _settle(self, messages: list[Message], result: list[Message]) -> None:
        self._sound = self._sound and are_same(result, messages)
        self._settled += messages
        self._closed += result


def are_same(some: list[Message], others: list[Message]) -> bool:
    """Return whether two lists hold the same objects."""
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _is_plain(messages: Sequence[Message]) -> bool:
    """Return whether new messages need no repair, and no later message changes them.

    So it is if each reply with calls is followed by one message with all of its results. This is
    the usual case, and takes a fraction of splitting them into rounds.
    """
    calls: tuple[ToolCall, ...] = ()
    for message in messages:
        results = message.tool_results
        if len(results) != len(calls) or (message.role == "tool" and not calls):
            return False
        for call, result in zip(calls, results, strict=True):
            if call.id != result.call_id or call.is_async:
                return False
        calls = message.tool_calls
    return not calls


def _with_late(
    rounds: list[Round], given_up: dict[str, ToolCall], *, has_answers: bool = False
) -> list[Message]:
    """Return the repaired messages of rounds, and the late results of calls as texts.

    `has_answers` takes these calls out of those that were given up.
    """
    if not given_up or not any(group.orphaned for group in rounds):
        return repair_rounds(rounds)
    calls = given_up if has_answers else given_up.copy()
    # The place of a round with asynchronous calls depends on the others.
    parts = [rounds] if any(group.late for group in rounds) else [[group] for group in rounds]
    return [
        message for part in parts for message in (*repair_rounds(part), *_late_results(part, calls))
    ]


def _late_results(rounds: Iterable[Round], calls: dict[str, ToolCall]) -> Iterator[Message]:
    for message in (message for group in rounds for message in group.messages if group.orphaned):
        for result in message.tool_results:
            call = calls.pop(result.call_id, None)
            if call is not None:
                text = f"{_LATE}\n\n{call.name}({call.arguments}) returned:\n{result.text}"
                yield Message("user", text, media=message.all_media)
