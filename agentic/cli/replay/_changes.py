"""What is gone from a request, in words: how many messages, of which kinds."""

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from agentic.messages import Message

__all__ = ["Change", "describe_change"]

_KINDS = 8
"""At most so many lines; the last then says how many more there are."""


@attrs.frozen
class Change:
    """The difference between a request as it would have been, and as it is."""

    dropped: int
    cleared: int
    what: tuple[str, ...]


def describe_change(before: Sequence[Message], after: Sequence[Message]) -> Change:
    """Compare a request as it would have been with what it is.

    A message that is gone was dropped, one whose calls or results stand there in another wording
    was cleared. A summary is neither.

    >>> task, reply = Message("user", "Look."), Message("assistant", "Done.")
    >>> describe_change([task, reply], [task])
    Change(dropped=1, cleared=0, what=('1 reply',))
    """
    stays = {id(message) for message in after}
    answers = {key for message in after for key in _answers(message)}
    gone = [each for each in before if id(each) not in stays and each.summary is None]
    cleared = [message for message in gone if not answers.isdisjoint(_answers(message))]
    kept = {id(message) for message in cleared}
    dropped = [message for message in gone if id(message) not in kept]
    what = (*_lines(dropped, ""), *_lines(cleared, " cleared"))
    return Change(len(dropped), len(cleared), what)


def _answers(message: Message) -> list[str]:
    return [result.call_id for result in message.tool_results]


def _lines(messages: Iterable[Message], ending: str) -> list[str]:
    kinds = Counter(kind for message in messages for kind in _kinds(message)).most_common()
    lines = [f"{number} {kind}{'s' * (number > 1)}{ending}" for kind, number in kinds[:_KINDS]]
    lines = [line.replace("replys", "replies") for line in lines]
    rest = sum(number for _, number in kinds[_KINDS:])
    return [*lines, f"{rest} of other kinds{ending}"] if rest else lines


def _kinds(message: Message) -> list[str]:
    """Name what a message is; a tool message is one output for each result."""
    if message.role == "tool":
        return [f"{result.name or 'tool'} output" for result in message.tool_results]
    return [{"user": "user message", "assistant": "reply"}.get(message.role, "system message")]
