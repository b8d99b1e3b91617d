"""Carrying out the calls of one turn, so that each gets exactly one result."""

import asyncio
import logging
import time
import uuid
from collections.abc import Iterable, Sequence

import attrs

from agentic.loop._protocols import Executor
from agentic.messages import ToolCall, ToolFailure, ToolResult

__all__ = ["Answer", "Batch", "make_unique", "refuse"]

_log = logging.getLogger(__name__)

_MAX_FAILURE_CHARS = 2_000


@attrs.frozen
class Answer:
    """A call, its result, and how long it took."""

    call: ToolCall
    result: ToolResult
    seconds: float = 0.0
    ran: bool = True
    """False for a call that was refused before any tool saw it."""


def make_unique(calls: Iterable[ToolCall], used: set[str]) -> tuple[ToolCall, ...]:
    """Give every call an id that is not in `used`, and add it there.

    >>> used = {"call_0"}
    >>> [call.id for call in make_unique([ToolCall("call_1", "read")], used)]
    ['call_1']
    """
    unique = []
    for call in calls:
        fresh = call
        if not call.id or call.id in used:
            fresh = attrs.evolve(call, id=f"call_{uuid.uuid4().hex}")
        used.add(fresh.id)
        unique.append(fresh)
    return tuple(unique)


def refuse(calls: Iterable[ToolCall], reason: str) -> list[Answer]:
    """Answer calls that are not carried out."""
    failure = ToolFailure(reason, "not_run")
    return [
        Answer(call, ToolResult(call.id, call.name, error=failure), ran=False) for call in calls
    ]


@attrs.define(eq=False)
class Batch:
    """The calls of one turn, running at the same time."""

    calls: Sequence[ToolCall]
    _tasks: list[asyncio.Task[Answer]]

    @classmethod
    def start(cls, executor: Executor, calls: Sequence[ToolCall]) -> "Batch":
        """Start them all."""
        return cls(calls, [asyncio.create_task(_execute(executor, call)) for call in calls])

    async def wait(self, timeout_seconds: float | None) -> None:
        """Wait until all have ended, or the time is over."""
        await asyncio.wait(self._tasks, timeout=timeout_seconds)

    def answers(self, unfinished: str) -> list[Answer]:
        """Give the answers in the order of the calls.

        What has not ended is told to stop and is not waited for: a tool that ignores it would hold
        up the run for ever.
        """
        return [
            self._answer(call, task, unfinished)
            for call, task in zip(self.calls, self._tasks, strict=True)
        ]

    def _answer(self, call: ToolCall, task: asyncio.Task[Answer], unfinished: str) -> Answer:
        if task.done() and not task.cancelled():
            return task.result()
        kind, reason = "timeout", unfinished
        if task.cancelled():
            kind, reason = "raised", "the tool was cancelled from within"
        task.cancel()
        failure = ToolFailure(reason, kind)
        return Answer(call, ToolResult(call.id, call.name, error=failure))


async def _execute(executor: Executor, call: ToolCall) -> Answer:
    started = time.monotonic()
    try:
        result = _result(call, await executor.execute(call))
    except Exception as error:  # noqa: BLE001  a tool is anybody's code
        _log.info("tool %s raised, call %s", call.name, call.id, exc_info=True)
        reason = f"{type(error).__name__}: {error}"[:_MAX_FAILURE_CHARS]
        result = ToolResult(call.id, call.name, error=ToolFailure(reason))
    return Answer(call, result, time.monotonic() - started)


def _result(call: ToolCall, given: object) -> ToolResult:
    if isinstance(given, ToolResult):
        return attrs.evolve(given, call_id=call.id, name=call.name)
    raise TypeError(f"the executor gave a {type(given).__name__} where a ToolResult belongs")
