"""The tools of several servers as one executor, which connects, and connects again.

A connection is bound to the event loop in which it is opened. In another loop, as in a second
`run_sync`, each server is connected anew.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Self

import attrs

from agentic import events
from agentic._base._validate import all_are
from agentic.bridges.mcp._connection import McpConnection
from agentic.bridges.mcp._errors import ConnectionLost, McpServerUnavailable, describe
from agentic.bridges.mcp._results import read_result, read_tool
from agentic.bridges.mcp._sdk import Report
from agentic.bridges.mcp._server import McpServer
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.tools import Registry, ToolDefinition
from agentic.tools._executors import permits

_log = logging.getLogger(__name__)


@attrs.define(init=False, eq=False)
class McpTools:
    """The tools of MCP servers, as an executor.

    Combine it with others by `tools.CompositeExecutor`. As an async context manager, it connects to
    all servers at its start and closes all connections at its end. Without it, a server is
    connected when it is first needed, and closed when the event loop ends.

    If two servers have a tool of one name, the first one's is used: give one of them a prefix.

    Raises:
        ConfigError: there is no server, or two of them have the same name.
    """

    servers: tuple[McpServer, ...]
    _links: "tuple[_ServerLink, ...]"
    _registry: Registry | None
    _registered: "list[tuple[_McpTool, ...]]"
    """The listings that the registry was made of."""

    def __init__(self, *servers: McpServer) -> None:
        remedy = "pass McpServer.stdio(name, command) or McpServer.http(name, url)"
        self.servers = all_are(McpServer, servers, "servers", remedy)
        if not 0 < len({server.name for server in servers}) == len(servers):
            requirement = "one or more McpServer, each with a different name"
            raise ConfigError("servers", servers, requirement, remedy)
        self._links = tuple(map(_ServerLink, servers))
        self._registry, self._registered = None, []

    async def __aenter__(self) -> Self:
        """Connect to all servers.

        Raises:
            McpServerUnavailable: one of them cannot be reached; the others are closed again.
        """
        connecting = [asyncio.create_task(link.connect()) for link in self._links]
        try:
            await asyncio.gather(*connecting)
        # All of them are waited for: one may have started a process just now.
        except BaseException:
            for task in connecting:
                task.cancel()
            await asyncio.wait(connecting)
            await self.close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections, within seconds even if a server does not cooperate."""
        # All of them first: what is closed last must not take new calls for ten seconds.
        for link in self._links:
            link.end()
        await asyncio.gather(*(link.close() for link in self._links))

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the tools of all servers, in the order of the servers.

        The listing of a server whose connection is lost is the latest one, until a call connects
        again.

        Raises:
            McpServerUnavailable: a server cannot be reached and was never listed.
        """
        listings = await asyncio.gather(*(link.list_tools() for link in self._links))
        # Not by what this call found: the one before may have been cancelled after some were read.
        if self._registry is None or listings != self._registered:
            self._registry = _registry(tool for tools in listings for tool in tools)
            self._registered = listings
        return await self._registry.list_tools()

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run one call. Whatever the server does, the result says so."""
        # A server may have added the tool since the last listing, or was never listed. The Runner
        # has checked the name against `list_tools`; other callers have not.
        if self._registry is None or call.name not in self._registry:
            try:
                await self.list_tools()
            except McpServerUnavailable as problem:
                return ToolResult(call.id, call.name, error=_not_run(problem))
        return await (self._registry or Registry()).execute(call)


def _registry(tools: "Iterable[_McpTool]") -> Registry:
    registry = Registry()
    for tool in tools:
        # Not an error: a server may add a tool at any time, in the middle of a run.
        if tool.definition.name in registry:
            name, server = tool.definition.name, tool.link.server.name
            _log.warning("%r of the MCP server %r is hidden by an earlier tool", name, server)
        else:
            registry.register(tool)
    return registry


@attrs.define(eq=False)
class _LoopConnection:
    """The connection of one event loop, if there is one."""

    connection: McpConnection | None = attrs.field(default=None, init=False)
    lock: asyncio.Lock = attrs.field(factory=asyncio.Lock, init=False)


