"""What images, documents, sounds and films cost in tokens: the rules that the catalog refers to.

An image is cut into squares of some pixels, each of which costs some tokens, after it was made
small enough for the model. How, differs from family to family. Sizes are in pixels, costs in tokens
of input.
"""

import math
from collections.abc import Mapping
from typing import Protocol

import attrs


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

    >>> from agentic.limits._lookup import media_costs
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

    >>> limits = {"": (1_536, 2_048), "high": (1_536, 2_048)}
    >>> PatchesByDetail(tokens_per_patch=1.62, limits=limits).count(1_800, 2_400)
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


OTHER = MediaCosts(
    image=Patches(patch_px=28, max_edge_px=1_568, max_patches=1_568, unknown_tokens=1_568),
    known=False,
)
"""For a model of no known family: a token for 28 by 28 pixels is what most count, and Claude's
older models limit an image to what a page of text costs."""
