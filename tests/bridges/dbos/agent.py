"""An agent whose tools leave traces outside the engine, and a worker process for it.

Run as a script: python agent.py DATABASE_URL STORE TRACES [CLOCK_OFFSET_SECONDS]
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Sequence
from typing import Any

from agentic import events
from agentic.history import Sessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tools import ToolDefinition

__all__ = ["Model", "Tools", "make_runner", "open_sessions", "open_stopping"]


class Model:
    """Asks for three tools in each turn but the latest, without ids."""

    def __init__(self, turns: int) -> None:
        self.turns = turns

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone."""
        await asyncio.sleep(0.002)
        if request.turn >= self.turns:
            return Decision(f"Done: {request.user_message}")
        names = ("read", "pay", "send")
        return Decision(f"Turn {request.turn}.", [ToolCall("", name, "{}") for name in names])


class Tools:
    """`read` may run often, `pay` takes effect once for each key, `send` must run at most once."""

    def __init__(self, traces: str) -> None:
        self.traces = traces

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """List them."""
        return [
            ToolDefinition("read"),
            ToolDefinition("pay"),
            ToolDefinition("send", retry="never"),
        ]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Leave a trace, which the call's key makes unique if the tool is `pay`."""
        running = events.current_call()
        assert running is not None
        unique = running.key if call.name == "pay" else None
        await asyncio.to_thread(self._trace, call, running.key, unique)
        return ToolResult(output=f"{call.name} is done")

    def _trace(self, call: ToolCall, key: str, unique: str | None) -> None:
        with sqlite3.connect(self.traces, timeout=60) as connection:
            insert = "INSERT OR IGNORE INTO traces VALUES (?, ?, ?, ?)"
            connection.execute(insert, (call.name, key, unique, time.time()))
        connection.close()


def open_sessions(store: str) -> Sessions:
    """Open a place by its address."""
    if store.startswith("postgres"):
        from agentic.history.postgres import PostgresSessions  # noqa: PLC0415

        return PostgresSessions(store)
    from agentic.history.sqlite import SqliteSessions  # noqa: PLC0415

    return SqliteSessions(store)


def open_stopping(store: str, appends: int) -> Sessions:
    """Open a place in which the process stops as it stores a turn, after so many messages."""
    from agentic.history.postgres import PostgresSessions, PostgresStore  # noqa: PLC0415

    left = iter(range(appends - 1, -1, -1))

    class StoppingStore(PostgresStore):
        async def append(self, message: Message, *, key: str | None = None) -> None:
            await super().append(message, key=key)
            if next(left, None) == 0:
                os.kill(os.getpid(), signal.SIGSTOP)

    class StoppingSessions(PostgresSessions):
        def open(self, session_id: str, **options: Any) -> PostgresStore:
            return StoppingStore(self.dsn, session_id, **options)

    return StoppingSessions(store)


def make_runner(traces: str, turns: int) -> Runner:
    """Make the agent."""
    return Runner(Model(turns), Tools(traces))


def make_traces(path: str) -> None:
    """Create the table."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE traces (tool, key, once UNIQUE, at)")
    connection.close()


async def work(  # noqa: PLR0917
    url: str, store: str, traces: str, turns: int, lease_seconds: float, stop_after: int = 0
) -> None:
    """Work until killed; SIGTERM drains."""
    from agentic.bridges.dbos import Service  # noqa: PLC0415

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    service: Any = Service(
        make_runner(traces, turns),
        sessions=open_stopping(store, stop_after) if stop_after else open_sessions(store),
        database_url=url,
        lease_seconds=lease_seconds,
    )
    async with service, service.worker() as worker:
        print("ready", flush=True)  # noqa: T201
        lost = asyncio.create_task(worker.wait())
        await asyncio.wait(
            [asyncio.create_task(stop.wait()), lost], return_when=asyncio.FIRST_COMPLETED
        )
        if lost.done():
            sys.exit(1)
        await worker.drain(30)


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    if offset := given.pop("clock_offset", 0):
        real = time.time
        time.time = lambda: real() + offset
    asyncio.run(work(**given))
