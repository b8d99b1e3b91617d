"""What a prompt cache costs, and how long it lasts, by the name of the model."""

import functools
import math
from typing import TYPE_CHECKING

import attrs

from agentic._lazy import LazyModule
from agentic._validate import is_number, whole
from agentic.errors import ConfigError
from agentic.limits._names import check_name, longest_name, newest_relative

if TYPE_CHECKING:
    from agentic.limits import _catalog
else:
    _catalog = LazyModule("agentic.limits._catalog")  # Importing the room does not need the rows.

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


def cache_terms(model: str) -> CacheTerms:
    """Return what a model's prompt cache costs, relative to an uncached input token.

    The prices are those of the model's maker. A server that resells the model may have others.

    >>> cache_terms("claude-opus-4-8")
    CacheTerms(read=0.1, write=1.25, lifetime_seconds=300, known=True)
    >>> cache_terms("openai/gpt-4o").write
    1.0

    For a newer model of a family in the catalog, the terms of the family's newest model are
    returned, for all others the ratio of Anthropic, with `known=False` in both cases.

    >>> cache_terms("my-model")
    CacheTerms(read=0.1, write=1.25, lifetime_seconds=300, known=False)

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    return _terms_of(model)


# A View asks before every request, and a look-up takes a tenth of a millisecond.
@functools.lru_cache(maxsize=256)
def _terms_of(model: str) -> CacheTerms:
    if name := longest_name(model, _catalog.CACHES):
        return _catalog.CACHES[name]
    relative = newest_relative(model, _catalog.NEWEST)
    terms = _catalog.CACHES.get(relative or "", _ASSUMPTION)
    return attrs.evolve(terms, known=False)


_ASSUMPTION = CacheTerms(0.1, 1.25, 300, known=False)
"""Anthropic's ratio until its models of September 2026. Of the terms in the catalog, those with the
dearest write and the shortest lifetime: https://platform.claude.com/docs/en/about-claude/pricing,
2026-11-27."""
