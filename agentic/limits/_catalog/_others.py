"""Makers with one or two models."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # Perplexity, AI21, Writer, Inception, IBM, Microsoft and NVIDIA.
        LITELLM,
        {
            "sonar": ModelLimits(128_000, 0),
            "sonar-pro": ModelLimits(200_000, 8_000),
            "jamba": ModelLimits(256_000, 0),
            "palmyra-x4": ModelLimits(128_000, 0),
            "palmyra-x5": ModelLimits(128_000, 0),
            "mercury-2": ModelLimits(128_000, 0),
            "granite-4": ModelLimits(131_000, 0),
            "granite-3": ModelLimits(8_192, 0),
            "phi-4-mini": ModelLimits(131_072, 0),
            "phi-4-reasoning": ModelLimits(32_000, 0),
            "nemotron-3": ModelLimits(202_000, 0),
        },
        date(2026, 11, 27),
    ),
)
CACHES: tuple[Source[CacheTerms], ...] = ()
NEWEST: dict[str, str] = {}
