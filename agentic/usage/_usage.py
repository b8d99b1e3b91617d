"""How many tokens a call used, in buckets that mean the same for every provider.

`input` includes `cache_read` and `cache_write`; `output` includes `reasoning`; `total` is what the
provider says, or `input + output`. The room's docstring has the whole picture, and who counts how.
"""

import attrs

__all__ = ["Usage", "normalize"]


_MOST_DIGITS = 18


def _count(value: object) -> int:
    """Read a provider's number: null, a negative or a non-number is 0, a fraction is cut off.

    A text of digits is a number: that is how JSON made from protocol buffers spells 64 bits
    (https://protobuf.dev/programming-guides/json/). A bool is none, though Python counts with it.
    """
    if isinstance(value, bool):
        return 0
    if isinstance(value, str):
        is_number = value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS
        return int(value) if is_number else 0
    if isinstance(value, int | float) and 0 < value < float("inf"):
        return int(value)
    return 0


@attrs.frozen
class Usage:
    """Tokens of one call, or of a sum of calls. Counts are never negative.

    >>> Usage(input=100, output=20) + Usage(input=150, output=5, cache_read=100)
    Usage(input=250, output=25, total=275, cache_read=100, cache_write=0, reasoning=0)
    """

    input: int = attrs.field(default=0, converter=_count)
    """Everything that was sent, from the cache or not, as text or as sound."""
    output: int = attrs.field(default=0, converter=_count)
    """Everything that was generated, reasoning included."""
    total: int = attrs.field(default=0, converter=_count)
    """The provider's total; 0 if it gave none, see `normalize`."""
    cache_read: int = attrs.field(default=0, converter=_count)
    """The part of `input` that was read from the provider's cache."""
    cache_write: int = attrs.field(default=0, converter=_count)
    """The part of `input` that was written to the provider's cache."""
    reasoning: int = attrs.field(default=0, converter=_count)
    """The part of `output` that is reasoning."""

    def __add__(self, other: "Usage") -> "Usage":
        if not isinstance(other, Usage):
            return NotImplemented
        left, right = attrs.astuple(normalize(self)), attrs.astuple(normalize(other))
        return Usage(*(a + b for a, b in zip(left, right, strict=True)))

    def __radd__(self, other: object) -> "Usage":
        """Let `sum(usages)` start at its 0; a sum of one has its total like any other."""
        return normalize(self) if other == 0 else NotImplemented


def normalize(usage: Usage | None) -> Usage:
    """Fill `total` where the provider gave none; no usage at all is a usage of nothing.

    >>> normalize(Usage(input=7, output=3)).total
    10
    >>> normalize(None)
    Usage(input=0, output=0, total=0, cache_read=0, cache_write=0, reasoning=0)
    """
    if usage is None:
        return Usage()
    if usage.total:
        return usage
    return attrs.evolve(usage, total=usage.input + usage.output)
