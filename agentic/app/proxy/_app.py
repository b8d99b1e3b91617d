"""The proxy as an ASGI application: which requests are fitted, and what is done when one fails."""

import asyncio
import contextlib
import hashlib
import json
import logging
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agentic._validate import seconds, whole
from agentic._waiting import off_loop
from agentic.bridges.dicts import Conversation
from agentic.bridges.proxy._body import ListText, RequestBody
from agentic.bridges.proxy._bound import send_bound, with_beta
from agentic.bridges.proxy._folder import StateFolder
from agentic.bridges.proxy._pool import PooledConversation, ProxyPool
from agentic.bridges.proxy._replies import ReplyReader
from agentic.bridges.proxy._upstream import Relay, Upstream, unless_gone
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.errors import ContextOverflow
from agentic.providers import anthropic, openai_chat
from agentic.providers._bound_requests import BoundRequests
from agentic.tokens import Counter

_log = logging.getLogger(__name__)
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# Wherever a provider or a gateway has its key. Two clients with different ones share nothing.
_CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
_CLIENT_GONE, _BAD_GATEWAY, _TIMEOUT, _TOO_LARGE, _BAD_REQUEST = 499, 502, 504, 413, 400
_ENCODED = b"content-encoding"
_LENGTH = b"content-length"
_MESSAGE_BYTES = 1_024
"""About as many bytes are read in the time of one message; see `off_loop`."""


