"""Keeping the outputs of tools within their limits before they enter the history."""

import logging
from collections.abc import Awaitable, Callable, Sequence

import attrs

from agentic import truncate
from agentic._lazy import asyncio
from agentic.errors import ConfigError
from agentic.messages import ToolResult

__all__ = ["Shortened", "keep_whole", "shorten", "truncate_result"]

_log = logging.getLogger(__name__)

_NO_LIMITS = truncate.Options(max_lines=None, max_bytes=None)


@attrs.frozen
class Shortened:
    """A result as it enters the history, and what was done to it."""

    given: ToolResult
    """As the tool gave it."""
    output: truncate.Result
    failure: truncate.Result
    """Of the failure's message, empty where there is none."""
    ref: str | None = None
    """Where the whole of it can be read."""

    @property
    def truncation(self) -> truncate.Result | None:
        """What was cut first; None if the result is as the tool gave it."""
        return next((cut for cut in (self.output, self.failure) if cut.truncated), None)

    @property
    def whole(self) -> str:
        """What is to be kept of a result that was cut: the output, the failure if that was, too."""
        if not self.failure.truncated:
            return self.given.output
        return attrs.evolve(self.given, notice="").text

    @property
    def result(self) -> ToolResult:
        """The shorter result; its notice says what is missing and, if anywhere, where it is."""
        if self.truncation is None:
            return self.given
        cuts = (self.output, self.failure)
        notices = (self.given.notice, *(cut.notice(self.ref) for cut in cuts))
        error = self.given.error
        return attrs.evolve(
            self.given,
            output=self.output.content,
            error=error and attrs.evolve(error, message=self.failure.content),
            notice="\n".join(notice for notice in notices if notice),
            ref=self.ref,
        )


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


async def keep_whole(shortened: list[Shortened], put: Callable[[str], Awaitable[str]]) -> None:
    """Keep what was cut, and put the references into the list.

    A result that names a place of its own keeps it. What cannot be kept goes on without a
    reference: a run does not end for it.
    """
    for position, one in enumerate(shortened):
        if one.truncation is None or one.ref is not None:
            continue
        try:
            shortened[position] = attrs.evolve(one, ref=_reference(await put(one.whole)))
        except (Exception, asyncio.CancelledError):  # noqa: BLE001  a store is anybody's code
            name = one.given.name
            _log.exception("an output of %s was not kept; its notice names no place", name)


def _reference(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise ConfigError("the store's reference", given, "a text", "return it from put(output)")
    return given


def _shorten_one(result: ToolResult, options: truncate.Options) -> Shortened:
    """Cut what is over the limits; an output and a failure share the bytes."""
    texts = (result.output, result.error.message if result.error else "")
    output, failure = map(options.apply, texts)
    if options.max_bytes is not None:
        share = _fair_share([output.output_bytes, failure.output_bytes], options.max_bytes)
        if share is not None:
            output, failure = map(attrs.evolve(options, max_bytes=max(1, share)).apply, texts)
    return Shortened(result, output, failure, result.ref)


def _bytes_of(result: ToolResult) -> int:
    failure = result.error.message if result.error else ""
    return sum(_NO_LIMITS.apply(text).total_bytes for text in (result.output, failure))


def _fair_share(sizes: Sequence[int], budget: int) -> int | None:
    """Return the most that each may take so that all fit; None if they fit as they are.

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