@attrs.define(eq=False)
class _ServerLink:
    """A server, and the connections to it: one for each event loop, as in several threads."""

    server: McpServer
    _by_loop: dict[asyncio.AbstractEventLoop, _LoopConnection] = attrs.field(
        factory=dict, init=False
    )
    _listing: list[dict[str, Any]] | None = attrs.field(default=None, init=False)
    _tools: "tuple[_McpTool, ...]" = attrs.field(default=(), init=False)

    async def connect(self) -> McpConnection:
        """Return an open connection.

        Raises:
            McpServerUnavailable: the server cannot be reached.
        """
        here = self._here
        async with here.lock:
            if here.connection is None or not here.connection.is_open:
                if here.connection is not None:
                    here.connection.end()
                    _log.info("connecting to the MCP server %r again", self.server.name)
                here.connection = await McpConnection.open(self.server)
            return here.connection

    def end(self) -> None:
        """Begin to close the connection of this loop, if there is one."""
        if (connection := self._here.connection) is not None:
            connection.end()

    async def close(self) -> None:
        """Close the connection of this loop, if there is one."""
        here = self._here
        connection, here.connection = here.connection, None
        if connection is not None:
            await connection.close()

    @property
    def _here(self) -> _LoopConnection:
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            # What was opened in a loop ended with it. A copy: another thread may add its own.
            for old_loop in [each for each in self._by_loop.copy() if each.is_closed()]:
                self._by_loop.pop(old_loop, None)
            self._by_loop[loop] = _LoopConnection()
        return self._by_loop[loop]

    async def list_tools(self) -> "tuple[_McpTool, ...]":
        """Return the tools; the same objects as last time if the server lists the same."""
        cache, connection = self._listing, self._here.connection
        # A server that is down costs one call, and not every turn.
        if cache is not None and connection is not None and not connection.is_open:
            return self._tools
        try:
            listing = await (await self.connect()).list_tools()
        except Exception as error:  # a server may answer anything
            if cache is None and isinstance(error, McpServerUnavailable):
                raise
            if cache is None:
                raise McpServerUnavailable(self.server.name, describe(error)) from error
            _log.warning("the tools of %r are not listed: %s", self.server.name, describe(error))
            return self._tools
        if listing != cache:
            self._listing, self._tools = listing, tuple(self._read(listing))
        return self._tools

    def _read(self, listing: list[dict[str, Any]]) -> "list[_McpTool]":
        server, tools = self.server, []
        for description in listing:
            tool = read_tool(description)
            if tool is not None and (server.allow is None or permits(server.allow, tool)):
                renamed_tool = attrs.evolve(tool, name=f"{server.prefix}{tool.name}"[:128])
                tools.append(_McpTool(renamed_tool, self, description["name"]))
        return tools

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult | ToolError:
        """Call a tool; what goes wrong is worded for the model."""
        server, seconds = self.server, self.server.call_timeout_seconds
        copy, report = dict(arguments), _report()
        # Apart from the call: only before it, it is certain that the tool has not run.
        try:
            connection = await self.connect()
        except McpServerUnavailable as problem:
            return _not_run(problem)
        try:
            # Not the SDK's own timeout, which version 1 does not tell the server of.
            async with asyncio.timeout(seconds) as limit:
                return read_result(
                    await connection.request(lambda each: each.call_tool(name, copy, report))
                )
        except ConnectionLost:
            return ToolError(
                f"the MCP server {server.name!r} stopped before it answered: it is unknown whether "
                "the tool ran to its end. The next call connects to the server again.",
                "interrupted",
            )
        except TimeoutError:
            # Another timeout than this one, such as one of the SDK.
            if not limit.expired():
                raise
            return ToolError(
                f"no result in {seconds:g} seconds; the MCP server {server.name!r} was told to "
                "stop",
                "timeout",
            )


def _not_run(problem: McpServerUnavailable) -> ToolError:
    return ToolError(f"{problem}. The tool was not run.", "not_run")


def _report() -> Report | None:
    """Return what reports the progress of the current call, if a Runner is executing it."""
    running = events.current_call()
    if running is None:
        return None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await running.report_progress(progress, total, message or "")

    return report


@attrs.frozen(eq=False)
class _McpTool:
    """A tool of a server, for a Registry."""

    definition: ToolDefinition
    link: _ServerLink
    name: str
    """The name that the server knows it by."""

    async def run(self, arguments: Mapping[str, Any], /) -> ToolResult | ToolError:
        """Run one call."""
        return await self.link.call(self.name, arguments)
