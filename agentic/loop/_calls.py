"""The tool calls of one turn: run together, each with exactly one result, which is cut and stored.

Results that end at the same time share one tool message, in the order of the calls. Later results
of the turn are a message of their own.
"""

import contextlib
import functools
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

import attrs

from agentic import events, truncate
from agentic._base._clock import Stopwatch, now
from agentic._base._lazy import asyncio, hashlib
from agentic.errors import ConfigError
from agentic.loop._conversation import EventSender, StoredHistory, shield
from agentic.loop._records import LimitWatch
from agentic.messages import Message, ToolCall, ToolError, ToolResult, _tool_errors
from agentic.protocols import Executor

if TYPE_CHECKING:
    from agentic.events._running_call import RunningCall

_log = logging.getLogger(__name__)

_UNKNOWN_EFFECT = "Whether it took effect is unknown: look before you call again"
_CANCELLED = ToolError(
    f"the run was cancelled before this call ended. {_UNKNOWN_EFFECT}", "interrupted"
)
_CANCELLED_WITHIN = ToolError("the tool was cancelled from within")
OUT_OF_TIME = ToolError(
    f"the limit of seconds was reached before this call ended. {_UNKNOWN_EFFECT}", "timeout"
)
_NOT_STARTED = ToolError(
    "the run ended while this call waited for approval, so it was not run", "not_run"
)
_NO_LIMITS = truncate.Options(max_lines=None, max_bytes=None)


@attrs.frozen
class CallOutcome:
    """A call, its result, and how long it took."""

    call: ToolCall
    result: ToolResult
    seconds: float = 0.0
    announced: bool = True
    """False for a call that was refused before any event announced it."""


def make_unique(
    calls: Iterable[ToolCall], ids: set[str], run_id: str, turn: int
) -> tuple[ToolCall, ...]:
    """Return the calls, with a new id for each call whose id is empty or in `ids`.

    New ids are derived from the run, the turn and the index of the call, never drawn at random, so
    that a run that is replayed has the same ids. The ids of the returned calls are added to `ids`.

    >>> calls = [ToolCall("call_1", "read"), ToolCall("", "read")]
    >>> [call.id for call in make_unique(calls, {"call_0"}, "run-1", 1)]
    ['call_1', 'call_4247dda74d6e21ee2984fb3a09121fb6']
    """
    unique = []
    for index, call in enumerate(calls):
        fresh = call
        # Some servers send no id, and some the same one in every reply.
        if not call.id or call.id in ids:
            # OpenAI accepts at most 40 characters.
            candidates = (f"call_{call_key(run_id, turn, index, n)}" for n in count())
            fresh = attrs.evolve(
                call, id=next(call_id for call_id in candidates if call_id not in ids)
            )
        ids.add(fresh.id)
        unique.append(fresh)
    return tuple(unique)


def call_key(run_id: str, turn: int, index: int, number: int = 0) -> str:
    """Return 32 hexadecimal digits that stand for one call of a run.

    >>> call_key("run-1", 1, 1)
    '4247dda74d6e21ee2984fb3a09121fb6'
    """
    place = f"{run_id}/{turn}/{index}" + (f"/{number}" if number else "")
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def refuse(
    calls: Iterable[ToolCall], reason: str, *, first_announced: int = 0
) -> list[CallOutcome]:
    """Answer calls that are not run; the first `first_announced` of them were already announced."""
    # A result for every call: a history with an unanswered one is refused by every provider.
    failure = ToolError(reason, "not_run")
    return [
        CallOutcome(
            call, ToolResult(call.id, call.name, error=failure), announced=number < first_announced
        )
        for number, call in enumerate(calls)
    ]


