"""Moonshot AI: Kimi."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import GENAI_PRICES, LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # The list gives the window as the longest reply.
        LITELLM,
        {
            "kimi-k3.1": ModelLimits(1_048_576, 0),
            "kimi-k3": ModelLimits(1_048_576, 0),
            "kimi-k2.7": ModelLimits(262_144, 0),
            "kimi-k2.6": ModelLimits(262_144, 0),
            "kimi-k2.5": ModelLimits(262_144, 0),
            "moonshot-v1-auto": ModelLimits(131_072, 0),
            "moonshot-v1-128k": ModelLimits(131_072, 0),
            "moonshot-v1-32k": ModelLimits(32_768, 0),
            "moonshot-v1-8k": ModelLimits(8_192, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        GENAI_PRICES,
        {
            "kimi-k2-0905": ModelLimits(262_144, 0),
            "kimi-k2-thinking": ModelLimits(262_144, 0),
            "kimi-k2-turbo": ModelLimits(262_144, 0),
            "kimi-k2": ModelLimits(131_072, 0),
        },
        date(2026, 11, 27),
    ),
)
CACHES = (
    Source(
        # An hour costs 2 to write. Those of kimi-k2 (genai-prices 0.2.3) are 0.17 to 0.25.
        "https://forum.moonshot.ai/t/context-caching-upgrade-5-min-1-hour-ttl-options/613",
        {
            "kimi-k3": CacheTerms(0.1, 1.0, 300),
            "kimi-k3.1": CacheTerms(0.1, 1.0, 300),
            "kimi-k2.7": CacheTerms(0.25, 1.0, 300),
            "kimi-k2.6": CacheTerms(0.25, 1.0, 300),
            "kimi-k2.5": CacheTerms(0.25, 1.0, 300),
            "kimi-k2": CacheTerms(0.25, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "kimi-k": "kimi-k3.1",
}
