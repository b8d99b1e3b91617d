"""What a replace dropped from a history, and what it brought in."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

import attrs

from agentic.messages import Message, to_plain

__all__ = ["Diff", "compare"]


@attrs.frozen
class Diff:
    """Two histories compared as multisets of equal messages. What came later is in neither."""

    dropped: tuple[Message, ...]
    """What stood in the history before and not after, in order, raw."""
    added: tuple[Message, ...]
    """What stands in it after and did not before, in order: the summary, edited messages."""


def compare(before: Sequence[Message], after: Sequence[Message]) -> Diff:
    """Return what a replace changed. Of equal messages the newest count as kept.

    >>> hello, again = Message("user", "hello"), Message("user", "again")
    >>> diff = compare([hello, hello, again], [Message("system", "a greeting"), hello, again])
    >>> [message.content for message in diff.dropped], [message.content for message in diff.added]
    (['hello'], ['a greeting'])
    """
    return Diff(tuple(_missing(before, after)), tuple(_missing(after, before)))


def _missing(these: Sequence[Message], others: Sequence[Message]) -> Sequence[Message]:
    return [*_newest_missing(these, Counter(map(_key, others)))][::-1]


def _newest_missing(these: Sequence[Message], left: Counter[str]) -> Iterator[Message]:
    for message in reversed(these):
        key = _key(message)
        if left[key]:
            left[key] -= 1
        else:
            yield message


def _key(message: Message) -> str:
    # as text, since a payload cannot be hashed, and NaN equals nothing
    return json.dumps(to_plain(message), sort_keys=True, ensure_ascii=False)
