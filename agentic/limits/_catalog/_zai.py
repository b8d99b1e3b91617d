"""Z.ai: GLM."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import GENAI_PRICES, LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # Of glm-4.7-flash and glm-4.5v, whose servers differ, the smallest window that is common.
        LITELLM,
        {
            "glm-5.3": ModelLimits(1_000_000, 128_000),
            "glm-5.2": ModelLimits(1_000_000, 128_000),
            "glm-5.1": ModelLimits(200_000, 128_000),
            "glm-5": ModelLimits(200_000, 128_000),
            "glm-5v": ModelLimits(200_000, 128_000),
            "glm-4.7": ModelLimits(200_000, 128_000),
            "glm-4.7-flash": ModelLimits(131_072, 128_000),
            "glm-4.6": ModelLimits(200_000, 128_000),
            "glm-4.6v": ModelLimits(128_000, 0),
            "glm-4.5": ModelLimits(128_000, 32_000),
            "glm-4.5v": ModelLimits(64_000, 16_000),
            "glm-4-32b-0414-128k": ModelLimits(128_000, 0),
            "glm-4-32b": ModelLimits(32_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        GENAI_PRICES,
        {
            "glm-4-plus": ModelLimits(128_000, 0),
            "glm-4-air": ModelLimits(128_000, 0),
            "glm-4-airx": ModelLimits(8_000, 0),
            "glm-4-flashx": ModelLimits(128_000, 0),
            "glm-4-long": ModelLimits(1_000_000, 0),
        },
        date(2026, 11, 27),
    ),
)
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