@attrs.define(eq=False)
class _Execution:
    """A call that is being run."""

    call: ToolCall
    key: str
    stopwatch: Stopwatch = attrs.field(init=False, factory=Stopwatch)
    """Measures the tool, without the waiting for a person."""
    pauses: list[bool] = attrs.field(init=False, factory=list)
    """For each pause that the call is in, whether it may have taken effect before."""
    # Quoted, as everywhere here: asyncio is loaded with the first run.
    task: "asyncio.Task[ToolResult]" = attrs.field(init=False)
    outcome: CallOutcome | None = attrs.field(init=False, default=None)
    ended_at: float = attrs.field(init=False, default=0.0)
    """When it ended, by the monotonic clock."""
    was_returned: bool = attrs.field(init=False, default=False)

    def end(self, error: ToolError) -> CallOutcome:
        """Return the outcome; a call without a result is stopped, and fails with `error`.

        It is not awaited after its cancellation: a tool that ignores the cancellation would block
        the run forever.
        """
        if self.outcome is None:
            # A pause before the start, such as one for approval, means that the tool has not run.
            result = self._result(error if all(self.pauses) else _NOT_STARTED)
            self.task.cancel()
            self.outcome = CallOutcome(self.call, result, self.stopwatch.seconds)
            self.ended_at = time.monotonic()
        return self.outcome

    def _result(self, no_result: ToolError) -> ToolResult:
        task, failure = self.task, no_result
        if task.done() and not task.cancelled():
            error = task.exception()
            if error is None:
                return task.result()
            failure = _tool_errors.raised(error)
        return ToolResult(self.call.id, self.call.name, error=failure)


