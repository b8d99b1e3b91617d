"""The largest requests of some providers, by what the names of their models begin with.

Only what was read in a refusal is here. A server that resells a model has limits of its own, some
of them lower (8 images at DeepInfra, 60 at Fireworks, 10 at GitHub Copilot): a policy states those.
"""

from datetime import date

from agentic.limits._catalog._source import Source
from agentic.limits._wire_limits import WireLimits

WIRE_SOURCES = (
    # `too many images and documents: 120 + 0 > 100`; and `Request too large (max 32MB)`
    # (https://github.com/anthropics/claude-code/issues/56674).
    Source(
        "https://github.com/anthropics/claude-code/issues/24541",
        {"claude": WireLimits(max_bytes=32_000_000, max_images=100)},
        date(2026, 11, 28),
    ),
    # `total message size 2100954 exceeds limit 2097152`, long before the window was full.
    Source(
        "https://github.com/MoonshotAI/kimi-code/issues/1862",
        {"kimi": WireLimits(max_bytes=2_097_152)},
        date(2026, 11, 28),
    ),
    # `request contains 52 images, exceeding the maximum of 50 allowed per request`
    Source(
        "https://github.com/anomalyco/opencode/issues/47721",
        {"muse-spark": WireLimits(max_images=50)},
        date(2026, 11, 28),
    ),
)
WIRE = {name: limits for source in WIRE_SOURCES for name, limits in source.models.items()}
