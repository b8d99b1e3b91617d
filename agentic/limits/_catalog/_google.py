"""Google: Gemini."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._media_costs import Crops, Flat, MediaCosts
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # Of gemma-3 and gemma-4, whose servers differ, the smallest window that is common.
        LITELLM,
        {
            "gemini-3-flash": ModelLimits(1_048_576, 65_535),
            "gemini-3.1-flash-lite": ModelLimits(1_048_576, 65_536),
            "gemini-3.5-flash": ModelLimits(1_048_576, 65_535),
            "gemini-3.5-flash-lite": ModelLimits(1_048_576, 65_536),
            "gemini-3.6-flash": ModelLimits(1_048_576, 65_536),
            "gemini-3.7-flash": ModelLimits(1_048_576, 65_536),
            "gemini-flash-latest": ModelLimits(1_048_576, 65_536),
            "gemini-flash-lite-latest": ModelLimits(1_048_576, 65_536),
            "gemini-pro-latest": ModelLimits(1_048_576, 65_536),
            "gemini-2.5-computer-use": ModelLimits(128_000, 64_000),
            "gemini-2.5-pro-preview-tts": ModelLimits(8_192, 8_192),
            "gemini-2.5-pro-tts": ModelLimits(8_192, 8_192),
            "gemini-2.5-flash-preview-tts": ModelLimits(8_192, 8_192),
            "gemini-2.5-flash-tts": ModelLimits(8_192, 8_192),
            "gemini-2.5-flash-lite-preview-tts": ModelLimits(8_192, 8_192),
            "gemini-2.5-flash-image": ModelLimits(65_536, 32_768),
            "gemini-robotics-er-2": ModelLimits(131_072, 65_536),
            "gemini-omni": ModelLimits(131_072, 57_920),
            "gemini-3.8-live": ModelLimits(131_072, 65_536),
            "gemma-2": ModelLimits(8_192, 8_192),
            "gemma-3": ModelLimits(128_000, 8_192),
            "gemma-4": ModelLimits(131_072, 32_768),
        },
        date(2026, 11, 27),
    ),
    Source(
        # LiteLLM gives the window, which input and output share, as the longest reply.
        "https://github.com/iyulab/TokenMeter/releases/tag/v0.13.1",
        {
            "gemini-4-argon": ModelLimits(1_048_576, 65_536),
            "gemini-4-hydrogen": ModelLimits(1_048_576, 65_536),
            "gemini-4-neon": ModelLimits(1_048_576, 65_536),
        },
        date(2026, 11, 27),
    ),
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
# https://ai.google.dev/gemini-api/docs/image-understanding, .../media-resolution, .../tokens and
# .../video-understanding (2026-11): of Gemini 3 the default resolution. A film has a frame for each
# second, of 258 or 70 tokens, and its sound.
_GEMINI_2 = MediaCosts(image=Crops(), pdf_page_tokens=258, video_second_tokens=300)
_GEMINI = MediaCosts(image=Flat(1_120), pdf_page_tokens=560, video_second_tokens=102)
MEDIA = {
    **dict.fromkeys(("gemini-1.5", "gemini-2.0", "gemini-2.5", "gemma"), _GEMINI_2),
    "gemini-3": _GEMINI,
}
NEWEST_MEDIA = {"gemini": "gemini-3"}
# Four characters a token (https://ai.google.dev/gemini-api/docs/tokens), of which o200k_base needs
# 0.9 in code and prose.
FAMILY_SCALES = {"gemini": 1.1, "gemma": 1.1}
