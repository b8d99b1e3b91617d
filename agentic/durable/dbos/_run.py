"""One attempt at a run: a Runner with recorded steps, in a workflow of the engine.

A run that ends each of its workers would be tried for ever. Attempts are counted while nothing new
is recorded, so that a run which goes on, if only by one step in the life of a worker, is never
given up. A worker has many runs, and all of them are interrupted by the one that ends it. So half
of the attempts are made alone.
"""

import functools
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs
import sqlalchemy as sa

from agentic._base._lazy import asyncio
from agentic.context.view import View
from agentic.durable import Durable
from agentic.durable.dbos._feed import Feed
from agentic.durable.dbos._log import RunLog
from agentic.durable.dbos._steps import RunRefused
from agentic.durable.dbos._tables import Control, Tables, insist
from agentic.errors import HistoryUnavailable
from agentic.loop import Executor, Result, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tools import Approval, Registry, RequireApproval, ToolDefinition
from agentic.usage._usage import WITHOUT_SUMMED

_log = logging.getLogger(__name__)
_ALONE_SECONDS = 30.0
"""How long one run may keep the others of its kind waiting: its step may last for hours."""


@attrs.define(eq=False)
class Trial:
    """One attempt at a run that was begun before, until it records something new."""

    run_id: str
    tables: Tables
    limit: int
    alone: "asyncio.Semaphore"
    """Held by the one run of the worker that is tried alone."""
    _is_alone: bool = attrs.field(init=False, default=False)
    _is_counted: bool = attrs.field(init=False, default=False)

    async def begin(self) -> str:
        """Count this attempt; return why it must not be made, or an empty text."""
        if await insist(self.tables.attempts, self.run_id) >= self.limit // 2:
            await self.alone.acquire()
            self._is_alone = True
            asyncio.get_running_loop().call_later(_ALONE_SECONDS, self.end)
        self._is_counted = True
        count = await insist(self.tables.count_attempt, self.run_id)
        if count <= self.limit:
            return ""
        return (
            f"{self.limit} attempts in a row ended at the same step together with their "
            "workers; the run is not tried again. Look for a tool that ends its process, then "
            "submit the request again"
        )

    async def succeed(self) -> None:
        """Begin to count anew: this attempt has recorded something, or waits for a person."""
        if self._is_counted:
            self._is_counted = False
            await insist(self.tables.forget_attempts, self.run_id)
        self.end()

    def hand_over(self) -> None:
        """Take the count back: the worker is stopped in order, so the run has not ended it."""
        if self._is_counted:
            try:
                self.tables.forget_attempts(self.run_id)
            except sa.exc.SQLAlchemyError as problem:
                _log.warning("an attempt at run %s counts as failed: %s", self.run_id, problem)

    def end(self) -> None:
        """Let others be tried."""
        if self._is_alone:
            self._is_alone = False
            self.alone.release()


