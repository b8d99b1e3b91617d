"""What the lines of a digest count for, in a form that the next digest can read.

One character a line says roughly how often its identifiers had been mentioned when they last were,
how long ago that was, and whether somebody said or called it. Without that every generation would
start to count anew, and forget what mattered all along.
"""

import string
from bisect import bisect_left
from collections.abc import Iterable

import attrs

__all__ = ["Rank", "read_ranks", "write_ranks"]

_DIGITS = string.digits + string.ascii_lowercase + string.ascii_uppercase
_AGES = (0, 8, 16, 32, 64, 128, 256)
"""In messages. What lies between two of them counts as the older one, so that ages grow."""
_COARSE, _MOST = 2, 3
"""Doublings are rounded to this, and no more than so many times this are told apart."""


@attrs.frozen
class Rank:
    """What a line counts for."""

    doublings: float = 1.0
    """How often 1 was doubled to give the score of its identifiers at their last mention."""
    age: int = 0
    """How many messages ago that was."""
    said: bool = attrs.field(default=False, kw_only=True)
    """Somebody said or called it; a tool put out the rest."""


def write_ranks(ranks: Iterable[Rank]) -> str:
    """Write ranks down, rounded.

    >>> write_ranks([Rank(3.2, 17, said=True), Rank()])
    'z0'
    """
    return "".join(map(_written, ranks))


def read_ranks(text: str, number: int) -> list[Rank]:
    """Read so many ranks; where there are more or fewer, nobody knows which line each is of.

    >>> read_ranks("z0", 2)
    [Rank(doublings=4, age=32, said=True), Rank(doublings=0, age=0, said=False)]
    >>> read_ranks("z0", 1)
    [Rank(doublings=1.0, age=0, said=False)]
    """
    known = len(text) == number and set(text).issubset(_RANKS)
    return [_RANKS[digit] for digit in text] if known else [Rank()] * number


def _written(rank: Rank) -> str:
    times = min(max(round(rank.doublings / _COARSE), 0), _MOST)
    age = bisect_left(_AGES[:-1], rank.age)
    return _DIGITS[(times * len(_AGES) + age) * 2 + rank.said]


_RANKS = {
    _DIGITS[(times * len(_AGES) + at) * 2 + said]: Rank(times * _COARSE, age, said=bool(said))
    for times in range(_MOST + 1)
    for at, age in enumerate(_AGES)
    for said in (0, 1)
}