@attrs.define(eq=False)
class ToolBatch:
    """The calls of one turn, run concurrently."""

    calls: Sequence[ToolCall]
    keys: Sequence[str]
    """The idempotency keys of the calls."""
    event_sender: EventSender
    watch: LimitWatch
    """The limits of the run. Its stopwatch is paused while every open call waits for a person."""
    announced: int = attrs.field(init=False, default=0)
    """How many of the calls have been announced by an event."""
    _executions: list[_Execution] = attrs.field(init=False, factory=list)
    _loop: "asyncio.AbstractEventLoop" = attrs.field(init=False)
    _changed: "asyncio.Event" = attrs.field(init=False)
    """Set when a call ends, and when it begins or ends a pause."""
    _outer: "RunningCall | None" = attrs.field(init=False)
    """The call that this run is a part of: that of a tool which runs an agent."""
    _pause: contextlib.ExitStack = attrs.field(init=False, factory=contextlib.ExitStack)

    @_outer.default
    def _find_outer(self) -> "RunningCall | None":
        return events.current_call()

    @property
    def began(self) -> bool:
        """Whether any tool may have run."""
        return bool(self._executions)

    def start(self, executor: Executor, names: Collection[str]) -> None:
        """Start all calls; a call to a tool that was not offered never reaches the executor."""
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        for execution in map(_Execution, self.calls, self.keys):
            execution.task = asyncio.create_task(self._execute(executor, execution, names))
            execution.task.add_done_callback(functools.partial(self._note_end, execution))
            self._executions.append(execution)

    async def wait(
        self, timeout_seconds: float | None, gather_seconds: float | None = None
    ) -> list[CallOutcome]:
        """Wait for calls to end, and return their outcomes in the order of the calls.

        Each call may take `timeout_seconds`, and all of them what is left of the run. Those whose
        time is over are stopped. Return as soon as all calls have ended, or `gather_seconds` after
        the first of them. Outcomes that were returned before are left out; an empty list means that
        there are no more.
        """
        try:
            while current := self._open():
                gather_left = self._gather_left(gather_seconds)
                if gather_left == 0:
                    break
                self._set_clock(current)
                # The timeout is no error: it only means that something is due.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(
                        self._time_left(current, timeout_seconds, gather_left)
                    ):
                        await self._changed.wait()
                self._changed.clear()
                self._end_calls(timeout_seconds)
        finally:
            self._pause.close()
        fresh = [each for each in self._executions if each.outcome and not each.was_returned]
        for each in fresh:
            each.was_returned = True
        return [each.outcome for each in fresh if each.outcome is not None]

    def collect(self) -> list[CallOutcome]:
        """Stop the calls that are still running, and return the outcomes in the order of the calls.

        A call that has not ended, or that was cancelled from elsewhere, fails as interrupted.
        """
        return [execution.end(_CANCELLED) for execution in self._executions]

    def _open(self) -> list[_Execution]:
        return [each for each in self._executions if each.outcome is None]

    def _set_clock(self, current: list[_Execution]) -> None:
        """Pause the clock of the run, and of the run around it, if everybody waits."""
        self._pause.close()
        if all(each.pauses for each in current):
            self.watch.stopwatch.pause()
            self._pause.callback(self.watch.stopwatch.go_on)
            if self._outer is not None:
                self._pause.enter_context(self._outer.pause())

    def _gather_left(self, gather_seconds: float | None) -> float | None:
        """Return how long the results that are there may wait for others; None without limit."""
        fresh = [e.ended_at for e in self._executions if e.outcome and not e.was_returned]
        if gather_seconds is None or not fresh:
            return None
        return max(0.0, min(fresh) + gather_seconds - time.monotonic())

    def _time_left(
        self, current: list[_Execution], limit_seconds: float | None, gather_left: float | None
    ) -> float | None:
        """Return the seconds until something is due; None if nothing is."""
        running = [each for each in current if not each.pauses]
        remaining = (
            []
            if limit_seconds is None
            else [limit_seconds - each.stopwatch.seconds for each in running]
        )
        if gather_left is not None:
            remaining.append(gather_left)
        if running and self.watch.seconds_left is not None:
            remaining.append(self.watch.seconds_left)
        return max(0.0, min(remaining)) if remaining else None

    def _end_calls(self, limit_seconds: float | None) -> None:
        """Take the results of the calls that are done, and stop those whose time is over."""
        is_over = self.watch.seconds_left == 0  # None where a step ends by itself
        for each in self._open():
            if each.task.done():
                # Without a result or an error of its own, the task was cancelled by its tool.
                each.end(_CANCELLED_WITHIN)
            elif is_over:
                each.end(OUT_OF_TIME)
            elif limit_seconds is not None and each.stopwatch.seconds >= limit_seconds:
                each.end(too_long(limit_seconds))

    def _note_end(self, execution: _Execution, _: "asyncio.Task[ToolResult]") -> None:
        execution.stopwatch.pause()
        self._changed.set()

    @contextlib.contextmanager
    def _paused(self, execution: _Execution, *, is_start: bool) -> Iterator[None]:
        execution.pauses.append(is_start)
        execution.stopwatch.pause()
        self._wake()
        try:
            yield
        finally:
            execution.pauses.remove(is_start)
            if not execution.pauses:
                execution.stopwatch.go_on()
            self._wake()

    def _wake(self) -> None:
        # From any thread: a sync tool may run an agent, in a loop of its own, that asks a person.
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nothing is waiting
            self._loop.call_soon_threadsafe(self._changed.set)

    async def _execute(
        self, executor: Executor, execution: _Execution, names: Collection[str]
    ) -> ToolResult:
        call, sender = execution.call, self.event_sender
        # Checked here, so that no executor has to.
        unfit = _unfit(call, names)
        if unfit:
            return ToolResult(call.id, call.name, error=unfit)
        # Here, because the events load blinker, and whoever only builds a Runner has none yet.
        from agentic.events._running_call import RunningCall, run_call  # noqa: PLC0415

        running = RunningCall(
            call=call,
            run_id=sender.run_id,
            sender=sender.sender,
            key=execution.key,
            clock=lambda is_start: self._paused(execution, is_start=is_start),
        )
        try:
            with run_call(running):
                return check_result(call, await executor.execute(call))
        # SystemExit, too: a tool that calls a script's main() must not end the agent.
        except (Exception, SystemExit) as error:  # noqa: BLE001  a tool is anybody's code
            # The traceback is for the tool's author; the model reads what the error says.
            _log.info("tool %s raised, call %s", call.name, call.id, exc_info=True)
            return ToolResult(call.id, call.name, error=_tool_errors.raised(error))


