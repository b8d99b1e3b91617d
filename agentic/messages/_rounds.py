"""Which messages belong together: the only place where calls and results are paired.

A tool result answers a call of the nearest *run* before it. A run is a sequence of assistant
messages. It ends with a message of the user's or the system's. Once one of its calls is answered,
it also ends with the next reply, unless that makes no calls and others are still open: then it
stands between the results of the run. Only the first result for a call counts. A result that
answers no call is an orphan. It is never sent, because providers refuse a request that contains
one. A message without any other content therefore changes nothing around it.

An asynchronous call may be answered at any later time, and may stay open until then. Its round is
then no longer where the call is: it is as recent as the latest result in it.
"""

import operator
from bisect import bisect_right
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
    begins_run: bool = attrs.field(default=False, eq=False, repr=False)
    """Whether its first message begins a run: behind it, no call of an earlier run is answered,
    unless asynchronous. A conversation that is split from a position on begins one there."""

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
        return tuple([call for _, call in _open(self.messages) if not call.is_async])

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
        """The messages in a form that a provider accepts: every call answered, and no orphan.

        Replies between the results, and the user's text from the same provider item, come after
        all results.
        """
        sound = [m for _, m in _without_orphans(self)] if self.orphaned else [*self.messages]
        if calls := self.open_calls:
            # In one message, as a Runner stores the results of a turn.
            made_up = [ToolResult(call.id, call.name, error=_INTERRUPTED) for call in calls]
            sound.append(Message("tool", tool_results=made_up))
        roles = [message.role for message in sound]
        start = roles.index("tool") if "tool" in roles else len(sound)
        # The sort is stable: replies and words stay in their order.
        return (*sound[:start], *sorted(sound[start:], key=lambda each: each.role != "tool"))


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
    return [group.close(messages) for group in splitter.rounds]


@attrs.define
class LastRun:
    """Where the latest run of a conversation ends, as far as it is read.

    Messages that only hold orphans are not noted.

    >>> run = LastRun()
    >>> run.note_reply(has_calls=True, is_waiting=False)
    True
    >>> run.is_answered = True
    >>> run.note_reply(has_calls=False, is_waiting=True)
    False
    """

    is_over: bool = True
    """Whether no reply continues it: the user or the system has spoken behind it."""
    is_answered: bool = False
    """Whether one of its calls has its result."""

    def note_reply(self, *, has_calls: bool, is_waiting: bool) -> bool:
        """Return whether a reply begins another run, which is the latest one then.

        `is_waiting` is whether a call of the latest run has no result.
        """
        is_between = is_waiting and not has_calls
        if not self.is_over and (is_between or not self.is_answered):
            return False
        self.is_over = self.is_answered = False
        return True


def count_settled(messages: Sequence[Message], rounds: Sequence[Round]) -> int:
    """Return how many messages are in rounds that no later message can change.

    `rounds` are the rounds at the end of the conversation. Only calls in the last run can still be
    answered. What is counted ends with no such call, so that it stays as it is in a fork of the
    conversation as well.

    >>> waiting = [Message("user", "Go."), Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> count_settled(waiting, split_rounds(waiting))
    1
    """
    length = len(messages)
    while True:
        shorter = _before_open(rounds, _before_awaited(rounds, length))
        # What one of the two leaves out may be what the other relied on.
        if shorter == length:
            return length
        length = shorter


def _before_open(rounds: Sequence[Round], length: int) -> int:
    """Return a position up to `length` before which no call of the last run is open."""
    for group in reversed(rounds):
        first = group.positions[0]
        if first >= length:
            continue
        if group.open_calls:
            length = first
        # Without that run the one before it is the last, whose open calls a fork may answer. A late
        # round may be of several runs.
        elif group.begins_run and not group.late:
            break
    return length


def _before_awaited(rounds: Sequence[Round], length: int) -> int:
    """Return the last position up to `length` that no awaited and no unsettled round crosses."""
    waiting = [group.positions[0] for group in rounds if group.awaited]
    length = min([length, *waiting])
    late = [group for group in rounds if group.late]
    while crossing := [f for f in late if f.positions[0] < length <= f.positions[-1]]:
        length = min(group.positions[0] for group in crossing)
    return length


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
    if count_sound(messages) == len(messages):
        return messages
    rounds = split_rounds(messages)
    if answer_async and any(group.late or group.awaited for group in rounds):
        valid = [message for group in sorted(rounds, key=_first) for message in _answered(group)]
    else:
        valid = repair_rounds(rounds)
    # By identity: to compare the fields of a long history would cost more than the repair.
    same = len(valid) == len(messages) and all(map(operator.is_, valid, messages))
    return messages if same else valid


