"""A redaction reaches the records of runs: those that are over, and those that are open."""

import asyncio
import json
import runpy
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agentic.durable.dbos import Service
from agentic.durable.dbos._tables import engine_url
from agentic.errors import MessageNotFound
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.tools import Approval, RequireApproval, ToolDefinition

HERE = Path(__file__).parent
PARTS = runpy.run_path(str(HERE / "fleet.py"))
PARTS["sessions"] = runpy.run_path(str(HERE / "agent.py"), run_name="agent")["open_sessions"]
SECRET = "wJalr/UtnFEMI+bPxRf"  # noqa: S105  nobody's


class Telling:
    """A model that repeats the secret in each place that there is, in pieces and in arguments."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the latest message."""
        if request.history[-1].role == "user" and "look" in request.history[-1].content:
            arguments = json.dumps({"key": SECRET}).replace("/", "\\/").replace("+", "\\u002B")
            return Decision(f"I use {SECRET} now.", [ToolCall("", "look", arguments)])
        return Decision(f"The key {SECRET} works.", reasoning=f"It is {SECRET}.")

    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        """Stream the reply, cut in the middle of the secret."""
        decision = await self.decide(request)
        middle = decision.reply.index(SECRET) + 7
        yield decision.reply[:middle]
        await asyncio.sleep(0.3)  # so that the pieces are in rows of their own
        yield decision.reply[middle:]
        yield decision


class Look:
    """One tool whose output is cut off in the middle of the secret in an event."""

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        return ToolResult(output="x" * 1_988 + f" {SECRET} is it. " + "y" * 30_000)


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


def _leaks(folder: Path, secret: str) -> list[str]:
    """Return the files that hold a part of a secret, in whatever spelling."""
    parts = [secret[:10], secret[-9:], secret.replace("/", "\\/")[:10], "UtnFEMI"]
    return [
        path.name
        for path in folder.iterdir()
        if any(part.encode() in path.read_bytes() for part in parts)
    ]


def _talk(folder: Path, **options: Any) -> list[Any]:
    """Run one request to its end and let another one wait, then redact; return what happened."""
    executor = RequireApproval(Look(), Nobody(), needs=["look"])
    sessions = SqliteSessions(folder / "sessions.db")

    async def talk() -> list[Any]:
        service = Service(
            Runner(Telling(), executor),
            sessions=sessions,
            database_url=f"sqlite:///{folder}/runs.db",
        )
        async with service, service.worker(), asyncio.timeout(60):
            done = await service.submit("a", f"look with {SECRET}", key=f"key of {SECRET}")
            await _answer(service, done)
            await service.result(done)
            waiting = await service.submit("a", "look again")
            question = await _ask(service, waiting)
            await service.steer(waiting, f"It is {SECRET} still.")
            other = await service.submit("b", "unconcerned")
            await service.result(other)
            found = await service.redact("a", 0, "[gone]", **options)
            await service.approve(waiting, question)
            outcomes = [await service.result(run) for run in (done, waiting, other)]
            events = [event async for event in service.events(done)]
            again = await service.redact("a", 0, "[gone]", **options)
            return [found, again, outcomes, events]

    return asyncio.run(talk())


async def _ask(service: Service, run: str) -> str:
    while not (questions := await service.questions(run)):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return str(questions[0]["call_id"])


async def _answer(service: Service, run: str) -> None:
    await service.approve(run, await _ask(service, run), reason=f"{SECRET} is fine")


def test_no_record_of_a_run_keeps_a_secret(tmp_path: Path) -> None:
    """In steps, outcomes, events, questions and messages, and in pages that nobody reads."""
    found, again, outcomes, events = _talk(tmp_path, secret=SECRET)

    assert found > 10
    assert [each.state for each in outcomes] == ["done", "failed", "done"]
    assert outcomes[0].reply == "The key [gone] works."
    assert SECRET in outcomes[2].reply  # another session has it of its own
    assert SECRET[:9] not in str(events)
    assert {event["type"] for event in events} >= {"message_end", "tool_execution_end", "run_end"}
    assert again == 0
    rows = sqlite3.connect(tmp_path / "runs.db").execute("SELECT run, body FROM agentic_events")
    assert sum(SECRET in body for _, body in rows) == 1


def test_redacted_message_is_in_no_record(tmp_path: Path) -> None:
    """Without a secret, the message and what only it says are removed."""
    _, _, outcomes, events = _talk(tmp_path)

    assert outcomes[0].state == "done"
    assert f"look with {SECRET}" not in str(events)
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        dump = "".join(connection.iterdump())
    assert f"look with {SECRET}" not in dump


def test_postgres_keeps_no_secret(postgres: Any) -> None:
    """In no table of the engine's, of ours and of the sessions."""
    url = PARTS["as_url"](postgres.make_database())

    async def talk() -> tuple[int, str]:
        service = Service(Runner(Telling()), sessions=PARTS["sessions"](url), database_url=url)
        async with service, service.worker(), asyncio.timeout(60):
            run = await service.submit("a", f"It is {SECRET}")
            await service.result(run)
            found = await service.redact("a", 0, "[gone]", secret=SECRET)
            return found, (await service.result(run)).reply

    found, reply = asyncio.run(talk())

    engine = sa.create_engine(engine_url(url))
    with engine.connect() as connection:
        metadata = sa.MetaData()
        for schema in sa.inspect(connection).get_schema_names():
            if schema != "information_schema":
                metadata.reflect(connection, schema=schema, resolve_fks=False)
        dump = str([[*connection.execute(sa.select(t))] for t in metadata.tables.values()])
    engine.dispose()
    assert (found > 5, reply) == (True, "The key [gone] works.")
    assert "agentic_run" in dump
    assert "UtnFEMI" not in dump


def test_nothing_is_removed_for_an_absent_message(tmp_path: Path) -> None:
    """Neither from the session nor from its runs."""

    async def talk() -> str:
        service = Service(
            Runner(Telling()),
            sessions=SqliteSessions(tmp_path / "sessions.db"),
            database_url=f"sqlite:///{tmp_path}/runs.db",
        )
        async with service, service.worker(), asyncio.timeout(60):
            run = await service.submit("a", "hi")
            await service.result(run)
            with pytest.raises(MessageNotFound):
                await service.redact("a", 7, "[gone]", secret=SECRET)
            return (await service.result(run)).reply

    assert SECRET in asyncio.run(talk())
