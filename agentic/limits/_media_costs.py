"""What images, documents, sounds and films cost in tokens, by the name of the model.

An image is cut into squares of some pixels, each of which costs some tokens, after it was made
small enough for the model. How, differs from family to family; each rule here has its page and day.
Sizes are in pixels, costs in tokens of input. A model that no row names is taken for the newest of
its family, and one of no known family for a vision model of the usual kind.
"""

import math
from collections.abc import Mapping
from typing import Protocol

import attrs

from agentic.limits._names import check_name, longest_name, newest_relative


class ImageRule(Protocol):
    """How a family of models counts an image."""

    @property
    def unknown_tokens(self) -> int:
        """The tokens of an image of unknown size."""
        ...

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return the tokens of an image; `detail` is what the request asks for, in OpenAI's words.

        Both sides are at least 1 pixel.
        """
        ...


@attrs.frozen(kw_only=True)
class Patches:
    """One token for each square of the image, after it was shrunk until it has few enough.

    >>> media_costs("claude-sonnet-4-5").image.count(1_920, 1_080)
    1560
    """

    patch_px: int
    max_edge_px: int
    """The longest side that is not shrunk, with the padding to whole squares."""
    max_patches: int
    row_tokens: int = 0
    """Tokens at the end of each row of squares."""
    extra_tokens: int = 0
    """Tokens around the image."""
    unknown_tokens: int
    """Those of the largest image."""

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return the tokens of the largest image of the same proportions that fits."""
        long, short = max(width, height), min(width, height)
        if not self._fits(long, short):
            # Each size up to `low` fits, and none from `high` on.
            proportion, low, high = long / short, 1, long
            while low + 1 < high:
                middle = (low + high) // 2
                fits = self._fits(middle, max(1, round(middle / proportion)))
                low, high = (middle, high) if fits else (low, middle)
            scale = low / long
            width, height = max(1, round(width * scale)), max(1, round(height * scale))
        return self._tokens(self._squares(width), self._squares(height))

    def _tokens(self, columns: int, rows: int) -> int:
        return columns * rows + self.row_tokens * rows + self.extra_tokens

    def _squares(self, pixels: int) -> int:
        return math.ceil(pixels / self.patch_px)

    def _fits(self, long: int, short: int) -> bool:
        squares = self._squares(long) * self._squares(short)
        return (
            self._squares(long) * self.patch_px <= self.max_edge_px and squares <= self.max_patches
        )


@attrs.frozen(kw_only=True)
class PatchesByDetail:
    """OpenAI's newer models: squares of 32 pixels, and a limit for each detail.

    >>> PatchesByDetail(tokens_per_patch=1.62, limits=_SMALL).count(1_800, 2_400)
    2353
    """

    tokens_per_patch: float
    limits: Mapping[str, tuple[int, int]]
    """The most squares, and the longest side in pixels, by the word for the detail; the empty word
    is for a request without one."""
    unknown_tokens: int = attrs.field(
        default=attrs.Factory(
            lambda self: math.ceil(self.limits["high"][0] * self.tokens_per_patch), takes_self=True
        )
    )
    """What `high` allows. Without a limit, an image from a camera may cost three times as much, and
    a screenshot costs less."""

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return the tokens of an image, shrunk as the page says."""
        max_patches, max_edge = self.limits.get(detail, self.limits[""])
        shrink = min(1.0, max_edge / max(width, height))
        width, height = max(1, round(width * shrink)), max(1, round(height * shrink))
        if _squares(width) * _squares(height) > max_patches:
            shrink = math.sqrt(_OPENAI_PX**2 * max_patches / (width * height))
            wide, high = width * shrink / _OPENAI_PX, height * shrink / _OPENAI_PX
            # So that one of the sides is of whole squares.
            shrink *= min(max(1, math.floor(wide)) / wide, max(1, math.floor(high)) / high)
            width, height = int(width * shrink + _NEARLY), int(height * shrink + _NEARLY)
        patches = min(max_patches, _squares(width) * _squares(height))
        return math.ceil(round(patches * self.tokens_per_patch, 6))


_ONE_CROP_PX = 384
_OPENAI_PX = 32
_NEARLY = 1e-6
"""A product that should be whole may be a little less."""


def _squares(pixels: int) -> int:
    return max(1, math.ceil(pixels / _OPENAI_PX))


@attrs.frozen(kw_only=True)
class Tiles:
    """OpenAI's older models: a price for the image, and one for each tile of 512 pixels.

    >>> Tiles(base_tokens=85, tile_tokens=170).count(2_048, 4_096)
    1105
    """

    base_tokens: int
    tile_tokens: int

    @property
    def unknown_tokens(self) -> int:
        """The tokens of the largest image, of 2,048 by 768 pixels."""
        return self.base_tokens + 8 * self.tile_tokens

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return the tokens of an image within 2,048 pixels, and its short side within 768."""
        if detail == "low":
            return self.base_tokens
        shrink = min(1.0, 2_048 / max(width, height))
        shrink = min(shrink, 768 / min(width, height))
        # Rounded, because 2,048 pixels must not become a ten-thousandth more.
        columns, rows = (math.ceil(round(side * shrink, 4) / 512) for side in (width, height))
        return self.base_tokens + columns * rows * self.tile_tokens


