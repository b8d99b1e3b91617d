"""What a call of an MCP server's tool costs on top of the SDK's own client."""

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mcp

from agentic.bridges.mcp import McpServer, McpTools
from agentic.messages import ToolCall
from benchmarks.bridges._scenario import Figures

__all__ = ["overhead", "run"]

_SERVER = Path(__file__).parents[2] / "tests" / "bridges" / "mcp" / "server.py"
_ROUNDS = 300


def run() -> dict[str, Figures]:
    """Return no figures: the bridge runs tools, and keeps no window."""
    return {}


def overhead() -> dict[str, float]:
    """Return the milliseconds that listing the tools and one call take more than the call alone."""
    return asyncio.run(_measure())


async def _measure() -> dict[str, float]:
    with TemporaryDirectory() as folder:
        command = [str(_SERVER), folder]
        parameters = mcp.StdioServerParameters(command=sys.executable, args=command)
        server = McpServer.stdio("add", sys.executable, command)
        async with mcp.Client(parameters) as client, McpTools(server) as tools:
            alone, ours = [], []
            for _ in range(_ROUNDS):  # in turn, so that a busy machine slows down both
                alone.append(await _time(client.call_tool("add", {"a": 1, "b": 2})))
                ours.append(await _time(_turn(tools)))
    before, after = statistics.median(alone), statistics.median(ours)
    return {f"a listing and a call, beside {before:.2f} ms in the SDK alone": after - before}


async def _turn(tools: McpTools) -> None:
    await tools.list_tools()
    result = await tools.execute(ToolCall("c1", "add", '{"a": 1, "b": 2}'))
    assert result.output == "3"  # noqa: S101  a figure of failures would mean nothing


async def _time(act: Awaitable[Any]) -> float:
    started = time.perf_counter()
    await act
    return (time.perf_counter() - started) * 1_000
