"""What a strategy promises."""

from typing import Protocol, runtime_checkable

import attrs

from agentic.messages import Message

__all__ = ["ContextStrategy", "Fit"]


@runtime_checkable
class ContextStrategy(Protocol):
    """Makes the view from the history; the history is untouched.

    Drops whole rounds only, gives the same list object when nothing changed, and applied twice is
    applied once. Inherit, or just have the method.
    """

    def compact(self, messages: list[Message], /) -> list[Message]:
        """Give the view. The default changes nothing."""
        return messages


@attrs.frozen
class Fit:
    """A view that was cut to a budget."""

    messages: list[Message]
    tokens: int
    """The size of `messages`."""
    fits: bool
    """False if even the minimum is larger than the budget: send it and it may be refused."""
