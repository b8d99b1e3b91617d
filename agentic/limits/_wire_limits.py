"""The largest request that a provider takes, in bytes and in images, whatever the window is."""

import attrs


@attrs.frozen(kw_only=True)
class WireLimits:
    """What a request may have besides its tokens; None where no limit is documented.

    >>> from agentic.limits._lookup import wire_limits
    >>> wire_limits("moonshotai/kimi-k3")
    WireLimits(max_bytes=2097152, max_images=None)
    """

    max_bytes: int | None = None
    """The size of the request's body, as JSON."""
    max_images: int | None = None
    """How many images it may hold, the earlier ones of the conversation included."""
