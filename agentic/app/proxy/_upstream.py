"""The requests to the provider, and its answers, passed on as they arrive."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar
from urllib.parse import urlsplit

import attrs
import httpx
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from agentic._base._addresses import address_remedy, show_address
from agentic.app.proxy._replies import ReplyReader
from agentic.errors import ConfigError
from agentic.providers.overflow import read_size_refusal
from agentic.providers.overflow._size_refusal import SizeRefusal

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
# https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 (2026-11): they concern one connection only.
_HOP_BY_HOP = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization"),
    *(b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade"),
}
_OURS = {b"host", b"expect"}
"""Headers of a request that httpx and the server write themselves."""
# Unlike the limit for silence, which is minutes: a model may think, but a host answers.
_CONNECT_SECONDS = 15.0
_ERROR = 400
# How much of an answer is read before it is passed on; what says that a request is too large is
# short.
_HEAD_BYTES = 65_536
# How long a stream is held back that has only heartbeats. They are sent so that a connection that
# is silent for half a minute or more is not closed on the way.
_HELD_SECONDS = 10.0


@attrs.define(eq=False)
class Upstream:
    """The provider: its base URL, and the connections to it."""

    address: str = attrs.field()
    timeout_seconds: float | None
    _client: httpx.AsyncClient | None = attrs.field(default=None, init=False)

    @address.validator
    def _check_address(self, _: object, address: object) -> None:
        requirement = "an address such as https://api.openai.com/v1"
        try:
            url = urlsplit(address if isinstance(address, str) else "")
            is_address = url.scheme in {"http", "https"} and url.hostname and url.port != 0
        except ValueError:
            is_address = False
            url = urlsplit("")
        if url.username is not None or url.password is not None:
            sentence = "to must be an address without a user and a password: send them as headers"
            raise ConfigError("to", "", requirement, message=sentence)
        if not is_address or url.query or url.fragment:
            shown = show_address(address) if isinstance(address, str) else address
            raise ConfigError("to", shown, requirement, address_remedy(str(shown)))

    @property
    def origin(self) -> str:
        """The scheme, the host and the port."""
        url = urlsplit(self.address)
        return f"{url.scheme}://{url.netloc}"

    async def send(
        self,
        request: Request,
        content: bytes | AsyncIterator[bytes] | None,
        leave_out: Iterable[bytes] = (),
        extra: Iterable[tuple[bytes, bytes]] = (),
    ) -> httpx.Response:
        """Send a client's request on, and return the answer, of which the body is not read yet.

        Raises:
            httpx.HTTPError: there is no answer.
        """
        # The target is not part of the URL, because httpx logs that: a query may hold a key.
        # The timeout is here as well, because httpx 0.27 applies its client's to its own requests.
        timeout = httpx.Timeout(self.timeout_seconds, connect=_CONNECT_SECONDS, pool=None)
        target = _target(urlsplit(self.address).path, request)
        extensions = {"target": target, "timeout": timeout.as_dict()}
        headers = [*_passed_on(request.headers.raw, {*_OURS, *leave_out}), *extra]
        # A request that the client builds would get its default headers, cookies and credentials.
        outgoing = httpx.Request(
            request.method, self.origin, headers=headers, content=content, extensions=extensions
        )
        # Here, and not when the proxy is made: the client belongs to the event loop that serves.
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
            self._client = httpx.AsyncClient(limits=limits)
        return await self._client.send(outgoing, stream=True, auth=None, follow_redirects=False)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


@attrs.define(eq=False)
class Relay:
    """An answer of the provider; as an ASGI application it passes it on."""

    upstream: httpx.Response
    reader: ReplyReader | None = attrs.field(default=None, kw_only=True)
    """Reads what is passed on."""
    settle: Callable[[Any], Awaitable[None]] | None = attrs.field(default=None, kw_only=True)
    """Is called once: with the reply as JSON data before the client has its end, or with None."""
    _head: bytes = attrs.field(default=b"", init=False)
    _pieces: AsyncIterator[bytes] = attrs.field(init=False)
    _reading: "asyncio.Task[bytes] | None" = attrs.field(default=None, init=False)
    """Reads a piece that had not arrived when it was waited for."""

    def __attrs_post_init__(self) -> None:
        self._pieces = self.upstream.aiter_raw()

    async def read_refusal(self, seconds: float = _HELD_SECONDS) -> SizeRefusal | None:
        """Return what the request had too much of; None if the provider does not say so.

        It says so in an error or, after a status of 200, in the first event of a stream, or in the
        body. A stream is held back up to its first content, at most for some seconds.
        """
        answer = await self.read_error()
        if answer is None:
            return await self._read_refusal_later(seconds)
        request = self.upstream.request
        return read_size_refusal(httpx.HTTPStatusError("", request=request, response=answer))

    async def read_error(self) -> httpx.Response | None:
        """Return the beginning of an error, which is passed on later; None if there is none."""
        if self.upstream.status_code < _ERROR:
            return None
        while len(self._head) < _HEAD_BYTES and await self._read_on():
            pass
        status, headers = self.upstream.status_code, self.upstream.headers
        with contextlib.suppress(httpx.DecodingError):
            return httpx.Response(status, headers=headers, content=self._head)
        return httpx.Response(status)

    async def _read_refusal_later(self, seconds: float) -> SizeRefusal | None:
        reader, clock = self.reader, asyncio.get_running_loop().time
        ends = clock() + seconds
        while reader is not None and not reader.has_begun:
            if len(self._head) >= _HEAD_BYTES:
                return None
            try:
                async with asyncio.timeout_at(ends):
                    piece = await self._read_on()
            except TimeoutError:
                return None
            if not piece:
                reader.finish()
                break
            reader.feed(piece)
        return None if reader is None else reader.refusal

    async def _read_on(self) -> bytes:
        """Return the next piece of the body, which is passed on later; an empty one at the end."""
        piece = await self._next_piece()
        self._head += piece
        return piece

    async def _next_piece(self) -> bytes:
        # A task, because a piece that is waited for must not be lost when the waiting ends.
        if self._reading is None:
            self._reading = asyncio.ensure_future(_read_piece(self._pieces))
        piece = await asyncio.shield(self._reading)
        self._reading = None
        return piece

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the answer on until its end, or until the client is gone."""
        try:
            await unless_gone(receive, self._pass_on(send))
        except ClientDisconnect:
            _log.debug("the client left before the end of the answer")
        except httpx.HTTPError as problem:
            # The server then breaks the connection, because the body has no end: the client must
            # not take a part for the whole.
            _log.warning("the provider broke off its answer (%s)", type(problem).__name__)
        finally:
            await self.close()

    async def close(self) -> None:
        """Leave the answer, so that the provider stops writing it."""
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        try:
            await self._settle()
        finally:
            await self.upstream.aclose()
            _forget_content(self.upstream)

    async def _pass_on(self, send: Send) -> None:
        status, headers = self.upstream.status_code, self.upstream.headers.raw
        start = {"type": "http.response.start", "status": status}
        await send({**start, "headers": list(_passed_on(headers, ()))})
        if self._head:
            await self._send_piece(send, self._head)
        while piece := await self._next_piece():
            if self.reader is not None:
                self.reader.feed(piece)
            await self._send_piece(send, piece)
        if self.reader is not None:
            self.reader.finish()
        await self._settle()
        # Only now: a body without this end tells the client that the answer was broken off.
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_piece(self, send: Send, piece: bytes) -> None:
        # A client may send its next request as soon as it has the last event.
        if self.reader is not None and self.reader.response is not None:
            await self._settle()
        await send({"type": "http.response.body", "body": piece, "more_body": True})

    async def _settle(self) -> None:
        settle, self.settle = self.settle, None
        if settle is not None:
            await settle(None if self.reader is None else self.reader.response)


