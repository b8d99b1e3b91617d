"""Which messages belong together: the one place where pairing is decided.

A tool result answers a call of the nearest *run* before it: assistant messages with nothing between
them. Only the first result for a call counts. A result that answers nothing is an orphan: providers
refuse a request that holds one, so an orphan is never sent.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import attrs

from agentic.errors import ConfigError
from agentic.messages._message import Message, check_messages
from agentic.messages._parts import ToolCall, ToolError, ToolResult

__all__ = [
    "Round",
    "close_open_rounds",
    "count_settled",
    "leading_system_count",
    "reopen_rounds",
    "split_rounds",
]

_INTERRUPTED = ToolError(
    "there is no result, because the run ended before this call did. Whether it took effect is "
    "unknown: look before you call again",
    "interrupted",
)


@attrs.frozen
class Round:
    """Messages that stay or go together, in the order of the conversation."""

    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    """Where each message stands in the list that was split."""
    orphaned: bool = False
    """Whether some result in it answers no call."""

    @property
    def pinned(self) -> bool:
        """Whether any of its messages is pinned, so that all of them stay."""
        return any(message.pinned for message in self.messages)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of all its assistant messages."""
        return tuple([call for message in self.messages for call in message.tool_calls])

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result."""
        calls = self.tool_calls
        if not calls:
            return ()
        answers = _numbers([result.call_id for m in self.messages for result in m.tool_results])
        return tuple([call for call in calls if not _take(answers, call.id)])

    @property
    def sound_messages(self) -> tuple[Message, ...]:
        """What a view may hold of it: all of it, or nothing if a result in it is an orphan.

        Where a message is pinned and calls are answered, only the orphaned results are removed.
        """
        if not self.orphaned:
            return self.messages
        return tuple(_without_orphans(self)) if self.pinned else ()

    @property
    def repaired(self) -> tuple[Message, ...]:
        """The messages as a provider accepts them: every call answered, and no orphan."""
        sound = [*_without_orphans(self)] if self.orphaned else [*self.messages]
        for made_up in _made_up_results(self):
            # What the user says beside the results stays after all of them.
            end = next((i for i, m in enumerate(sound) if m.role == "user"), len(sound))
            sound.insert(end, made_up)
        return tuple(sound)


def split_rounds(messages: Sequence[Message], start: int = 0) -> list[Round]:
    """Split a conversation into rounds, ordered by their first message. No message is left out.

    With a `start`, only what begins there: `count_settled` returns a place where a split may go on.

    >>> call, result = ToolCall("c1", "read"), ToolResult("c1", "read", "text")
    >>> conversation = [
    ...     Message("user", "Read it."),
    ...     Message("assistant", tool_calls=[call]),
    ...     Message("tool", tool_results=[result]),
    ... ]
    >>> [round.positions for round in split_rounds(conversation)]
    [(0,), (1, 2)]

    Raises:
        ConfigError: a negative `start`, or something that is no Message.
    """
    if start < 0:
        raise ConfigError("start", start, "a position >= 0", "pass 0 for the whole")
    check_messages(islice(messages, start, None))
    splitter = _Splitter()
    for position in range(start, len(messages)):
        splitter.add(position, messages[position])
    splitter.join_items()
    return [found.close(messages) for found in splitter.rounds]


def count_settled(messages: Sequence[Message], rounds: Sequence[Round]) -> int:
    """Return how many messages are in rounds that no later message can change.

    `rounds` are those of the end of the conversation. Only calls in the last run of assistant
    messages can still be answered.

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
        if not first or messages[first - 1].role != "assistant":
            break
    return settled


def close_open_rounds(messages: list[Message]) -> list[Message]:
    """Repair a history so that a provider accepts it: every call answered, right after it, once.

    A call without a result gets one that says so; a result that other messages have parted from its
    call moves back to it; an orphan is left out. A sound history comes back as the same list.

    >>> cut_off = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> close_open_rounds(cut_off)[1].tool_results[0].error.kind
    'interrupted'
    """
    closed = [message for found in split_rounds(messages) for message in found.repaired]
    same = len(closed) == len(messages) and all(map(operator.is_, closed, messages))
    return messages if same else closed


def reopen_rounds(messages: list[Message]) -> list[Message]:
    """Take out the results that `close_open_rounds` made up; it makes them up again.

    Calls that only such a result kept apart are then one round, closed at its end.
    They are known by their error, which nothing else writes, whatever became of their message. A
    history without any comes back as the same list.

    >>> cut_off = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> reopen_rounds(close_open_rounds(cut_off)) == cut_off
    True
    """
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
    return result.error == _INTERRUPTED


def leading_system_count(messages: Sequence[Message]) -> int:
    """Count the system messages that a conversation starts with, a summary among them included.

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
    """Takes the messages of a conversation in order, and puts each into a round.

    The messages of a run are rounds of their own until a result comes: its round begins with the
    message that it answers, and goes on to the end of the run. So an open call is in no other
    call's round, and leaving out what stands between two runs joins no rounds.
    """

    rounds: list[_OpenRound] = attrs.field(factory=list)
    in_run: bool = False
    """Whether the last message was an assistant's."""
    run_start: int = 0
    """Where in `rounds` those of the latest run begin."""
    run_length: int = 0
    """How many they are."""
    waiting: dict[str, list[int]] = attrs.field(factory=dict)
    """The positions of the latest run's calls without a result, by their ids."""
    results_at: int | None = None
    """The position of the last message, if that held results."""
    shared: list[tuple[int, int]] = attrs.field(factory=list)
    """The positions of the results and of the words of items that hold both."""

    def add(self, position: int, message: Message) -> None:
        results_at, self.results_at = self.results_at, None
        if message.role == "assistant":
            self._add_reply(position, message)
            return
        self.in_run = False
        waiting = self.waiting
        # Of calls with one id, the latest comes first.
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
        self.rounds.append(_OpenRound([position], message.role == "tool"))
        if results_at is not None and message.native and message.native.joins_previous:
            self.shared.append((results_at, position))

    def join_items(self) -> None:
        """Put what came from one item of a provider into one round.

        Beside an orphan, which is never sent, the user's words stay on their own.
        """
        for results, words in self.shared:
            joined = next(found for found in self.rounds if results in found.positions)
            if not joined.orphaned:
                joined.positions = sorted([*joined.positions, words])
                self.rounds = [found for found in self.rounds if found.positions != [words]]

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
        """Make one round of those of the run from this position on."""
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
    """Yield the messages of a round, edited where a result answers no call."""
    waiting = _numbers([call.id for call in found.tool_calls])
    for message in found.messages:
        fitting = [result for result in message.tool_results if _take(waiting, result.call_id)]
        if len(fitting) == len(message.tool_results) and (fitting or message.role != "tool"):
            yield message
        elif fitting:
            yield message.replace(tool_results=fitting)


def _made_up_results(found: Round) -> Iterator[Message]:
    """Yield a message that answers the open calls of a round, if it has any."""
    if calls := found.open_calls:
        made_up = [ToolResult(call.id, call.name, error=_INTERRUPTED) for call in calls]
        yield Message("tool", tool_results=made_up)


def _numbers(ids: Iterable[str]) -> dict[str, int]:
    """Count each id. There are few, mostly one: a `Counter` takes several times as long."""
    numbers: dict[str, int] = {}
    for each in ids:
        numbers[each] = numbers.get(each, 0) + 1
    return numbers


def _take(waiting: dict[str, int], call_id: str) -> bool:
    if waiting.get(call_id, 0) <= 0:
        return False
    waiting[call_id] -= 1
    return True
