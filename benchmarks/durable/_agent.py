"""The agent that is measured, and a worker process for it.

    python -m benchmarks.durable._agent '{"url": ..., "store": ..., "turns": 10, "calls": 1}'

Neither its model nor its tools take time, so that what is measured is everything else.
"""

import asyncio
import json
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

import attrs

from agentic.history._abilities import LeasedSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.tools import Approval, RequireApproval, ToolDefinition
from agentic.usage import Usage

REPLY = "I look at the next file, since the former one does not explain the failure. " * 3
OUTPUT = "a line of the output of a tool\n" * 20
WAITING_RUNS = 2_000


@attrs.define(eq=False)
class Model:
    """Asks for some tools in each turn but the latest, and notes when it was asked."""

    turns: int
    calls: int
    asked: list[float] = attrs.field(factory=list)
    """In seconds."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone."""
        self.asked.append(time.perf_counter())
        if request.turn >= self.turns:
            return Decision("Done.", usage=Usage(900, 9))
        path = json.dumps({"path": f"src/file_{request.turn}.py"})
        calls = [ToolCall("", "read", path) for _ in range(self.calls)]
        return Decision(REPLY, calls, Usage(900, 90))


@attrs.define(eq=False)
class Tools:
    """One tool, which answers at once."""

    retry: Any = "always"

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """List it."""
        return [ToolDefinition("read", retry=self.retry)]

    async def execute(self, _: ToolCall, /) -> ToolResult:
        """Answer."""
        return ToolResult(output=OUTPUT)


class Absent:
    """An approver whom the service replaces."""

    async def approve(self, _: ToolCall, __: ToolDefinition, /) -> Approval:
        """Refuse."""
        return Approval(allowed=False)


def make_runner(model: Model, *, asks: bool = False, retry: str = "always") -> Runner:
    """Return the agent; if it `asks`, every call waits for a person."""
    tools = Tools(retry)
    return Runner(
        model,
        RequireApproval(tools, Absent(), needs=["read"]) if asks else tools,
        max_turns=model.turns + 1,
    )


def open_sessions(store: str) -> LeasedSessions:
    """Open a place by its address: a connection string, or the path of a file."""
    if store.startswith("postgres"):
        from agentic.history.postgres import PostgresSessions  # noqa: PLC0415

        return PostgresSessions(store)
    from agentic.history.sqlite import SqliteSessions  # noqa: PLC0415

    return SqliteSessions(store)


async def work(url: str, store: str, turns: int, calls: int, *, asks: bool = False) -> None:
    """Work until SIGTERM."""
    from agentic.durable.dbos import QueueLimits, Service  # noqa: PLC0415

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    service = Service(
        lambda _: make_runner(Model(turns, calls), asks=asks),
        sessions=open_sessions(store),
        database_url=url,
        limits=QueueLimits(worker_concurrency=WAITING_RUNS if asks else 100),
    )
    async with service, service.worker():
        print("ready", flush=True)
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(work(**json.loads(sys.argv[1])))
