"""Cohere: Command and Aya."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        LITELLM,
        {
            "command-a-03-2025": ModelLimits(256_000, 8_000),
            "command-a-plus": ModelLimits(128_000, 64_000),
            "command-r": ModelLimits(128_000, 4_096),
            "command-r7b": ModelLimits(128_000, 4_096),
            "command-r-plus": ModelLimits(128_000, 4_096),
            "c4ai-aya-expanse-32b": ModelLimits(128_000, 4_000),
            "c4ai-aya-expanse-8b": ModelLimits(8_000, 4_000),
            "command-nightly": ModelLimits(4_096, 4_096),
            "command-light": ModelLimits(4_096, 4_096),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://docs.cohere.com/docs/command-a-reasoning",
        {
            "command-a-reasoning": ModelLimits(256_000, 32_000),
        },
        date(2026, 11, 27),
    ),
)
CACHES: tuple[Source[CacheTerms], ...] = ()
NEWEST: dict[str, str] = {}
