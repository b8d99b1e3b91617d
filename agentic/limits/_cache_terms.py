"""What a prompt cache costs, and how long it lasts: the record, of which the catalog has rows."""

import math

import attrs

from agentic._base._validate import is_number, whole
from agentic.errors import ConfigError

_REMEDY = "divide the price by that of an uncached input token, or take limits.cache_terms(model)"


def _ratio(_: object, attribute: "attrs.Attribute[float]", value: object) -> None:
    # NaN is neither less nor greater than anything, and infinity is no price.
    if not (is_number(value) and 0 <= value < math.inf):
        raise ConfigError(f"CacheTerms.{attribute.name}", value, "a number >= 0", _REMEDY)


@attrs.frozen
class CacheTerms:
    """The prices of a prompt cache, relative to an uncached input token, and its lifetime.

    A request of 100,000 tokens, of which 90,000 are read from the cache and 10,000 are written to
    it, costs as much as this many uncached input tokens:

    >>> terms = CacheTerms(read=0.1, write=1.25, lifetime_seconds=300)
    >>> round(90_000 * terms.read + 10_000 * terms.write)
    21500

    Raises:
        ConfigError: a price is negative or no number, or the lifetime is no whole number.
    """

    read: float = attrs.field(validator=_ratio)
    """The price of a token that is read from the cache, where an uncached input token costs 1."""
    write: float = attrs.field(validator=_ratio)
    """The price of a token that is written to the cache, where an uncached input token costs 1. It
    includes the processing of the token: 1 where writing costs nothing extra."""
    lifetime_seconds: int = attrs.field(validator=whole(0, remedy="pass 300, Anthropic's default"))
    """How long an entry is kept after its last use, by default and without an extra charge. It is
    300 where the provider promises nothing, and 0 where there is no cache."""
    known: bool = True
    """False for the assumption that is made about a model without an entry in the catalog."""
