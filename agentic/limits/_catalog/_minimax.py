"""MiniMax."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS: tuple[Source[ModelLimits], ...] = ()
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
