"""Google: Gemini."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        "https://docs.apiyi.com/en/live/2026-09/gemini-3-8-flash-official-specs.md",
        {
            "gemini-3.8-flash": ModelLimits(1_048_576, 65_536),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://ai.google.dev/gemini-api/docs/models/gemini-3.1-pro-preview",
        {
            "gemini-3.1-pro": ModelLimits(1_048_576, 65_536),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://ai.google.dev/gemini-api/docs/models/gemini-3-pro-preview",
        {
            "gemini-3-pro-preview": ModelLimits(1_048_576, 65_536),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://docs.uipath.com/autopilot/other/latest/user-guide/supported-models-and-limits.md",
        {
            "gemini-2.5-flash": ModelLimits(1_048_576, 65_535),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/2-5-pro",
        {
            "gemini-2.5-pro": ModelLimits(1_048_576, 65_535),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini/2-5-flash-lite",
        {
            "gemini-2.5-flash-lite": ModelLimits(1_048_576, 65_535),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://ai.google.dev/gemini-api/docs/models/gemini-2.0-flash",
        {
            "gemini-2.0-flash": ModelLimits(1_048_576, 8_192),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://cloud.google.com/vertex-ai/docs/generative-ai/learn/models",
        {
            "gemini-1.5-flash": ModelLimits(1_000_000, 8_192),
            "gemini-1.5-pro": ModelLimits(1_000_000, 8_192),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # The implicit cache, which promises no time: at most 24 hours, mostly less.
        # The prices of Gemini 4: https://ai.google.dev/gemini-api/docs/pricing
        "https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/context-cache/context-cache-overview",
        {
            "gemini-4-argon": CacheTerms(0.05, 1.0, 300),
            "gemini-4-hydrogen": CacheTerms(0.05, 1.0, 300),
            "gemini-4-neon": CacheTerms(0.05, 1.0, 300),
            "gemini-3": CacheTerms(0.1, 1.0, 300),
            "gemini-3.1": CacheTerms(0.1, 1.0, 300),
            "gemini-3.5": CacheTerms(0.1, 1.0, 300),
            "gemini-3.6": CacheTerms(0.1, 1.0, 300),
            "gemini-3.7": CacheTerms(0.1, 1.0, 300),
            "gemini-3.8": CacheTerms(0.1, 1.0, 300),
            "gemini-2.5": CacheTerms(0.1, 1.0, 300),
            "gemini-2.0": CacheTerms(0.25, 1.0, 300),
            "gemini-1.5": CacheTerms(0.25, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "gemini": "gemini-4-argon",
}
