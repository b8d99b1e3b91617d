"""Counting the tokens of one text."""

import math
from typing import Protocol

import attrs

from agentic.errors import ConfigError

__all__ = ["CharCounter", "Counter", "HeuristicTokenCounter", "approx_token_counter"]

_FEWEST_CHARS = 0.01
"""Far below what any tokenizer does: at most one token for each of a character's four bytes."""


class Counter(Protocol):
    """Counts the tokens of a text.

    Deterministic, so that a cut never moves by itself. Never raises, whatever the text.
    """

    def count(self, text: str, /) -> int:
        """Return the number of tokens; 0 for an empty text."""
        ...


@attrs.frozen
class CharCounter:
    """Estimates by length: characters, not bytes, divided and rounded up.

    Free, and good for English prose and code (within about 20 %). Chinese, Japanese, Korean, base64
    and emoji are two to six times more than it says: leave a margin, or use an exact counter.

    >>> CharCounter().count("12345")
    2
    """

    chars_per_token: float = attrs.field(default=4.0)

    @chars_per_token.validator
    def _check(self, _: object, value: object) -> None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and _FEWEST_CHARS <= self.chars_per_token < float("inf")):
            allowed = f"a number from {_FEWEST_CHARS} up"
            raise ConfigError("chars_per_token", value, allowed, "leave it at 4.0")

    def count(self, text: str, /) -> int:
        """Return the estimate for one text."""
        return math.ceil(len(text) / self.chars_per_token)

    __call__ = count


HeuristicTokenCounter = CharCounter
"""The name that this counter has in agentix."""

approx_token_counter = CharCounter()
"""The default where a counter is optional: four characters a token."""