def count_sound(messages: Sequence[Message], start: int = 0) -> int:
    """Return the length of a beginning that needs no repair, whatever follows it.

    In it, the next messages after a call hold its result, and nothing else. That is a simpler rule
    than that of rounds, and true of nearly every history: what follows may be sound all the same.
    With `start`, which is such a length, only the rest is looked at.

    >>> waiting = [Message("user", "Go."), Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> count_sound(waiting), count_sound([*waiting, Message("tool", tool_results=[])])
    (1, 1)
    """
    length, waiting = start, set[str]()
    for position in range(start, len(messages)):
        message = messages[position]
        if type(message) is not Message:
            return length
        if message.role == "tool":
            if not _answer(waiting, message.tool_results):
                return length
        elif waiting:
            return length
        elif calls := message.tool_calls:
            waiting = {call.id for call in calls if not call.is_async}
            # An asynchronous call may be answered anywhere; of two with one id, the latter is.
            if len(waiting) < len(calls):
                return length
        if not waiting:
            length = position + 1
    return length


def _answer(waiting: set[str], results: Sequence[ToolResult]) -> bool:
    """Take the ids of the results from those of the calls; return whether each was there."""
    for result in results:
        if result.call_id not in waiting:
            return False
        waiting.remove(result.call_id)
    return bool(results)


def repair_rounds(rounds: Iterable[Round]) -> list[Message]:
    """Return the messages of rounds in a form that a provider accepts, in their order."""
    rounds = list(rounds)
    if not any(group.late for group in rounds):
        return [message for group in rounds for message in group.repaired]
    places: list[tuple[int, Message]] = []
    for group in rounds:
        if group.late:
            places += _in_place(group)
        else:
            places += [(group.positions[0], message) for message in group.repaired]
    # The sort is stable: what has one place stays in its order.
    return [message for _, message in sorted(places, key=operator.itemgetter(0))]


def _first(group: Round) -> int:
    return group.positions[0]


def _answered(group: Round) -> Iterator[Message]:
    """Yield the messages of a round for a provider without asynchronous calls.

    Each result follows its call. One that is awaited is replaced by a sentence that says so.
    """
    if not (group.late or group.awaited):
        yield from group.repaired
        return
    sound = [message for _, message in _without_orphans(group)]
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


