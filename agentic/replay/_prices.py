"""What requests cost in USD, by the price list of `genai-prices` (extra `prices`).

The list has no date of its own, but its release has a version, and it knows from when on a price
holds. So a price is dated by the day for which it was looked up, next to the list's version.
"""

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

import attrs

from agentic.usage import Usage, cost

__all__ = ["Price", "price_of"]

_STEP = 1_000
"""Prices depend on the size of a request in steps that are multiples of this, in tokens."""


@attrs.define(slots=False)
class Price:
    """The price of what is sent to a model; what the model writes is the same under any policy."""

    model: str
    """The entry of the price list."""
    provider: str
    day: datetime
    """The day whose prices they are."""

    @property
    def description(self) -> str:
        """Whose prices they are, of which day, by which list."""
        from importlib import metadata  # noqa: PLC0415  it costs more to import than all else here

        version = metadata.version("genai-prices")
        return (
            f"input at the prices of {self.model} ({self.provider}) on {self.day:%Y-%m-%d}, "
            f"by genai-prices {version}"
        )

    def of(self, requests: Iterable[tuple[int, int]]) -> float:
        """Return the cost of requests, each as its size and how much of it the cache had."""
        total = 0.0
        for tokens, reused in requests:
            read, written = self._rates(tokens)
            total += read * reused + written * (tokens - reused)
        return total

    def _rates(self, tokens: int) -> tuple[float, float]:
        """Return the price of a token that the cache has, and of one that is written to it."""
        step = max(1, -(-tokens // _STEP))
        if step not in self._known:
            size = step * _STEP
            read = Usage(input=size, cache_read=size)
            written = Usage(input=size, cache_write=size)
            self._known[step] = self._each(read) / size, self._each(written) / size
        return self._known[step]

    @cached_property
    def _known(self) -> dict[int, tuple[float, float]]:
        return {}

    def _each(self, usage: Usage) -> float:
        spent = cost(usage, self.model, provider=self.provider, at=self.day)
        return 0.0 if spent is None else float(spent.input)


def price_of(model: str, day: datetime) -> Price | None:
    """Return the price of a model on a day; None if the list has none.

    >>> from datetime import UTC
    >>> price = price_of("claude-sonnet-4-5", datetime(2026, 11, 1, tzinfo=UTC))
    >>> round(price.of([(100_000, 0), (110_000, 100_000)]), 4)
    0.4425
    >>> price_of("my-own", datetime(2026, 11, 1, tzinfo=UTC)) is None
    True

    Raises:
        ImportError: the list is not installed.
    """
    spent = cost(Usage(input=_STEP), model, at=day)
    return None if spent is None else Price(spent.model, spent.provider, day)
