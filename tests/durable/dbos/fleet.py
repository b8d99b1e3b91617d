"""Worker processes on one database, what they did, and what it has to be."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
from psycopg.conninfo import conninfo_to_dict

from agentic.durable.dbos import Service
from agentic.messages import Message, ToolError, to_plain

__all__ = [
    "LEASE_SECONDS",
    "TEXTS",
    "Fleet",
    "as_url",
    "check_effects",
    "check_order",
    "lose_calls",
    "to_bytes",
]

AGENT = str(Path(__file__).with_name("agent.py"))
LEASE_SECONDS = 2.0
TEXTS = ("first", "second")
"""The requests of each session."""
LOST = (
    "the process that ran this call ended before its result was recorded. It is not run again. "
    "Whether it took effect is unknown: look before you call again"
)


@attrs.define
class Fleet:
    """Worker processes on one database, and the traces of their tools."""

    parts: dict[str, Any]
    """What is in agent.py."""
    url: str
    store: str
    folder: Path
    turns: int
    latency: float = 0.0
    """How long the model and the tools take, in seconds."""
    side_by_side: int = 100
    """How many runs a worker has."""
    lease_seconds: float = LEASE_SECONDS
    restarts: int = attrs.field(default=0, init=False)
    """How many workers have lost their leases, and were started again."""
    traces: Any = attrs.field(init=False)
    processes: list[Any] = attrs.field(factory=list, init=False)

    @traces.default
    def _make_traces(self) -> Any:
        self.folder.mkdir(exist_ok=True)
        traces = self.parts["Traces"](str(self.folder / "traces.db"))
        traces.create()
        return traces

    @property
    def agent(self) -> dict[str, Any]:
        """Return the arguments of `make_agent`."""
        path = str(self.folder / "traces.db")
        return {"traces": path, "turns": self.turns, "latency": self.latency}

    def service(self) -> Service:
        """Return a service for what the workers share."""
        return Service(
            self.parts["make_agent"](**self.agent),
            sessions=self.parts["open_sessions"](self.store),
            database_url=self.url,
            lease_seconds=self.lease_seconds,
        )

    def start(self, **more: Any) -> Any:
        """Start a worker."""
        given = {
            "agent": self.agent,
            "url": self.url,
            "store": self.store,
            "lease_seconds": self.lease_seconds,
            "side_by_side": self.side_by_side,
        }
        command = [sys.executable, AGENT, json.dumps(given | more)]
        with (self.folder / "workers.log").open("ab") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        self.processes.append(process)
        return process

    async def start_ready(self, **more: Any) -> Any:
        """Start a worker, and wait until it works."""
        process = self.start(**more)
        said = await asyncio.to_thread(process.stdout.readline)
        assert said == b"ready\n", (self.folder / "workers.log").read_text()[-2_000:]
        return process

    def stop(self, process: Any) -> bool:
        """Stop a worker where it is; return whether it was alive, and stands still now."""
        if process.poll() is not None:
            return False
        process.send_signal(signal.SIGSTOP)
        either = os.WSTOPPED | os.WEXITED | os.WNOWAIT
        state = os.waitid(os.P_PID, process.pid, either)
        return state is not None and state.si_code == os.CLD_STOPPED

    def kill(self, process: Any) -> None:
        """Kill a worker, without a chance to say anything."""
        process.kill()
        process.communicate()
        self.traces.add_killed(process.pid)
        self.processes.remove(process)

    async def supervise(self, **more: Any) -> None:
        """Start workers again that have lost their leases, as a service manager does."""
        while True:
            await asyncio.sleep(1)
            for process in [one for one in self.processes if one.poll() is not None]:
                self.restarts += 1
                self.kill(process)
                await self.start_ready(**more)

    def end(self) -> None:
        """Kill what is left."""
        for process in list(self.processes):
            process.send_signal(signal.SIGCONT)
            self.kill(process)
        self.traces.close()

    async def histories(self, names: list[str]) -> list[list[Message]]:
        """Load sessions."""
        sessions = self.parts["open_sessions"](self.store)
        return [list(await sessions.open(name).load()) for name in names]


def as_url(dsn: str) -> str:
    """Return a connection string as a URI."""
    of = conninfo_to_dict(dsn)
    return f"postgresql://{of['user']}:{of['password']}@{of['host']}:{of['port']}/{of['dbname']}"


def check_order(traces: Any, runs: dict[str, list[str]]) -> Counter[str]:
    """Check that each session was strictly serial: one attempt at one run at a time, in order.

    What a killed process had begun goes on until it is dead, and no longer. Return figures.
    """
    figures: Counter[str] = Counter()
    going: dict[str, Counter[tuple[int, str]]] = {session: Counter() for session in runs}
    order: dict[str, list[str]] = {session: [] for session in runs}
    for process, session, attempt, run, what in traces.steps():
        if what == "killed":
            cut = [one for here in going.values() for one in here.elements() if one[0] == process]
            figures["cut"] += len(cut)
            figures["kills that cut"] += bool(cut)
            for here in going.values():
                for one in [one for one in here if one[0] == process]:
                    del here[one]
            continue
        here, one = going[session], (process, attempt)
        here[one] += 1 if what == "begun" else -1
        assert set(+here) <= {one}, f"{session}: {one} while {here} goes on"
        assert here[one] >= 0
        figures[what] += 1
        if run and order[session][-1:] != [run]:
            order[session].append(run)
    assert not any(+here for here in going.values())
    assert order == runs
    return figures


def check_effects(fleet: Fleet, histories: list[list[Message]]) -> int:
    """Check effects against what the model has read; return how many are unknown to it."""
    results = [result for each in histories for message in each for result in message.tool_results]
    keys = {
        name: [r.call_id.removeprefix("call_") for r in results if r.name == name and not r.error]
        for name in ("read", "pay", "send")
    }
    lost = [r.call_id.removeprefix("call_") for r in results if r.error]
    assert set(fleet.traces.effects("read")) == set(keys["read"])
    assert sorted(fleet.traces.effects("pay")) == sorted(keys["pay"])
    sent = Counter(fleet.traces.effects("send"))
    assert set(sent.values()) <= {1}
    assert set(keys["send"]) <= set(sent) <= {*keys["send"], *lost}
    return len(lost)


def lose_calls(history: list[Message], found: list[Message]) -> list[Message]:
    """Return an undisturbed history as it has to be, if these calls of `send` were lost."""
    lost = ToolError(LOST, "interrupted")
    expected = []
    for message, other in zip(history, found, strict=True):
        results = []
        for mine, theirs in zip(message.tool_results, other.tool_results, strict=True):
            is_lost = theirs.error is not None and mine.name == "send"
            results.append(attrs.evolve(mine, output="", error=lost) if is_lost else mine)
        expected.append(attrs.evolve(message, tool_results=results))
    return expected


def to_bytes(history: list[Message]) -> bytes:
    """Return a history without its times and the ids that derive from those of the runs."""
    plain = [to_plain(message) for message in history]
    times = [message.pop("timestamp") for message in plain]
    for message, before, time in zip(history[1:], times, times[1:], strict=False):
        # A request is dated by its submission, which may precede the end of the former run.
        assert message.role == "user" or before <= time
    ids = [call.id for message in history for call in message.tool_calls]
    assert len(set(ids)) == len(ids)
    text = json.dumps(plain)
    for number, call_id in enumerate(ids):
        text = text.replace(call_id, f"call {number}")
    return text.encode()
