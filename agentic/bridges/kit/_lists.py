"""An owner's lists compared: by their objects, and by what they begin with."""

import operator
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any, Generic, Protocol, TypeVar

import attrs


def are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """Return whether two lists hold the very same objects.

    >>> are_same([[]], [[]])
    False
    """
    return len(some) == len(others) and all(map(operator.is_, some, others))


class _Pooled(Protocol):
    @property
    def keys(self) -> Sequence[Any]:
        """What tells the items of the latest list from others."""
        ...


_P = TypeVar("_P", bound=_Pooled)


@attrs.define(eq=False)
class ListPool(Generic[_P]):
    """The conversations that were used last, each with the keys of its latest list.

    A framework that names no conversation is served by their beginnings: a list that begins with
    all keys of an entry continues it. Any other list is a conversation of its own, which may begin
    with the summary of one that it shares its start with (a rewind, a fork). Keys are compared by
    `==`; they are the items themselves, or what tells one item from another.
    """

    entries: list[_P] = attrs.field(factory=list, init=False)
    """The latest one last."""

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[_P]:
        return iter(self.entries)

    def find_continued(
        self, keys: Sequence[Any], accept: Callable[[_P], bool] = lambda _: True
    ) -> _P | None:
        """Return the accepted entry that a list begins with: the longest, and the last of those.

        None if it begins with none of them. An empty list is never continued.
        """
        candidates = [each for each in self.entries if accept(each) and begins(keys, each.keys)]
        return max(reversed(candidates), key=lambda each: len(each.keys), default=None)

    def find_nearest(
        self, keys: Sequence[Any], accept: Callable[[_P], bool] = lambda _: True
    ) -> _P | None:
        """Return the accepted entry with the longest start in common with a list.

        None if they all begin differently.
        """
        candidates = [
            (_common_length(keys, each.keys), each) for each in self.entries if accept(each)
        ]
        length, nearest = max(candidates, key=operator.itemgetter(0), default=(0, None))
        return nearest if length else None

    def put(self, entry: _P, most: int | None = None) -> None:
        """Make an entry the latest, and forget what was used least recently beyond a number."""
        self.discard(entry)
        self.entries.append(entry)
        if most is not None:
            del self.entries[:-most]

    def discard(self, entry: _P) -> None:
        """Take an entry out, if it is in."""
        self.entries[:] = [each for each in self.entries if each is not entry]


def begins(keys: Sequence[Any], start: Sequence[Any]) -> bool:
    """Return whether a list begins with all of another one, which is not empty.

    >>> begins("abc", "ab"), begins("abc", "")
    (True, False)
    """
    # The last items differ most, and the whole comparison takes a millisecond for 2,000 items.
    if not 0 < len(start) <= len(keys) or keys[len(start) - 1] != start[-1]:
        return False
    return bool(keys[: len(start)] == start)


def _common_length(some: Sequence[Any], others: Sequence[Any]) -> int:
    return sum(1 for _ in takewhile(bool, map(operator.eq, some, others)))
