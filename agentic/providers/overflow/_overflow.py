"""What is known of a request that does not fit."""

import attrs

__all__ = ["Overflow"]


@attrs.frozen
class Overflow:
    """The sizes that a server gave, in tokens; None where it gave none."""

    sent: int | None = None
    """What the server held against the window: the input, and where it counts it the output that
    was asked for too, so that this is always more than `window`."""
    window: int | None = None
    """What it accepts."""
