"""Running the tool calls of one turn, so that each call gets exactly one result."""

import contextlib
import functools
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count

import attrs

from agentic import _tool_errors
from agentic._clock import Stopwatch
from agentic._lazy import asyncio, events, hashlib
from agentic._protocols import Executor
from agentic.loop._conversation import EventSender
from agentic.loop._limits import LimitWatch
from agentic.messages import ToolCall, ToolError, ToolResult

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


@attrs.frozen
class CallOutcome:
    """A call, its result, and how long it took."""

    call: ToolCall
    result: ToolResult
    seconds: float = 0.0
    announced: bool = True
    """False for a call that was refused before any event announced it."""


def make_unique(
    calls: Iterable[ToolCall], used: set[str], run_id: str, turn: int
) -> tuple[ToolCall, ...]:
    """Return the calls, with a new id for each call whose id is empty or in `used`.

    New ids are derived from the run, the turn and the index of the call, never drawn at random, so
    that a run that is replayed has the same ids. The ids of the returned calls are added to `used`.

    >>> calls = [ToolCall("call_1", "read"), ToolCall("", "read")]
    >>> [call.id for call in make_unique(calls, {"call_0"}, "run-1", 1)]
    ['call_1', 'call_4247dda74d6e21ee2984fb3a09121fb6']
    """
    unique = []
    for index, call in enumerate(calls):
        fresh = call
        # Some servers send no id, and some the same one in every reply.
        if not call.id or call.id in used:
            # OpenAI accepts at most 40 characters.
            made = (f"call_{call_key(run_id, turn, index, n)}" for n in count())
            fresh = attrs.evolve(call, id=next(call_id for call_id in made if call_id not in used))
        used.add(fresh.id)
        unique.append(fresh)
    return tuple(unique)


