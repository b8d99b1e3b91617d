"""Steps of the engine: each is recorded once, by the worker that owns the run."""

from collections.abc import Awaitable, Callable
from typing import Any

import attrs
from dbos import DBOS, DBOSClient, error

from agentic._base._lazy import asyncio
from agentic.durable.dbos._lease import LeaseLost, WorkerLease
from agentic.durable.dbos._tables import storable
from agentic.errors import AgenticError

_CHANGED = "the agent was changed while this run was open, and no longer matches the record"


@attrs.define
class RunRefused(AgenticError):
    """A run that must not go on, in whatever attempt: its session or its agent is another one."""

    problem: str

    def __str__(self) -> str:
        return f"{self.problem}: submit the message again"


@attrs.define(eq=False)
class DbosSteps:
    """The steps of one attempt at a run, for `agentic.durable.Durable`.

    Use it inside a workflow of DBOS that has a serializer for JSON.
    """

    lease: WorkerLease | None = None
    """While it is not held, no step begins."""
    inbox: Any = None
    """Has `arrived()`, the messages that came during a step, which become part of its record; and
    `take(messages)`, which is called with them, in every attempt."""
    find_refusal: Callable[[], Awaitable[str]] | None = None
    """Called before the work of a step: why the run must not go on, or an empty text."""
    on_record: Callable[[], Awaitable[None]] | None = None
    """Called once, when a step of this attempt is on record."""
    client: DBOSClient | None = None
    """Reads what earlier attempts have recorded."""
    over: BaseException | None = attrs.field(default=None, init=False)
    """Why this attempt must not go on: the engine has refused its record, or it is stopped."""
    _has_worked: bool = attrs.field(default=False, init=False)
    _number: int = attrs.field(default=0, init=False)
    """The number of the latest step."""
    _former: dict[int, tuple[str, Any]] = attrs.field(factory=dict, init=False)
    """The names and the records of the steps of earlier attempts, by their numbers."""

    async def run(self, name: str, function: Callable[..., Awaitable[Any]], /, *args: Any) -> Any:
        """Run a step, or return its record.

        Raises:
            RunRefused: the run must not go on.
            BaseException: this worker no longer owns the run.
        """
        # Before the first await: calls that run side by side keep their numbers in a replay.
        step = DBOS.reserve_step()
        self._number = step.step_id
        self._former.pop(self._number, None)  # the engine reads it once more
        self.check()
        try:
            record = await step.run_async({"name": storable(name)}, self._work, function, args)
        except asyncio.CancelledError:
            raise
        except error.DBOSUnexpectedStepError as problem:
            # The agent has other tools by now, for instance, or another strategy.
            raise self.refuse(_CHANGED) from problem
        except BaseException as problem:
            # The function never raises: this is the engine, and what is not recorded must have no
            # consequences.
            self.over = self.over or problem
            raise
        if refusal := record.get("refused", ""):
            raise self.refuse(refusal)
        if self.inbox is not None:
            self.inbox.take(record["arrived"])
        if self._has_worked and self.on_record is not None:
            on_record, self.on_record = self.on_record, None
            await on_record()
        return record["value"]

    async def look_back(self) -> None:
        """Read what earlier attempts at this run have recorded, for `peek`."""
        if self.client is None:
            return
        for step in await self.client.list_workflow_steps_async(DBOS.workflow_id or ""):
            if step["output"] is not None:  # else it has an error of the engine
                record = step["function_name"], step["output"]["value"]
                self._former[step["function_id"]] = record

    def peek(self) -> tuple[str, Any] | None:
        """Return the name and the record of the next step, if an earlier attempt has recorded it.

        Ask only after `look_back`, and while no other step is under way.
        """
        return self._former.get(self._number + 1)

    def check(self) -> None:
        """Raise if this attempt must not go on."""
        if self.over is not None:
            raise self.over

    def give_up(self, run_id: str) -> BaseException:
        """End this attempt, because another worker goes on with the run; return what to raise."""
        if self.over is None:
            # The engine's own word for it: it then waits for the outcome of the new owner
            # (https://docs.dbos.dev/explanations/concurrent-executions, 2026-11).
            self.over = error.DBOSWorkflowConflictIDError(run_id)
        return self.over

    def refuse(self, problem: str) -> BaseException:
        """End the run, which must not go on; return what to raise."""
        self.over = self.over or RunRefused(problem)
        return self.over

    def stop(self) -> None:
        """End this attempt, because its worker ends."""
        # By the engine's own word, it would wait for the next owner's outcome, for up to 10 s.
        self.over = asyncio.CancelledError("the worker is stopped")

    async def _find_refusal(self) -> str:
        return "" if self.find_refusal is None else await self.find_refusal()

    async def _work(self, function: Callable[..., Awaitable[Any]], args: tuple[Any, ...]) -> Any:
        try:
            if self.lease is not None:
                await self.lease.hold()
        except LeaseLost as error:
            raise self.give_up(DBOS.workflow_id or "") from error
        # The wait for the lease may have been long.
        self.check()
        if refusal := await self._find_refusal():
            return _refused(refusal)
        value = await function(*args)
        # Again: what was redacted meanwhile must not be recorded now.
        if refusal := await self._find_refusal():
            return _refused(refusal)
        self._has_worked = True
        # In the record, so that a replay steers the run at the same turn, without a step for it.
        return {"value": value, "arrived": [] if self.inbox is None else self.inbox.arrived()}


def _refused(problem: str) -> dict[str, Any]:
    """Return the record of a step at which the run ends, in a replay as well."""
    return {"value": None, "arrived": [], "refused": problem}
