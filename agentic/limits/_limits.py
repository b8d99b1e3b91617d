"""The two numbers that bound a request, and who can tell them. Units are tokens."""

from typing import Protocol

import attrs

from agentic.errors import ConfigError

__all__ = ["ModelLimits", "Provider"]


def _tokens(instance: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    # True is an int to Python, and a mistake here.
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        owner = type(instance).__name__
        raise ConfigError(
            f"{owner}.{attribute.name}",
            value,
            "a whole number of tokens >= 0",
            "write the number out, or take it from limits.lookup(model)",
        )


@attrs.frozen
class ModelLimits:
    """What a model accepts and what it answers at most.

    >>> ModelLimits(128_000, 16_384)
    ModelLimits(context_window=128000, max_output=16384, known=True)
    """

    context_window: int = attrs.field(validator=_tokens)
    """The most that a request may hold, the provider's cap on the input where that is smaller than
    the window; 0 for no limit."""
    max_output: int = attrs.field(validator=_tokens)
    """The longest reply; 0 where nobody says."""
    known: bool = True
    """False for the conservative default that stands in for a model nobody has heard of."""


class Provider(Protocol):
    """Whoever serves a model and can say what it accepts."""

    def limits(self) -> ModelLimits:
        """Return the limits of the model in use."""
        ...