@attrs.frozen
class Crops:
    """Gemini 2: 258 tokens for each of as many crops as the proportions of the image need.

    >>> Crops().count(960, 540), Crops().count(384, 384)
    (1548, 258)
    """

    unknown_tokens: int = 6 * 258
    """The tokens of a screenshot."""

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return the tokens of an image."""
        if max(width, height) <= _ONE_CROP_PX:
            return 258
        unit = max(256, math.floor(min(width, height) / 1.5))
        return 258 * math.ceil(width / unit) * math.ceil(height / unit)


@attrs.frozen
class SquareTiles:
    """xAI: 256 tokens for each tile of 448 pixels, six at most, and for one tile more.

    >>> SquareTiles().count(448, 448), SquareTiles().count(3_840, 2_160)
    (512, 1792)
    """

    unknown_tokens: int = 7 * 256
    """The tokens of the largest image."""

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return the tokens of an image."""
        return 256 * (min(6, math.ceil(width / 448) * math.ceil(height / 448)) + 1)


@attrs.frozen
class Flat:
    """The same number of tokens for each image."""

    unknown_tokens: int

    def count(self, width: int, height: int, detail: str = "", /) -> int:
        """Return that number."""
        return self.unknown_tokens


@attrs.frozen(kw_only=True)
class MediaCosts:
    """What media cost with a model, in tokens."""

    image: ImageRule
    pdf_page_tokens: int = 3_000
    """The tokens of a page of a PDF. Anthropic says 1,500 to 3,000 for the text, besides the image;
    2,347 were measured for a page of text, 1,600 for a scan
    (https://huggingface.co/datasets/JOHNISKING/pdf-token-cost, 2026-10). Others say nothing."""
    audio_second_tokens: int = 32
    """The tokens of a second of sound."""
    video_second_tokens: int = 300
    """The tokens of a second of film, with its sound."""
    known: bool = True
    """False for the assumption about a model of no known family."""


def media_costs(model: str) -> MediaCosts:
    """Return what media cost with a model, given its name as any provider spells it.

    >>> media_costs("anthropic/claude-opus-4.8").image.count(1_920, 1_080)
    2691
    >>> media_costs("claude-sonnet-4-5").image.count(1_920, 1_080)
    1560
    >>> media_costs("my-model").known
    False

    Raises:
        ConfigError: the name is not a str.
    """
    check_name(model)
    name = longest_name(model, _COSTS) or newest_relative(model, _NEWEST)
    return OTHER if name is None else _COSTS[name]


# https://platform.claude.com/docs/en/build-with-claude/vision and .../vision-coordinates, a copy of
# 2026-11: the two tiers are "Claude 4.7 and later models" and "all other models".
_CLAUDE_STANDARD = MediaCosts(
    image=Patches(patch_px=28, max_edge_px=1_568, max_patches=1_568, unknown_tokens=1_568)
)
_CLAUDE = MediaCosts(
    image=Patches(patch_px=28, max_edge_px=2_576, max_patches=4_784, unknown_tokens=4_784)
)

OTHER = attrs.evolve(_CLAUDE_STANDARD, known=False)
"""For a model of no known family: a token for 28 by 28 pixels is what most count, and Claude's
older models limit an image to what a page of text costs."""

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


# https://ai.google.dev/gemini-api/docs/image-understanding, .../media-resolution, .../tokens and
# .../video-understanding (2026-11): of Gemini 3 the default resolution. A film has a frame for each
# second, of 258 or 70 tokens, and its sound.
_GEMINI_2 = MediaCosts(image=Crops(), pdf_page_tokens=258, video_second_tokens=300)
_GEMINI = MediaCosts(image=Flat(1_120), pdf_page_tokens=560, video_second_tokens=102)
# https://docs.x.ai/docs/guides/image-understanding, copies of 2025-12.
_GROK = MediaCosts(image=SquareTiles())
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

_COSTS: Mapping[str, MediaCosts] = {
    "claude": _CLAUDE,
    **dict.fromkeys(("claude-2", "claude-3", "claude-instant"), _CLAUDE_STANDARD),
    **dict.fromkeys(("claude-3-5", "claude-3-7"), _CLAUDE_STANDARD),
    **dict.fromkeys(("claude-opus-4", "claude-opus-4-1", "claude-opus-4-5"), _CLAUDE_STANDARD),
    **dict.fromkeys(("claude-opus-4-6", "claude-sonnet-4", "claude-sonnet-4-5"), _CLAUDE_STANDARD),
    **dict.fromkeys(("claude-sonnet-4-6", "claude-haiku-4-5"), _CLAUDE_STANDARD),
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
    **dict.fromkeys(("gemini-1.5", "gemini-2.0", "gemini-2.5", "gemma"), _GEMINI_2),
    "gemini-3": _GEMINI,
    **dict.fromkeys(("grok", "grok-2"), _GROK),
    **dict.fromkeys(("qwen-vl", "qwen2-vl", "qwen2.5-vl", "qwen2.5", "qvq"), _QWEN_2),
    "qwen3": _QWEN,
    "pixtral": _PIXTRAL,
    **dict.fromkeys(("mistral-small", "mistral-medium", "mistral-large"), _MISTRAL),
    **dict.fromkeys(("mistral-small-3.1", "mistral-medium-3", "mistral-large-3"), _MISTRAL),
    **dict.fromkeys(("ministral", "ministral-3", "magistral-small", "magistral-medium"), _MISTRAL),
}
_NEWEST = {
    "gpt": "gpt-5.6",
    "gemini": "gemini-3",
    "grok": "grok-2",
    "qwen": "qwen3",
    "mistral-small": "mistral-small-3.1",
    "mistral-medium": "mistral-medium-3",
    "mistral-large": "mistral-large-3",
    "ministral": "ministral-3",
}
"""What the names of a family begin with, and the row for its versions from that one on."""
