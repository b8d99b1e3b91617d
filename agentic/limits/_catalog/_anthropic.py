"""Anthropic: Claude."""

from datetime import date
from functools import partial

from agentic.limits._binding import Binding, BoundFamily
from agentic.limits._cache_terms import CacheTerms
from agentic.limits._catalog._source import LITELLM, Source
from agentic.limits._media_costs import MediaCosts, Patches
from agentic.limits._model_limits import ModelLimits

_before_4_5 = partial(ModelLimits, window_includes_reply=True)
"""Claude 4.5 and later may be asked for a reply that the window has no room for:
https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons (2026-11)."""
LIMITS = (
    Source(
        "https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2",
        {
            "claude-fable-5-2": ModelLimits(1_000_000, 128_000),
            "claude-mythos-5-2": ModelLimits(1_000_000, 128_000),
        },
        date(2026, 11, 27),
    ),
    Source(
        # Each Mythos has the specification of the Fable with the same number.
        "https://platform.claude.com/docs/en/models/fable-5/overview",
        {
            "claude-mythos-5-1": ModelLimits(1_000_000, 128_000),
            "claude-mythos-5": ModelLimits(1_000_000, 128_000),
        },
        date(2026, 11, 27),
    ),
    Source(
        LITELLM,
        {
            "claude-mythos-preview": ModelLimits(1_000_000, 128_000),
            "claude-3-sonnet": _before_4_5(200_000, 4_096),
        },
        date(2026, 11, 27),
    ),
    Source(
        "https://github.com/MicrosoftDocs/azure-ai-docs/blob/0cfe2de603f9e8e662ecaf73bbc69bda0b4b762a/articles/foundry/foundry-models/includes/concepts-claude-models-content.md",
        {
            "claude-fable-5-1": ModelLimits(1_000_000, 128_000),
            "claude-fable-5": ModelLimits(1_000_000, 128_000),
            "claude-opus-5-5": ModelLimits(1_000_000, 128_000),
            "claude-opus-5": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-8": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-7": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-6": ModelLimits(1_000_000, 128_000),
            "claude-opus-4-5": ModelLimits(200_000, 64_000),
            "claude-sonnet-5-5": ModelLimits(1_000_000, 128_000),
            "claude-sonnet-5": ModelLimits(1_000_000, 128_000),
            "claude-sonnet-4-6": ModelLimits(1_000_000, 128_000),
            "claude-sonnet-4-5": ModelLimits(200_000, 64_000),
            "claude-haiku-5-5": ModelLimits(1_000_000, 128_000),
            "claude-haiku-4-5": ModelLimits(200_000, 64_000),
        },
        date(2026, 11, 21),
    ),
    Source(
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/models.generated.ts",
        # Other sources say 64,000 (Roo Code); the smaller number is used.
        {
            "claude-opus-4-1": _before_4_5(200_000, 32_000),
        },
        date(2026, 11, 22),
    ),
    Source(
        "https://docs.aihubmix.com/en/api/Claude-Native",
        {
            "claude-opus-4": _before_4_5(200_000, 32_000),
            "claude-sonnet-4": _before_4_5(200_000, 64_000),
            "claude-3-7-sonnet": _before_4_5(200_000, 64_000),
            "claude-3-5-sonnet": _before_4_5(200_000, 8_192),
            "claude-3-5-haiku": _before_4_5(200_000, 8_192),
            "claude-3-opus": _before_4_5(200_000, 4_096),
            "claude-3-haiku": _before_4_5(200_000, 4_096),
        },
        date(2026, 11, 21),
    ),
)
CACHES = (
    Source(
        "https://platform.claude.com/docs/en/about-claude/pricing",
        {
            "claude-fable-5-2": CacheTerms(0.025, 1.25, 300),
            "claude-mythos-5-2": CacheTerms(0.025, 1.25, 300),
            "claude-fable-5-1": CacheTerms(0.025, 1.25, 300),
            "claude-mythos-5-1": CacheTerms(0.025, 1.25, 300),
            "claude-opus-5-5": CacheTerms(0.05, 1.25, 300),
            "claude-sonnet-5-5": CacheTerms(0.05, 1.25, 300),
            "claude-fable-5": CacheTerms(0.1, 1.25, 300),
            "claude-mythos-5": CacheTerms(0.1, 1.25, 300),
            "claude-haiku-5-5": CacheTerms(0.1, 1.25, 300),
            "claude-opus-5": CacheTerms(0.1, 1.25, 300),
            "claude-sonnet-5": CacheTerms(0.1, 1.25, 300),
            "claude-opus-4-8": CacheTerms(0.1, 1.25, 300),
            "claude-opus-4-7": CacheTerms(0.1, 1.25, 300),
            "claude-opus-4-6": CacheTerms(0.1, 1.25, 300),
            "claude-sonnet-4-6": CacheTerms(0.1, 1.25, 300),
            "claude-opus-4-5": CacheTerms(0.1, 1.25, 300),
            "claude-sonnet-4-5": CacheTerms(0.1, 1.25, 300),
            "claude-haiku-4-5": CacheTerms(0.1, 1.25, 300),
            "claude-opus-4-1": CacheTerms(0.1, 1.25, 300),
            "claude-opus-4": CacheTerms(0.1, 1.25, 300),
            "claude-sonnet-4": CacheTerms(0.1, 1.25, 300),
            "claude-3-7-sonnet": CacheTerms(0.1, 1.25, 300),
            "claude-3-5-sonnet": CacheTerms(0.1, 1.25, 300),
            "claude-3-5-haiku": CacheTerms(0.1, 1.25, 300),
            "claude-3-opus": CacheTerms(0.1, 1.25, 300),
            "claude-3-haiku": CacheTerms(0.12, 1.2, 300),
        },
        date(2026, 11, 27),
    ),
)
NEWEST: dict[str, str] = {
    "claude-opus": "claude-opus-5-5",
    "claude-sonnet": "claude-sonnet-5-5",
    "claude-haiku": "claude-haiku-5-5",
    "claude-fable": "claude-fable-5-2",
    "claude-mythos": "claude-mythos-5-2",
}
_CHECKS = "https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks"
_NEW_ACCOUNTS = Binding(enforced="new_accounts", accounts_since=date(2026, 8, 31))
# Since 2026-11-09, the day of their release:
# https://platform.claude.com/docs/en/models/fable-5-2/whats-new-fable-5-2 (read 2026-11-27)
_EVERY_ACCOUNT = Binding(enforced="every_account")
BINDINGS = {
    "claude-fable": BoundFamily(_CHECKS, {(5, 1): _NEW_ACCOUNTS, (5, 2): _EVERY_ACCOUNT}),
    "claude-mythos": BoundFamily(_CHECKS, {(5, 1): _NEW_ACCOUNTS, (5, 2): _EVERY_ACCOUNT}),
    "claude-opus": BoundFamily(_CHECKS, {(5, 5): _NEW_ACCOUNTS}),
    "claude-sonnet": BoundFamily(_CHECKS, {(5, 5): _NEW_ACCOUNTS}),
    "claude-haiku": BoundFamily(_CHECKS, {(5, 5): _NEW_ACCOUNTS}),
}
# https://platform.claude.com/docs/en/build-with-claude/vision and .../vision-coordinates, a copy of
# 2026-11: the two tiers are "Claude 4.7 and later models" and "all other models".
_MEDIA_STANDARD = MediaCosts(
    image=Patches(patch_px=28, max_edge_px=1_568, max_patches=1_568, unknown_tokens=1_568)
)
_MEDIA = MediaCosts(
    image=Patches(patch_px=28, max_edge_px=2_576, max_patches=4_784, unknown_tokens=4_784)
)
MEDIA = {
    "claude": _MEDIA,
    **dict.fromkeys(("claude-2", "claude-3", "claude-instant"), _MEDIA_STANDARD),
    **dict.fromkeys(("claude-3-5", "claude-3-7"), _MEDIA_STANDARD),
    **dict.fromkeys(("claude-opus-4", "claude-opus-4-1", "claude-opus-4-5"), _MEDIA_STANDARD),
    **dict.fromkeys(("claude-opus-4-6", "claude-sonnet-4", "claude-sonnet-4-5"), _MEDIA_STANDARD),
    **dict.fromkeys(("claude-sonnet-4-6", "claude-haiku-4-5"), _MEDIA_STANDARD),
}
# Up to 4.6: 1.26 on 452 calls of a recorded session; since Opus 4.7 up to 1.35 times that, so also
# of any newer model:
# https://www.nxcode.io/zh/resources/news/claude-opus-4-7-developer-guide-api-claude-code-migration-2026
FAMILY_SCALES = {"claude": 1.55}
TOKEN_SCALES = dict.fromkeys(
    (
        *("claude-instant", "claude-2", "claude-2-1"),
        *("claude-3", "claude-3-5", "claude-3-7"),
        *("claude-opus-4", "claude-opus-4-1", "claude-opus-4-5", "claude-opus-4-6"),
        *("claude-sonnet-4", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-haiku-4-5"),
    ),
    1.3,
)
