"""Amazon: Nova."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        LITELLM,
        {
            "nova-2-lite": ModelLimits(1_000_000, 64_000),
            "nova-2-pro": ModelLimits(1_000_000, 64_000),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-amazon-nova-premier.html",
        {
            "nova-premier": ModelLimits(1_000_000, 25_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://docs.aws.eu/bedrock/latest/userguide/model-card-amazon-nova-lite.html",
        {
            "nova-lite": ModelLimits(300_000, 5_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://docs.rs/crate/mixtape-core/latest/source/src/models/nova.rs",
        {
            "nova-pro": ModelLimits(300_000, 5_000),
            "nova-micro": ModelLimits(128_000, 5_000),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html",
        {
            "nova-premier": CacheTerms(0.25, 1.0, 300),
            "nova-pro": CacheTerms(0.25, 1.0, 300),
            "nova-lite": CacheTerms(0.25, 1.0, 300),
            "nova-micro": CacheTerms(0.25, 1.0, 300),
            "nova-2-lite": CacheTerms(0.25, 1.0, 300),
            "nova-2-pro": CacheTerms(0.25, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "nova": "nova-2-lite",
}