async def _read_piece(pieces: AsyncIterator[bytes]) -> bytes:
    """Return the next piece that is not empty; an empty one at the end."""
    async for piece in pieces:
        if piece:
            return piece
    return b""


def _forget_content(response: httpx.Response) -> None:
    """Let go of the body of a request: httpx refers from an answer to its stream, and back.

    That cycle would hold the body until Python looks for cycles, which may be many requests later.
    """
    response.request = httpx.Request(response.request.method, response.request.url)
    response.stream = httpx.ByteStream(b"")


async def unless_gone(
    receive: Receive, work: Coroutine[Any, Any, _T], read: asyncio.Event | None = None
) -> _T:
    """Return what a coroutine returns; cancel it if the client disconnects.

    Nothing is received from the client before `read` is set.

    Raises:
        ClientDisconnect: the client was gone first.
    """
    working = asyncio.ensure_future(work)
    watching = asyncio.ensure_future(_gone(receive, read))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        # Waited for, so that the provider's connection is closed before this request is over.
        working.cancel()
        watching.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def _gone(receive: Receive, read: asyncio.Event | None) -> None:
    if read is not None:
        await read.wait()
    while (await receive())["type"] != "http.disconnect":
        pass


def _passed_on(
    headers: Iterable[tuple[bytes, bytes]], leave_out: Iterable[bytes]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the headers that concern more than one connection, with their names in lower case."""
    pairs = [(name.lower(), value) for name, value in headers]
    names = b",".join(value for name, value in pairs if name == b"connection").lower()
    omit = {*_HOP_BY_HOP, *leave_out, *map(bytes.strip, names.split(b","))}
    return (pair for pair in pairs if pair[0] not in omit)


def _target(base: str, request: Request) -> bytes:
    """Return the path and the query to ask for, exactly as the client wrote them.

    Where the base URL ends with what the path begins with, that occurs once: clients of some
    providers have the version in their base URL, those of others in their paths.
    """
    scope = request.scope
    path: bytes = scope.get("raw_path") or request.url.path.encode()
    path = path.partition(b"?")[0].removeprefix(scope.get("root_path", "").encode())
    query: bytes = scope["query_string"]
    return _join(base.encode().rstrip(b"/"), path) + (b"?" + query if query else b"")


def _join(base: bytes, path: bytes) -> bytes:
    """Return a path under a base.

    >>> _join(b"/api/v1", b"/v1/models"), _join(b"", b"/v1/models"), _join(b"/v1", b"/models")
    (b'/api/v1/models', b'/v1/models', b'/v1/models')
    """
    parts = base.split(b"/")[1:]
    for start in range(len(parts)):
        end = b"/" + b"/".join(parts[start:])
        if path == end or path.startswith(end + b"/"):
            return base + path[len(end) :]
    return base + path
