"""Mistral AI."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/concepts/models-sold-directly-by-azure",
        {
            "mistral-medium-3-5": ModelLimits(128_000, 128_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://github.com/microsoft/generative-ai-for-beginners/blob/main/20-mistral/README.md",
        {
            "mistral-large": ModelLimits(128_000, 0),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-mistral-ai-mistral-large.html",
        {
            "mistral-large-2402": ModelLimits(32_000, 4_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://developers.llamaindex.ai/typescript/framework-api-reference/variables/all_available_mistral_models",
        {
            "mistral-small": ModelLimits(32_000, 0),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # The page promises no time.
        "https://docs.mistral.ai/studio-api/conversations/advanced/prompt-caching",
        {
            "mistral-large": CacheTerms(0.1, 1.0, 300),
            "mistral-medium": CacheTerms(0.1, 1.0, 300),
            "mistral-small": CacheTerms(0.1, 1.0, 300),
            "ministral": CacheTerms(0.1, 1.0, 300),
            "codestral": CacheTerms(0.1, 1.0, 300),
            "devstral": CacheTerms(0.1, 1.0, 300),
            "magistral": CacheTerms(0.1, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {}
