"""Ids as providers and clients write them, through the API of runs in this process."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("dbos", reason="DBOS is not installed: pip install 'agentic-weave[durable]'")

from agentic.app.serve._runs_api import make_app
from agentic.durable.dbos import Service
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.testing import ScriptedDecider
from agentic.tools import Approval, RequireApproval, ToolDefinition


class Look:
    """One tool."""

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        return ToolResult(output="It is there.")


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


def _serve(
    folder: Path, calls: list[ToolCall], talk: Callable[[httpx.AsyncClient, str], Awaitable[Any]]
) -> Any:
    replies = ScriptedDecider(Decision("", calls), "I have looked.")
    executor = RequireApproval(Look(), Nobody(), needs=["look"])

    async def serve() -> Any:
        service = Service(
            Runner(replies, executor),
            sessions=SqliteSessions(folder / "sessions.db"),
            database_url=f"sqlite:///{folder}/runs.db",
        )
        transport = httpx.ASGITransport(make_app(service), raise_app_exceptions=False)
        client = httpx.AsyncClient(transport=transport, base_url="http://x")
        async with service, service.worker(), client as http, asyncio.timeout(60):
            body = {"message": "look"}
            run = (await http.post("/sessions/a/runs", json=body)).json()["run_id"]
            return await talk(http, run)

    return asyncio.run(serve())


async def _read(http: httpx.AsyncClient, run: str) -> Any:
    return (await http.get(f"/runs/{run}")).json()


async def _question(http: httpx.AsyncClient, run: str) -> str:
    while not (questions := (await _read(http, run)).get("questions")):  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return str(questions[0]["call_id"])


@pytest.mark.parametrize("call_id", ["toolu/1/2", "a b?#%", "call_1"])
def test_any_call_can_be_approved_by_its_address(tmp_path: Path, call_id: str) -> None:
    """An id of a provider may have a slash in it."""

    async def talk(http: httpx.AsyncClient, run: str) -> tuple[int, str]:
        from urllib.parse import quote  # noqa: PLC0415

        address = f"/runs/{run}/approvals/{quote(await _question(http, run), safe='')}"
        status = (await http.post(address, json={"allowed": True})).status_code
        return status, (await http.get(f"/runs/{run}/events")).text

    status, events = _serve(tmp_path, [ToolCall(call_id, "look")], talk)

    assert (status, "I have looked." in events) == (204, True)


def test_half_of_a_character_costs_no_event(tmp_path: Path) -> None:
    """In the id of a call and in the name of a tool, as a model may write them."""

    async def talk(http: httpx.AsyncClient, run: str) -> tuple[int, list[Any]]:
        body = json.dumps({"call_id": await _question(http, run), "allowed": True})
        status = (await http.post(f"/runs/{run}/approvals", content=body)).status_code
        text = (await http.get(f"/runs/{run}/events")).text
        lines = [line.removeprefix("data: ") for line in text.split("\n") if "data: " in line]
        return status, [json.loads(line) for line in lines]

    calls = [ToolCall("c-\ud83d", "look"), ToolCall("c2", "l\udc00\0k")]
    status, events = _serve(tmp_path, calls, talk)

    ended = [event["call_id"] for event in events if event["type"] == "tool_execution_end"]
    assert (status, sorted(ended)) == (204, ["c-\ud83d", "c2"])
    assert (events[-1]["state"], events[-1]["reply"]) == ("done", "I have looked.")


def test_no_database_is_asked_for_an_impossible_run(tmp_path: Path) -> None:
    """Nor is its error shown."""

    async def talk(http: httpx.AsyncClient, run: str) -> list[Any]:
        found = [await http.get(f"/runs/{one}") for one in ("a%00b", f"{run}%00", "%ed%a0%80")]
        return [(each.status_code, list(each.json())) for each in found]

    found = _serve(tmp_path, [ToolCall("c", "look")], talk)

    assert found == [(404, ["error"])] * 3
