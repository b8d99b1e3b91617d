"""The proxy as an ASGI application: which requests are fitted, and what is done when one fails."""

import asyncio
import contextlib
import functools
import hashlib
import json
import logging
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import httpx
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agentic._base._validate import seconds, whole
from agentic._base._waiting import off_loop
from agentic.app.proxy._body import ListText, RequestBody
from agentic.app.proxy._bound import send_bound, with_drop_header
from agentic.app.proxy._folder import StateFolder
from agentic.app.proxy._pool import PooledConversation, ProxyPool
from agentic.app.proxy._replies import ReplyReader
from agentic.app.proxy._upstream import Relay, Upstream, unless_gone
from agentic.bridges.dicts import Conversation
from agentic.context.budget import Compactor, Policy
from agentic.context.strategies import Chain, ContextStrategy
from agentic.errors import ContextOverflow
from agentic.providers._registry import adapter_names, find_adapter
from agentic.providers.kit import Adapter, at
from agentic.providers.overflow._size_refusal import SizeRefusal
from agentic.tokens import Counter

_log = logging.getLogger(__name__)
_STREAMING = {"stream", "stream_options"}
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# Wherever a provider or a gateway has its key. Two clients with different ones share nothing.
_CREDENTIALS = ("authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie")
# What a program calls its session: Claude Code 2.1, Codex CLI 0.x and newer (seen in 2026-11). Some
# bodies have a name as well: `prompt_cache_key` of OpenAI's, `metadata.user_id` of Anthropic's.
_SESSIONS = ("x-claude-code-session-id", "session-id", "session_id", "conversation_id")
_CLIENT_GONE, _BAD_GATEWAY, _TIMEOUT, _TOO_LARGE, _BAD_REQUEST = 499, 502, 504, 413, 400
_ENCODED = b"content-encoding"
_LENGTH = b"content-length"
_MESSAGE_BYTES = 1_024
"""About as many bytes are read in the time of one message; see `off_loop`."""


