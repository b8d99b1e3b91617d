"""The doors for a text in memory: check what is given, then cut.

A limit is a whole number above 0, or None for no limit; anything else is a `ConfigError`. The
defaults, 2,000 lines and 51,200 bytes, are those of pi-mono's `truncateHead` and `truncateTail`
(https://github.com/badlogic/pi-mono, read 2026-11-21).
"""

import attrs

from agentic.truncate._cut import CUTS, cut_head, cut_middle, cut_tail
from agentic.truncate._measure import Measured
from agentic.truncate._result import Mode, Result

__all__ = [
    "MAX_BYTES",
    "MAX_LINES",
    "Options",
    "check_limits",
    "check_options",
    "head",
    "middle",
    "refusal",
    "tail",
]

MAX_LINES = 2000
"""Lines kept unless told otherwise."""

MAX_BYTES = 51_200
"""Bytes kept unless told otherwise."""


def head(
    content: str, *, max_lines: int | None = MAX_LINES, max_bytes: int | None = MAX_BYTES
) -> Result:
    r"""Keep the start of a text: whole lines within both limits.

    The content is a prefix of the text, without the newline at the cut. Of a first line that is
    over ``max_bytes`` the start is kept, which is nothing if not even one character fits.

    >>> head("one\ntwo\nthree", max_lines=2).content
    'one\ntwo'
    >>> head("abcdefghij\nsecond", max_bytes=4).content
    'abcd'
    """
    check_limits(max_lines, max_bytes)
    return cut_head(_measure(content), max_lines, max_bytes)


def tail(
    content: str, *, max_lines: int | None = MAX_LINES, max_bytes: int | None = MAX_BYTES
) -> Result:
    r"""Keep the end of a text: whole lines within both limits.

    The content is a suffix of the text, its last newline included. Of a last line that is over
    ``max_bytes`` the end is kept, which is nothing if not even one character fits.

    >>> tail("one\ntwo\nthree\n", max_lines=2).content
    'two\nthree\n'
    >>> tail("line1\nline2\nline3", max_lines=1, max_bytes=2).content
    'e3'
    """
    check_limits(max_lines, max_bytes)
    return cut_tail(_measure(content), max_lines, max_bytes)


def middle(
    content: str, *, max_lines: int | None = MAX_LINES, max_bytes: int | None = MAX_BYTES
) -> Result:
    r"""Keep both ends of a text, half of each limit for either, and mark what is left out.

    The marker is a line of its own and within the limits. Where they leave no room beside it for
    a line and four bytes at either end, the result is that of `tail`, and its mode says so.

    >>> print(middle("one\ntwo\nthree\nfour\nfive", max_lines=3).content)
    one
    [... 3 lines, 16 bytes left out ...]
    five
    """
    check_limits(max_lines, max_bytes)
    return cut_middle(_measure(content), max_lines, max_bytes)


def check_limits(max_lines: int | None, max_bytes: int | None) -> None:
    """Refuse a limit that is neither a whole number above 0 nor None."""
    if not (max_lines is None or (type(max_lines) is int and max_lines > 0)):
        raise _bad_limit("max_lines", max_lines)
    if not (max_bytes is None or (type(max_bytes) is int and max_bytes > 0)):
        raise _bad_limit("max_bytes", max_bytes)


def refusal(name: str, given: object, allowed: str, remedy: str) -> ValueError:
    """Make the `ConfigError` for a call that cannot be meant."""
    # A sixth of this room's import, for what most programs never need.
    from agentic.errors import ConfigError  # noqa: PLC0415

    return ConfigError(name, given, allowed, remedy)


def _bad_limit(name: str, given: object) -> ValueError:
    return refusal(name, given, "a whole number above 0, or None", "pass None for no limit")


def _measure(content: str) -> Measured:
    if not isinstance(content, str):
        raise refusal(
            "content", content, "a str", "decode bytes first, or feed them to a TailBuffer"
        )
    return Measured(content)


def _mode(given: object) -> Mode:
    try:
        return Mode(given)
    except ValueError as error:
        raise refusal("mode", given, "head, tail or middle", "pass a Mode") from error


@attrs.frozen(kw_only=True)
class Options:
    """How to truncate, checked once and applied to many texts."""

    mode: Mode = attrs.field(default=Mode.TAIL, converter=_mode)
    """Which part to keep; the name of a mode will do."""
    max_lines: int | None = MAX_LINES
    """Lines to keep at most; None for any number."""
    max_bytes: int | None = MAX_BYTES
    """Bytes of UTF-8 to keep at most; None for any number."""

    def __attrs_post_init__(self) -> None:
        check_limits(self.max_lines, self.max_bytes)

    def apply(self, content: str) -> Result:
        r"""Truncate a text.

        >>> Options(mode=Mode.HEAD, max_lines=1).apply("one\ntwo").content
        'one'
        """
        return CUTS[self.mode](_measure(content), self.max_lines, self.max_bytes)


def check_options(given: object) -> None:
    """Refuse what is no `Options`."""
    if not isinstance(given, Options):
        raise refusal("options", given, "truncate.Options", "pass Options(max_lines=...)")