@attrs.define(eq=False)
class RunAttempt:
    """What a worker holds of a run. Its messages from other processes enter by `deliver`."""

    run_id: str
    tables: Tables
    log: RunLog
    trial: Trial
    loop: "asyncio.AbstractEventLoop" = attrs.field(factory=asyncio.get_running_loop, init=False)
    _runner: Runner | None = attrs.field(init=False, default=None)
    _task: "asyncio.Task[Result] | None" = attrs.field(init=False, default=None)
    _is_cancelled: bool = attrs.field(init=False, default=False)
    _seen: set[int] = attrs.field(init=False, factory=set)
    _arrived: list[list[Any]] = attrs.field(init=False, factory=list)
    """Steering that no step has recorded yet: numbers and texts."""
    _taken: set[int] = attrs.field(init=False, factory=set)
    _calls: set[str] = attrs.field(init=False, factory=set)
    """The ids of the calls in progress, those that wait for an answer included."""
    _waiting: set[str] = attrs.field(init=False, factory=set)
    """The ids of the calls that wait for an answer."""
    _answers: "dict[str, asyncio.Future[Approval]]" = attrs.field(init=False, factory=dict)

    async def serve(self, runner: Runner, message: str, start: datetime) -> dict[str, Any]:
        """Run a Runner with recorded steps, and return the outcome of the run."""
        await self.log.open(has_tools=runner.executor is not None)
        if self.log.is_repeated and (problem := await self.trial.begin()):
            return await self._give_up(message, start, problem)
        steps, feed = self.log.steps, Feed(self.tables, self.run_id)
        if self.log.is_repeated:
            await steps.look_back()
        steps.on_record = self.trial.succeed
        limit_seconds = runner.tool_timeout_seconds
        durable = Durable(
            steps,
            start,
            outputs=self.log,
            tool_timeout_seconds=limit_seconds,
            peek=steps.peek,
        )
        self._runner = self._wrap(runner, durable)
        feed.connect(self._runner)
        writing = asyncio.create_task(feed.write())
        steps.inbox, steps.find_refusal = self, self.log.find_refusal
        try:
            with durable.clock():
                return await self._run(self._runner, message)
        except RunRefused as refusal:
            self.log.is_compacted = False
            return {"state": "failed", "problem": str(refusal)}
        finally:
            # What comes from here on is too late: there is no run that could read it.
            steps.inbox = None
            feed.disconnect()
            if steps.over is not None and not isinstance(steps.over, RunRefused):
                writing.cancel()  # the next owner stores the events of what it does
            else:
                await writing

    def deliver(self, control: Control) -> None:
        """Take a message from another process, in the thread of the loop."""
        # The inbox is read again and again, and nothing is removed: the next attempt reads it, too.
        if control.id in self._seen:
            return
        self._seen.add(control.id)
        body = control.body
        if control.kind == "steer":
            self._arrived.append([control.id, body["message"]])
        elif control.kind == "approve":
            answer = self._answer(body["call_id"])
            if not answer.done():
                answer.set_result(Approval(body["allowed"], body["reason"]))
        elif control.kind == "cancel":
            self._is_cancelled = True
            if self._task is not None:
                self._task.cancel()

    def arrived(self) -> list[list[Any]]:
        """Return what has arrived since the last record."""
        messages, self._arrived = self._arrived, []
        return messages

    def take(self, messages: list[list[Any]]) -> None:
        """Steer the run with messages of a record, each once."""
        for number, text in messages:
            if number not in self._taken and self._runner is not None:
                self._taken.add(number)
                self._runner.steer(text, run_id=self.run_id)

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Wait for an answer from any process, for as long as it takes."""
        answer = self._answer(call.id)
        if not answer.done():
            body = {"call_id": call.id, "name": tool.name, "arguments": call.arguments}
            await insist(self.tables.send, self.run_id, "ask", body)
        self._waiting.add(call.id)
        await self._rest()
        approval = await answer
        self._waiting.discard(call.id)
        # It may have taken days. The step that runs the call had begun before.
        if refusal := await self.log.find_refusal():
            return Approval(allowed=False, reason=refusal)
        return approval

    def begin_call(self, call: ToolCall) -> None:
        """Note that a call is in progress."""
        self._calls.add(call.id)

    async def end_call(self, call: ToolCall) -> None:
        """Note that a call has ended."""
        self._calls.discard(call.id)
        await self._rest()

    async def _rest(self) -> None:
        """Begin to count the attempts anew if all that is in progress waits for a person.

        A call that runs at the same time may be the one that ends the worker.
        """
        if self._waiting and self._calls <= self._waiting:
            await self.trial.succeed()

    def _answer(self, call_id: str) -> "asyncio.Future[Approval]":
        return self._answers.setdefault(call_id, self.loop.create_future())

    async def _run(self, runner: Runner, message: str) -> dict[str, Any]:
        self._task = asyncio.create_task(runner.run(message, run_id=self.run_id))
        if self._is_cancelled:
            self._task.cancel()
        try:
            outcome = _describe(await self._task)
        except asyncio.CancelledError:
            self.log.steps.check()
            if not self._is_cancelled:  # the worker is stopped: another one goes on
                raise
            outcome = {"state": "cancelled"}
        except (HistoryUnavailable, RunRefused):  # a run goes on when the database is back
            raise
        except Exception as problem:  # noqa: BLE001  a failure is an outcome
            self.log.steps.check()
            outcome = {"state": "failed", "problem": f"{type(problem).__name__}: {problem}"}
        self.log.steps.check()
        await self.log.flush()
        return outcome

    async def _give_up(self, message: str, start: datetime, problem: str) -> dict[str, Any]:
        """End a run without another attempt. The session keeps its request and its full turns."""
        await self.log.append(Message("user", message, timestamp=start))
        await self.log.flush()
        return {"state": "failed", "problem": problem}

    def _wrap(self, runner: Runner, durable: Durable) -> Runner:
        executor: Any = runner.executor
        # As on record: a run that had tools has steps for them, and one that had none has not.
        if executor is None and self.log.has_tools:
            executor = RequireApproval(Registry(), self)
        elif self.log.has_tools is False:
            executor = None
        if isinstance(executor, RequireApproval):
            executor = attrs.evolve(executor, approver=durable.approver(self))
        return attrs.evolve(
            runner,
            decider=durable.decider(runner.decider),
            executor=None if executor is None else _Calls(durable.executor(executor), self),
            store=self.log,
            budget=None if runner.budget is None else _DurableViews(runner, durable),
            strategies=() if runner.budget is not None else runner.strategies,
            tool_timeout_seconds=None,
        )


@attrs.frozen(eq=False)
class _Calls:
    """An executor that notes which calls are in progress."""

    inner: Executor
    attempt: RunAttempt

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def execute(self, call: ToolCall, /) -> ToolResult:
        self.attempt.begin_call(call)
        try:
            return await self.inner.execute(call)
        finally:
            await self.attempt.end_call(call)


@attrs.frozen(eq=False)
class _DurableViews:
    """Makes the View that a Runner's budget makes, with summaries that are steps."""

    runner: Runner
    durable: Durable

    def make_view(self, *, strategies: Any = ()) -> View:
        budget: Any = self.runner.budget
        make: Any = getattr(budget, "make_view", None) or functools.partial(View.of, budget)
        view: View = make(strategies=self.runner.strategies)
        if view.compactor is None:
            return view
        compactor: Any = view.compactor
        return attrs.evolve(view, compactor=self.durable.compactor(compactor))


def _describe(result: Result) -> dict[str, Any]:
    return {
        "state": "done",
        "reply": result.reply,
        "exhausted": result.exhausted,
        "limit": result.limit,
        "stop_reason": str(result.stop_reason.value),
        "usage": attrs.asdict(result.usage, filter=WITHOUT_SUMMED),
    }
