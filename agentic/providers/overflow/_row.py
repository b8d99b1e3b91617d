"""One line of a table: what a server says, and how it is recognized."""

import re

import attrs

from agentic.providers.overflow._overflow import Overflow

__all__ = ["Row"]


@attrs.frozen
class Row:
    """What one server was seen to answer."""

    server: str
    wording: re.Pattern[str]
    """The pattern that must find it; several servers share one."""
    says: str
    """A real message, word for word."""
    source: str
    """Where somebody quotes it, or where the provider states it."""
    sizes: Overflow = attrs.field(factory=Overflow)
    """The sizes that are read from it."""
