"""What the lines of a digest count for, in a form that the next digest can read.

One character a line says roughly how often its identifiers had been mentioned, and whether somebody
said or called it. Without that every generation would start to count anew, and forget what mattered
all along. How long ago the mention was is left out on purpose: what one digest chose is as good as
new to the next, which on real sessions keeps more of what is needed than letting it fade.
"""

from collections.abc import Iterable

import attrs

__all__ = ["Rank", "read_ranks", "write_ranks"]


_SCORES = (2.0, 4.0, 16.0, 64.0)
"""What is told apart; a score is the number of mentions, those long ago counting less."""


@attrs.frozen(kw_only=True)
class Rank:
    """What a line counts for."""

    often: int = 0
    """How often its identifiers had been mentioned: four steps, from once to some sixty
    times."""
    said: bool = False
    """Somebody said or called it; a tool put out the rest."""

    @classmethod
    def of(cls, doublings: float, *, said: bool) -> "Rank":
        """Round a score, given as its logarithm to the base of 2."""
        often = min(max(round(doublings / 2), 0), len(_SCORES) - 1)
        return _RANKS[str(2 * often + said)]

    @property
    def score(self) -> float:
        """Give what its identifiers count for."""
        return _SCORES[self.often]


_RANKS = {
    str(2 * often + said): Rank(often=often, said=said)
    for often in range(len(_SCORES))
    for said in (False, True)
}
_DIGITS = {rank: digit for digit, rank in _RANKS.items()}


def write_ranks(ranks: Iterable[Rank]) -> str:
    """Write ranks down.

    >>> write_ranks([Rank(often=1, said=True), Rank()])
    '30'
    """
    return "".join(map(_DIGITS.__getitem__, ranks))


def read_ranks(text: str, number: int) -> list[Rank]:
    """Read so many ranks; where there are more or fewer, nobody knows which line each is of.

    >>> read_ranks("30", 2)
    [Rank(often=1, said=True), Rank(often=0, said=False)]
    >>> read_ranks("30", 1)
    [Rank(often=0, said=False)]
    """
    known = len(text) == number and _RANKS.keys() >= set(text)
    return [_RANKS[digit] for digit in text] if known else [Rank()] * number