def call_key(run_id: str, turn: int, index: int, number: int = 0) -> str:
    """Return 32 hexadecimal digits that stand for one call of a run.

    >>> call_key("run-1", 1, 1)
    '4247dda74d6e21ee2984fb3a09121fb6'
    """
    place = f"{run_id}/{turn}/{index}" + (f"/{number}" if number else "")
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def refuse(calls: Iterable[ToolCall], reason: str, *, announced: int = 0) -> list[CallOutcome]:
    """Answer calls that are not run; the first `announced` of them were already announced."""
    # A result for every call: a history with an unanswered one is refused by every provider.
    failure = ToolError(reason, "not_run")
    return [
        CallOutcome(
            call, ToolResult(call.id, call.name, error=failure), announced=number < announced
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

    def end(self, unfinished: ToolError) -> CallOutcome:
        """Return the outcome; a call without a result is stopped, and fails with `unfinished`.

        It is not awaited after its cancellation: a tool that ignores the cancellation would block
        the run forever.
        """
        if self.outcome is None:
            # A pause before the start, such as one for approval, means that the tool has not run.
            result = self._result(unfinished if all(self.pauses) else _NOT_STARTED)
            self.task.cancel()
            self.outcome = CallOutcome(self.call, result, self.stopwatch.seconds)
            self.ended_at = time.monotonic()
        return self.outcome

    def _result(self, unfinished: ToolError) -> ToolResult:
        task, failure = self.task, unfinished
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
    _outer: "events.RunningCall | None" = attrs.field(init=False)
    """The call that this run is a part of: that of a tool which runs an agent."""
    _pause: contextlib.ExitStack = attrs.field(init=False, factory=contextlib.ExitStack)

    @_outer.default
    def _find_outer(self) -> "events.RunningCall | None":
        return events.current_call()

    @property
    def began(self) -> bool:
        """Whether any tool may have run."""
        return bool(self._executions)

    def start(self, executor: Executor, offered: Collection[str]) -> None:
        """Start all calls; a call to a tool that was not offered never reaches the executor."""
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        for execution in map(_Execution, self.calls, self.keys):
            execution.task = asyncio.create_task(self._execute(executor, execution, offered))
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
            while opened := self._open():
                left = self._gather_left(gather_seconds)
                if left == 0:
                    break
                self._set_clock(opened)
                # The timeout is no error: it only means that something is due.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._time_left(opened, timeout_seconds, left)):
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

    def _set_clock(self, opened: list[_Execution]) -> None:
        """Pause the clock of the run, and of the run around it, if everybody waits."""
        self._pause.close()
        if all(each.pauses for each in opened):
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
        self, opened: list[_Execution], allowed: float | None, gather_left: float | None
    ) -> float | None:
        """Return the seconds until something is due; None if nothing is."""
        running = [each for each in opened if not each.pauses]
        left = [] if allowed is None else [allowed - each.stopwatch.seconds for each in running]
        if gather_left is not None:
            left.append(gather_left)
        if running and self.watch.seconds_left is not None:
            left.append(self.watch.seconds_left)
        return max(0.0, min(left)) if left else None

    def _end_calls(self, allowed: float | None) -> None:
        """Take the results of the calls that are done, and stop those whose time is over."""
        is_over = self.watch.seconds_left == 0  # None where a step ends by itself
        for each in self._open():
            if each.task.done():
                # Without a result or an error of its own, the task was cancelled by its tool.
                each.end(_CANCELLED_WITHIN)
            elif is_over:
                each.end(OUT_OF_TIME)
            elif allowed is not None and each.stopwatch.seconds >= allowed:
                each.end(too_long(allowed))

    def _note_end(self, execution: _Execution, _: "asyncio.Task[ToolResult]") -> None:
        execution.stopwatch.pause()
        self._changed.set()

    @contextlib.contextmanager
    def _paused(self, execution: _Execution, *, started: bool) -> Iterator[None]:
        execution.pauses.append(started)
        execution.stopwatch.pause()
        self._wake()
        try:
            yield
        finally:
            execution.pauses.remove(started)
            if not execution.pauses:
                execution.stopwatch.go_on()
            self._wake()

    def _wake(self) -> None:
        # From any thread: a sync tool may run an agent, in a loop of its own, that asks a person.
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nothing is waiting
            self._loop.call_soon_threadsafe(self._changed.set)

    async def _execute(
        self, executor: Executor, execution: _Execution, offered: Collection[str]
    ) -> ToolResult:
        call, sender = execution.call, self.event_sender
        # Checked here, so that no executor has to.
        unfit = _unfit(call, offered)
        if unfit:
            return ToolResult(call.id, call.name, error=unfit)
        running = events.RunningCall(
            call=call,
            run_id=sender.run_id,
            sender=sender.sender,
            key=execution.key,
            clock=lambda started: self._paused(execution, started=started),
        )
        try:
            with events.run_call(running):
                return check_result(call, await executor.execute(call))
        # SystemExit, too: a tool that calls a script's main() must not end the agent.
        except (Exception, SystemExit) as error:  # noqa: BLE001  a tool is anybody's code
            # The traceback is for the tool's author; the model reads what the error says.
            _log.info("tool %s raised, call %s", call.name, call.id, exc_info=True)
            return ToolResult(call.id, call.name, error=_tool_errors.raised(error))


def too_long(seconds: float | None) -> ToolError:
    """Return the error for a call that was stopped at its own time limit."""
    told = f"it took longer than {seconds} s and was stopped. {_UNKNOWN_EFFECT}"
    return ToolError(f"{told}, with less at a time", "timeout")


def _unfit(call: ToolCall, offered: Collection[str]) -> ToolError | None:
    """Return what is wrong with a call, checked before an executor sees it."""
    if call.name not in offered:
        return _tool_errors.not_found(call.name, offered)
    found = _tool_errors.parse_arguments(call)
    return found if isinstance(found, ToolError) else None


def check_result(call: ToolCall, given: object) -> ToolResult:
    """Return what an executor gave for a call, with the id of the call.

    Raises:
        TypeError: it is not a ToolResult.
    """
    if isinstance(given, ToolResult):
        # An executor need not know the ids of calls: what counts is which call this answers.
        return attrs.evolve(given, call_id=call.id, name=call.name)
    raise TypeError(f"the executor gave a {type(given).__name__} instead of a ToolResult")
