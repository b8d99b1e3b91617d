"""A worker that is stopped with an active run lets go of it at once, and another one goes on."""

import asyncio
import contextlib
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from agentic.durable.dbos import Service
from agentic.errors import ConfigError
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.testing import ScriptedDecider
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
            await asyncio.sleep(600)


class Stuck(SqliteSessions):
    """Sessions whose connections cannot be closed."""

    def keeping(self, _: int, /) -> "Stuck":
        """Return sessions that keep connections."""
        return self

    async def aclose(self) -> None:
        """Fail."""
        raise OSError("cannot be closed")


def _service(folder: Path, sessions: SqliteSessions | None = None) -> Service:
    return Service(
        Runner(ScriptedDecider("Hello.")),
        sessions=sessions or SqliteSessions(folder / "sessions.db"),
        database_url=f"sqlite:///{folder}/runs.db",
    )


async def _say_hello(service: Service) -> str:
    return (await service.result(await service.submit("a", "hi"), timeout_seconds=60)).reply


def test_cancelled_start_leaves_no_worker(tmp_path: Path) -> None:
    """Its thread goes on, and the process could have no other worker."""

    async def start_again() -> str:
        async with _service(tmp_path) as service:
            starting = asyncio.create_task(service.worker().__aenter__())
            await asyncio.sleep(0)
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            async with service.worker():
                return await _say_hello(service)

    assert asyncio.run(start_again()) == "Hello."


def test_only_one_of_several_workers_starts(tmp_path: Path) -> None:
    """Also if they are started in the same moment."""

    async def start_all() -> tuple[list[Any], str]:
        async with _service(tmp_path) as service:
            workers = [service.worker() for _ in range(5)]
            starting = (worker.__aenter__() for worker in workers)
            begun = await asyncio.gather(*starting, return_exceptions=True)
            reply = await _say_hello(service)
            await next(each for each in workers if each in begun).__aexit__()
            return begun, reply

    begun, reply = asyncio.run(start_all())

    assert sum(isinstance(each, ConfigError) for each in begun) == 4
    assert reply == "Hello."


def test_worker_that_fails_to_stop_is_gone(tmp_path: Path) -> None:
    """The next one begins at once."""

    async def work_twice() -> list[str]:
        async with _service(tmp_path, Stuck(tmp_path / "sessions.db")) as service:
            worker = await service.worker().__aenter__()
            replies = [await _say_hello(service)]
            with pytest.raises(OSError, match="closed"):
                await worker.__aexit__()
        async with _service(tmp_path) as service, service.worker():
            return [*replies, await _say_hello(service)]

    assert asyncio.run(work_twice()) == ["Hello.", "Hello."]


def test_nothing_is_entered_twice(tmp_path: Path) -> None:
    """A stopped worker would hold its runs, and a second exit would close what others use."""

    async def enter_again() -> str:
        async with _service(tmp_path) as service:
            async with service.worker() as worker:
                pass
            with pytest.raises(ConfigError, match="started only once"):
                await worker.__aenter__()
            with pytest.raises(ConfigError, match="connected already"):
                await service.__aenter__()
            async with service.worker():
                return await _say_hello(service)

    assert asyncio.run(enter_again()) == "Hello."


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
            await asyncio.to_thread(agent.began.wait, 60)
            begun = time.monotonic()
            await working.aclose()
            seconds = time.monotonic() - begun
            async with service.worker():
                return seconds, (await service.result(run, timeout_seconds=60)).reply

    seconds, reply = asyncio.run(stop_and_go_on())

    assert seconds < 60
    assert reply == "Done: found"
    history = asyncio.run(sessions.open("a").load())
    assert [message.role for message in history] == ["user", "assistant", "tool", "assistant"]
