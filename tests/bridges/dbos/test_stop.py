"""A worker that is stopped with an active run lets go of it at once, and another one goes on."""

import asyncio
import contextlib
import threading
import time
from pathlib import Path

import pytest

from agentic.bridges.dbos import Service
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.tools import ToolDefinition


class Slow:
    """A model and a tool, one of which takes a minute at its first attempt."""

    def __init__(self, slow: str) -> None:
        self.slow = slow
        # Of threads: the engine has an event loop of its own.
        self.began = threading.Event()

    async def decide(self, request: Input, /) -> Decision:
        """Call the tool, and then reply with its result."""
        if request.turn == 1:
            await self._take_time("model")
            return Decision("", [ToolCall("", "look", "{}")])
        return Decision(f"Done: {request.tool_results[0].output}")

    async def list_tools(self) -> list[ToolDefinition]:
        """List the tool."""
        return [ToolDefinition("look")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        await self._take_time("tool")
        return ToolResult(output="found")

    async def _take_time(self, part: str) -> None:
        if self.slow == part and not self.began.is_set():
            self.began.set()
            await asyncio.sleep(60)


@pytest.mark.parametrize("slow", ["model", "tool"])
def test_stopped_worker_hands_over_at_once(tmp_path: Path, slow: str) -> None:
    """Neither its model nor its tool is waited for, and nothing of the stop is in the history."""
    agent = Slow(slow)
    sessions = SqliteSessions(tmp_path / "sessions.db")
    url = f"sqlite:///{tmp_path}/runs.db"
    service = Service(Runner(agent, agent), sessions=sessions, database_url=url)

    async def stop_and_go_on() -> tuple[float, str]:
        async with service, contextlib.AsyncExitStack() as working:
            await working.enter_async_context(service.worker())
            run = await service.submit("a", "look")
            await asyncio.to_thread(agent.began.wait, 10)
            begun = time.monotonic()
            await working.aclose()
            seconds = time.monotonic() - begun
            async with service.worker():
                return seconds, (await service.result(run, timeout_seconds=10)).reply

    seconds, reply = asyncio.run(stop_and_go_on())

    assert seconds < 3
    assert reply == "Done: found"
    history = asyncio.run(sessions.open("a").load())
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
