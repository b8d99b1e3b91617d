"""The two limits of a request, in tokens, and who can report them."""

from typing import Any, Protocol

import attrs

from agentic._base._validate import is_whole

# pi-mono reserves 16,384 (https://github.com/badlogic/pi-mono), which would be all of a small
# window.
_RESERVE_TOKENS = 16_384
_PARTS_OF_WINDOW = 4


def _tokens(_: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    remedy = "write the number out, or take it from limits.lookup(model)"
    # With the record's name: a configuration may hold it far from where it is used.
    is_whole(0, value, f"ModelLimits.{attribute.name}", remedy)


@attrs.frozen
class ModelLimits:
    """The most tokens that a model accepts and returns.

    >>> ModelLimits(128_000, 16_384)
    ModelLimits(context_window=128000, max_output=16384, known=True)
    """

    context_window: int = attrs.field(validator=_tokens)
    """The most that a request may contain: the provider's limit on the input, if that is smaller
    than the window. 0 for no limit."""
    max_output: int = attrs.field(validator=_tokens)
    """The longest reply; 0 if unknown."""
    known: bool = True
    """False for limits that are assumed: those of `relative`, or a conservative default. Check
    `usable` before a budget relies on the window, and show `note` to people."""
    relative: str = attrs.field(default="", kw_only=True, repr=False)
    """The model of the catalog whose limits are assumed, because it is the newest one of the same
    family and this model is newer still. Empty if the model is known, or its family is not."""

    window_includes_reply: bool = attrs.field(default=False, kw_only=True, repr=False)
    """Whether a request is refused if its input and the longest reply that it asks for exceed the
    window together, even if the reply would be short."""

    @property
    def usable(self) -> bool:
        """Return whether a budget may rely on the window: the model's own, or a relative's.

        >>> ModelLimits(8_192, 0, known=False).usable
        False
        """
        return self.known or bool(self.relative)

    @property
    def note(self) -> str:
        """Return what is assumed, in words for people; empty if the limits are known.

        >>> ModelLimits(1_000_000, 128_000, known=False, relative="claude-opus-5-5").note
        '1,000,000 tokens are assumed, as for claude-opus-5-5, the newest relative that is known'
        """
        if self.known:
            return ""
        relative = f", as for {self.relative}, the newest relative that is known"
        return f"{self.context_window:,} tokens are assumed{relative if self.relative else ''}"


UNKNOWN = ModelLimits(8_192, 0, known=False)
"""The limits of an unknown model. supyagent also assumes 8,192
(https://github.com/ergodic-ai/supyagent). If the guess is too small, compaction comes early; if it
is too large, the request fails."""


def read_tokens(text: str) -> int | None:
    """Return the number of tokens that a text is, such as `16k` or `1m`; None if it is none.

    A `k` is a thousand and an `m` a million.

    >>> read_tokens("16k"), read_tokens("128_000"), read_tokens("8.19 M"), read_tokens("gpt-5")
    (16000, 128000, 8190000, None)
    """
    digits = text.strip().lower().replace(",", "").replace("_", "")
    factor = {"k": 1_000, "m": 1_000_000}.get(digits[-1:], 1)
    try:
        # Rounded, because 8.19 * 1,000,000 is a little less than 8,190,000.
        return round(float(digits[:-1] if factor > 1 else digits) * factor)
    except (ValueError, OverflowError):
        return None


def as_tokens(value: Any) -> Any:
    """Return the number of tokens if a value is a text such as `16k`; any other value itself.

    >>> as_tokens("16k"), as_tokens("gpt-5"), as_tokens(8_000), as_tokens(None)
    (16000, 'gpt-5', 8000, None)
    """
    number = read_tokens(value) if isinstance(value, str) else None
    return value if number is None else number


def reply_reserve(window: int) -> int:
    """Return the tokens of a window that are kept free for the reply, unless a budget says more.

    >>> reply_reserve(200_000), reply_reserve(8_000)
    (16384, 2000)
    """
    return min(_RESERVE_TOKENS, window // _PARTS_OF_WINDOW)


class Provider(Protocol):
    """The server of a model, which can report the model's limits."""

    def limits(self) -> ModelLimits:
        """Return the limits of the model in use."""
        ...
