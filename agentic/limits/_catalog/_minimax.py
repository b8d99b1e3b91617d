"""MiniMax."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import GENAI_PRICES, LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # LiteLLM also lists 1,000,000 for the M2 models, whose servers have 196,000 to 204,800. The
        # servers of M3 have 512,000 to 1,000,000.
        LITELLM,
        {
            "minimax-m3": ModelLimits(512_000, 128_000),
            "minimax-m2.7": ModelLimits(196_000, 0),
            "minimax-m2.5": ModelLimits(196_000, 0),
            "minimax-m2.1": ModelLimits(196_000, 0),
            "minimax-m2": ModelLimits(196_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        GENAI_PRICES,
        {
            "minimax-m3.1": ModelLimits(1_000_000, 0),
            "minimax-01": ModelLimits(1_000_000, 0),
        },
        date(2026, 11, 27),
    ),
)
CACHES = (
    Source(
        # Version 0.2.3. No page states a lifetime.
        "https://github.com/pydantic/genai-prices/tree/main/prices/providers",
        {
            "minimax-m3": CacheTerms(0.2, 1.0, 300),
            "minimax-m3.1": CacheTerms(0.2, 1.0, 300),
            "minimax-m2": CacheTerms(0.1, 1.25, 300),
            "minimax-m2.1": CacheTerms(0.1, 1.25, 300),
            "minimax-m2.5": CacheTerms(0.1, 1.25, 300),
            "minimax-m2.7": CacheTerms(0.1, 1.25, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "minimax-m": "minimax-m3.1",
}
