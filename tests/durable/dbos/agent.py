"""An agent whose tools leave traces outside the engine, and a worker process for it.

Run as a script: python agent.py OPTIONS, the arguments of `work` as JSON.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from agentic import events
from agentic.errors import ConfigError
from agentic.history import Sessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tools import ToolDefinition

__all__ = ["Model", "Tools", "Traces", "make_agent", "open_sessions", "open_stopping"]


class Traces:
    """What was done, in the order in which it was done, and the effects that it had.

    `steps` has a row when something begins and when it ends. Rows are numbered by one database for
    all processes, so their order is that of the world. `attempt` is one Runner in one process.
    """

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            path, timeout=60, isolation_level=None, check_same_thread=False
        )
        # A killed process loses nothing by that, only a killed machine.
        self._connection.execute("PRAGMA synchronous=OFF")

    def create(self) -> None:
        """Create the tables."""
        for statement in (
            "PRAGMA journal_mode=WAL",
            "CREATE TABLE steps (number INTEGER PRIMARY KEY, process, session, attempt, run, what)",
            "CREATE TABLE effects (tool, key, once UNIQUE)",
        ):
            self._connection.execute(statement)

    def add(self, what: str, session: str = "", attempt: str = "", run: str = "") -> None:
        """Say what this process does: something has `begun` or `ended`."""
        self._write(
            "INSERT INTO steps (process, session, attempt, run, what) VALUES (?, ?, ?, ?, ?)",
            (os.getpid(), session, attempt, run, what),
        )

    def add_killed(self, process: int) -> None:
        """Say that a process is gone: nothing that it had begun goes on."""
        insert = "INSERT INTO steps (process, what) VALUES (?, 'killed')"
        self._write(insert, (process,))

    def act(self, tool: str, key: str, *, once: bool) -> None:
        """Take effect; once for each key, if the tool passes it on."""
        insert = "INSERT OR IGNORE INTO effects VALUES (?, ?, ?)"
        self._write(insert, (tool, key, key if once else None))

    def steps(self) -> list[tuple[int, str, str, str, str]]:
        """Return the process, session, attempt, run and kind of each row, in order."""
        select = "SELECT process, session, attempt, run, what FROM steps ORDER BY number"
        return self._connection.execute(select).fetchall()

    def is_going(self, process: int) -> bool:
        """Return whether a process has begun something that it has not ended."""
        select = "SELECT count(*) FROM steps WHERE process = ? AND what = ?"
        counts = [
            self._connection.execute(select, (process, what)).fetchone()[0]
            for what in ("begun", "ended")
        ]
        return bool(counts[0] > counts[1])

    def effects(self, tool: str) -> list[str]:
        """Return the key of each effect of a tool."""
        select = "SELECT key FROM effects WHERE tool = ?"
        return [key for (key,) in self._connection.execute(select, (tool,))]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    # Nobody closes that of an agent, which lives as long as the service.
    __del__ = close

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._lock:
            self._connection.execute(statement, values)


class Model:
    """Asks for three tools in each turn but the latest, without ids."""

    def __init__(self, turns: int, latency: float, traces: Traces, place: tuple[str, str]) -> None:
        self.turns = turns
        self.latency = latency
        self.traces = traces
        self.place = place

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone."""
        await asyncio.to_thread(self.traces.add, "begun", *self.place)
        await asyncio.sleep(self.latency)
        await asyncio.to_thread(self.traces.add, "ended", *self.place)
        if request.turn >= self.turns:
            return Decision(f"Done: {request.user_message}")
        names = ("read", "die") if request.user_message == "die" else ("read", "pay", "send")
        return Decision(f"Turn {request.turn}.", [ToolCall("", name, "{}") for name in names])


class Tools:
    """`read` may run often, `pay` takes effect once for each key, `send` must run at most once.

    `die` ends the process.
    """

    def __init__(self, latency: float, traces: Traces, place: tuple[str, str]) -> None:
        # Those of a turn end one after the other.
        self.latencies = {"read": latency / 8, "pay": latency / 4, "send": latency / 2}
        self.traces = traces
        self.place = place

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """List them."""
        return [
            ToolDefinition("read"),
            ToolDefinition("pay"),
            ToolDefinition("send", retry="never"),
            ToolDefinition("die"),
        ]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Take effect between a beginning and an end."""
        running = events.current_call()
        assert running is not None
        if call.name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.to_thread(self.traces.add, "begun", *self.place, running.run_id)
        await asyncio.sleep(self.latencies[call.name])
        await asyncio.to_thread(self.traces.act, call.name, running.key, once=call.name == "pay")
        await asyncio.sleep(self.latencies[call.name])
        await asyncio.to_thread(self.traces.add, "ended", *self.place, running.run_id)
        return ToolResult(output=f"{call.name} is done")


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
        async def append(self, *messages: Message, key: Any = None) -> None:
            await super().append(*messages, key=key)
            if 0 in [next(left, None) for _ in messages]:
                os.kill(os.getpid(), signal.SIGSTOP)

    class StoppingSessions(PostgresSessions):
        def open(self, session_id: str, **options: Any) -> PostgresStore:
            return StoppingStore(self.dsn, session_id, **options)

    return StoppingSessions(store)


def make_agent(traces: str, turns: int, latency: float) -> Callable[[str], Runner]:
    """Return what makes the agent of a session, once for each attempt at a run."""
    table, numbers = Traces(traces), itertools.count()

    def make(session: str) -> Runner:
        place = (session, f"{os.getpid()}/{next(numbers)}")
        return Runner(Model(turns, latency, table, place), Tools(latency, table, place))

    return make


async def _enter(service: Any, stack: contextlib.AsyncExitStack) -> Any:
    """Begin to work; with SQLite, as soon as the lease of the former worker has ended."""
    while True:
        try:
            return await stack.enter_async_context(service.worker())
        except ConfigError as refused:
            if "SQLite allows one worker" not in str(refused):
                raise
        await asyncio.sleep(0.05)


async def work(
    *,
    agent: dict[str, Any],
    url: str,
    store: str,
    lease_seconds: float,
    side_by_side: int,
    stop_after: int = 0,
    max_attempts: int = 10,
) -> None:
    """Work until killed; SIGTERM drains."""
    from agentic.durable.dbos import QueueLimits, Service  # noqa: PLC0415

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    service: Any = Service(
        make_agent(**agent),
        sessions=open_stopping(store, stop_after) if stop_after else open_sessions(store),
        database_url=url,
        limits=QueueLimits(worker_concurrency=side_by_side),
        lease_seconds=lease_seconds,
        max_attempts=max_attempts,
    )
    async with service, contextlib.AsyncExitStack() as stack:
        worker = await _enter(service, stack)
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
