"""Workers are killed at random moments: every run ends, and as if nobody had been killed."""

import asyncio
import json
import random
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
import pytest
from psycopg.conninfo import conninfo_to_dict

from agentic.bridges.dbos import Service
from agentic.messages import to_plain

AGENT = str(Path(__file__).with_name("agent.py"))
LEASE_SECONDS = 2.0
SIZES = [
    pytest.param(2, 6, 4, 6, id="small", marks=pytest.mark.slow),
    pytest.param(4, 200, 10, 200, id="large", marks=pytest.mark.long),
]


@attrs.define
class Fleet:
    """Worker processes on one database."""

    url: str
    store: str
    traces: str
    turns: int
    processes: list[Any] = attrs.field(factory=list)

    def start(self, **more: Any) -> Any:
        """Start a worker."""
        given = {
            "url": self.url,
            "store": self.store,
            "traces": self.traces,
            "turns": self.turns,
            "lease_seconds": LEASE_SECONDS,
        }
        command = [sys.executable, AGENT, json.dumps(given | more)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def kill(self, process: Any) -> None:
        """Kill a worker, without a chance to say anything."""
        process.kill()
        process.communicate()
        self.processes.remove(process)

    def end(self) -> None:
        """Kill what is left."""
        for process in list(self.processes):
            process.send_signal(signal.SIGCONT)
            self.kill(process)


def _fleet(postgres: Any, agent: dict[str, Any], tmp_path: Path, turns: int) -> Fleet:
    url, traces = as_url(postgres.make_database()), str(tmp_path / "traces.db")
    agent["make_traces"](traces)
    return Fleet(url, url, traces, turns)


def as_url(dsn: str) -> str:
    """Return a connection string as a URI."""
    of = conninfo_to_dict(dsn)
    return f"postgresql://{of['user']}:{of['password']}@{of['host']}:{of['port']}/{of['dbname']}"


def _service(fleet: Fleet, agent: dict[str, Any]) -> Service:
    runner = agent["make_runner"](fleet.traces, fleet.turns)
    sessions = agent["open_sessions"](fleet.store)
    return Service(runner, sessions=sessions, database_url=fleet.url, lease_seconds=LEASE_SECONDS)


def _effects(fleet: Fleet) -> tuple[Counter[str], Counter[str]]:
    connection = sqlite3.connect(fleet.traces)
    rows = connection.execute("SELECT tool, key FROM traces").fetchall()
    connection.close()
    return (
        Counter(key for tool, key in rows if tool == "pay"),
        Counter(key for tool, key in rows if tool == "send"),
    )


def _plain(history: list[Any]) -> str:
    """Return the bytes, without times, the ids of runs, and what only a lost call says."""
    plain = []
    for message in history:
        one = to_plain(message)
        del one["timestamp"]
        for result in one.get("tool_results", ()):
            if "error" in result and result["error"].get("kind") == "interrupted":
                assert result["name"] == "send"
                del result["error"]
                result["output"] = "send is done"
        plain.append(one)
    text, ids = json.dumps(plain), [call.id for each in history for call in each.tool_calls]
    assert len(set(ids)) == len(ids)
    for number, call_id in enumerate(ids):  # derived from the run's id, which is another one
        text = text.replace(call_id, f"call_{number}")
    return text


async def _histories(agent: dict[str, Any], fleet: Fleet, names: list[str]) -> list[list[Any]]:
    sessions = agent["open_sessions"](fleet.store)
    return [list(await sessions.open(name).load()) for name in names]


async def _submit(service: Service, names: list[str]) -> list[str]:
    return [
        await service.submit(name, text, key=text) for name in names for text in ("first", "second")
    ]


async def _undisturbed(agent: dict[str, Any], fleet: Fleet, names: list[str]) -> list[list[Any]]:
    async with _service(fleet, agent) as service, service.worker():
        for run in await _submit(service, names):
            await service.result(run, timeout_seconds=600)
    return await _histories(agent, fleet, names)


@pytest.mark.parametrize(("workers", "sessions", "turns", "kills"), SIZES)
def test_killed_workers_lose_nothing(  # noqa: PLR0917
    postgres: Any,
    agent: dict[str, Any],
    tmp_path: Path,
    workers: int,
    sessions: int,
    turns: int,
    kills: int,
) -> None:
    """Two requests for each session; keyed effects happen once, and forbidden ones never twice."""
    fleet = _fleet(postgres, agent, tmp_path, turns)
    (tmp_path / "calm").mkdir()
    calm = _fleet(postgres, agent, tmp_path / "calm", turns)
    names = [f"s{n}" for n in range(sessions)]

    async def disturb() -> list[str]:
        async with _service(fleet, agent) as service:
            runs = await _submit(service, names)
            for _ in range(workers):
                fleet.start()
            chance = random.Random(7)  # noqa: S311  a seed, not a secret
            for _ in range(kills):
                await asyncio.sleep(chance.uniform(0.3, 1.5))
                fleet.kill(chance.choice(fleet.processes))
                fleet.start()
            ends = [await service.result(run, timeout_seconds=600) for run in runs]
            return [each.problem or each.state for each in ends]

    try:
        states = asyncio.run(disturb())
        histories = asyncio.run(_histories(agent, fleet, names))
    finally:
        fleet.end()
    assert Counter(states) == {"done": 2 * sessions}
    expected = asyncio.run(_undisturbed(agent, calm, names))

    assert list(map(_plain, histories)) == list(map(_plain, expected))
    paid, sent = _effects(fleet)
    calls = 2 * sessions * (turns - 1)
    assert (len(paid), set(paid.values())) == (calls, {1})
    assert len(sent) <= calls
    assert set(sent.values()) == {1}
