"""The two limits of a request, in tokens, and who can report them."""

from typing import Protocol

import attrs

from agentic._validate import is_whole


def _tokens(_: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    remedy = "write the number out, or take it from limits.lookup(model)"
    # With the record's name: a configuration may hold it far from where it is used.
    is_whole(0, value, f"ModelLimits.{attribute.name}", remedy)


@attrs.frozen
class ModelLimits:
    """The most tokens that a model accepts and returns.

    >>> ModelLimits(128_000, 16_384)
    ModelLimits(context_window=128000, max_output=16384, known=True)
    """

    context_window: int = attrs.field(validator=_tokens)
    """The most that a request may contain: the provider's limit on the input, if that is smaller
    than the window. 0 for no limit."""
    max_output: int = attrs.field(validator=_tokens)
    """The longest reply; 0 if unknown."""
    known: bool = True
    """False for the conservative default that is used for an unknown model."""


class Provider(Protocol):
    """The server of a model, which can report the model's limits."""

    def limits(self) -> ModelLimits:
        """Return the limits of the model in use."""
        ...
