"""Which messages belong together: the only place where calls and results are paired.

A tool result answers a call of the nearest *run* before it. A run is an unbroken sequence of
assistant messages. Only the first result for a call counts. A result that answers no call is an
orphan. It is never sent, because providers refuse a request that contains one.

An asynchronous call may be answered at any later time, and may stay open until then. Its round is
then no longer where the call is: it is as recent as the latest result in it.
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
_AWAITED = ToolError("the call is still running; its result has not come yet", "not_finished")


@attrs.frozen
class Round:
    """Messages that are kept or dropped together, in the order of the conversation."""

    messages: tuple[Message, ...]
    positions: tuple[int, ...]
    """The position of each message in the list that was split."""
    orphaned: bool = False
    """Whether one of its results answers no call."""
    awaited: bool = False
    """Whether the result of an asynchronous call in it may still come."""
    late: bool = False
    """Whether the result of an asynchronous call in it came after messages of other rounds, which
    are between its own messages then."""

    @property
    def pinned(self) -> bool:
        """Whether all of its messages are kept: any of them is pinned, or a result is awaited.

        Without its call, that result would be an orphan, and the model would never see it.
        """
        return self.awaited or any(message.pinned for message in self.messages)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of all its assistant messages."""
        # From a list: a generator takes a fifth longer, and this is asked of every round.
        return tuple([call for message in self.messages for call in message.tool_calls])

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result, except those whose result is awaited."""
        calls = self.tool_calls
        return tuple([call for call in _open(calls, self.messages) if not call.is_async])

    @property
    def sound_messages(self) -> tuple[Message, ...]:
        """The messages that a view may contain: all of them, or none if the round has an orphan.

        If a message is pinned and calls are answered, only the orphaned results are removed.
        """
        if not self.orphaned:
            return self.messages
        return tuple(m for _, m in _without_orphans(self)) if self.pinned else ()

    @property
    def repaired(self) -> tuple[Message, ...]:
        """The messages in a form that a provider accepts: every call answered, and no orphan."""
        sound = [m for _, m in _without_orphans(self)] if self.orphaned else [*self.messages]
        if calls := self.open_calls:
            made_up = [ToolResult(call.id, call.name, error=_INTERRUPTED) for call in calls]
            # The user's text from the same provider item stays after all results.
            end = next((i for i, m in enumerate(sound) if m.role == "user"), len(sound))
            # In one message, as a Runner stores the results of a turn.
            sound.insert(end, Message("tool", tool_results=made_up))
        return tuple(sound)


def split_rounds(messages: Sequence[Message], start: int = 0) -> list[Round]:
    """Split a conversation into rounds, ordered by their first message. No message is left out.

    A round with a late result of an asynchronous call has the place of that result.

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
    splitter.note_awaited()
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
        # A late round is complete, and no part of the last run of assistant messages.
        if messages[first].role != "assistant" or found.late:
            continue
        if found.open_calls:
            settled = first
        starts_run = not first or messages[first - 1].role != "assistant"
        # Without that run the one before it is the last, whose open calls a fork may answer.
        if starts_run and settled != first:
            break
    return _before_awaited(rounds, settled)


def _before_awaited(rounds: Sequence[Round], settled: int) -> int:
    """Return the last position up to `settled` that no awaited and no unsettled round crosses."""
    awaited = [found.positions[0] for found in rounds if found.awaited]
    settled = min([settled, *awaited])
    late = [found for found in rounds if found.late]
    while crossing := [f for f in late if f.positions[0] < settled <= f.positions[-1]]:
        settled = min(found.positions[0] for found in crossing)
    return settled


def close_open_rounds(messages: list[Message], *, answer_async: bool = False) -> list[Message]:
    """Repair a history so that a provider accepts it: every call is answered once, right after it.

    A call without a result gets one that says so. A result that was separated from its call by
    other messages moves back to it. An orphan is left out. A sound history is returned as the same
    list.

    An asynchronous call may stay open, and its result stays where it is. `answer_async` is for
    providers that have no such calls: they are answered like all others.

    >>> cut_off = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> close_open_rounds(cut_off)[1].tool_results[0].error.kind
    'interrupted'
    """
    rounds = split_rounds(messages)
    if answer_async and any(found.late or found.awaited for found in rounds):
        closed = [message for found in sorted(rounds, key=_first) for message in _answered(found)]
    else:
        closed = repair_rounds(rounds)
    # By identity: to compare the fields of a long history would cost more than the repair.
    same = len(closed) == len(messages) and all(map(operator.is_, closed, messages))
    return messages if same else closed


