"""Meta: Llama."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/concepts/models-sold-directly-by-azure",
        {
            "llama-4-maverick": ModelLimits(1_000_000, 1_000_000),
            "llama-3.3-70b": ModelLimits(128_000, 8_192),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://huggingface.co/meta-llama/Llama-3.1-405B-Instruct/discussions/6",
        {
            "llama-3.1": ModelLimits(131_072, 0),
        },
        date(2026, 11, 21),
    ),
)
CACHES: tuple[Source[CacheTerms], ...] = ()
NEWEST: dict[str, str] = {}
