"""Running the tool calls of one turn, so that each call gets exactly one result."""

import hashlib
import logging
import time
from collections.abc import Collection, Iterable, Sequence
from itertools import count

import attrs

from agentic import events
from agentic._lazy import asyncio
from agentic._protocols import Executor
from agentic.loop._conversation import EventSender
from agentic.messages import ToolCall, ToolError, ToolResult

__all__ = ["CallOutcome", "ToolBatch", "describe_error", "make_unique", "refuse"]

_log = logging.getLogger(__name__)

_MAX_FAILURE_CHARS = 2_000


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
            place = f"{run_id}/{turn}/{index}"
            made = (_call_id(place if n == 0 else f"{place}/{n}") for n in count())
            fresh = attrs.evolve(call, id=next(call_id for call_id in made if call_id not in used))
        used.add(fresh.id)
        unique.append(fresh)
    return tuple(unique)


def _call_id(place: str) -> str:
    # OpenAI accepts at most 40 characters.
    return f"call_{hashlib.sha256(place.encode()).hexdigest()[:32]}"


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
class ToolBatch:
    """The calls of one turn, run concurrently."""

    calls: Sequence[ToolCall]
    event_sender: EventSender
    announced: int = attrs.field(init=False, default=0)
    """How many of the calls have been announced by an event."""
    _tasks: "list[asyncio.Task[CallOutcome]]" = attrs.field(init=False, factory=list)
    _started: float = attrs.field(init=False, default=0.0)

    @property
    def began(self) -> bool:
        """Whether any tool may have run."""
        return bool(self._tasks)

    def start(self, executor: Executor, offered: Collection[str]) -> None:
        """Start all calls; a call to a tool that was not offered never reaches the executor."""
        self._started = time.monotonic()
        self._tasks = [
            asyncio.create_task(self._execute(executor, call, offered)) for call in self.calls
        ]

    async def wait(self, timeout_seconds: float | None) -> None:
        """Wait until all calls have ended or the timeout has passed."""
        await asyncio.wait(self._tasks, timeout=timeout_seconds)

    def collect(self, unfinished: ToolError) -> list[CallOutcome]:
        """Stop the calls that are still running, and return the outcomes in the order of the calls.

        A call that has not ended, or that was cancelled from elsewhere, fails with `unfinished`. It
        is not awaited after its cancellation: a tool that ignores the cancellation would block the
        run forever.
        """
        return [
            self._answer(call, task, unfinished)
            for call, task in zip(self.calls, self._tasks, strict=True)
        ]

    async def _execute(
        self, executor: Executor, call: ToolCall, offered: Collection[str]
    ) -> CallOutcome:
        started = time.monotonic()
        unfit = _unfit(call, offered)
        if unfit:
            return CallOutcome(call, ToolResult(call.id, call.name, error=unfit))
        sender = self.event_sender
        try:
            with events.run_call(
                events.RunningCall(call=call, run_id=sender.run_id, sender=sender.sender)
            ):
                result = _result(call, await executor.execute(call))
        # SystemExit, too: a tool that calls a script's main() must not end the agent.
        except (Exception, SystemExit) as error:  # noqa: BLE001  a tool is anybody's code
            _log.info("tool %s raised, call %s", call.name, call.id, exc_info=True)
            result = ToolResult(call.id, call.name, error=ToolError(describe_error(error)))
        return CallOutcome(call, result, time.monotonic() - started)

    def _answer(
        self, call: ToolCall, task: "asyncio.Task[CallOutcome]", unfinished: ToolError
    ) -> CallOutcome:
        failure = _failure(task, unfinished) if task.done() else unfinished
        if failure is None:
            return task.result()
        # Told to stop, but not waited for: see `collect`.
        task.cancel()
        seconds = time.monotonic() - self._started
        return CallOutcome(call, ToolResult(call.id, call.name, error=failure), seconds)


def _failure(task: "asyncio.Task[CallOutcome]", unfinished: ToolError) -> ToolError | None:
    """Return why a task that ended has no result, or None if it has one."""
    if task.cancelled():
        # Whatever cancelled the run may have cancelled its tools as well.
        from_within = ToolError("the tool was cancelled from within")
        return unfinished if unfinished.kind == "interrupted" else from_within
    error = task.exception()
    return None if error is None else ToolError(describe_error(error))


def _unfit(call: ToolCall, offered: Collection[str]) -> ToolError | None:
    """Return what is wrong with a call, checked before an executor sees it."""
    if call.name not in offered:
        names = ", ".join(offered) or "none"
        problem = f"there is no tool {call.name[:128]!r}. The tools you may call: {names}"
        return ToolError(problem[:_MAX_FAILURE_CHARS], "not_found")
    try:
        call.parse()
    except ValueError as error:
        problem = f"{call.name} was not run, since its arguments are not a JSON object: {error}"
        return ToolError(f"{problem}. Correct them and call it again", "bad_arguments")
    return None


def _result(call: ToolCall, given: object) -> ToolResult:
    if isinstance(given, ToolResult):
        # An executor need not know the ids of calls: what counts is which call this answers.
        return attrs.evolve(given, call_id=call.id, name=call.name)
    raise TypeError(f"the executor gave a {type(given).__name__} instead of a ToolResult")


def describe_error(error: BaseException) -> str:
    """Return what a model reads of a tool's exception: its class and its text, bounded."""
    try:
        return f"{type(error).__name__}: {error}"[:_MAX_FAILURE_CHARS]
    except Exception:  # noqa: BLE001  the error's own __str__ may raise
        return type(error).__name__
