"""Which messages belong together: the one place where pairing is decided.

A tool result answers a call of the nearest assistant message before it, and only the first result
for a call counts. A result that answers nothing is an orphan: providers refuse a request that
holds one, so a round with an orphan is never sent.
"""

import operator
from collections.abc import Iterable, Iterator, Sequence

import attrs

from agentic.errors import ConfigError
from agentic.messages._message import Message
from agentic.messages._parts import ToolCall, ToolFailure, ToolResult

__all__ = ["Round", "close_open_rounds", "find_task", "leading_system_count", "split_rounds"]

_INTERRUPTED = ToolFailure(
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
    """Some result in it answers no call: leave the round out of what is sent."""

    @property
    def pinned(self) -> bool:
        """Whether any of its messages is pinned, so that all of them stay."""
        return any(message.pinned for message in self.messages)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls that have no result."""
        answers = _numbers(result.call_id for m in self.messages[1:] for result in m.tool_results)
        return tuple(call for call in self.messages[0].tool_calls if not _take(answers, call.id))


def split_rounds(messages: Sequence[Message], start: int = 0) -> list[Round]:
    """Split a conversation into rounds, ordered by their first message. No message is left out.

    With a `start`, only what begins there: an assistant message is always a safe place to start.

    >>> call, result = ToolCall("c1", "read"), ToolResult("c1", "read", "text")
    >>> conversation = [
    ...     Message("user", "Read it."),
    ...     Message("assistant", tool_calls=[call]),
    ...     Message("tool", tool_results=[result]),
    ... ]
    >>> [round.positions for round in split_rounds(conversation)]
    [(0,), (1, 2)]

    Raises:
        ConfigError: a negative `start`.
    """
    if start < 0:
        raise ConfigError("start", start, "a position, 0 or more", "pass 0 for the whole")
    rounds: list[_OpenRound] = []
    caller: _OpenRound | None = None
    for position in range(start, len(messages)):
        message = messages[position]
        if message.role == "tool":
            answered = caller.take(message) if caller else 0
            if caller and answered:
                caller.positions.append(position)
                caller.orphaned |= answered < len(message.tool_results)
                continue
        fresh = _OpenRound([position], message)
        rounds.append(fresh)
        if message.role == "assistant":
            caller = fresh
    return [found.close(messages) for found in rounds]


def close_open_rounds(messages: list[Message]) -> list[Message]:
    """Repair a history so that a provider accepts it: every call answered, right after it, once.

    A call without a result gets one that says so; a result that other messages have parted from its
    call moves back to it; an orphan is left out. A sound history comes back as the same list.

    >>> cut_off = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    >>> close_open_rounds(cut_off)[1].tool_results[0].error.kind
    'interrupted'
    """
    closed: list[Message] = []
    for found in split_rounds(messages):
        if found.messages[0].role != "tool":
            closed += _close_round(found)
    same = len(closed) == len(messages) and all(map(operator.is_, closed, messages))
    return messages if same else closed


def leading_system_count(messages: Sequence[Message]) -> int:
    """Count the system messages that a conversation starts with, a summary among them included.

    >>> leading_system_count([Message("system", "Be brief."), Message("user", "Why?")])
    1
    """
    for position, message in enumerate(messages):
        if message.role != "system":
            return position
    return len(messages)


def find_task(messages: Sequence[Message]) -> tuple[int, ...]:
    """Find the positions of the task: the first user message and the latest, if there are any.

    A summary is never the task, whatever role it was stored with.

    >>> find_task([Message("user", "Fix it."), Message("assistant", "Done."), Message("user", "?")])
    (0, 2)
    """
    first = next((i for i, message in enumerate(messages) if _asks(message)), None)
    if first is None:
        return ()
    latest = next(i for i in reversed(range(len(messages))) if _asks(messages[i]))
    return (first,) if first == latest else (first, latest)


def _asks(message: Message) -> bool:
    return message.role == "user" and message.summary is None


@attrs.define
class _OpenRound:
    """A round that later results may still join."""

    positions: list[int]
    opener: Message
    orphaned: bool = attrs.field(init=False)
    waiting: dict[str, int] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.orphaned = self.opener.role == "tool"
        self.waiting = _numbers([call.id for call in self.opener.tool_calls])

    def take(self, message: Message) -> int:
        """Count the results of a tool message that answer a call of this round."""
        return sum([_take(self.waiting, result.call_id) for result in message.tool_results])

    def close(self, messages: Sequence[Message]) -> Round:
        members = tuple([messages[position] for position in self.positions])
        return Round(members, tuple(self.positions), self.orphaned)


def _close_round(found: Round) -> Iterator[Message]:
    opener = found.messages[0]
    yield opener
    waiting = _numbers(call.id for call in opener.tool_calls)
    for message in found.messages[1:]:
        fitting = [result for result in message.tool_results if _take(waiting, result.call_id)]
        sound = len(fitting) == len(message.tool_results)
        yield message if sound else message.replace(tool_results=fitting)
    if found.open_calls:
        yield Message(
            "tool",
            tool_results=[
                ToolResult(call.id, call.name, error=_INTERRUPTED) for call in found.open_calls
            ],
        )


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
