"""xAI: Grok."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import GENAI_PRICES, LITELLM, Source
from agentic.limits._media_costs import MediaCosts, SquareTiles
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        LITELLM,
        {
            "grok-4.6": ModelLimits(500_000, 0),
            "grok-4.5": ModelLimits(500_000, 0),
            "grok-4.3": ModelLimits(1_000_000, 0),
            "grok-4-20": ModelLimits(1_000_000, 0),
            "grok-build-0.1": ModelLimits(256_000, 0),
            "grok-code-fast": ModelLimits(256_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        GENAI_PRICES,
        {
            "grok-4-fast": ModelLimits(2_000_000, 0),
            "grok-4.1-fast": ModelLimits(2_000_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/concepts/models-sold-directly-by-azure",
        {
            "grok-4.7": ModelLimits(500_000, 0),
            "grok-code-fast-1": ModelLimits(256_000, 8_192),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://www.openrouter.ai/x-ai/grok-4",
        {
            "grok-4": ModelLimits(256_000, 0),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # Version 0.2.3. Entries may be evicted at any time:
        # https://docs.x.ai/developers/advanced-api-usage/prompt-caching/best-practices
        "https://github.com/pydantic/genai-prices/tree/main/prices/providers",
        {
            "grok-4.7": CacheTerms(0.25, 1.0, 300),
            "grok-4.6": CacheTerms(0.25, 1.0, 300),
            "grok-4.5": CacheTerms(0.25, 1.0, 300),
            "grok-4.1-fast": CacheTerms(0.25, 1.0, 300),
            "grok-4-fast": CacheTerms(0.25, 1.0, 300),
            "grok-4": CacheTerms(0.25, 1.0, 300),
            "grok-3": CacheTerms(0.25, 1.0, 300),
            "grok-4.3": CacheTerms(0.16, 1.0, 300),
            "grok-4-20": CacheTerms(0.16, 1.0, 300),
            "grok-code-fast-1": CacheTerms(0.2, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "grok": "grok-4.7",
}
# https://docs.x.ai/docs/guides/image-understanding, copies of 2025-12.
_GROK = MediaCosts(image=SquareTiles())
MEDIA = dict.fromkeys(("grok", "grok-2"), _GROK)
NEWEST_MEDIA = {"grok": "grok-2"}
