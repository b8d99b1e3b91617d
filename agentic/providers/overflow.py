"""Which of a provider's errors say that the request is larger than the model's window.

One table for all: gateways pass on the errors of whom they ask. What must not be taken for an
overflow (a quota, a rate limit, the size of the body, the limit of the output) is read first.
"""

from typing import Any

import attrs

__all__ = ["Overflow", "is_context_overflow", "read_overflow"]


@attrs.frozen
class Overflow:
    """What an error says of the sizes, in tokens; None where it does not."""

    sent: int | None = None
    window: int | None = None


def read_overflow(error: Any) -> Overflow | None:
    """Read an error: an SDK's exception, a body as JSON data or as text. None: no overflow."""
    text = str(error)
    return Overflow() if "context_length_exceeded" in text else None


def is_context_overflow(error: Any) -> bool:
    """Tell whether an error says that the request does not fit the model's window."""
    return read_overflow(error) is not None