def _in_place(group: Round) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a late round, repaired, each with its own position."""
    missing: dict[int, list[ToolCall]] = {}
    for number, call in _open(group.messages):
        if not call.is_async:
            missing.setdefault(group.positions[number], []).append(call)
    sound = [*_without_orphans(group)]
    made_up: list[ToolResult] = []
    for number, (position, message) in enumerate(sound, 1):
        yield position, message
        made_up += [
            ToolResult(call.id, call.name, error=_INTERRUPTED) for call in missing.get(position, ())
        ]
        # Between the replies of a run, they would part it.
        is_next = number < len(sound) and sound[number][0] == position + 1
        if made_up and not (is_next and sound[number][1].role == "assistant"):
            yield position, Message("tool", tool_results=made_up)
            made_up = []


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
    history: list[Message] = []
    for message in messages:
        real = [result for result in message.tool_results if not _is_made_up(result)]
        if len(real) == len(message.tool_results):
            history.append(message)
        elif real:
            history.append(message.replace(tool_results=real))
    return history


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
    begins_run: bool = False

    def first(self) -> int:
        return self.positions[0]

    def close(self, messages: Sequence[Message]) -> Round:
        if self.late:
            self.positions.sort()
        members = tuple([messages[position] for position in self.positions])
        return Round(
            members,
            tuple(self.positions),
            self.orphaned,
            self.awaited,
            self.late,
            self.begins_run,
        )

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
    last_run: LastRun = attrs.field(factory=LastRun)
    open_count: int = 0
    """How many calls of the latest run have no result, without asynchronous calls."""
    is_next: bool = False
    """Whether the last message, except orphans, is one of the latest run or holds results, so that
    outputs of asynchronous calls in the run are not late. A reply between results makes them so."""
    run: list[_OpenRound] = attrs.field(factory=list)
    """The rounds of the latest run, without those that a late result has moved."""
    waiting: dict[str, list[int]] = attrs.field(factory=dict)
    """The positions of the latest run's unanswered calls, by call id."""
    results_at: int | None = None
    """The position of the last message if it holds results."""
    shared: list[tuple[int, int]] = attrs.field(factory=list)
    """For each provider item with both: the positions of its results and of its text."""
    awaited: dict[str, list[int]] = attrs.field(factory=dict)
    """The positions of unanswered asynchronous calls, of all runs, by call id."""
    is_merged: bool = False
    """Whether some of `rounds` have no messages any more."""
    parted: bool = False
    """Whether late results are among the results of the latest run, in a message of their own."""
    homes: dict[int, _OpenRound] = attrs.field(factory=dict)
    """The round of each message with asynchronous calls, by position."""

    def add(self, position: int, message: Message) -> None:
        results_at, self.results_at = self.results_at, None
        if message.role == "assistant":
            self._add_reply(position, message)
            return
        answers, late = self._answers(message)
        if answers or late:
            caller = self._caller(min(answers)) if answers else self._new_round()
            # It stays behind a late result: only from behind other messages it moves to its call.
            self.parted |= self.is_next and not answers
            caller.late |= self.is_next and self.parted
            caller.positions.append(position)
            for asked_at in late:
                self._move(asked_at, caller)
            caller.orphaned |= len(answers) + len(late) < len(message.tool_results)
            self.results_at, self.is_next = position, True
            # Late outputs alone part no replies whose calls are all open.
            self.last_run.is_answered |= bool(answers) or not self.open_count
            return
        # A tool message that answers nothing is an orphan, even if it has no results at all.
        self.rounds.append(_OpenRound([position], message.role == "tool"))
        if message.role != "tool":
            self.last_run.is_over, self.is_next = True, False
        if results_at is not None and message.native and message.native.joins_previous:
            self.shared.append((results_at, position))

    def join_items(self) -> None:
        """Put the messages that came from one provider item into one round.

        If the results include an orphan, which is never sent, the user's text stays a round of its
        own.
        """
        if not self.shared:
            return
        homes = {position: group for group in self.rounds for position in group.positions}
        for results, words in self.shared:
            if not homes[results].orphaned:
                homes[results].positions.append(words)
                homes[words].positions.clear()
        self.rounds = [group for group in self.rounds if group.positions]
        for group in self.rounds:
            group.positions.sort()

    def note_awaited(self) -> None:
        """Mark the rounds in which an asynchronous call is not answered yet."""
        for positions in self.awaited.values():
            for position in positions:
                self.homes[position].awaited = True
        if self.homes or self.is_merged:
            self.rounds = [group for group in self.rounds if group.positions]

    def _answers(self, message: Message) -> tuple[list[int], list[int]]:
        """Return the positions of the calls that a message answers, and of those it answers late.

        Only an asynchronous call is answered late: in a later run, or, if the message is not the
        next one of the run, after another message.
        """
        answers: list[int] = []
        late: list[int] = []
        for result in message.tool_results:
            # If several calls have the same id, the latest is answered first.
            places, open_async = (
                self.waiting.get(result.call_id),
                self.awaited.get(result.call_id),
            )
            if places:
                position = places.pop()
                is_async = open_async is not None and open_async[-1:] == [position]
                (late if is_async and not self.is_next else answers).append(position)
            elif open_async:
                position, is_async = open_async[-1], True
                late.append(position)
            else:
                continue
            if is_async:
                self.awaited[result.call_id].pop()
            else:
                self.open_count -= 1
        return answers, late

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
        begins_run = self.last_run.note_reply(
            has_calls=bool(message.tool_calls), is_waiting=self.open_count > 0
        )
        if begins_run:
            self.waiting, self.run, self.open_count, self.parted = {}, [], 0, False
        self.is_next = not self.last_run.is_answered
        self.rounds.append(_OpenRound([position], begins_run=begins_run))
        self.run.append(self.rounds[-1])
        for call in message.tool_calls:
            if call.id in self.waiting:
                self.waiting[call.id].append(position)
            else:
                self.waiting[call.id] = [position]
            if call.is_async:
                self.awaited.setdefault(call.id, []).append(position)
                self.homes[position] = self.rounds[-1]
            else:
                self.open_count += 1

    def _caller(self, asked_at: int) -> _OpenRound:
        """Return the round that a result of the latest run joins."""
        home = self.homes.get(asked_at)
        # Another result of its message was late.
        return home if home is not None and home.late else self._join_rounds(asked_at)

    def _join_rounds(self, first: int) -> _OpenRound:
        """Merge the rounds of the run, from the one that holds position `first` on, into one."""
        # Nearly every turn has one assistant message.
        if len(self.run) == 1:
            return self.run[0]
        # One whose result was late has left its place.
        self.run = [each for each in self.run if each.positions]
        at = bisect_right(self.run, first, key=_OpenRound.first) - 1
        caller = self.run[at]
        for other in self.run[at + 1 :]:
            caller.absorb(other, self.homes)
            self.is_merged = True
        del self.run[at + 1 :]
        return caller


def _without_orphans(group: Round) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a round without the results that answer no call, with positions."""
    waiting = _numbers([call.id for call in group.tool_calls])
    for position, message in zip(group.positions, group.messages, strict=True):
        fitting = [result for result in message.tool_results if _take(waiting, result.call_id)]
        if len(fitting) == len(message.tool_results) and (fitting or message.role != "tool"):
            yield position, message
        elif fitting:
            yield position, message.replace(tool_results=fitting)


def _open(messages: Sequence[Message]) -> list[tuple[int, ToolCall]]:
    """Return the calls without a result, each with the index of its message."""
    calls: list[tuple[int, ToolCall] | None] = []
    waiting: dict[str, list[int]] = {}
    for index, message in enumerate(messages):
        for call in message.tool_calls:
            waiting.setdefault(call.id, []).append(len(calls))
            calls.append((index, call))
        for result in message.tool_results:
            # Several calls may have the same id: the latest is answered first.
            if places := waiting.get(result.call_id):
                calls[places.pop()] = None
    return [call for call in calls if call is not None]


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
