"""The rounds of growing conversations, each split only once, and views that start late in them."""

from typing import Any, TypeVar

import attrs

from agentic.messages import Message, Round, split_rounds
from agentic.messages._landmarks import Task
from agentic.messages._provider_compaction import holds_compaction
from agentic.messages._rounds import count_settled
from agentic.messages._timeline import RecentConversations

_T = TypeVar("_T")


@attrs.define(eq=False)
class Sorted:
    """The rounds of one conversation, sorted by kind. Rounds are referred to by their index."""

    messages: list[Message] = attrs.field(factory=list)
    """The messages of the settled rounds, which no later message can change."""
    rounds: list[Round] = attrs.field(factory=list)
    leading: list[int] = attrs.field(factory=list)
    """The system messages at the start, including a summary."""
    pinned: list[int] = attrs.field(factory=list)
    compacted: int | None = None
    """The round with the provider's latest compaction, which stands for all rounds before it."""
    task: Task = attrs.field(factory=Task)
    tool_rounds: list[int] = attrs.field(factory=list)
    """The rounds with tool calls."""
    notes: list[Any] = attrs.field(factory=list)
    """What a strategy keeps of each settled round."""
    open: list[Round] = attrs.field(factory=list)
    """The last of `rounds`, which later messages may still change."""
    orphans: int = 0
    """The number of rounds that are left out because a result in them answers no call."""
    edited: dict[int, Message] = attrs.field(factory=dict)
    """Messages of pinned rounds without their orphaned results, by position."""
    ragged: bool = False
    """Whether other rounds lie between the messages of some round."""

    @property
    def always(self) -> set[int]:
        """The rounds that every view contains: pinned ones, and the provider's compaction."""
        return {*self.pinned} if self.compacted is None else {*self.pinned, self.compacted}

    @property
    def settled(self) -> int:
        """The number of rounds that no later message can change."""
        return len(self.rounds) - len(self.open)

    def view(
        self,
        messages: list[_T],
        start: int,
        always: set[int],
        drop: frozenset[int] = frozenset(),
    ) -> list[_T]:
        """Return the messages of the rounds from `start` on and in `always`, except in `drop`.

        If these are all messages, unchanged, the same list is returned.
        """
        if not (start or drop or self.orphans or self.edited):
            return messages
        early = sorted(index for index in always if index < start)
        late = range(start, len(self.rounds))
        rest = [self.rounds[index] for index in (*early, *late) if index not in drop]
        positions = [at for group in rest if group.sound_messages for at in group.positions]
        if self.ragged:
            # If rounds interleave, their messages are not in order of position.
            positions.sort()
        if self.edited:
            edits: dict[int, Any] = self.edited
            return [edits.get(at, messages[at]) for at in positions]
        return messages if len(positions) == len(messages) else [messages[at] for at in positions]

    def start_of_last(self, keep: int, *, after: int, stretch: bool) -> int:
        """Return the index of the oldest round among the last `keep` messages; 0 if all are kept.

        The first `after` rounds are not counted. A round that lies across the cut is kept as a
        whole if `stretch` is true, and left out as a whole otherwise.
        """
        start, room = len(self.rounds), keep
        while start > after and room > 0:
            group = self.rounds[start - 1]
            size = len(group.sound_messages)
            if size > room and not stretch:
                break
            start, room = start - 1, room - size
        # With 0, `view` returns the same list, which says that nothing was left out.
        return 0 if start == after else start

    def add(self, group: Round) -> None:
        """Add the next round."""
        index, opener = len(self.rounds), group.messages[0]
        self.rounds.append(group)
        # A result may come late, after a user's message, which is another round.
        self.ragged |= group.positions[-1] - group.positions[0] >= len(group.positions)
        for message in group.messages:
            self.task = self.task.after(message, index)
        if group.orphaned:
            sound = group.sound_messages
            if not sound:
                self.orphans += 1
                return
            self.edited |= zip(group.positions, sound, strict=True)
        if opener.role == "system" and len(self.leading) == index:
            self.leading.append(index)
        if group.pinned:
            self.pinned.append(index)
        if holds_compaction(group.messages):
            self.compacted = index
        if opener.tool_calls:
            self.tool_rounds.append(index)


@attrs.define(eq=False)
class KnownRounds:
    """A strategy's cache of split conversations. A turn costs only as much as its new messages."""

    _recent: RecentConversations[Sorted] = attrs.field(factory=RecentConversations, init=False)

    def of(self, messages: list[Message]) -> Sorted:
        """Return the rounds of a conversation, sorted by kind."""
        former = self._recent.find(messages)
        result = former or Sorted()
        fresh = split_rounds(messages, len(result.messages))
        length = count_settled(messages, fresh)
        for group in fresh:
            if group.positions[0] < length:
                result.add(group)
        result.messages += messages[len(result.messages) : length]
        if former is None and result.messages:
            self._recent.add(result)
        waiting = [group for group in fresh if group.positions[0] >= length]
        return _grown(result, waiting) if waiting else result


def _grown(former: Sorted, waiting: list[Round]) -> Sorted:
    """Return a copy to which the rounds that may still change are added."""
    longer = attrs.evolve(
        former,
        rounds=former.rounds.copy(),
        leading=former.leading.copy(),
        pinned=former.pinned.copy(),
        tool_rounds=former.tool_rounds.copy(),
        edited=former.edited.copy(),
        open=waiting,
    )
    for group in waiting:
        longer.add(group)
    return longer