@attrs.define(eq=False)
class Proxy:
    """An ASGI application that keeps every conversation within the window, for any client.

    Run it with uvicorn, or with the command `agentic proxy`.

    Args:
        to: the base URL of the provider, with or without its version: https://api.openai.com/v1,
            https://api.anthropic.com.
        window: the name of a model, the size of its window in tokens, or a complete Policy. With
            several models, the smallest of their windows.
        compactor: writes the summaries; by default a Digest, which needs no model.
        strategies: applied to the history when an epoch begins.
        counter: by default the best one installed for the model, otherwise an estimate.
        max_conversations: how many conversations are remembered. The one that was idle longest is
            forgotten first; if it goes on, it is summarized again.
        max_bytes: how large the latest requests of the remembered conversations may be together.
            In memory, a conversation takes several times the bytes of its request.
        max_body_bytes: how large a request to be fitted may be. A larger one gets status 413.
        timeout_seconds: how long the provider may be silent; None for ever.
        store: a folder that keeps each conversation's latest summary, so that a restart costs no
            new one. A summary quotes the conversation. By default nothing is stored.

    Raises:
        ConfigError: an argument cannot be used.
    """

    to: str
    window: Policy | int | str
    compactor: Compactor | None = attrs.field(default=None, kw_only=True)
    strategies: Chain | Sequence[ContextStrategy] = attrs.field(default=(), kw_only=True)
    counter: Counter | None = attrs.field(default=None, kw_only=True)
    max_conversations: int = attrs.field(default=256, kw_only=True, validator=whole(1))
    max_bytes: int = attrs.field(default=64 * 2**20, kw_only=True, validator=whole(1))
    max_body_bytes: int = attrs.field(default=128 * 2**20, kw_only=True, validator=whole(1))
    timeout_seconds: float | None = attrs.field(default=600.0, kw_only=True, validator=seconds)
    store: str | Path | None = attrs.field(default=None, kw_only=True)
    _upstream: Upstream = attrs.field(init=False, repr=False)
    _pool: ProxyPool = attrs.field(init=False, repr=False)
    _app: ASGIApp = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._upstream = Upstream(self.to, self.timeout_seconds)
        self._pool = ProxyPool(
            self._new_conversation,
            self.max_conversations,
            self.max_bytes,
            None if self.store is None else StateFolder(Path(self.store)),
        )
        # Mistakes in the options are reported now, and before conversations of the folder are read,
        # which would all be passed over because of them.
        self._new_conversation(openai_chat, None)
        self._pool.load({wire.NAME: wire for wire in (openai_chat, anthropic)})
        route = Route("/{path:path}", self._answer, methods=_METHODS)
        self._app = Starlette(routes=[route], lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, as ASGI defines it."""
        if scope["type"] != "http" or scope["method"] not in _METHODS:
            await self._app(scope, receive, send)
            return
        # Without a route, whose pattern matches no path with an escaped end of a line.
        answer = await self._answer(Request(scope, receive, send))
        await answer(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self._upstream.close()

    def _new_conversation(self, wire: ModuleType, state: Mapping[str, Any] | None) -> Conversation:
        return Conversation(
            wire,
            self.window,
            compactor=self.compactor,
            strategies=self.strategies,
            counter=self.counter,
            server_drops=True,  # a request that is cut is sent once more if it is refused
            state=state,
        )

    async def _answer(self, request: Request) -> ASGIApp:
        """Return the provider's answer, or an error in the form of the request's API."""
        wire, read = _wire_of(request), asyncio.Event()
        origin = self._upstream.origin
        if {"content-length", "transfer-encoding"} <= set(request.headers.keys()):
            # Two lengths are how requests are smuggled, and the provider would be told a wrong one:
            # https://www.rfc-editor.org/rfc/rfc9112#section-6.3 (2026-11-27).
            sentence = "a request has either a Content-Length or a Transfer-Encoding"
            return _error(wire, _BAD_REQUEST, sentence)
        try:
            work = self._pass_on(request, read) if wire is None else self._fit(request, wire, read)
            return await unless_gone(request.receive, work, read)
        except ClientDisconnect:
            # Nobody reads it. The number is what nginx logs for this; HTTP has none.
            return Response(status_code=_CLIENT_GONE)
        except httpx.TimeoutException:
            told, status = f"{origin} did not answer in time", _TIMEOUT
        except httpx.ConnectError:
            told, status = f"cannot connect to {origin}", _BAD_GATEWAY
        except httpx.HTTPError as problem:
            # Its text may repeat a header.
            told, status = f"no answer from {origin} ({type(problem).__name__})", _BAD_GATEWAY
        except _BodyTooLarge:
            told = f"the request is larger than {self.max_body_bytes:,} bytes"
            status = _TOO_LARGE
        _log.warning("%s", told)
        return _error(wire, status, told)

    async def _pass_on(self, request: Request, read: asyncio.Event) -> Relay:
        """Send a request on as it comes; its body is not held."""
        # Without a body the client may be watched at once: to look for its end receives from it.
        has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
        if not has_body:
            read.set()
        content = _pieces(request, read) if has_body else None
        return Relay(await self._upstream.send(request, content))

    async def _fit(self, request: Request, wire: ModuleType, read: asyncio.Event) -> Relay:
        """Send a request on within the window; if it is refused as too large, a smaller one."""
        raw = await self._read_body(request)
        read.set()
        try:
            owner = _hash_credentials(request)
            encoding = request.headers.get("content-encoding", "")
            texts = self._pool.texts(owner, wire)
            body = await off_loop(_size(raw), self._read, raw, encoding, texts)
            pooled = await self._pool.take(owner, wire, body.data["messages"], body.size)
            pooled.text = body.list_text("messages")
        # A request that a newer API allows must not fail here. It costs the budget of that request.
        except (KeyError, TypeError, ValueError, RecursionError):
            _log.warning("a request for %s cannot be read: passed on unchanged", request.url.path)
            return Relay(await self._upstream.send(request, raw))
        try:
            return await self._ask(request, raw, body, pooled)
        # Also for a client that left: a conversation that stays busy is never continued or evicted.
        except BaseException:
            await self._pool.release(pooled)
            raise

    async def _ask(
        self, request: Request, raw: bytes, body: RequestBody, pooled: PooledConversation
    ) -> Relay:
        fitted = await _fitted(pooled.conversation, body, refused=False)
        relay = await self._send(request, raw, body, fitted, pooled.bound)
        if fitted is not None:
            relay.reader = _reader(pooled.wire, relay.upstream)
            try:
                smaller = await self._smaller(relay, body, pooled.conversation)
            except BaseException:
                await relay.close()
                raise
            if smaller is not None:
                # Before the second request, so that the provider stops answering the first.
                await relay.close()
                relay = await self._send(request, raw, body, smaller, pooled.bound)
                relay.reader = _reader(pooled.wire, relay.upstream)

        async def settle(reply: Any) -> None:
            if reply is not None:
                _report(pooled.conversation, reply)
            await self._pool.release(pooled)

        relay.settle = settle
        return relay

    async def _smaller(
        self, relay: Relay, body: RequestBody, conversation: Conversation
    ) -> dict[str, Any] | None:
        """Return a smaller request if the answer says that the latest was too large."""
        if not await relay.is_refused():
            return None
        try:
            return await _fitted(conversation, body, refused=True)
        except ContextOverflow:
            return None

    async def _send(
        self,
        request: Request,
        raw: bytes,
        body: RequestBody,
        fitted: dict[str, Any] | None,
        bound: BoundRequests,
    ) -> Relay:
        """Send a fitted request: the bytes as they came if nothing was changed."""
        encoding, accepted = b"accept-encoding", request.headers.get("accept-encoding", "")
        # So that the reply can be read while it is passed on: the standard library of Python 3.11
        # has neither br nor zstd.
        extra = [(encoding, b"gzip" if "gzip" in accepted else b"identity")]
        if fitted is None or body.is_same(fitted):
            return Relay(await self._upstream.send(request, raw, [encoding], extra))

        async def send(content: dict[str, Any], asks: bool) -> Relay:
            beta = [with_beta(request.headers.raw)] if asks else []
            dropped = [encoding, _ENCODED, _LENGTH, *(name for name, _ in beta)]
            written = await off_loop(_size(raw), body.write, content)
            return Relay(await self._upstream.send(request, written, dropped, [*extra, *beta]))

        return await send_bound(bound, fitted, send)

    async def _read_body(self, request: Request) -> bytes:
        raw = bytearray()
        async for piece in request.stream():
            raw += piece
            if len(raw) > self.max_body_bytes:
                raise _BodyTooLarge
        return bytes(raw)

    def _read(self, raw: bytes, encoding: str, texts: Sequence[ListText]) -> RequestBody:
        return RequestBody.read(self._decode(raw, encoding), texts)

    def _decode(self, raw: bytes, encoding: str) -> bytes:
        """Return a body without its compression.

        Raises:
            ValueError: it is compressed in another way than gzip, or is too large.
        """
        if encoding.strip().lower() in {"", "identity"}:
            return raw
        if encoding.strip().lower() != "gzip":
            raise ValueError("an encoding that is not supported")
        # With a limit: a kilobyte of gzip may hold a megabyte.
        inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        try:
            plain = inflate.decompress(raw, self.max_body_bytes)
        except zlib.error as problem:
            raise ValueError("damaged") from problem
        if not inflate.eof:
            raise ValueError("damaged, or too large")
        return plain


def _size(raw: bytes) -> int:
    """Return about how many messages take as long as a body."""
    # A compressed one is several times as large.
    return 8 * len(raw) // _MESSAGE_BYTES if raw[:2] == b"\x1f\x8b" else len(raw) // _MESSAGE_BYTES


class _BodyTooLarge(Exception):
    """A request's body is larger than what is read."""


def _wire_of(request: Request) -> ModuleType | None:
    """Return the wire that a request speaks; None for one that is passed on unchanged."""
    path = request.url.path
    if request.method != "POST":
        return None
    if path.endswith("/chat/completions"):
        return openai_chat
    # OpenAI's threads have messages as well, at other paths.
    is_messages = path == "/messages" or path.endswith("/v1/messages")
    return anthropic if is_messages else None


def _hash_credentials(request: Request) -> str:
    given = [[name, request.headers.getlist(name)] for name in _CREDENTIALS]
    given.append(["query", request.url.query])  # some gateways take the key there
    return hashlib.sha256(json.dumps(given).encode()).hexdigest()


async def _pieces(request: Request, read: asyncio.Event) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    finally:
        read.set()


async def _fitted(
    conversation: Conversation, body: RequestBody, *, refused: bool
) -> dict[str, Any] | None:
    """Return a request that fits; None for one that cannot be read."""
    try:
        return await conversation.fit_request_async(body.data, refused=refused)
    except ContextOverflow:
        raise
    except Exception as problem:  # noqa: BLE001  what cannot be read is for the provider to judge
        # Without its text, which repeats what the client sent.
        name = type(problem).__name__
        _log.warning("a request cannot be fitted (%s): passed on unchanged", name)
        return None


def _reader(wire: ModuleType, upstream: httpx.Response) -> ReplyReader | None:
    """Return what reads a reply; None for an error."""
    if not upstream.is_success:
        return None
    headers = upstream.headers
    length = headers.get("content-length", "")
    return ReplyReader(
        wire,
        headers.get("content-type", "").startswith("text/event-stream"),
        headers.get("content-encoding", "").strip().lower(),
        int(length) if length.isdecimal() else None,
    )


def _report(conversation: Conversation, reply: Any) -> None:
    """Let a conversation learn the size of its latest request."""
    try:
        conversation.report(reply)
    except Exception as problem:  # noqa: BLE001  the client has its reply, whatever it is
        _log.debug("a reply cannot be read (%s)", type(problem).__name__)


def _error(wire: ModuleType | None, status: int, told: str) -> Response:
    """Return an error of the proxy's own, in the form that the client reads."""
    kind = "request_too_large" if status == _TOO_LARGE else "api_error"
    error = {"type": kind, "message": f"agentic proxy: {told}"}
    body = {"type": "error", "error": error} if wire is anthropic else {"error": error}
    return JSONResponse(body, status_code=status)
