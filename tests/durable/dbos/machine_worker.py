"""The worker process of the machine in test_machine.py: its model and its tool write down all.

Run as a script: python machine_worker.py FOLDER
"""

import asyncio
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from agentic.durable.dbos import Service
from agentic.errors import ConfigError
from agentic.history.sqlite import SqliteSessions
from agentic.loop import Decision, Input, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.tools import Approval, RequireApproval, ToolDefinition

__all__ = ["Record", "make_service"]

_PAUSE_SECONDS = 0.02
"""So long a model and a tool take: somebody may kill the process meanwhile."""


class Record:
    """Lines that outlive the process that wrote them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, text: str) -> None:
        """Add a line at once, whole or not at all."""
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(text).encode() + b"\n")
        finally:
            os.close(file)

    @property
    def lines(self) -> list[str]:
        """All lines, the oldest first."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_bytes().split(b"\n") if line]


class Model:
    """Calls the tool if the request asks for that, and writes down what it was told."""

    def __init__(self, folder: Path) -> None:
        self.told = Record(folder / "told.jsonl")

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the latest message."""
        self.told.add(str(request.history))
        await asyncio.sleep(_PAUSE_SECONDS)
        latest = request.history[-1]
        if latest.role == "user" and "ask" in latest.content:
            return Decision("I look.", [ToolCall("", "look", "{}")])
        return Decision(f"Done: {request.user_message}")


class Look:
    """One tool that must not run twice; it writes down that it runs."""

    def __init__(self, folder: Path) -> None:
        self.used = Record(folder / "used.jsonl")

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look", retry="never")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Answer."""
        self.used.add(call.id)
        await asyncio.sleep(_PAUSE_SECONDS)
        return ToolResult(output="It is there.")


class Nobody:
    """An approver that is never asked: the service takes its place."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Fail."""
        raise AssertionError


def make_service(folder: Path) -> Service:
    """Return the service of the sessions in a folder."""
    return Service(
        Runner(Model(folder), RequireApproval(Look(folder), Nobody(), needs=["look"])),
        sessions=SqliteSessions(folder / "sessions.db"),
        database_url=f"sqlite:///{folder}/runs.db",
        lease_seconds=1.0,
        max_attempts=100,
    )


async def _enter(service: Any, stack: contextlib.AsyncExitStack) -> Any:
    """Begin to work as soon as the lease of a killed worker has ended."""
    while True:
        try:
            return await stack.enter_async_context(service.worker())
        except ConfigError as refusal:
            if "SQLite allows one worker" not in str(refusal):
                raise
            await asyncio.sleep(0.05)


async def _work(folder: Path) -> None:
    async with make_service(folder) as service, contextlib.AsyncExitStack() as stack:
        worker = await _enter(service, stack)
        print("ready", flush=True)  # noqa: T201
        # Until the input is closed, or the lease is lost, as on a machine that is too busy.
        closed = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
        lost = asyncio.create_task(worker.wait())
        await asyncio.wait([closed, lost], return_when=asyncio.FIRST_COMPLETED)
        if lost.done():
            os._exit(1)


if __name__ == "__main__":
    asyncio.run(_work(Path(sys.argv[1])))
