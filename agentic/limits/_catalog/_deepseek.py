"""DeepSeek."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        "https://api-docs.deepseek.com/zh-cn/quick_start/pricing",
        {
            "deepseek-flash": ModelLimits(1_000_000, 384_000),
            "deepseek-v4.1-flash": ModelLimits(1_000_000, 384_000),
        },
        date(2026, 11, 27),
    ),
    Source(
        # Open weights, of which servers offer other windows: the smallest that is common.
        LITELLM,
        {
            "deepseek-v3.1": ModelLimits(98_304, 0),
            "deepseek-v3-0324": ModelLimits(128_000, 0),
            "deepseek-v3": ModelLimits(64_000, 8_192),
            "deepseek-r1-0528": ModelLimits(128_000, 0),
            "deepseek-r1": ModelLimits(64_000, 8_192),
            "deepseek-r1-distill": ModelLimits(32_000, 0),
            "deepseek-coder-v2": ModelLimits(32_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/concepts/models-sold-directly-by-azure",
        {
            "deepseek-v4-flash": ModelLimits(1_000_000, 384_000),
            "deepseek-v4-pro": ModelLimits(1_000_000, 384_000),
            "deepseek-v3.2": ModelLimits(128_000, 128_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://api-docs.deepseek.com/quick_start/pricing-details-usd",
        {
            "deepseek-chat": ModelLimits(64_000, 8_000),
            "deepseek-reasoner": ModelLimits(64_000, 8_000),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # Version 0.2.3. An unused entry is deleted after a few hours to a few days, and an hour is
        # assumed: https://api-docs.deepseek.com/guides/kv_cache
        "https://github.com/pydantic/genai-prices/tree/main/prices/providers",
        {
            "deepseek-v4-pro": CacheTerms(0.033, 1.0, 3_600),
            "deepseek-v4-flash": CacheTerms(0.02, 1.0, 3_600),
            "deepseek-flash": CacheTerms(0.02, 1.0, 3_600),
            "deepseek-chat": CacheTerms(0.1, 1.0, 3_600),
            "deepseek-reasoner": CacheTerms(0.1, 1.0, 3_600),
            "deepseek-v3.2": CacheTerms(0.1, 1.0, 3_600),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "deepseek-v": "deepseek-v4-pro",
}
# 1.13 on 1,900 recorded calls.
FAMILY_SCALES = {"deepseek": 1.15}
