"""Which messages belong together: the only place where calls and results are paired.

A tool result answers a call of the nearest *run* before it. A run is an unbroken sequence of
assistant messages. Only the first result for a call counts. A result that answers no call is an
orphan. It is never sent, because providers refuse a request that contains one.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import attrs

from agentic.errors import ConfigError
from agentic.messages._message import Message, check_messages
from agentic.messages._parts import ToolCall, ToolError, ToolResult

# Never reworded: results that were made up and stored before are recognized by these words.
_INTERRUPTED = ToolError(
    "there is no result, because the run ended before this call did. Whether it took effect is "
    "unknown: look before you call again",
    "interrupted",
)


@attrs.frozen
class Round:
    """Messages that are kept or dropped together, in the order of the conversation."""

    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    """The position of each message in the list that was split."""
    orphaned: bool = False
    """Whether one of its results answers no call."""

    @property
    def pinned(self) -> bool:
        """Whether any of its messages is pinned; then all of them are kept."""
        return any(message.pinned for message in self.messages)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of all its assistant messages."""
        # From a list: a generator takes a fifth longer, and this is asked of every round.
        return tuple([call for message in self.messages for call in message.tool_calls])

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result."""
        calls = self.tool_calls
        if not calls:
            return ()
        # Several calls may have the same id: each result answers only one of them.
        answers = _numbers([result.call_id for m in self.messages for result in m.tool_results])
        return tuple([call for call in calls if not _take(answers, call.id)])

    @property
    def sound_messages(self) -> tuple[Message, ...]:
        """The messages that a view may contain: all of them, or none if the round has an orphan.

        If a message is pinned and calls are answered, only the orphaned results are removed.
        """
        if not self.orphaned:
            return self.messages
        return tuple(_without_orphans(self)) if self.pinned else ()

    @property
    def repaired(self) -> tuple[Message, ...]:
        """The messages in a form that a provider accepts: every call answered, and no orphan."""
        sound = [*_without_orphans(self)] if self.orphaned else [*self.messages]
        if calls := self.open_calls:
            made_up = [ToolResult(call.id, call.name, error=_INTERRUPTED) for call in calls]
            # The user's text from the same provider item stays after all results.
            end = next((i for i, m in enumerate(sound) if m.role == "user"), len(sound))
            # In one message, as a Runner stores the results of a turn.
            sound.insert(end, Message("tool", tool_results=made_up))
        return tuple(sound)


def split_rounds(messages: Sequence[Message], start: int = 0) -> list[Round]:
    """Split a conversation into rounds, ordered by their first message. No message is left out.

    With `start`, only the messages from that position on are split. `count_settled` returns a
    position at which splitting can resume.

    >>> call, result = ToolCall("c1", "read"), ToolResult("c1", "read", "text")
    >>> conversation = [
    ...     Message("user", "Read it."),
    ...     Message("assistant", tool_calls=[call]),
    ...     Message("tool", tool_results=[result]),
    ... ]
    >>> [round.positions for round in split_rounds(conversation)]
    [(0,), (1, 2)]

    Raises:
        ConfigError: `start` is negative, or an item is not a Message.
    """
    if start < 0:
        raise ConfigError("start", start, "a position >= 0", "pass 0 for the whole")
    # Only what is new: a list that grows is split from `start` on at every turn.
    check_messages(islice(messages, start, None))
    splitter = _Splitter()
    for position in range(start, len(messages)):
        splitter.add(position, messages[position])
    splitter.join_items()
    return [found.close(messages) for found in splitter.rounds]


def count_settled(messages: Sequence[Message], rounds: Sequence[Round]) -> int:
    """Return how many messages are in rounds that no later message can change.

    `rounds` are the rounds at the end of the conversation. Only calls in the last run of assistant
    messages can still be answered. What is counted ends with no such call, so that it stays as it
    is in a fork of the conversation as well.

    >>> waiting = [Message("user", "Go."), Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> count_settled(waiting, split_rounds(waiting))
    1
    """
    settled = len(messages)
    for found in reversed(rounds):
        first = found.positions[0]
        if messages[first].role != "assistant":
            continue
        if found.open_calls:
            settled = first
        starts_run = not first or messages[first - 1].role != "assistant"
        # Without that run the one before it is the last, whose open calls a fork may answer.
        if starts_run and settled != first:
            break
    return settled


def close_open_rounds(messages: list[Message]) -> list[Message]:
    """Repair a history so that a provider accepts it: every call is answered once, right after it.

    A call without a result gets one that says so. A result that was separated from its call by
    other messages moves back to it. An orphan is left out. A sound history is returned as the same
    list.

    >>> cut_off = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> close_open_rounds(cut_off)[1].tool_results[0].error.kind
    'interrupted'
    """
    closed = [message for found in split_rounds(messages) for message in found.repaired]
    # By identity: to compare the fields of a long history would cost more than the repair.
    same = len(closed) == len(messages) and all(map(operator.is_, closed, messages))
    return messages if same else closed


def reopen_rounds(messages: list[Message]) -> list[Message]:
    """Remove the results that `close_open_rounds` made up; it can make them up again.

    Calls that were separated only by such a result then form one round, which is closed at its end.
    Made-up results are recognized by their error, which nothing else writes, even if their message
    was edited or stored. A history without any is returned as the same list.

    >>> cut_off = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> reopen_rounds(close_open_rounds(cut_off)) == cut_off
    True
    """
    # The usual case: the same list says so.
    if not any(_is_made_up(result) for message in messages for result in message.tool_results):
        return messages
    reopened: list[Message] = []
    for message in messages:
        real = [result for result in message.tool_results if not _is_made_up(result)]
        if len(real) == len(message.tool_results):
            reopened.append(message)
        elif real:
            reopened.append(message.replace(tool_results=real))
    return reopened


def _is_made_up(result: ToolResult) -> bool:
    # By the error and not by identity: a store returns another object.
    return result.error == _INTERRUPTED


def leading_system_count(messages: Sequence[Message]) -> int:
    """Count the system messages at the start of a conversation, including a summary.

    >>> leading_system_count([Message("system", "Be brief."), Message("user", "Why?")])
    1
    """
    for position, message in enumerate(messages):
        if message.role != "system":
            return position
    return len(messages)


@attrs.define
class _OpenRound:
    """A round that later messages may still join."""

    positions: list[int]
    orphaned: bool = False

    def close(self, messages: Sequence[Message]) -> Round:
        members = tuple([messages[position] for position in self.positions])
        return Round(members, tuple(self.positions), self.orphaned)


@attrs.define
class _Splitter:
    """Puts the messages of a conversation into rounds, one after the other.

    Each message of a run is a round of its own until a result arrives. The round of a result begins
    with the message that it answers and extends to the end of the run. So an earlier open call
    is not in that round, and leaving out what is between two runs does not merge rounds.
    """

    rounds: list[_OpenRound] = attrs.field(factory=list)
    in_run: bool = False
    """Whether the last message was an assistant message."""
    run_start: int = 0
    """The index in `rounds` of the first round of the latest run."""
    run_length: int = 0
    """How many rounds the latest run has."""
    waiting: dict[str, list[int]] = attrs.field(factory=dict)
    """The positions of the latest run's unanswered calls, by call id."""
    results_at: int | None = None
    """The position of the last message if it holds results."""
    shared: list[tuple[int, int]] = attrs.field(factory=list)
    """For each provider item with both: the positions of its results and of its text."""

    def add(self, position: int, message: Message) -> None:
        results_at, self.results_at = self.results_at, None
        if message.role == "assistant":
            self._add_reply(position, message)
            return
        self.in_run = False
        waiting = self.waiting
        # If several calls have the same id, the latest is answered first.
        answered = [
            waiting[each.call_id].pop()
            for each in message.tool_results
            if waiting.get(each.call_id)
        ]
        if answered:
            caller = self._join_rounds(min(answered))
            caller.positions.append(position)
            caller.orphaned |= len(answered) < len(message.tool_results)
            self.results_at = position
            return
        # A tool message that answers nothing is an orphan, even if it has no results at all.
        self.rounds.append(_OpenRound([position], message.role == "tool"))
        if results_at is not None and message.native and message.native.joins_previous:
            self.shared.append((results_at, position))

    def join_items(self) -> None:
        """Put the messages that came from one provider item into one round.

        If the results include an orphan, which is never sent, the user's text stays a round of its
        own.
        """
        if not self.shared:
            return
        homes = {position: found for found in self.rounds for position in found.positions}
        for results, words in self.shared:
            if not homes[results].orphaned:
                homes[results].positions.append(words)
                homes[words].positions.clear()
        self.rounds = [found for found in self.rounds if found.positions]
        for found in self.rounds:
            found.positions.sort()

    def _add_reply(self, position: int, message: Message) -> None:
        if not self.in_run:
            self.in_run, self.waiting = True, {}
            self.run_start, self.run_length = len(self.rounds), 0
        self.rounds.append(_OpenRound([position]))
        self.run_length += 1
        for call in message.tool_calls:
            if call.id in self.waiting:
                self.waiting[call.id].append(position)
            else:
                self.waiting[call.id] = [position]

    def _join_rounds(self, first: int) -> _OpenRound:
        """Merge the rounds of the run, from the one that holds position `first` on, into one."""
        # Nearly every turn has one assistant message.
        if self.run_length == 1:
            return self.rounds[self.run_start]
        at, end = self.run_start, self.run_start + self.run_length
        while at + 1 < end and self.rounds[at + 1].positions[0] <= first:
            at += 1
        caller = self.rounds[at]
        for other in self.rounds[at + 1 : end]:
            caller.positions += other.positions
            caller.orphaned |= other.orphaned
        del self.rounds[at + 1 : end]
        self.run_length = at + 1 - self.run_start
        return caller


def _without_orphans(found: Round) -> Iterator[Message]:
    """Yield the messages of a round without the results that answer no call."""
    waiting = _numbers([call.id for call in found.tool_calls])
    for message in found.messages:
        fitting = [result for result in message.tool_results if _take(waiting, result.call_id)]
        if len(fitting) == len(message.tool_results) and (fitting or message.role != "tool"):
            yield message
        elif fitting:
            yield message.replace(tool_results=fitting)


def _numbers(ids: Iterable[str]) -> dict[str, int]:
    """Count each id. There is mostly one, and a `Counter` would be several times slower."""
    numbers: dict[str, int] = {}
    for each in ids:
        numbers[each] = numbers.get(each, 0) + 1
    return numbers


def _take(waiting: dict[str, int], call_id: str) -> bool:
    if waiting.get(call_id, 0) <= 0:
        return False
    waiting[call_id] -= 1
    return True
