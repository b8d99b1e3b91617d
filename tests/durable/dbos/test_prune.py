"""What is over can be removed: runs with their events and keys, and workers that are gone."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from agentic.durable.dbos import RunNotFound, Service
from agentic.errors import ConfigError
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.tools import Approval, RequireApproval


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, *_: object) -> Approval:
        """Fail."""
        raise AssertionError


class Asks:
    """A model that calls a tool once."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone, as an attempt may begin in the middle."""
        if request.turn == 1:
            return Decision("", [ToolCall("c1", "look", "{}")])
        return Decision("Looked.")


def _service(folder: Path) -> Service:
    def make(session_id: str) -> Runner:
        if session_id == "asks":
            tools = RequireApproval(ScriptedExecutor({"look": "it"}), Nobody(), needs=["look"])
            return Runner(Asks(), tools)
        return Runner(ScriptedDecider("Hello."))

    sessions = SqliteSessions(folder / "sessions.db")
    return Service(make, sessions=sessions, database_url=f"sqlite:///{folder}/runs.db")


def _rows(folder: Path) -> dict[str, int]:
    connection = sqlite3.connect(folder / "runs.db")
    tables = ("agentic_events", "agentic_controls", "agentic_keys", "agentic_workers")
    tables += ("workflow_status", "operation_outputs")
    count = "SELECT count(*) FROM "
    found = {name: connection.execute(count + name).fetchone()[0] for name in tables}
    connection.close()
    return found


async def _ask(service: Service) -> tuple[str, str]:
    run = await service.submit("asks", "look")
    while not (asked := await service.questions(run)):  # noqa: ASYNC110  another thread asks
        await asyncio.sleep(0.02)
    return run, asked[0]["call_id"]


def test_runs_that_are_over_are_removed(tmp_path: Path) -> None:
    """A run that waits is not, and sessions stay; the key of a removed run may be used again."""

    async def prune() -> tuple[list[int], dict[str, int]]:
        async with _service(tmp_path) as service, service.worker():
            done = await service.submit("says", "hi", key="k")
            await service.result(done)
            waiting, call = await _ask(service)
            counts = [await service.prune(older_than_seconds=seconds) for seconds in (60, 1e99)]
            counts.append(await service.prune(older_than_seconds=0))
            with pytest.raises(RunNotFound):
                await service.find(done)
            await service.approve(waiting, call)
            assert (await service.result(waiting)).reply == "Looked."
            again = await service.submit("says", "hi", key="k")
            assert (await service.result(again)).reply == "Hello."
            counts.append(await service.prune(older_than_seconds=-0.0))
            with pytest.raises(ConfigError, match="older_than_seconds"):
                await service.prune(older_than_seconds=-1)
            return counts, _rows(tmp_path)

    counts, rows = asyncio.run(prune())

    assert counts == [0, 0, 1, 2]
    assert rows == dict.fromkeys(rows, 0) | {"agentic_workers": 1}
    history = asyncio.run(SqliteSessions(tmp_path / "sessions.db").open("says").load())
    assert [message.content for message in history] == ["hi", "Hello."] * 2


def test_workers_that_are_gone_are_removed(tmp_path: Path) -> None:
    """Not one that has a run; a run whose worker is unknown is taken over at the next start."""

    async def prune() -> tuple[list[int], str]:
        async with _service(tmp_path) as service, contextlib.AsyncExitStack() as working:
            await working.enter_async_context(service.worker())
            run, call = await _ask(service)
            await working.aclose()
            await service.prune(older_than_seconds=0)
            counts = [_rows(tmp_path)["agentic_workers"]]
            tables = service._connected.tables
            tables.forget_workers(tables.gone())
            async with service.worker():
                await service.approve(run, call)
                reply = (await service.result(run, timeout_seconds=20)).reply
            await service.prune(older_than_seconds=0)
            return [*counts, _rows(tmp_path)["agentic_workers"]], reply

    assert asyncio.run(prune()) == ([1, 0], "Looked.")
