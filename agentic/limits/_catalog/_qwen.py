"""Alibaba: Qwen."""

from datetime import date

from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._media_costs import MediaCosts, Patches
from agentic.limits._model_limits import ModelLimits

LIMITS = (
    Source(
        # Alibaba Cloud's limits on the input. Of open weights, whose servers differ, the smallest
        # window that is common: qwen3 has 32,768 or 40,960 without an extension by the server.
        LITELLM,
        {
            "qwen3.8-max": ModelLimits(991_808, 131_072),
            "qwen3.8-flash": ModelLimits(991_808, 131_072),
            "qwen3.8-omni-flash": ModelLimits(991_808, 131_072),
            "qwen3.8": ModelLimits(258_048, 65_536),
            "qwen3.7-max": ModelLimits(991_808, 65_536),
            "qwen3.7-plus": ModelLimits(991_808, 65_536),
            "qwen3.7-flash": ModelLimits(983_616, 65_536),
            "qwen3.6-plus": ModelLimits(983_616, 65_536),
            "qwen3.6-flash": ModelLimits(983_616, 65_536),
            "qwen3.6": ModelLimits(229_376, 65_536),
            "qwen3.5-plus": ModelLimits(983_616, 65_536),
            "qwen3.5-flash": ModelLimits(983_616, 65_536),
            "qwen3.5": ModelLimits(258_048, 65_536),
            "qwen3-max": ModelLimits(258_048, 65_536),
            "qwen3-coder-plus": ModelLimits(997_952, 65_536),
            "qwen3-coder-flash": ModelLimits(997_952, 65_536),
            "qwen3-coder": ModelLimits(256_000, 65_536),
            "qwen3-next": ModelLimits(256_000, 0),
            "qwen3-vl": ModelLimits(131_072, 32_768),
            "qwen3-vl-plus": ModelLimits(260_096, 32_768),
            "qwen3-omni": ModelLimits(65_536, 0),
            "qwen3-235b-a22b-instruct-2507": ModelLimits(131_072, 0),
            "qwen3-235b-a22b-thinking-2507": ModelLimits(131_072, 0),
            "qwen3-30b-a3b-instruct-2507": ModelLimits(256_000, 0),
            "qwen3-4b-instruct-2507": ModelLimits(256_000, 0),
            "qwen3": ModelLimits(32_000, 0),
            "qwen-3": ModelLimits(32_000, 0),
            "qwen-plus": ModelLimits(129_024, 8_192),
            "qwen-plus-latest": ModelLimits(997_952, 32_768),
            "qwen-plus-2025-07-28": ModelLimits(997_952, 32_768),
            "qwen-plus-2025-09-11": ModelLimits(997_952, 32_768),
            "qwen-flash": ModelLimits(997_952, 32_768),
            "qwen-turbo-latest": ModelLimits(1_000_000, 8_192),
            "qwen-turbo-2024-11-01": ModelLimits(1_000_000, 8_192),
            "qwen-turbo-2025-04-28": ModelLimits(1_000_000, 8_192),
            "qwen3-235b-a22b-2507": ModelLimits(131_072, 0),
            "qwen-turbo": ModelLimits(129_024, 8_192),
            "qwen-coder": ModelLimits(1_000_000, 16_384),
            "qwq-plus": ModelLimits(98_304, 8_192),
            "qwq-32b": ModelLimits(32_000, 0),
            "qwen2.5": ModelLimits(32_000, 0),
            "qwen-2.5": ModelLimits(32_000, 0),
            "qwen2": ModelLimits(32_000, 0),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://www.promptfoo.dev/docs/providers/alibaba",
        {
            "qwen-max": ModelLimits(30_720, 8_192),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        # The implicit cache, which promises no time. An explicit one: 0.1, 1.25 and 300 seconds.
        "https://www.alibabacloud.com/help/en/model-studio/context-cache",
        {
            "qwen3.8-max": CacheTerms(0.125, 1.0, 300),
            "qwen3-max": CacheTerms(0.2, 1.0, 300),
            "qwen3.5": CacheTerms(0.2, 1.0, 300),
            "qwen3.6": CacheTerms(0.2, 1.0, 300),
            "qwen3.7": CacheTerms(0.2, 1.0, 300),
            "qwen-max": CacheTerms(0.2, 1.0, 300),
            "qwen-plus": CacheTerms(0.2, 1.0, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "qwen": "qwen3.8-max",
}
# https://www.alibabacloud.com/help/en/model-studio/vision and `smart_resize` of qwen-vl-utils
# (2026-11): 28 pixels up to Qwen 2.5, 32 since Qwen 3, and two tokens around. Sides are rounded up
# here and to the nearest there. The most is that of the models; the API allows 2,560 by default.
_QWEN_2, _QWEN = (
    MediaCosts(
        image=Patches(
            patch_px=pixels,
            max_edge_px=1 << 20,
            max_patches=16_384,
            extra_tokens=2,
            unknown_tokens=2_562,
        )
    )
    for pixels in (28, 32)
)
MEDIA = {
    **dict.fromkeys(("qwen-vl", "qwen2-vl", "qwen2.5-vl", "qwen2.5", "qvq"), _QWEN_2),
    "qwen3": _QWEN,
}
NEWEST_MEDIA = {"qwen": "qwen3"}