def too_long(seconds: float | None) -> ToolError:
    """Return the error for a call that was stopped at its own time limit."""
    sentence = f"it took longer than {seconds} s and was stopped. {_UNKNOWN_EFFECT}"
    return ToolError(f"{sentence}, with less at a time", "timeout")


def _unfit(call: ToolCall, names: Collection[str]) -> ToolError | None:
    """Return what is wrong with a call, checked before an executor sees it."""
    if call.name not in names:
        return _tool_errors.not_found(call.name, names)
    arguments = _tool_errors.parse_arguments(call)
    return arguments if isinstance(arguments, ToolError) else None


def check_result(call: ToolCall, value: object) -> ToolResult:
    """Return what an executor gave for a call, with the id of the call.

    Raises:
        TypeError: it is not a ToolResult.
    """
    if isinstance(value, ToolResult):
        # An executor need not know the ids of calls: what counts is which call this answers.
        return attrs.evolve(value, call_id=call.id, name=call.name)
    raise TypeError(f"the executor returned a {type(value).__name__} instead of a ToolResult")


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
        cuts = shorten(results, self.limits.truncation, self._bytes_left(len(fresh)))
        interruption = None
        if self.limits.put is not None:
            # Done before the message is stored, so that no reference points to something missing,
            # and shielded, so that a cancellation leaves no call without a result.
            interruption = await shield(keep_whole(cuts, self.limits.put))
        message = Message("tool", tool_results=[one.result for one in cuts], timestamp=now())
        try:
            await self.conversation.append(message)
        finally:
            # Even if `append` raised: it raises a cancellation only after the message is stored.
            if self.conversation.history[-1] is message:
                await self._take(fresh, cuts)
        if interruption is not None:
            raise interruption

    def _bytes_left(self, number: int) -> int | None:
        """Return the bytes for the next results: every other open call keeps an equal share."""
        most = self.limits.turn_bytes
        if most is None:
            return None
        others = len(self.calls) - len(self._stored) - number
        return max(0, most - self._bytes_used - others * (most // len(self.calls)))

    async def _take(self, outcomes: list[CallOutcome], cuts: list[Shortened]) -> None:
        """Note what was stored, and report it."""
        self.number_of_messages += 1
        self._bytes_used += sum(one.size for one in cuts)
        for outcome, one in zip(outcomes, cuts, strict=True):
            self._stored[outcome.call.id] = attrs.evolve(outcome, result=one.result)
        send = self.conversation.event_sender.send
        for outcome, one in zip(outcomes, cuts, strict=True):
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
    cuts = [_shorten_one(result, options) for result in results]
    # The limits of a single output apply whether or not the turn has one.
    if turn_output_bytes is None:
        return cuts
    sizes = [one.size for one in cuts]
    share = _fair_share(sizes, turn_output_bytes)
    if share is None:
        return cuts
    # From the whole output again, so that the notice speaks of all that is missing.
    tighter = attrs.evolve(options, max_bytes=max(1, share))
    return [
        _shorten_one(result, tighter) if size > share else one
        for result, one, size in zip(results, cuts, sizes, strict=True)
    ]


async def keep_whole(cuts: list[Shortened], put: Callable[[str], Awaitable[str]]) -> None:
    """Store what was cut, and put the references into the list.

    A result that already has a reference keeps it. If storing fails, the result has no reference:
    that is no reason to end a run.
    """
    for position, one in enumerate(cuts):
        if one.truncation is None or one.ref is not None:
            continue
        try:
            cuts[position] = attrs.evolve(one, ref=_reference(await put(one.whole)))
        # `shield` holds back the run's cancellation: this one is the store's own, or ends a stall.
        except (Exception, asyncio.CancelledError):  # noqa: BLE001  a store may raise anything
            name = one.given.name
            _log.exception(
                "an output of %s could not be stored, so its notice does not say where it is", name
            )


def _reference(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError("the store's reference", value, "a text", "return it from put(output)")
    return value


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
    remaining = budget
    for number, size in zip(range(len(sizes), 0, -1), sorted(sizes), strict=True):
        if size > remaining // number:
            return remaining // number
        remaining -= size
    return None
