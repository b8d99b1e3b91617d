"""Keeping the outputs of tools within their limits before they enter the history."""

from collections.abc import Sequence

import attrs

from agentic import truncate
from agentic.errors import ConfigError
from agentic.messages import ToolResult

__all__ = ["Shortened", "shorten", "truncate_result"]


_NO_LIMITS = truncate.Options(max_lines=None, max_bytes=None)


@attrs.frozen
class Shortened:
    """A result as it enters the history, and what was done to it."""

    result: ToolResult
    truncation: truncate.Result | None
    """None if the output is as the tool gave it."""


def truncate_result(result: ToolResult, options: truncate.Options) -> ToolResult:
    r"""Truncate a result's output and failure; the notice beside them says what is missing.

    >>> long = ToolResult("c1", "run", "one\ntwo\nthree")
    >>> truncate_result(long, truncate.Options(max_lines=1)).output
    'three'
    """
    if not isinstance(options, truncate.Options):
        raise ConfigError(
            "options", options, "truncate.Options", "pass truncate.Options(max_lines=...)"
        )
    return _shorten_one(result, options).result


def shorten(
    results: Sequence[ToolResult], options: truncate.Options | None, turn_output_bytes: int | None
) -> list[Shortened]:
    """Keep each result within the options, and all of them within the budget of the turn.

    What the small ones leave of the budget is shared by the large ones, in equal parts of at least
    one byte.
    """
    options = options or _NO_LIMITS
    shortened = [_shorten_one(result, options) for result in results]
    if turn_output_bytes is None:
        return shortened
    sizes = [_bytes_of(one.result) for one in shortened]
    share = _fair_share(sizes, turn_output_bytes)
    if share is None:
        return shortened
    tighter = attrs.evolve(options, max_bytes=max(1, share))
    return [
        _shorten_one(result, tighter) if size > share else one
        for result, one, size in zip(results, shortened, sizes, strict=True)
    ]


def _shorten_one(result: ToolResult, options: truncate.Options) -> Shortened:
    """Cut what is over the limits; an output and a failure share the bytes."""
    texts = (result.output, result.error.message if result.error else "")
    output, failure = map(options.apply, texts)
    if options.max_bytes is not None:
        share = _fair_share([output.output_bytes, failure.output_bytes], options.max_bytes)
        if share is not None:
            output, failure = map(attrs.evolve(options, max_bytes=max(1, share)).apply, texts)
    cuts = [cut for cut in (output, failure) if cut.truncated]
    if not cuts:
        return Shortened(result, None)
    notices = (result.notice, *(cut.notice(result.ref) for cut in cuts))
    notice = "\n".join(notice for notice in notices if notice)
    error = result.error and attrs.evolve(result.error, message=failure.content)
    shorter = attrs.evolve(result, output=output.content, error=error, notice=notice)
    return Shortened(shorter, cuts[0])


def _bytes_of(result: ToolResult) -> int:
    failure = result.error.message if result.error else ""
    return sum(_NO_LIMITS.apply(text).total_bytes for text in (result.output, failure))


def _fair_share(sizes: Sequence[int], budget: int) -> int | None:
    """Give the most that each may take so that all fit; None if they fit as they are.

    >>> _fair_share([10, 100, 200], 150)
    70
    """
    if sum(sizes) <= budget:
        return None
    left = budget
    for count, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size > left // count:
            return left // count
        left -= size
    return None
