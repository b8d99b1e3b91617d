"""The functions that truncate a text in memory: they check the arguments, then cut.

A limit is a whole number above 0, or None for no limit; anything else is a `ConfigError`. A limit
that is passed applies alone. If none is passed, both defaults apply: 2,000 lines and 51,200 bytes,
as in pi-mono's `truncateHead` and `truncateTail` (https://github.com/badlogic/pi-mono, read
2026-11-21).
"""

import enum
from typing import Literal

import attrs

from agentic.truncate._cut import CUTS, Mode, Result, cut_head, cut_middle, cut_tail
from agentic.truncate._measure import Measured

_MAX_LINES = 2000
_MAX_BYTES = 51_200


# Not None, which a caller passes to lift a limit.
class Default(enum.Enum):
    """The value of a limit that was not passed."""

    LINES = _MAX_LINES
    """2,000 lines, unless a limit on bytes is passed."""
    BYTES = _MAX_BYTES
    """51,200 bytes, unless a limit on lines is passed."""


# Looking up an enum member takes 0.2 us in Python 3.11, a tenth of the time to cut a short text.
_NO_LINES = Default.LINES
_NO_BYTES = Default.BYTES


def head(
    content: str,
    *,
    max_lines: int | Default | None = Default.LINES,
    max_bytes: int | Default | None = Default.BYTES,
) -> Result:
    r"""Keep the start of a text: whole lines within the limits.

    The content is a prefix of the text, without the newline at the cut, and without a carriage
    return before that. If the first line alone exceeds ``max_bytes``, its start is kept, which is
    nothing if not even one character fits.

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

    The content is a suffix of the text, with its last newline. If the last line alone exceeds
    ``max_bytes``, its end is kept, which is nothing if not even one character fits.

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
    r"""Keep both ends of a text, each within half of the limits, and mark what is left out.

    The marker is a line of its own and counts towards the limits. If it leaves no room for a line
    and four bytes at each end, the result is that of `tail`, and its mode says so.

    >>> print(middle("one\ntwo\nthree\nfour\nfive", max_lines=3).content)
    one
    [... 3 lines, 16 bytes left out ...]
    five
    """
    return cut_middle(_measure(content), *applied_limits(max_lines, max_bytes))


def applied_limits(
    max_lines: int | Default | None, max_bytes: int | Default | None
) -> tuple[int | None, int | None]:
    """Return the limits that apply, as (lines, bytes).

    >>> applied_limits(Default.LINES, Default.BYTES), applied_limits(5, Default.BYTES)
    ((2000, 51200), (5, None))

    Raises:
        ConfigError: a limit is neither a whole number above 0 nor None.
    """
    if max_lines is _NO_LINES and max_bytes is _NO_BYTES:
        return _MAX_LINES, _MAX_BYTES
    lines, size = max_lines, max_bytes
    # None removes a limit; only a number disables the other default.
    if lines is _NO_LINES:
        lines = None if type(size) is int else _MAX_LINES
    if size is _NO_BYTES:
        size = None if type(max_lines) is int else _MAX_BYTES
    # By `type`, since True is an int to isinstance, and a mistake here.
    if not (lines is None or (type(lines) is int and lines > 0)):
        raise _bad_limit("max_lines", max_lines)
    if not (size is None or (type(size) is int and size > 0)):
        raise _bad_limit("max_bytes", max_bytes)
    return lines, size


def refusal(name: str, value: object, rule: str, remedy: str) -> ValueError:
    """Return the `ConfigError` for an invalid argument."""
    # Importing this here saves a sixth of the room's import; most programs never need it.
    from agentic.errors import ConfigError  # noqa: PLC0415

    return ConfigError(name, value, rule, remedy)


def _bad_limit(name: str, value: object) -> ValueError:
    return refusal(name, value, "a whole number above 0 or None", "pass None for no limit")


def _measure(content: str) -> Measured:
    if not isinstance(content, str):
        raise refusal(
            "content", content, "a str", "decode bytes first, or feed them to a TailBuffer"
        )
    return Measured(content)


def _mode(value: object) -> Mode:
    try:
        return Mode(value)
    except ValueError as error:
        raise refusal("mode", value, "head, tail or middle", "pass a Mode") from error


@attrs.frozen(kw_only=True, init=False)
class Options:
    """How to truncate; checked once, and applied to many texts.

    >>> Options(max_bytes=800)
    Options(mode=<Mode.TAIL: 'tail'>, max_lines=None, max_bytes=800)
    """

    mode: Mode
    """Which part to keep: a Mode, or its name."""
    max_lines: int | None
    """The most lines to keep; None for no limit."""
    max_bytes: int | None
    """The most bytes of UTF-8 to keep; None for no limit."""

    # Not generated by attrs: which default applies depends on whether the other limit is passed.
    def __init__(
        self,
        *,
        mode: Mode | Literal["head", "tail", "middle"] = Mode.TAIL,
        max_lines: int | Default | None = Default.LINES,
        max_bytes: int | Default | None = Default.BYTES,
    ) -> None:
        """Check the limits, and determine which of them apply."""
        lines, size = applied_limits(max_lines, max_bytes)
        self.__attrs_init__(mode=_mode(mode), max_lines=lines, max_bytes=size)

    def apply(self, content: str) -> Result:
        r"""Truncate a text.

        >>> Options(mode=Mode.HEAD, max_lines=1).apply("one\ntwo").content
        'one'
        """
        return CUTS[self.mode](_measure(content), self.max_lines, self.max_bytes)


def check_options(value: object) -> None:
    """Raise unless `value` is an `Options`."""
    if not isinstance(value, Options):
        raise refusal("options", value, "truncate.Options", "pass Options(max_lines=...)")
