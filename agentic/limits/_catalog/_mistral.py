"""Mistral AI."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._media_costs import MediaCosts, Patches
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # The list gives the window as the longest reply, which no page states.
        LITELLM,
        {
            "mistral-large-4": ModelLimits(1_048_576, 0),
            "mistral-large-3": ModelLimits(256_000, 0),
            "mistral-large-2512": ModelLimits(262_144, 0),
            "mistral-large-latest": ModelLimits(262_144, 0),
            "mistral-medium-latest": ModelLimits(262_144, 0),
            "mistral-medium-2604": ModelLimits(262_144, 0),
            "mistral-medium": ModelLimits(128_000, 0),
            "mistral-small-4": ModelLimits(262_144, 0),
            "mistral-small-2603": ModelLimits(262_144, 0),
            "mistral-small-3.1": ModelLimits(128_000, 0),
            "mistral-small-3.2": ModelLimits(128_000, 0),
            "mistral-small-latest": ModelLimits(262_144, 0),
            "ministral-14b": ModelLimits(262_144, 0),
            "ministral-8b-2512": ModelLimits(262_144, 0),
            "ministral-8b-latest": ModelLimits(262_144, 0),
            "ministral-3b": ModelLimits(131_072, 0),
            "ministral-8b": ModelLimits(128_000, 0),
            "ministral-3": ModelLimits(128_000, 0),
            "codestral": ModelLimits(128_000, 0),
            "codestral-2405": ModelLimits(32_000, 0),
            "codestral-mamba": ModelLimits(256_000, 0),
            "devstral": ModelLimits(128_000, 0),
            "devstral-latest": ModelLimits(256_000, 0),
            "devstral-2512": ModelLimits(256_000, 0),
            "devstral-2": ModelLimits(256_000, 0),
            "devstral-small-latest": ModelLimits(256_000, 0),
            "devstral-medium-latest": ModelLimits(256_000, 0),
            "magistral": ModelLimits(128_000, 0),
            "mistral-nemo": ModelLimits(128_000, 0),
            "open-mistral-nemo": ModelLimits(128_000, 0),
            "pixtral": ModelLimits(128_000, 0),
            "voxtral-small": ModelLimits(32_000, 0),
            "voxtral-mini": ModelLimits(16_384, 0),
            "mixtral-8x7b": ModelLimits(32_000, 0),
            "mixtral-8x22b": ModelLimits(64_000, 0),
            "mistral-7b": ModelLimits(32_000, 0),
            "open-mistral-7b": ModelLimits(32_000, 0),
            "open-mixtral": ModelLimits(32_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://docs.mistral.ai/models/model-cards/mistral-medium-3-5-26-04",
        {
            "mistral-medium-3-5": ModelLimits(256_000, 0),
        },
        date(2026, 11, 27),
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
# https://mistralai.github.io/mistral-common/usage/images (2026-11) and the files params.json of the
# models: squares of 16 pixels up to 1,024 for Pixtral, later of 28 up to 1,540. A row ends with a
# token.
_PIXTRAL, _MISTRAL = (
    MediaCosts(
        image=Patches(
            patch_px=pixels,
            max_edge_px=edge,
            max_patches=(edge // pixels) ** 2,
            row_tokens=1,
            unknown_tokens=edge // pixels * (edge // pixels + 1),
        )
    )
    for pixels, edge in ((16, 1_024), (28, 1_540))
)
MEDIA = {
    "pixtral": _PIXTRAL,
    **dict.fromkeys(("mistral-small", "mistral-medium", "mistral-large"), _MISTRAL),
    **dict.fromkeys(("mistral-small-3.1", "mistral-medium-3", "mistral-large-3"), _MISTRAL),
    **dict.fromkeys(("ministral", "ministral-3", "magistral-small", "magistral-medium"), _MISTRAL),
}
NEWEST_MEDIA = {
    "mistral-small": "mistral-small-3.1",
    "mistral-medium": "mistral-medium-3",
    "mistral-large": "mistral-large-3",
    "ministral": "ministral-3",
}
