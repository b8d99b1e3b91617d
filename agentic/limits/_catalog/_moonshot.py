"""Moonshot AI: Kimi."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS: tuple[Source[ModelLimits], ...] = ()
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