def repair_rounds(rounds: Iterable[Round]) -> list[Message]:
    """Return the messages of rounds in a form that a provider accepts, in their order."""
    rounds = list(rounds)
    if not any(found.late for found in rounds):
        return [message for found in rounds for message in found.repaired]
    placed: list[tuple[int, Message]] = []
    for found in rounds:
        if found.late:
            placed += _in_place(found)
        else:
            placed += [(found.positions[0], message) for message in found.repaired]
    # The sort is stable: what has one place stays in its order.
    return [message for _, message in sorted(placed, key=operator.itemgetter(0))]


def _first(found: Round) -> int:
    return found.positions[0]


def _answered(found: Round) -> Iterator[Message]:
    """Yield the messages of a round for a provider without asynchronous calls.

    Each result follows its call. One that is awaited is replaced by a sentence that says so.
    """
    if not (found.late or found.awaited):
        yield from found.repaired
        return
    sound = [message for _, message in _without_orphans(found)]
    results: dict[str, list[ToolResult]] = {}
    for message in sound:
        for result in message.tool_results:
            results.setdefault(result.call_id, []).append(result)
    media = [each for message in sound if message.role == "tool" for each in message.media]
    for message in sound:
        if message.role != "tool":
            yield _without_async(message)
        if message.tool_calls:
            answers = [_result_of(call, results) for call in message.tool_calls]
            yield Message("tool", tool_results=answers, media=media)
            media = []


def _result_of(call: ToolCall, results: dict[str, list[ToolResult]]) -> ToolResult:
    if results.get(call.id):
        return results[call.id].pop(0)
    return ToolResult(call.id, call.name, error=_AWAITED if call.is_async else _INTERRUPTED)


