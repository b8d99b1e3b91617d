"""Alibaba: Qwen."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        "https://vercel.com/ai-gateway/models/qwen3-max",
        {
            "qwen3-max": ModelLimits(262_144, 65_536),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://www.promptfoo.dev/docs/providers/alibaba",
        {
            "qwen-max": ModelLimits(30_720, 8_192),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # The implicit cache, which promises no time. An explicit one: 0.1, 1.25 and 300 seconds.
        "https://www.alibabacloud.com/help/en/model-studio/context-cache",
        {
            "qwen3.8-max": CacheTerms(0.125, 1.0, 300),
            "qwen3-max": CacheTerms(0.2, 1.0, 300),
            "qwen3.5": CacheTerms(0.2, 1.0, 300),
            "qwen3.6": CacheTerms(0.2, 1.0, 300),
            "qwen3.7": CacheTerms(0.2, 1.0, 300),
            "qwen-max": CacheTerms(0.2, 1.0, 300),
            "qwen-plus": CacheTerms(0.2, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "qwen": "qwen3.8-max",
}
