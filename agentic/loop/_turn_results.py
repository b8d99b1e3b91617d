"""The results of one turn: cut to their limits, kept whole elsewhere, stored as the calls end.

Results that end at the same time share one tool message, in the order of the calls. Later results
of the turn are a message of their own.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

import attrs

from agentic import truncate
from agentic._clock import now
from agentic._lazy import asyncio, events
from agentic.errors import ConfigError
from agentic.loop._calls import CallOutcome
from agentic.loop._conversation import StoredHistory, shield
from agentic.messages import Message, ToolCall, ToolResult

_log = logging.getLogger(__name__)

_NO_LIMITS = truncate.Options(max_lines=None, max_bytes=None)


@attrs.frozen(kw_only=True)
class OutputLimits:
    """How outputs are cut before they enter the history."""

    truncation: truncate.Options | None
    """The limits of each output."""
    turn_bytes: int | None
    """The most bytes that the outputs of a turn may take together; None for no limit."""
    put: Callable[[str], Awaitable[str]] | None
    """Stores the whole of an output that was cut, and returns a reference to it."""


@attrs.frozen
class Shortened:
    """A result and what was cut from it."""

    given: ToolResult
    """The result as the tool returned it."""
    output: truncate.Result
    failure: truncate.Result
    """The cut of the error's message; empty if there is no error."""
    ref: str | None = None
    """Where the whole result can be read."""

    @property
    def truncation(self) -> truncate.Result | None:
        """The first cut that was made; None if the result is unchanged."""
        return next((cut for cut in (self.output, self.failure) if cut.truncated), None)

    @property
    def whole(self) -> str:
        """The text to keep of a result that was cut: the output, and the error if that was cut."""
        if not self.failure.truncated:
            return self.given.output
        return attrs.evolve(self.given, notice="").text

    @property
    def size(self) -> int:
        """The bytes that the output and the error take."""
        return self.output.output_bytes + self.failure.output_bytes

    @property
    def result(self) -> ToolResult:
        """The shorter result. Its notice states what is missing and, if it was kept, where."""
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


@attrs.define(eq=False)
class TurnResults:
    """The results of one turn that are stored."""

    conversation: StoredHistory
    limits: OutputLimits
    calls: Sequence[ToolCall]
    number_of_messages: int = attrs.field(init=False, default=0)
    """How many messages they are."""
    _stored: dict[str, CallOutcome] = attrs.field(init=False, factory=dict)
    """The outcomes, cut to their limits, by the id of the call."""
    _bytes_used: int = attrs.field(init=False, default=0)

    @property
    def outcomes(self) -> list[CallOutcome]:
        """Return what is stored, in the order of the calls."""
        return [self._stored[call.id] for call in self.calls if call.id in self._stored]

    async def store(self, outcomes: Sequence[CallOutcome]) -> None:
        """Store the results that are not stored yet, and report them."""
        fresh = [each for each in outcomes if each.call.id not in self._stored]
        if not fresh:
            return
        results = [each.result for each in fresh]
        shortened = shorten(results, self.limits.truncation, self._bytes_left(len(fresh)))
        cancelled = None
        if self.limits.put is not None:
            # Done before the message is stored, so that no reference points to something missing,
            # and shielded, so that a cancellation leaves no call without a result.
            cancelled = await shield(keep_whole(shortened, self.limits.put))
        message = Message("tool", tool_results=[one.result for one in shortened], timestamp=now())
        try:
            await self.conversation.append(message)
        finally:
            # Even if `append` raised: it raises a cancellation only after the message is stored.
            if self.conversation.history[-1] is message:
                await self._take(fresh, shortened)
        if cancelled is not None:
            raise cancelled

    def _bytes_left(self, number: int) -> int | None:
        """Return the bytes for the next results: every other open call keeps an equal share."""
        most = self.limits.turn_bytes
        if most is None:
            return None
        others = len(self.calls) - len(self._stored) - number
        return max(0, most - self._bytes_used - others * (most // len(self.calls)))

    async def _take(self, outcomes: list[CallOutcome], shortened: list[Shortened]) -> None:
        """Note what was stored, and report it."""
        self.number_of_messages += 1
        self._bytes_used += sum(one.size for one in shortened)
        for outcome, one in zip(outcomes, shortened, strict=True):
            self._stored[outcome.call.id] = attrs.evolve(outcome, result=one.result)
        send = self.conversation.event_sender.send
        for outcome, one in zip(outcomes, shortened, strict=True):
            if one.truncation:
                await send(
                    events.ToolOutputTruncated,
                    call=outcome.call,
                    truncation=one.truncation,
                )
            if outcome.announced:
                await send(
                    events.ToolExecutionEnd,
                    call=outcome.call,
                    result=one.result,
                    seconds=outcome.seconds,
                )


def truncate_result(result: ToolResult, options: truncate.Options) -> ToolResult:
    r"""Truncate a result's output and error; its notice states what is missing.

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
    """Cut each result to the options, and all of them together to the budget of the turn.

    Small results stay whole. The large ones share the rest of the budget in equal parts of at least
    one byte.
    """
    options = options or _NO_LIMITS
    shortened = [_shorten_one(result, options) for result in results]
    # The limits of a single output apply whether or not the turn has one.
    if turn_output_bytes is None:
        return shortened
    sizes = [one.size for one in shortened]
    share = _fair_share(sizes, turn_output_bytes)
    if share is None:
        return shortened
    # From the whole output again, so that the notice speaks of all that is missing.
    tighter = attrs.evolve(options, max_bytes=max(1, share))
    return [
        _shorten_one(result, tighter) if size > share else one
        for result, one, size in zip(results, shortened, sizes, strict=True)
    ]


async def keep_whole(shortened: list[Shortened], put: Callable[[str], Awaitable[str]]) -> None:
    """Store what was cut, and put the references into the list.

    A result that already has a reference keeps it. If storing fails, the result has no reference:
    that is no reason to end a run.
    """
    for position, one in enumerate(shortened):
        if one.truncation is None or one.ref is not None:
            continue
        try:
            shortened[position] = attrs.evolve(one, ref=_reference(await put(one.whole)))
        # `shield` holds back the run's cancellation: this one is the store's own, or ends a stall.
        except (Exception, asyncio.CancelledError):  # noqa: BLE001  a store may raise anything
            name = one.given.name
            _log.exception("an output of %s was not kept; its notice names no place", name)


def _reference(given: object) -> str:
    if not isinstance(given, str) or not given:
        raise ConfigError("the store's reference", given, "a text", "return it from put(output)")
    return given


def _shorten_one(result: ToolResult, options: truncate.Options) -> Shortened:
    """Cut what is over the limits; an output and an error share the allowed bytes."""
    texts = (result.output, result.error.message if result.error else "")
    output, failure = map(options.apply, texts)
    if options.max_bytes is not None:
        share = _fair_share([output.output_bytes, failure.output_bytes], options.max_bytes)
        if share is not None:
            output, failure = map(attrs.evolve(options, max_bytes=max(1, share)).apply, texts)
    return Shortened(result, output, failure, result.ref)


def _fair_share(sizes: Sequence[int], budget: int) -> int | None:
    """Return the most bytes that each may take so that all fit, or None if they fit already.

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