def _in_place(found: Round) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a late round, repaired, each with its own position."""
    missing = _numbers([call.id for call in found.open_calls])
    for position, message in _without_orphans(found):
        yield position, message
        made_up = [
            ToolResult(call.id, call.name, error=_INTERRUPTED)
            for call in message.tool_calls
            if _take(missing, call.id)
        ]
        if made_up:
            yield position, Message("tool", tool_results=made_up)


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
    awaited: bool = False
    late: bool = False

    def close(self, messages: Sequence[Message]) -> Round:
        if self.late:
            self.positions.sort()
        members = tuple([messages[position] for position in self.positions])
        return Round(members, tuple(self.positions), self.orphaned, self.awaited, self.late)

    def absorb(self, other: "_OpenRound", homes: "dict[int, _OpenRound]") -> None:
        """Take over the messages of another round, which is noted in `homes`."""
        for position in other.positions if homes else ():
            if position in homes:
                homes[position] = self
        self.positions += other.positions
        self.orphaned |= other.orphaned
        self.late |= other.late
        other.positions = []


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
    awaited: dict[str, list[int]] = attrs.field(factory=dict)
    """The positions of unanswered asynchronous calls, of all runs, by call id."""
    parted: bool = False
    """Whether late results are among the results of the latest run, in a message of their own."""
    homes: dict[int, _OpenRound] = attrs.field(factory=dict)
    """The round of each message with asynchronous calls, by position."""

    def add(self, position: int, message: Message) -> None:
        results_at, self.results_at, in_run = self.results_at, None, self.in_run
        if message.role == "assistant":
            self._add_reply(position, message)
            return
        self.in_run = False
        is_next = in_run or results_at is not None
        answered, late = self._answers(message, is_next=is_next)
        if answered or late:
            caller = self._caller(min(answered)) if answered else self._new_round()
            # It stays behind a late result: only from behind other messages it moves to its call.
            self.parted |= is_next and not answered
            caller.late |= is_next and self.parted
            caller.positions.append(position)
            for asked_at in late:
                self._move(asked_at, caller)
            caller.orphaned |= len(answered) + len(late) < len(message.tool_results)
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

    def note_awaited(self) -> None:
        """Mark the rounds in which an asynchronous call is not answered yet."""
        for positions in self.awaited.values():
            for position in positions:
                self.homes[position].awaited = True
        if self.homes:
            self.rounds = [found for found in self.rounds if found.positions]

    def _answers(self, message: Message, *, is_next: bool) -> tuple[list[int], list[int]]:
        """Return the positions of the calls that a message answers, and of those it answers late.

        Only an asynchronous call is answered late: in a later run, or, if the message is not the
        next one of the run, after another message.
        """
        answered: list[int] = []
        late: list[int] = []
        for result in message.tool_results:
            # If several calls have the same id, the latest is answered first.
            asked, awaited = self.waiting.get(result.call_id), self.awaited.get(result.call_id)
            if asked:
                position = asked.pop()
                is_async = awaited is not None and awaited[-1:] == [position]
                (late if is_async and not is_next else answered).append(position)
            elif awaited:
                position, is_async = awaited[-1], True
                late.append(position)
            else:
                continue
            if is_async:
                self.awaited[result.call_id].pop()
        return answered, late

    def _new_round(self) -> _OpenRound:
        self.rounds.append(_OpenRound([]))
        return self.rounds[-1]

    def _move(self, asked_at: int, latest: _OpenRound) -> None:
        """Join the round of an asynchronous call to the one in which it is answered."""
        home = self.homes[asked_at]
        if home is not latest:
            latest.absorb(home, self.homes)
        latest.late = True

    def _add_reply(self, position: int, message: Message) -> None:
        if not self.in_run:
            self.in_run, self.parted, self.waiting = True, False, {}
            self.run_start, self.run_length = len(self.rounds), 0
        self.rounds.append(_OpenRound([position]))
        self.run_length += 1
        for call in message.tool_calls:
            if call.id in self.waiting:
                self.waiting[call.id].append(position)
            else:
                self.waiting[call.id] = [position]
            if call.is_async:
                self.awaited.setdefault(call.id, []).append(position)
                self.homes[position] = self.rounds[-1]

    def _caller(self, asked_at: int) -> _OpenRound:
        """Return the round that a result of the latest run joins."""
        home = self.homes.get(asked_at)
        # Another result of its message was late.
        return home if home is not None and home.late else self._join_rounds(asked_at)

    def _join_rounds(self, first: int) -> _OpenRound:
        """Merge the rounds of the run, from the one that holds position `first` on, into one."""
        # Nearly every turn has one assistant message.
        if self.run_length == 1:
            return self.rounds[self.run_start]
        at, end = self.run_start, self.run_start + self.run_length
        # One whose result was late has left its place.
        while at + 1 < end and (self.rounds[at + 1].positions or [0])[0] <= first:
            at += 1
        caller = self.rounds[at]
        for other in self.rounds[at + 1 : end]:
            caller.absorb(other, self.homes)
        del self.rounds[at + 1 : end]
        self.run_length = at + 1 - self.run_start
        return caller


def _without_orphans(found: Round) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a round without the results that answer no call, with positions."""
    waiting = _numbers([call.id for call in found.tool_calls])
    for position, message in zip(found.positions, found.messages, strict=True):
        fitting = [result for result in message.tool_results if _take(waiting, result.call_id)]
        if len(fitting) == len(message.tool_results) and (fitting or message.role != "tool"):
            yield position, message
        elif fitting:
            yield position, message.replace(tool_results=fitting)


def _open(calls: Sequence[ToolCall], messages: Iterable[Message]) -> list[ToolCall]:
    if not calls:
        return []
    # Several calls may have the same id: each result answers only one of them.
    answers = _numbers([result.call_id for m in messages for result in m.tool_results])
    return [call for call in calls if not _take(answers, call.id)]


def _without_async(message: Message) -> Message:
    if not any(call.is_async for call in message.tool_calls):
        return message
    return message.replace(
        tool_calls=[attrs.evolve(call, is_async=False) for call in message.tool_calls]
    )


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
