"""Real servers: processes over stdio, and one on a port of the loopback interface."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from agentic.bridges.mcp import McpServer, McpTools
from agentic.bridges.mcp._connection import McpConnection
from agentic.messages import ToolCall, ToolResult

HERE = Path(__file__).parent
collect_ignore = ["odd_server.py", "server.py"]
"""Programs, which serve when they are run; pytest would import them for their doctests."""


@attrs.define
class Served:
    """A server for tests, and the notes that it keeps."""

    server: McpServer
    folder: Path

    def notes(self, name: str) -> list[str]:
        """Return the lines of a note."""
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def kill(self) -> None:
        """Kill the latest process at once, and wait until it is gone."""
        process = int(self.notes("processes")[-1])
        os.kill(process, signal.SIGKILL)

    async def until_noted(self, name: str, times: int = 1) -> None:
        """Wait until the server has made a note, or several of them."""
        await until(lambda: len(self.notes(name)) >= times)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so that another process brings about."""
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def _connections(mcp_tools: McpTools) -> list[McpConnection]:
    here = [link._here.connection for link in mcp_tools._links]
    return [connection for connection in here if connection is not None]


@pytest.fixture
def until_closed() -> Callable[[McpTools], Awaitable[None]]:
    """Wait until it is noticed that all connections of this event loop have ended."""

    async def wait(mcp_tools: McpTools) -> None:
        links = _connections(mcp_tools)
        await until(lambda: not any(each.is_open for each in links))

    return wait


@pytest.fixture
def until_changed() -> Callable[[McpTools], Awaitable[None]]:
    """Wait until each server has reported a change that was not listed yet."""

    async def wait(mcp_tools: McpTools) -> None:
        links = _connections(mcp_tools)
        await until(lambda: all(each._seen < each._changes for each in links))

    return wait


@pytest.fixture
def grow_old() -> Callable[[McpTools, float], None]:
    """Let the listings of all servers become older by some seconds."""

    def shift(mcp_tools: McpTools, seconds: float) -> None:
        for connection in _connections(mcp_tools):
            connection._expires -= seconds

    return shift


class HttpProcess:
    """A streamable HTTP server, which can be killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as chosen:
            chosen.bind(("127.0.0.1", 0))
            self.port = chosen.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return the endpoint."""
        return f"http://127.0.0.1:{self.port}/mcp"

    async def until_started(self, tool: str) -> None:
        """Wait until a call of a tool has begun."""
        notes = self.folder / "started"
        await until(lambda: notes.exists() and tool in notes.read_text())

    def start(self) -> None:
        """Start the process, and wait until the port answers."""
        command = [sys.executable, str(HERE / "server.py"), str(self.folder), str(self.port)]
        self.process = subprocess.Popen(command)
        for _ in range(3_000):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            time.sleep(0.02)
        raise TimeoutError("the server does not listen")

    def kill(self) -> None:
        """Kill the process at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def served(tmp_path: Path) -> Callable[..., Served]:
    """Make a stdio server with some options."""

    def make(**options: Any) -> Served:
        command = [str(HERE / "server.py"), str(tmp_path)]
        server = McpServer.stdio("notes", sys.executable, command, **options)
        return Served(server, tmp_path)

    return make


@pytest.fixture
def http(tmp_path: Path) -> Iterator[HttpProcess]:
    """Start an HTTP server."""
    process = HttpProcess(tmp_path)
    process.start()
    yield process
    process.kill()


@pytest.fixture(scope="module")
def shared_http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpProcess]:
    """Start an HTTP server once, for tests that leave it alive."""
    process = HttpProcess(tmp_path_factory.mktemp("http"))
    process.start()
    yield process
    process.kill()


@pytest.fixture
def odd() -> Callable[..., McpServer]:
    """Make a server that is written by hand, of one of its modes."""

    def make(mode: str, **options: Any) -> McpServer:
        return McpServer.stdio(
            "odd", sys.executable, [str(HERE / "odd_server.py"), mode], **options
        )

    return make


@pytest.fixture
def call() -> Callable[..., Any]:
    """Make a call of a tool, with its arguments as keywords."""

    async def run(tools: McpTools, name: str, **arguments: Any) -> ToolResult:
        return await tools.execute(ToolCall("c1", name, json.dumps(arguments)))

    return run
