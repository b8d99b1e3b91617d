"""What comes around the end of a run, or after its agent has changed."""

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import attrs
import pytest
import sqlalchemy as sa
from dbos import DBOSClient

from agentic.context.budget import Manager, Policy
from agentic.durable.dbos import RunOutcome, Service
from agentic.durable.dbos._run import RunAttempt, Trial
from agentic.durable.dbos._tables import Tables
from agentic.durable.dbos._worker import Json
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter
from agentic.tools import Approval, RequireApproval, ToolDefinition


class Summaries:
    """A compactor that needs no model."""

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        return f"{len(messages)} messages."


class Tools:
    """Some tools, `send` not to be repeated; each says that it has begun, and waits."""

    def __init__(self) -> None:
        self.begun = 0
        # Of threads: the engine has an event loop of its own.
        self.began = threading.Event()
        self.go_on = threading.Event()

    async def list_tools(self) -> list[ToolDefinition]:
        """List them."""
        return [ToolDefinition("look"), ToolDefinition("send", retry="never")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer, as soon as the test says so."""
        self.begun += 1
        self.began.set()
        await asyncio.to_thread(self.go_on.wait, 60)
        return ToolResult(output="Done.")


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


class Calling:
    """A model that calls a tool once in each run."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the latest message."""
        if request.history[-1].role == "user":
            return Decision("", [ToolCall("", self.name, "{}")])
        (result,) = request.history[-1].tool_results
        return Decision(result.text)


def _service(folder: Path, runner: Runner, sessions: Any = None) -> Service:
    return Service(
        runner,
        sessions=sessions or SqliteSessions(folder / "sessions.db"),
        database_url=f"sqlite:///{folder}/runs.db",
    )


def test_late_steering_does_not_fail_a_finished_run(tmp_path: Path) -> None:
    """It arrives while the compaction of the run is left for later: the reply is there already."""
    workers: list[Any] = []
    steered: list[str] = []

    class SlowStore(SqliteStore):
        async def put(self, output: str) -> str:
            (attempt,) = workers[0]._attempts.values()
            steered.append(attempt.run_id)
            workers[0].place.tables.send(attempt.run_id, "steer", {"message": "Hurry."})
            while not attempt._seen:  # noqa: ASYNC110  of another thread
                await asyncio.sleep(0.02)
            return await super().put(output)

    class SlowSessions(SqliteSessions):
        def open(self, session_id: str, **options: Any) -> SqliteStore:
            return SlowStore(self.path, session_id, **options)

    policy = Policy(600, reserve_tokens=100, keep_recent_tokens=150, min_recent_messages=1)
    budget = Manager(CharCounter(), Summaries(), policy=policy)
    runner = Runner(ScriptedDecider("x" * 900, "y" * 900, "z" * 900, "end"), budget=budget)

    async def talk() -> list[RunOutcome]:
        service = _service(tmp_path, runner, SlowSessions(tmp_path / "sessions.db"))
        async with service, service.worker() as worker, asyncio.timeout(60):
            workers.append(worker)
            runs = [await service.submit("a", text) for text in "1234"]
            return [await service.result(run) for run in runs]

    outcomes = asyncio.run(talk())

    assert len(steered) > 0
    assert [(each.state, each.problem) for each in outcomes] == [("done", "")] * 4
    assert outcomes[-1].reply == "end"


def test_run_goes_on_without_its_tools(tmp_path: Path) -> None:
    """The agent's file lost all of them while the run waited: the model reads that."""
    model, tools = Calling("look"), Tools()

    async def talk() -> RunOutcome:
        asking = _service(tmp_path, Runner(model, RequireApproval(tools, Nobody())))
        async with asking, asking.worker():
            run = await asking.submit("a", "look")
            while not (questions := await asking.questions(run)):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        service = _service(tmp_path, Runner(model))
        async with service, service.worker(), asyncio.timeout(60):
            await service.approve(run, questions[0]["call_id"])
            return await service.result(run)

    outcome = asyncio.run(talk())

    assert (outcome.state, tools.begun) == ("done", 0)
    assert "there is no tool" in outcome.reply
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as connection:
        query = "SELECT function_name FROM operation_outputs ORDER BY function_id"
        names = [name for (name,) in connection.execute(query)]
    assert names == ["open session", "decide", "approve look", "tool look", "decide"]


def test_run_of_another_agent_says_what_to_do(tmp_path: Path) -> None:
    """Whatever does not fit the record, the engine's own error is none for a user."""
    model = Calling("look")

    async def talk() -> RunOutcome:
        asking = _service(tmp_path, Runner(model, RequireApproval(Tools(), Nobody())))
        async with asking, asking.worker():
            run = await asking.submit("a", "look")
            while not await asking.questions(run):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        tables = Tables(asking.database_url)
        tables._write(
            sa.text(
                "UPDATE operation_outputs SET function_name = 'summarize' "
                "WHERE function_name = 'decide'"
            )
        )
        tables.close()
        async with asking, asking.worker(), asyncio.timeout(60):
            return await asking.result(run)

    outcome = asyncio.run(talk())

    assert outcome.state == "failed"
    assert outcome.problem.startswith("the agent was changed while this run was open")
    assert outcome.problem.endswith("submit the message again")


@pytest.mark.parametrize("is_alone", [True, False])
def test_only_a_run_that_rests_is_not_to_blame(tmp_path: Path, is_alone: bool) -> None:
    """A call that asks a person does not excuse another one that ends the worker each time."""

    async def attempt() -> int:
        tables = Tables(f"sqlite:///{tmp_path}/runs.db")
        tables.create()
        trial = Trial("r", tables, 10, asyncio.Semaphore(1))
        log: Any = attrs.make_class("Log", {"find_refusal": attrs.field(default=None)})()
        attempt = RunAttempt("r", tables, log, trial)
        await trial.begin()
        asking, other = ToolCall("c1", "look", "{}"), ToolCall("c2", "die", "{}")
        attempt.begin_call(asking)
        if not is_alone:
            attempt.begin_call(other)
        waiting = asyncio.create_task(attempt.approve(asking, ToolDefinition("look")))
        while not tables.controls(["r"]):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.1)
        waiting.cancel()
        count = tables.attempts("r")
        tables.close()
        return count

    assert asyncio.run(attempt()) == (0 if is_alone else 1)


def test_cancelled_step_is_not_made_again(tmp_path: Path) -> None:
    """The engine's own cancellation keeps no result, so nobody knows what the call has done."""
    tools = Tools()

    async def talk() -> RunOutcome:
        service = _service(tmp_path, Runner(Calling("send"), tools))
        async with service, service.worker(), asyncio.timeout(60):
            run = await service.submit("a", "send")
            await asyncio.to_thread(tools.began.wait, 60)
            client = DBOSClient(system_database_url=service.database_url, serializer=Json())
            await asyncio.to_thread(client.cancel_workflow, run)
            tools.go_on.set()
            assert (await service.result(run)).state == "cancelled"
            await asyncio.to_thread(client.resume_workflow, run)
            outcome = await service.result(run)
            client.destroy()
            return outcome

    outcome = asyncio.run(talk())

    assert (outcome.state, tools.begun) == ("done", 1)
    assert "ended before its result was recorded" in outcome.reply