@attrs.define(eq=False)
class Proxy:
    """An ASGI application that keeps every conversation within the window, for any client.

    Run it with uvicorn, or with the command `agentic proxy`. A server that sends no lifespan
    events, as to an application mounted in another one, leaves connections to the provider open:
    then `await proxy.close()`.

    Args:
        to: the base URL of the provider, with or without its version: https://api.openai.com/v1,
            https://api.anthropic.com.
        window: the name of a model, the size of its window in tokens, or a complete Policy. With
            several models, the smallest of their windows.
        compactor: writes the summaries; by default a Digest, which needs no model. A
            `Continuation()` asks the provider, with the headers of the client's request.
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
    _wires: Sequence[Adapter] = attrs.field(init=False, repr=False)
    """Those whose requests are fitted; all others are passed on."""
    _upstream: Upstream = attrs.field(init=False, repr=False)
    _pool: ProxyPool = attrs.field(init=False, repr=False)
    _app: ASGIApp = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        adapters = map(find_adapter, adapter_names())
        self._wires = [adapter for adapter in adapters if adapter.http is not None]
        self._upstream = Upstream(self.to, self.timeout_seconds)
        self._pool = ProxyPool(
            self._new_conversation,
            self.max_conversations,
            self.max_bytes,
            None if self.store is None else StateFolder(Path(self.store)),
        )
        # Mistakes in the options are reported now, and before conversations of the folder are read,
        # which would all be passed over because of them.
        self._new_conversation(self._wires[0], None)
        self._pool.load({wire.name: wire for wire in self._wires})
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

    async def close(self) -> None:
        """Close the connections to the provider; a later request opens new ones.

        A server that speaks ASGI's lifespan protocol has it done at its end.
        """
        await self._upstream.close()

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self.close()

    def _new_conversation(self, wire: Adapter, state: Mapping[str, Any] | None) -> Conversation:
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
        wire, read = self._wire_of(request), asyncio.Event()
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
            reason, status = f"{origin} did not answer in time", _TIMEOUT
        except httpx.ConnectError:
            reason, status = f"cannot connect to {origin}", _BAD_GATEWAY
        except httpx.HTTPError as problem:
            # Its text may repeat a header.
            reason, status = f"no answer from {origin} ({type(problem).__name__})", _BAD_GATEWAY
        except _BodyTooLarge:
            reason = f"the request is larger than {self.max_body_bytes:,} bytes"
            status = _TOO_LARGE
        _log.warning("%s", reason)
        return _error(wire, status, reason)

    def _wire_of(self, request: Request) -> Adapter | None:
        """Return the wire that a request speaks; None for one that is passed on unchanged."""
        if request.method != "POST":
            return None
        path = request.url.path
        return next(
            (each for each in self._wires if each.http and each.http.takes_path(path)), None
        )

    async def _pass_on(self, request: Request, read: asyncio.Event) -> Relay:
        """Send a request on as it comes; its body is not held."""
        # Without a body the client may be watched at once: to look for its end receives from it.
        has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
        if not has_body:
            read.set()
        content = _pieces(request, read) if has_body else None
        return Relay(await self._upstream.send(request, content))

    async def _fit(self, request: Request, wire: Adapter, read: asyncio.Event) -> Relay:
        """Send a request on within the window; if it is refused as too large, a smaller one."""
        raw = await self._read_body(request)
        read.set()
        try:
            owner = _hash_credentials(request)
            encoding = request.headers.get("content-encoding", "")
            texts = self._pool.texts(owner, wire)
            body = await off_loop(_size(raw), self._read, raw, encoding, texts)
            if any(map(body.data.get, wire.form.on_server)):
                # What the request adds is small, and the rest is not ours to cut.
                return Relay(await self._upstream.send(request, raw))
            key = wire.form.items_key
            items = body.data[key]
            if isinstance(items, str) and wire.form.takes_texts:
                items = [items]
            session = _session(request, body.data)
            entry = await self._pool.take(owner, wire, items, body.size, session)
            entry.text = body.list_text(key)
        # A request that a newer API allows must not fail here. It costs the budget of that request.
        except (KeyError, TypeError, ValueError, RecursionError):
            _log.warning("a request for %s cannot be read: passed on unchanged", request.url.path)
            return Relay(await self._upstream.send(request, raw))
        try:
            return await self._ask(request, raw, body, entry)
        # Also for a client that left: a conversation that stays busy is never continued or evicted.
        except BaseException:
            await self._pool.release(entry)
            raise

    async def _ask(
        self, request: Request, raw: bytes, body: RequestBody, entry: PooledConversation
    ) -> Relay:
        ask = functools.partial(self._ask_aside, request, raw, body, entry)
        entry.conversation.ask = ask
        try:
            content = await _fitted(entry, request, body, None)
        finally:
            entry.conversation.ask = None  # it has the key of this request
        relay = await self._send(request, raw, body, content, entry)
        entry.is_changed = content is not None and not body.is_same(content)
        if content is not None:
            relay.reader = _reader(entry.wire, relay.upstream)
            try:
                smaller = await self._smaller(relay, request, body, entry)
            except BaseException:
                await relay.close()
                raise
            if smaller is not None:
                # Before the second request, so that the provider stops answering the first.
                await relay.close()
                relay = await self._send(request, raw, body, smaller, entry)
                relay.reader = _reader(entry.wire, relay.upstream)

        async def settle(reply: Any) -> None:
            if reply is not None:
                _report(entry.conversation, reply)
            await self._pool.release(entry)

        relay.settle = settle
        return relay

    async def _ask_aside(
        self,
        request: Request,
        raw: bytes,
        body: RequestBody,
        entry: PooledConversation,
        content: dict[str, Any],
    ) -> Any:
        """Ask the provider for a summary, with the headers of the client's request.

        Raises:
            httpx.HTTPError: it does not answer, or answers with an error.
            ValueError: the answer cannot be read.
        """
        # A whole answer, whatever the client wants; neither is a part of what is cached.
        content = {key: value for key, value in content.items() if key not in _STREAMING}
        if entry.is_changed:
            relay = await self._send(request, raw, body, content, entry)
        else:
            # What asks the provider to drop reasoning is a part of what it caches: it was not sent.
            data = await off_loop(_size(raw), body.write, content)
            left_out, extra = (
                [b"accept-encoding", _ENCODED, _LENGTH],
                [(b"accept-encoding", b"gzip")],
            )
            relay = Relay(await self._upstream.send(request, data, left_out, extra))
        try:
            relay.upstream.raise_for_status()
            answer = await relay.upstream.aread()
        finally:
            await relay.close()
        # Gemini streams because of the path. What was read has no compression any more.
        reader = ReplyReader(entry.wire, _is_stream(relay.upstream), "", len(answer))
        reader.feed(answer)
        reader.finish()
        if reader.response is None:
            raise ValueError("the answer cannot be read")
        return reader.response

    async def _smaller(
        self, relay: Relay, request: Request, body: RequestBody, entry: PooledConversation
    ) -> dict[str, Any] | None:
        """Return a smaller request if the answer says that the latest was too large."""
        refusal = await relay.read_refusal()
        if refusal is None:
            return None
        try:
            return await _fitted(entry, request, body, refusal)
        except ContextOverflow:
            return None

    async def _send(
        self,
        request: Request,
        raw: bytes,
        body: RequestBody,
        smaller: dict[str, Any] | None,
        entry: PooledConversation,
    ) -> Relay:
        """Send a fitted request: the bytes as they came if nothing was changed."""
        encoding, encodings = b"accept-encoding", request.headers.get("accept-encoding", "")
        # So that the reply can be read while it is passed on: the standard library of Python 3.11
        # has neither br nor zstd.
        extra = [(encoding, b"gzip" if "gzip" in encodings else b"identity")]
        if smaller is None or body.is_same(smaller):
            return Relay(await self._upstream.send(request, raw, [encoding], extra))

        async def send(content: dict[str, Any], asks: bool) -> Relay:
            api = entry.wire.http
            beta = with_drop_header(api, request.headers.raw) if asks and api else []
            leave_out = [encoding, _ENCODED, _LENGTH, *(name for name, _ in beta)]
            data = await off_loop(_size(raw), body.write, content)
            return Relay(await self._upstream.send(request, data, leave_out, [*extra, *beta]))

        return await send_bound(entry.bound, smaller, send)

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


def _hash_credentials(request: Request) -> str:
    values = [[name, request.headers.getlist(name)] for name in _CREDENTIALS]
    values.append(["query", request.url.query])  # some gateways take the key there
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def _session(request: Request, data: Mapping[str, Any]) -> str:
    """Return what the client calls its conversation, in any form; empty if it does not say."""
    names = [request.headers.get(name) for name in _SESSIONS]
    names += [data.get("prompt_cache_key"), at(data, "metadata", "user_id")]
    return next((name for name in names if isinstance(name, str) and name), "")


async def _pieces(request: Request, read: asyncio.Event) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    finally:
        read.set()


async def _fitted(
    entry: PooledConversation, request: Request, body: RequestBody, refusal: SizeRefusal | None
) -> dict[str, Any] | None:
    """Return a request that fits; None for one that cannot be read."""
    api = entry.wire.http
    model = api.model_in(request.url.path) if api else ""
    try:
        return await entry.conversation.fit_request_async(body.data, refused=refusal, model=model)
    except ContextOverflow:
        raise
    except Exception as problem:  # noqa: BLE001  what cannot be read is for the provider to judge
        # Without its text, which repeats what the client sent.
        name = type(problem).__name__
        _log.warning("a request cannot be fitted (%s): passed on unchanged", name)
        return None


def _reader(wire: Adapter, upstream: httpx.Response) -> ReplyReader | None:
    """Return what reads a reply; None for an error."""
    if not upstream.is_success:
        return None
    headers = upstream.headers
    length = headers.get("content-length", "")
    return ReplyReader(
        wire,
        _is_stream(upstream),
        headers.get("content-encoding", "").strip().lower(),
        int(length) if length.isdecimal() else None,
    )


def _is_stream(upstream: httpx.Response) -> bool:
    """Return whether an answer is a stream of server-sent events."""
    content_type: str = upstream.headers.get("content-type", "")
    return content_type.startswith("text/event-stream")


def _report(conversation: Conversation, reply: Any) -> None:
    """Let a conversation learn the size of its latest request."""
    try:
        conversation.report(reply)
    except Exception as problem:  # noqa: BLE001  the client has its reply, whatever it is
        _log.debug("a reply cannot be read (%s)", type(problem).__name__)


def _error(wire: Adapter | None, status: int, message: str) -> Response:
    """Return an error of the proxy's own, in the form that the client reads."""
    kind = "request_too_large" if status == _TOO_LARGE else "api_error"
    sentence = f"agentic proxy: {message}"
    # In the form of most APIs, if the path is of none.
    plain = {"error": {"type": kind, "message": sentence}}
    body = wire.http.error_body(status, kind, sentence) if wire and wire.http else plain
    return JSONResponse(body, status_code=status)
