"""The SDK's transports and sessions; the only module in which its versions 1.x and 2.x differ.

Everything here is opened and closed by one task. The methods of a session may be used by any task
of the same event loop. What a session returns is the JSON of the wire, the same for both versions.
"""

import contextlib
import importlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol, Self, TypeAlias

import anyio
import attrs
import mcp

Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]
"""Receives the progress of a call: how far it is, out of how much, and a message."""
Transport: TypeAlias = contextlib.AbstractAsyncContextManager[Any]
"""Yields the streams of a connection, to read and to write, as the SDK's clients do."""

_sdk: Any = mcp
# For a cancellation to be sent; less than the connection waits for the request to end.
_SECONDS_TO_TELL = 1.0
_SECONDS_TO_SUBSCRIBE = 2.0
# A server that ends each subscription at once is asked again once a second, not in a busy loop.
_SECONDS_BETWEEN_SUBSCRIPTIONS = 1.0
# A server may answer a call by a state with which it is asked again, until it has the result:
# SEP-2322, in the protocol of 2026-07-28. The SDK gives up after ten rounds, which take 2.2 seconds
# (mcp 2.3.0); here the limit is the call's timeout.
_MOST_ROUNDS = sys.maxsize


class McpSession(Protocol):
    """An open session with a server."""

    notifies: bool
    """Whether the server has agreed to report changes of its tools."""

    async def list_tools(self, cursor: str | None) -> dict[str, Any]:
        """Return one page of the tools."""
        ...

    async def call_tool(
        self, name: str, arguments: dict[str, Any], report: Report | None
    ) -> dict[str, Any]:
        """Return the result of a call. If cancelled, tell the server to stop."""
        ...


def stdio_transport(
    command: str, args: list[str], env: Mapping[str, str] | None, cwd: str | None
) -> Transport:
    """Return a transport that starts a process and talks over its stdin and stdout."""
    settings = {"command": command, "args": args, "env": env and dict(env), "cwd": cwd}
    transport: Transport = _sdk.stdio_client(_sdk.StdioServerParameters(**settings))
    return transport


