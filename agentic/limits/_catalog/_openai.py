"""OpenAI: GPT, the o-series, Codex and gpt-oss."""

from collections.abc import Mapping
from datetime import date

from agentic.limits._binding import Binding, BoundFamily
from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import GENAI_PRICES, LITELLM, Source
from agentic.limits._media_costs import ImageRule, MediaCosts, PatchesByDetail, Tiles
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # The window is 1,050,000, of which the input may be 922,000.
        "https://developers.openai.com/api/docs/models/gpt-6.2-sol.md",
        {
            "gpt-6.2-sol": ModelLimits(922_000, 128_000),
        },
        date(2026, 11, 27),
    ),
    Source(
        # The same window and output as gpt-6.2-sol, so the same input is assumed.
        "https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0",
        {
            "gpt-6.2-astra": ModelLimits(922_000, 128_000),
        },
        date(2026, 11, 27),
    ),
    Source(
        LITELLM,
        {
            "gpt-6.1-terra": ModelLimits(922_000, 128_000),
            "gpt-6-rosalind": ModelLimits(922_000, 128_000),
            "gpt-6-cyber": ModelLimits(922_000, 128_000),
            "gpt-5.6-cyber": ModelLimits(272_000, 128_000),
            "gpt-daybreak-blue": ModelLimits(922_000, 128_000),
            "gpt-daybreak-red": ModelLimits(272_000, 128_000),
            "gpt-audio": ModelLimits(128_000, 16_384),
            "gpt-realtime": ModelLimits(32_000, 4_096),
            "gpt-realtime-2": ModelLimits(128_000, 32_000),
            "computer-use-preview": ModelLimits(8_192, 1_024),
            "gpt-4-1106": ModelLimits(128_000, 4_096),
            "gpt-3.5-turbo-instruct": ModelLimits(4_096, 4_096),
            "gpt-3.5-turbo-0613": ModelLimits(4_096, 4_096),
            "gpt-oss-safeguard-20b": ModelLimits(131_072, 65_536),
        },
        date(2026, 11, 27),
    ),
    Source(
        # gpt-4-0125-preview is the successor of gpt-4-1106-preview, and as large.
        GENAI_PRICES,
        {
            "o1-preview": ModelLimits(128_000, 32_768),
            "gpt-4-vision-preview": ModelLimits(128_000, 4_096),
            "gpt-4-0125-preview": ModelLimits(128_000, 4_096),
            "gpt-4-32k": ModelLimits(32_000, 0),
            "gpt-4o-mini-realtime-preview": ModelLimits(16_000, 4_096),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/concepts/models-sold-directly-by-azure",
        {
            "gpt-6.1-sol": ModelLimits(922_000, 128_000),
            "gpt-6-astra": ModelLimits(922_000, 128_000),
            "gpt-6-luna": ModelLimits(922_000, 128_000),
            "gpt-6-sol": ModelLimits(922_000, 128_000),
            "gpt-5.6": ModelLimits(922_000, 128_000),
            "gpt-5.5": ModelLimits(922_000, 128_000),
            "gpt-5.4": ModelLimits(922_000, 128_000),
            "gpt-5.4-mini": ModelLimits(272_000, 128_000),
            "gpt-5.4-nano": ModelLimits(272_000, 128_000),
            "gpt-5.3-codex": ModelLimits(272_000, 128_000),
            "gpt-5.3-chat": ModelLimits(111_616, 16_384),
            "gpt-5.2": ModelLimits(272_000, 128_000),
            "gpt-5.2-chat": ModelLimits(111_616, 16_384),
            "gpt-5.1": ModelLimits(272_000, 128_000),
            "gpt-5.1-chat": ModelLimits(111_616, 16_384),
            "gpt-5": ModelLimits(272_000, 128_000),
            "gpt-5-chat": ModelLimits(128_000, 16_384),
            "gpt-oss-120b": ModelLimits(131_072, 131_072),
            "gpt-oss-20b": ModelLimits(131_072, 131_072),
            "gpt-4.1": ModelLimits(1_047_576, 32_768),
            "gpt-4o": ModelLimits(128_000, 16_384),
            "gpt-4o-2024-05-13": ModelLimits(128_000, 4_096),
            "gpt-4o-mini": ModelLimits(128_000, 16_384),
            "gpt-4o-realtime-preview": ModelLimits(16_000, 4_096),
            "gpt-4-turbo": ModelLimits(128_000, 4_096),
            "o4-mini": ModelLimits(200_000, 100_000),
            "o3": ModelLimits(200_000, 100_000),
            "o3-mini": ModelLimits(200_000, 100_000),
            "o1": ModelLimits(200_000, 100_000),
            "o1-mini": ModelLimits(128_000, 65_536),
            "codex-mini": ModelLimits(200_000, 100_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://github.com/openai/codex/blob/156676256ddf530c8ec729844f9b24008b748c7d/codex-rs/core/src/openai_model_info.rs",
        # The page says 16,385, but supyagent's table, whose values are all kept, says 16,384.
        {
            "gpt-3.5-turbo": ModelLimits(16_384, 4_096),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://github.com/MicrosoftDocs/azure-ai-docs/pull/544/files",
        {
            "gpt-35-turbo": ModelLimits(16_385, 4_096),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://rageagainstthepixel.github.io/OpenAI-DotNet/api/OpenAI.Models.Model.html",
        {
            "chatgpt-4o": ModelLimits(128_000, 16_384),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://github.com/ergodic-ai/supyagent",
        {
            "gpt-4": ModelLimits(8_192, 0),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # Writing for 12 hours costs 2.5. The ratios of the other three are those of genai-prices
        # 0.2.3 and of https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0.
        "https://developers.openai.com/api/docs/models/gpt-6.2-sol.md",
        {
            "gpt-6.2-sol": CacheTerms(0.05, 1.25, 1_800),
            "gpt-6.2-astra": CacheTerms(0.05, 1.25, 1_800),
            "gpt-6.1-sol": CacheTerms(0.05, 1.25, 1_800),
            "gpt-6.1-terra": CacheTerms(0.05, 1.25, 1_800),
        },
        date(2026, 11, 27),
    ),
    Source(
        # Before 5.6, an entry is in memory for 5 to 10 minutes without use; 24 hours are a maximum.
        # Models before gpt-4o have no cache. The discounts are those of genai-prices 0.2.3.
        "https://developers.openai.com/api/docs/guides/prompt-caching",
        {
            "gpt-6-astra": CacheTerms(0.1, 1.25, 1_800),
            "gpt-6-sol": CacheTerms(0.1, 1.25, 1_800),
            "gpt-6-luna": CacheTerms(0.1, 1.25, 1_800),
            "gpt-5.6": CacheTerms(0.1, 1.25, 1_800),
            "gpt-5.5": CacheTerms(0.1, 1.0, 300),
            "gpt-5.4": CacheTerms(0.1, 1.0, 300),
            "gpt-5.3": CacheTerms(0.1, 1.0, 300),
            "gpt-5.2": CacheTerms(0.1, 1.0, 300),
            "gpt-5.1": CacheTerms(0.1, 1.0, 300),
            "gpt-5": CacheTerms(0.1, 1.0, 300),
            "gpt-4.1": CacheTerms(0.25, 1.0, 300),
            "o3": CacheTerms(0.25, 1.0, 300),
            "o4-mini": CacheTerms(0.25, 1.0, 300),
            "codex-mini": CacheTerms(0.25, 1.0, 300),
            "gpt-4o": CacheTerms(0.5, 1.0, 300),
            "chatgpt-4o": CacheTerms(0.5, 1.0, 300),
            "gpt-4.5": CacheTerms(0.5, 1.0, 300),
            "o1": CacheTerms(0.5, 1.0, 300),
            "o3-mini": CacheTerms(0.5, 1.0, 300),
            "gpt-4": CacheTerms(1.0, 1.0, 0),
            "gpt-4-turbo": CacheTerms(1.0, 1.0, 0),
            "gpt-3.5-turbo": CacheTerms(1.0, 1.0, 0),
            "gpt-35-turbo": CacheTerms(1.0, 1.0, 0),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "gpt": "gpt-6.2-sol",
}
_KEEP_PREFIX = "https://developers.openai.com/api/docs/guides/keep-prefix-unchanged"
BINDINGS = {"gpt": BoundFamily(_KEEP_PREFIX, {(6, 2): Binding(enforced="silently")})}
# https://developers.openai.com/api/docs/guides/images-vision, copies of 2026-09, and for audio
# https://platform.openai.com/docs/guides/realtime-costs: a token is a tenth of a second. From 5.4
# on and for 5.2 the factor of 1.2 is left out there for some models; it was measured:
# https://community.openai.com/t/api-ai-computer-vision-pricing-models-compared-visually/1372291,
# https://github.com/omnara-ai/omnara/pull/446 (2026-09).
_HIGH = (2_500, 2_048)
_LOW = (256, 512)
_SMALL = {"": (1_536, 2_048), "high": (1_536, 2_048), "low": _LOW}
_BY_DETAIL = {"": _HIGH, "high": _HIGH, "low": _LOW, "original": (10_000, 6_000)}
# `auto`, which is meant by a request without a detail, keeps the size. Of 5.6 and later an image
# over 30,000 squares is refused: https://github.com/Prism-Shadow/agenthub/pull/194 (2026-09).
_ORIGINAL_5_5 = {**_BY_DETAIL, "": (10_000, 6_000), "auto": (10_000, 6_000)}
_ORIGINAL = {**_BY_DETAIL, "": (30_000, 65_535), "auto": (30_000, 65_535)}
_ORIGINAL["original"] = _ORIGINAL[""]


def _openai(image: ImageRule) -> MediaCosts:
    return MediaCosts(image=image, audio_second_tokens=10)


def _tiles(base: int, tile: int) -> MediaCosts:
    return _openai(Tiles(base_tokens=base, tile_tokens=tile))


def _patches(tokens: float, limits: Mapping[str, tuple[int, int]] = _SMALL) -> MediaCosts:
    return _openai(PatchesByDetail(tokens_per_patch=tokens, limits=limits))


MEDIA = {
    **dict.fromkeys(("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-4", "chatgpt-4o"), _tiles(85, 170)),
    "gpt-4o-mini": _tiles(2_833, 5_667),
    **dict.fromkeys(("o1", "o3"), _tiles(75, 150)),
    "computer-use-preview": _tiles(65, 129),
    # 5.1 is not on the page; it was measured as one of tiles.
    **dict.fromkeys(("gpt-5", "gpt-5.1"), _tiles(70, 140)),
    **dict.fromkeys(("gpt-4.1-mini", "gpt-5-mini", "gpt-5.4-mini"), _patches(1.62)),
    **dict.fromkeys(("gpt-4.1-nano", "gpt-5-nano", "gpt-5.4-nano"), _patches(2.46)),
    "o4-mini": _patches(1.72),
    **dict.fromkeys(("gpt-5.2", "gpt-5.3", "gpt-5-codex-mini"), _patches(1.2)),
    "gpt-5.1-codex-mini": _patches(1.2),
    "gpt-5.4": _patches(1.2, _BY_DETAIL),
    "gpt-5.5": _patches(1.2, _ORIGINAL_5_5),
    "gpt-5.6": _patches(1.2, _ORIGINAL),
}
NEWEST_MEDIA = {"gpt": "gpt-5.6"}
