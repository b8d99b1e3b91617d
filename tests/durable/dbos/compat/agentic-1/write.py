"""Write the records of a folder: run once for each, by the version whose form they preserve.

    python tests/durable/dbos/compat/agentic-1/write.py FOLDER

It makes `runs.sql`, the tables of the engine and ours; `sessions.sql`, those of the sessions; and
`expected.json`, what there is when a later version has finished the runs. A worker is killed in the
middle of one run, while another one waits for an answer. The agent belongs to the records: what it
decides must not change.
"""

import asyncio
import json
import os
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.durable.dbos import Service
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message, ToolCall, ToolResult, to_plain
from agentic.tokens import CharCounter
from agentic.tools import Approval, RequireApproval, ToolDefinition
from agentic.usage import Usage

__all__ = ["finish", "load", "make_runner", "open_service"]

SESSIONS = ("done", "broken", "asked", "killed", "later")
LOG = "".join(f"{number:04} test_parser.py ok\n" for number in range(800))
"""An output that is too large for a record."""


class Model:
    """Decides by the request and the turn alone."""

    async def decide(self, request: Input, /) -> Decision:
        """Make a decision of every kind."""
        plan: dict[str, list[Decision]] = {
            "hi": [Decision("Hello.", usage=Usage(input=10, output=2))],
            "pay": [
                Decision("I pay.", [ToolCall("", "pay", '{"amount": 5}')]),
                Decision("Paid."),
            ],
            "remember": [Decision("x" * 3_000)],
            "work": [Decision("I read.", [ToolCall("", "read")], reasoning="The log first.")],
            "look twice": [
                Decision(""),
                Decision("I act.", [ToolCall("", name) for name in ("count", "send", "store")]),
                Decision("All is \ud83d done.\x00"),
            ],
        }
        if request.user_message == "break":
            raise ValueError("no such model")
        return plan[request.user_message][request.turn - 1]


class Tools:
    """`count` is done at once; `send` and `store` go on until the process is killed."""

    def __init__(self, act: Callable[[str, str], None], *, dies: bool) -> None:
        self.act = act
        self.dies = dies

    async def list_tools(self) -> Sequence[ToolDefinition]:
        """List them."""
        names = ("read", "pay", "count", "store")
        return [*map(ToolDefinition, names), ToolDefinition("send", retry="never")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Act, and say so."""
        running = events.current_call()
        assert running is not None
        self.act(call.name, running.key)
        if self.dies and call.name == "read":
            await asyncio.sleep(1.0)  # a message that steers the run arrives
        if self.dies and call.name in {"send", "store"}:
            await asyncio.sleep(1.0)
            os.kill(os.getpid(), signal.SIGKILL)
        return ToolResult(output=LOG if call.name == "read" else f"{call.name} is done")


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


class Summaries:
    """A compactor that needs no model."""

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        return f"{len(messages)} messages."


def make_runner(act: Callable[[str, str], None], *, dies: bool = False) -> Runner:
    """Make the agent; `act` is told the name and the key of each call."""
    policy = Policy(5_200, reserve_tokens=300, keep_recent_tokens=3_000, min_recent_messages=1)
    tools = RequireApproval(Tools(act, dies=dies), Nobody(), needs=["pay"])
    return Runner(Model(), tools, budget=Manager(CharCounter(), Summaries(), policy=policy))


def open_service(folder: Path, runner: Runner) -> Service:
    """Return the service for what is in a folder."""
    sessions = SqliteSessions(folder / "sessions.db")
    return Service(
        runner, sessions=sessions, database_url=f"sqlite:///{folder}/runs.db", lease_seconds=1
    )


def load(source: Path, folder: Path) -> None:
    """Make databases of the records."""
    for name in ("runs", "sessions"):
        connection = sqlite3.connect(folder / f"{name}.db")
        connection.executescript((source / f"{name}.sql").read_text())
        connection.close()


async def finish(service: Service, runs: dict[str, str]) -> dict[str, Any]:
    """Answer what is asked, wait for all runs, and return what there is then."""
    waiting = [name for name, run in runs.items() if await service.questions(run)]
    for name in waiting:
        (question,) = await service.questions(runs[name])
        await service.approve(runs[name], question["call_id"], reason="go on")
    outcomes = {name: await service.result(run) for name, run in runs.items()}
    sessions: Any = service.sessions
    async with asyncio.timeout(10):  # the compaction follows the run
        while (await sessions.open("killed").load())[0].summary is None:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return {
        "waiting": waiting,
        "outcomes": {name: attrs.asdict(outcome) for name, outcome in outcomes.items()},
        "histories": {name: _plain(await sessions.open(name).load()) for name in SESSIONS},
        "archive": _plain(await sessions.open("killed").full()),
    }


def _plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [to_plain(message) for message in messages]


async def _talk(folder: Path) -> tuple[dict[str, str], str]:
    """Submit and steer, until the worker is killed; return the runs and the worker."""
    async with open_service(folder, make_runner(print)) as service:
        first = {"done": "hi", "broken": "break", "asked": "pay", "killed": "remember"}
        runs = {name: await service.submit(name, text) for name, text in first.items()}
        worker = await asyncio.create_subprocess_exec(
            sys.executable, __file__, "--work", str(folder)
        )
        for name in ("done", "broken", "killed"):
            await service.result(runs[name])
        runs["killed"] = await service.submit("killed", "work")
        while "read" not in _acts(folder):  # noqa: ASYNC110  another process reads
            await asyncio.sleep(0.05)
        await service.steer(runs["killed"], "look twice")
        await worker.wait()
        # Claimed by nobody: as if it had been submitted while there was no worker.
        runs["later"] = await service.submit("later", "hi")
        return runs, (await service.find(runs["killed"])).worker


async def _work(folder: Path) -> None:
    def act(name: str, key: str) -> None:
        with (folder / "acts").open("a") as acts:
            acts.write(f"{name} {key}\n")

    async with open_service(folder, make_runner(act, dies=True)) as service, service.worker():
        await asyncio.sleep(60)


def _acts(folder: Path) -> dict[str, str]:
    path = folder / "acts"
    return dict(line.split() for line in path.read_text().splitlines()) if path.exists() else {}


def _dump(path: Path, worker: str, *pragmas: str) -> str:
    connection = sqlite3.connect(path)
    values = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    lines = [f"PRAGMA {name} = {value};" for name, value in zip(pragmas, values, strict=True)]
    text = "\n".join([*lines, *connection.iterdump()])
    connection.close()
    return text.replace(worker, "worker") + "\n"


async def _write(target: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs, worker = await _talk(folder)
        (target / "runs.sql").write_text(_dump(folder / "runs.db", worker))
        sessions = _dump(folder / "sessions.db", worker, "application_id", "user_version")
        (target / "sessions.sql").write_text(sessions)
        written = datetime.now(UTC).isoformat()
        acts: dict[str, str] = {}
        again = make_runner(acts.__setitem__)
        await asyncio.sleep(1.5)  # until the lease of the worker has ended
        async with open_service(folder, again) as service, service.worker():
            expected = await finish(service, runs)
    expected = {"runs": runs, "written": written, "again": acts, **expected}
    (target / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        asyncio.run(_work(Path(sys.argv[2])))
    else:
        asyncio.run(_write(Path(sys.argv[1])))