@contextlib.asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str]) -> AsyncIterator[Any]:
    """Connect to the endpoint of a streamable HTTP server, sending headers with every request."""
    module: Any = importlib.import_module("mcp.client.streamable_http")
    if not hasattr(module, "streamable_http_client"):  # before 1.24
        async with module.streamablehttp_client(url, headers=dict(headers)) as streams:
            yield streams
        return
    async with (
        module.create_mcp_http_client(headers=dict(headers)) as client,
        module.streamable_http_client(url, http_client=client) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def connect(
    transport: Transport, on_change: Callable[[], None], on_end: Callable[[], None]
) -> AsyncIterator[McpSession]:
    """Open a session. Call `on_change` if the server's tools changed, `on_end` at its end."""
    watch = _WatchedTransport(transport, on_end)
    # `Client` came with version 2.
    connection = _open_2(watch, on_change) if hasattr(_sdk, "Client") else _open_1(watch, on_change)
    async with connection as session:
        yield session


@attrs.define(eq=False)
class _WatchedTransport:
    """A transport that says when the other side has closed the connection."""

    # The SDK only fails the requests that are open then:
    # https://github.com/modelcontextprotocol/python-sdk/issues/332 (2026-11).

    _transport: Transport
    _on_end: Callable[[], None]

    async def __aenter__(self) -> tuple[Any, Any]:
        read, write, *_ = await self._transport.__aenter__()
        return _WatchedStream(read, self._on_end), write

    async def __aexit__(self, *error: Any) -> bool | None:  # noqa: PYI036  passed on
        return await self._transport.__aexit__(*error)


@attrs.define(eq=False)
class _WatchedStream:
    """A stream of messages that calls a function at its end."""

    _stream: Any
    _on_end: Callable[[], None]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:  # noqa: PYI036  passed on
        result: bool | None = await self._stream.__aexit__(*error)
        return result

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._on_end()
            raise


def _plain(result: Any) -> dict[str, Any]:
    plain: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return plain


def _handler(on_change: Callable[[], None]) -> Callable[[Any], Awaitable[None]]:
    """Return a message handler that notices a changed list of tools and ignores the rest."""

    async def handle(message: Any) -> None:
        notification = getattr(message, "root", message)
        if getattr(notification, "method", "") == "notifications/tools/list_changed":
            on_change()

    return handle


@attrs.define(eq=False)
class _McpSession2:
    _client: Any
    notifies: bool = False

    async def list_tools(self, cursor: str | None) -> dict[str, Any]:
        return _plain(await self._client.list_tools(cursor=cursor))

    async def call_tool(
        self, name: str, arguments: dict[str, Any], report: Report | None
    ) -> dict[str, Any]:
        # A cancelled request is cancelled at the server by the SDK.
        return _plain(await self._client.call_tool(name, arguments, progress_callback=report))


@contextlib.asynccontextmanager
async def _open_2(transport: Any, on_change: Callable[[], None]) -> AsyncIterator[McpSession]:
    # Without the SDK's own cache of listings: this bridge has one.
    client = _sdk.Client(
        transport,
        message_handler=_handler(on_change),
        cache=None,
        input_required_max_rounds=_MOST_ROUNDS,
    )
    async with client, anyio.create_task_group() as group:
        session = _McpSession2(client)
        answer = anyio.Event()
        group.start_soon(_subscribe, client, session, on_change, answer.set)
        # Tools that are listed before the subscription begins would be listed a second time.
        with anyio.move_on_after(_SECONDS_TO_SUBSCRIBE):
            await answer.wait()
        yield session
        group.cancel_scope.cancel()


async def _subscribe(
    client: Any,
    session: _McpSession2,
    on_change: Callable[[], None],
    on_answer: Callable[[], object],
) -> None:
    """Subscribe to changes of the tools, which servers of 2026-07-28 report in no other way.

    A subscription that ends is renewed, after the tools were listed again: there is no replay.
    """
    subscriptions: Any = importlib.import_module("mcp.client.subscriptions")
    while True:
        try:
            async with client.listen(tools_list_changed=True) as changes:
                session.notifies = bool(changes.honored.tools_list_changed)
                on_change()
                on_answer()
                async for _ in changes:
                    on_change()
        except subscriptions.SubscriptionLost:
            pass
        except (subscriptions.ListenNotSupportedError, _sdk.MCPError, TimeoutError):
            session.notifies = False
            on_answer()
            return
        await anyio.sleep(_SECONDS_BETWEEN_SUBSCRIPTIONS)


@attrs.define(eq=False)
class _McpSession1:
    _session: Any
    notifies: bool = True

    async def list_tools(self, cursor: str | None) -> dict[str, Any]:
        page = mcp.types.PaginatedRequestParams(cursor=cursor)
        return _plain(await self._session.list_tools(params=page))

    async def call_tool(
        self, name: str, arguments: dict[str, Any], report: Report | None
    ) -> dict[str, Any]:
        # Version 1 does not tell the server of a cancellation, nor its caller the id of a request:
        # https://github.com/modelcontextprotocol/python-sdk/issues/2507 (2026-11). It is the next
        # number when the call begins.
        request_id = self._session._request_id  # noqa: SLF001
        try:
            return _plain(await self._session.call_tool(name, arguments, progress_callback=report))
        except anyio.get_cancelled_exc_class():
            # Shielded: in a task that is being cancelled, nothing else could be sent.
            with anyio.move_on_after(_SECONDS_TO_TELL, shield=True):
                await self._session.send_notification(_cancellation(request_id))
            raise


def _cancellation(request_id: int) -> Any:
    types: Any = mcp.types
    return types.ClientNotification(
        types.CancelledNotification(
            method="notifications/cancelled",
            params=types.CancelledNotificationParams(requestId=request_id, reason="cancelled"),
        )
    )


@contextlib.asynccontextmanager
async def _open_1(transport: Any, on_change: Callable[[], None]) -> AsyncIterator[McpSession]:
    async with (
        transport as (read, write),
        _sdk.ClientSession(read, write, message_handler=_handler(on_change)) as session,
    ):
        await session.initialize()
        yield _McpSession1(session)
