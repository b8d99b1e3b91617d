"""The doors for a text in memory: check what is given, then cut.

A limit is a whole number above 0, or None for no limit; anything else is a `ConfigError`. A limit
that is given applies alone. Where none is given, both defaults apply: 2,000 lines and 51,200 bytes,
as in pi-mono's `truncateHead` and `truncateTail` (https://github.com/badlogic/pi-mono, read
2026-11-21).
"""

import enum
from typing import Literal

import attrs

from agentic.truncate._cut import CUTS, Mode, Result, cut_head, cut_middle, cut_tail
from agentic.truncate._measure import Measured

__all__ = [
    "Default",
    "Options",
    "applied_limits",
    "check_options",
    "head",
    "middle",
    "refusal",
    "tail",
]

_MAX_LINES = 2000
_MAX_BYTES = 51_200


class Default(enum.Enum):
    """What stands for a limit that is not given."""

    LINES = _MAX_LINES
    """2,000 lines, unless a number of bytes is given."""
    BYTES = _MAX_BYTES
    """51,200 bytes, unless a number of lines is given."""


# Python 3.11 takes 0.2 us to look up a member, a tenth of what the cut of a short text takes.
_NO_LINES = Default.LINES
_NO_BYTES = Default.BYTES


def head(
    content: str,
    *,
    max_lines: int | Default | None = Default.LINES,
    max_bytes: int | Default | None = Default.BYTES,
) -> Result:
    r"""Keep the start of a text: whole lines within the limits.

    The content is a prefix of the text, without the newline at the cut. Of a first line that is
    over ``max_bytes`` the start is kept, which is nothing if not even one character fits.

    >>> head("one\ntwo\nthree", max_lines=2).content
    'one\ntwo'
    >>> head("abcdefghij\nsecond", max_bytes=4).content
    'abcd'
    """
    return cut_head(_measure(content), *applied_limits(max_lines, max_bytes))


def tail(
    content: str,
    *,
    max_lines: int | Default | None = Default.LINES,
    max_bytes: int | Default | None = Default.BYTES,
) -> Result:
    r"""Keep the end of a text: whole lines within the limits.

    The content is a suffix of the text, its last newline included. Of a last line that is over
    ``max_bytes`` the end is kept, which is nothing if not even one character fits.

    >>> tail("one\ntwo\nthree\n", max_lines=2).content
    'two\nthree\n'
    >>> tail("line1\nline2\nline3", max_lines=1, max_bytes=2).content
    'e3'
    """
    return cut_tail(_measure(content), *applied_limits(max_lines, max_bytes))


def middle(
    content: str,
    *,
    max_lines: int | Default | None = Default.LINES,
    max_bytes: int | Default | None = Default.BYTES,
) -> Result:
    r"""Keep both ends of a text, half of each limit for either, and mark what is left out.

    The marker is a line of its own and within the limits. Where they leave no room beside it for
    a line and four bytes at either end, the result is that of `tail`, and its mode says so.

    >>> print(middle("one\ntwo\nthree\nfour\nfive", max_lines=3).content)
    one
    [... 3 lines, 16 bytes left out ...]
    five
    """
    return cut_middle(_measure(content), *applied_limits(max_lines, max_bytes))


def applied_limits(
    max_lines: int | Default | None, max_bytes: int | Default | None
) -> tuple[int | None, int | None]:
    """Return the limits that apply, in lines and in bytes.

    >>> applied_limits(Default.LINES, Default.BYTES), applied_limits(5, Default.BYTES)
    ((2000, 51200), (5, None))

    Raises:
        ConfigError: A limit is neither a whole number above 0 nor None.
    """
    if max_lines is _NO_LINES and max_bytes is _NO_BYTES:
        return _MAX_LINES, _MAX_BYTES
    lines, size = max_lines, max_bytes
    # None lifts a limit; only a number takes the place of the other default.
    if lines is _NO_LINES:
        lines = None if type(size) is int else _MAX_LINES
    if size is _NO_BYTES:
        size = None if type(max_lines) is int else _MAX_BYTES
    if not (lines is None or (type(lines) is int and lines > 0)):
        raise _bad_limit("max_lines", max_lines)
    if not (size is None or (type(size) is int and size > 0)):
        raise _bad_limit("max_bytes", max_bytes)
    return lines, size


def refusal(name: str, given: object, allowed: str, remedy: str) -> ValueError:
    """Make the `ConfigError` for a call that cannot be meant."""
    # A sixth of this room's import, for what most programs never need.
    from agentic.errors import ConfigError  # noqa: PLC0415

    return ConfigError(name, given, allowed, remedy)


def _bad_limit(name: str, given: object) -> ValueError:
    return refusal(name, given, "a whole number above 0 or None", "pass None for no limit")


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


@attrs.frozen(kw_only=True, init=False)
class Options:
    """How to truncate, checked once and applied to many texts.

    >>> Options(max_bytes=800)
    Options(mode=<Mode.TAIL: 'tail'>, max_lines=None, max_bytes=800)
    """

    mode: Mode
    """Which part to keep; the name of a mode will do."""
    max_lines: int | None
    """Lines to keep at most; None for any number."""
    max_bytes: int | None
    """Bytes of UTF-8 to keep at most; None for any number."""

    def __init__(
        self,
        *,
        mode: Mode | Literal["head", "tail", "middle"] = Mode.TAIL,
        max_lines: int | Default | None = Default.LINES,
        max_bytes: int | Default | None = Default.BYTES,
    ) -> None:
        """Check the limits, and resolve which of them apply."""
        lines, size = applied_limits(max_lines, max_bytes)
        self.__attrs_init__(mode=_mode(mode), max_lines=lines, max_bytes=size)

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
