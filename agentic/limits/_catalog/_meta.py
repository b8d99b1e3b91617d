"""Meta: Llama."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # Servers differ: llama-4-scout, for example, has 128,000 to 10,000,000. The smallest window
        # that is common, under each spelling that servers use.
        LITELLM,
        {
            "muse-spark": ModelLimits(1_048_576, 131_072),
            "muse-wonder": ModelLimits(1_048_576, 131_072),
            "llama-4-scout": ModelLimits(128_000, 0),
            "llama4-scout": ModelLimits(128_000, 0),
            "llama4-maverick": ModelLimits(1_000_000, 0),
            "llama-3.3": ModelLimits(128_000, 0),
            "llama3.3": ModelLimits(128_000, 0),
            "meta-llama-3.3": ModelLimits(128_000, 0),
            "llama-v3.3": ModelLimits(128_000, 0),
            "llama-3.2": ModelLimits(128_000, 0),
            "llama3.2": ModelLimits(128_000, 0),
            "llama-v3.2": ModelLimits(128_000, 0),
            "llama3.1": ModelLimits(128_000, 0),
            "meta-llama-3.1": ModelLimits(128_000, 0),
            "llama-v3.1": ModelLimits(128_000, 0),
            "llama-3": ModelLimits(8_192, 0),
            "llama3": ModelLimits(8_192, 0),
            "meta-llama-3": ModelLimits(8_192, 0),
            "llama-v3": ModelLimits(8_192, 0),
            "llama-2": ModelLimits(4_096, 0),
            "llama2": ModelLimits(4_096, 0),
            "codellama": ModelLimits(4_096, 0),
        },
        date(2026, 11, 27),
    ),
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
            "llama-3.1": ModelLimits(128_000, 0),
        },
        date(2026, 11, 21),
    ),
)
CACHES: tuple[Source[CacheTerms], ...] = ()
NEWEST: dict[str, str] = {}
