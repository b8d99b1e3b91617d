"""Z.ai: GLM."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS: tuple[Source[ModelLimits], ...] = ()
CACHES = (
    Source(
        # Version 0.2.3: from 0.183 to 0.2. No page states a lifetime.
        "https://github.com/pydantic/genai-prices/tree/main/prices/providers",
        {
            "glm-5.3": CacheTerms(0.2, 1.0, 300),
            "glm-5.2": CacheTerms(0.2, 1.0, 300),
            "glm-5.1": CacheTerms(0.2, 1.0, 300),
            "glm-5": CacheTerms(0.2, 1.0, 300),
            "glm-4.7": CacheTerms(0.2, 1.0, 300),
            "glm-4.6": CacheTerms(0.2, 1.0, 300),
            "glm-4.5": CacheTerms(0.2, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "glm": "glm-5.3",
}
