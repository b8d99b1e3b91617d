"""One connection to a server, from its opening to its end, and the tools listed over it."""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Self, TypeVar

import anyio
import attrs

from agentic.bridges.mcp._errors import (
    ConnectionLost,
    McpServerUnavailable,
    describe,
    is_disconnect,
)
from agentic.bridges.mcp._sdk import McpSession, connect
from agentic.bridges.mcp._server import McpServer

_log = logging.getLogger(__name__)
# The SDK gives a process two seconds after its stdin is closed, two more after SIGTERM, and then
# kills it (mcp 2.3.0).
_SECONDS_TO_CLOSE = 10.0
# For a cancelled request to end: the server is told first.
_SECONDS_TO_STOP = 2.0
# For the SDK to fail the open requests after a connection has ended: its error says why.
_SECONDS_TO_FAIL = 0.5
_MOST_PAGES = 1_000
_T = TypeVar("_T")


@attrs.define(eq=False)
class McpConnection:
    """An open connection."""

    server: McpServer
    _session: McpSession | None = attrs.field(default=None, init=False)
    _stop: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _ended: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _scope: anyio.CancelScope = attrs.field(factory=anyio.CancelScope, init=False)
    _owner: "asyncio.Task[None] | None" = attrs.field(default=None, init=False)
    _error: Exception | None = attrs.field(default=None, init=False)
    """What ended the connection, or prevented it."""
    _listing: list[dict[str, Any]] = attrs.field(factory=list, init=False)
    """The tools as last listed."""
    _changes: int = attrs.field(default=1, init=False)
    """How often the server said that they changed, and once for a start."""
    _seen: int = attrs.field(default=0, init=False)
    """How many of the changes are in the listing."""
    _expires: float = attrs.field(default=0.0, init=False)
    """When the listing is too old, by the clock of the event loop."""

    @classmethod
    async def open(cls, server: McpServer) -> Self:
        """Connect to a server.

        Raises:
            McpServerUnavailable: it did not start, refused, or did not answer in time.
        """
        connection, ready = cls(server), asyncio.Event()
        # A task opens and closes it, and nobody else: a cancel scope of the SDK must be left by the
        # task that entered it (https://github.com/modelcontextprotocol/python-sdk/issues/79).
        # In an empty context: the call that happens to open the connection is not the only user.
        owner = connection._owner = asyncio.create_task(
            connection._own(ready), name=f"mcp {server.name}", context=contextvars.Context()
        )
        is_ready = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait(
                {owner, is_ready},
                timeout=server.connect_timeout_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            is_ready.cancel()
            # Too late, or the caller was cancelled: a process may have been started nevertheless.
            if not ready.is_set():
                await connection._abort()
        if ready.is_set():
            return connection
        raise connection._refusal()

    def _refusal(self) -> McpServerUnavailable:
        late = f"no answer in {self.server.connect_timeout_seconds:g} seconds"
        return McpServerUnavailable(
            self.server.name, describe(self._error) if self._error else late
        )

    async def _own(self, ready: asyncio.Event) -> None:
        transport = self.server.transport()
        try:
            with self._scope:
                async with connect(transport, self._note_change, self._ended.set) as session:
                    self._session = session
                    ready.set()
                    await self._stop.wait()
        except Exception as error:  # noqa: BLE001  of the SDK, the network or the process
            self._error = error
            _log.info("the MCP server %r: %s", self.server.name, describe(error))
        finally:
            # Whatever ended it: calls that wait for an answer fail now, and the next one connects.
            self._ended.set()

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return not (self._ended.is_set() or self._stop.is_set())

    def _note_change(self) -> None:
        self._changes += 1

    async def list_tools(self) -> list[dict[str, Any]]:
        """Return the server's tools, asking for them only if they may have changed.

        Raises:
            ConnectionLost: the connection ended.
            TimeoutError: the listing took too long.
            Exception: the server refused.
        """
        time = asyncio.get_running_loop().time
        # A server that reports changes is believed, whatever its time to live says.
        is_old = self._expires <= time() and not (self._session and self._session.notifies)
        if self._seen < self._changes or is_old:
            # Noted before: a change that is reported meanwhile makes the listing old at once.
            changes = self._changes
            async with asyncio.timeout(self.server.connect_timeout_seconds):
                self._listing, lasts = await self._read_pages()
            self._seen, self._expires = changes, time() + lasts
        return self._listing

    async def _read_pages(self) -> tuple[list[dict[str, Any]], float]:
        """Return the tools of all pages, and for how many seconds they are valid."""
        tools: list[dict[str, Any]] = []
        lasts, cursor = float("inf"), None
        cursors: set[str | None] = set()
        # A server may repeat a cursor, or give new ones forever.
        while cursor not in cursors and len(cursors) < _MOST_PAGES:
            cursors.add(cursor)
            page = await self._read_page(cursor)
            tools += page.get("tools") or []
            lasts = min(lasts, page.get("ttlMs", float("inf")) / 1_000)
            cursor = page.get("nextCursor")
            if cursor is None:
                break
        return tools, lasts

    async def _read_page(self, cursor: str | None) -> dict[str, Any]:
        return await self.request(lambda session: session.list_tools(cursor))

    async def request(self, send: Callable[[McpSession], Coroutine[Any, Any, _T]]) -> _T:
        """Return the answer to a request. If cancelled, so is the request, at the server as well.

        Raises:
            ConnectionLost: the connection ended before the answer, or was of no use.
            Exception: the server refused, or the SDK did.
        """
        if self._session is None or not self.is_open:
            raise ConnectionLost
        # Beside the end of the connection: the call fails as soon as anybody notices that.
        asking = asyncio.create_task(send(self._session))
        end = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait({asking, end}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                await asyncio.wait({asking}, timeout=_SECONDS_TO_FAIL)
        finally:
            end.cancel()
            if not asking.done():
                await _cancel(asking)
        if not asking.done() or asking.cancelled():
            raise ConnectionLost
        error = asking.exception()
        if error is not None and is_disconnect(error):
            self.end()
            raise ConnectionLost from error
        return asking.result()

    def end(self) -> None:
        """Begin to close: no more calls can be made."""
        self._stop.set()

    async def close(self) -> None:
        """Close the connection, and stop the process of a stdio server. Never waits for long."""
        self.end()
        if self._owner is not None:
            await asyncio.wait({self._owner}, timeout=_SECONDS_TO_CLOSE)
            await self._abort()

    async def _abort(self) -> None:
        """Abandon what the owner is doing, and wait until it has stopped the process.

        Only through the scope: a task that is cancelled directly leaves the SDK's shutdown in the
        middle, and then waits for the process forever.
        """
        if self._owner is None or self._owner.done():
            return
        self._scope.cancel()
        await asyncio.wait({self._owner}, timeout=_SECONDS_TO_CLOSE)
        if not self._owner.done():
            _log.warning("the connection to the MCP server %r does not close", self.server.name)


async def _cancel(request: "asyncio.Task[Any]") -> None:
    """Cancel a request, and wait until the server was told."""
    request.cancel()
    await asyncio.wait({request}, timeout=_SECONDS_TO_STOP)
