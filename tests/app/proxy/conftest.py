"""The real proxy on a free port, and a provider behind it that records what it is sent."""

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import anthropic
import attrs
import openai
import pytest
import uvicorn

from agentic.app.proxy import Proxy

if TYPE_CHECKING:
    from aiohttp import web

    Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@attrs.frozen
class Sent:
    """A request as the provider received it."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON data."""
        return json.loads(self.raw)

    def header(self, name: str) -> str | None:
        """Return the value of a header, None without it."""
        return next((value for key, value in self.headers if key.lower() == name), None)


@attrs.define
class Provider:
    """A provider: it answers the APIs as its test says."""

    answering: "Answering | None" = None
    """Answers instead of `reply`."""
    sent: list[Sent] = attrs.field(factory=list)
    arrived: threading.Event = attrs.field(factory=threading.Event)
    left: threading.Event = attrs.field(factory=threading.Event)
    """Is set if an answer is cancelled."""
    address: str = ""

    async def handle(self, request: "web.Request") -> "web.StreamResponse":
        """Record a request and answer it."""
        raw = await request.read()
        headers = [(key.decode(), value.decode()) for key, value in request.raw_headers]
        self.sent.append(Sent(request.method, request.raw_path, headers, raw))
        self.arrived.set()
        return await (self.answering or self.reply)(request)

    async def reply(self, request: "web.Request") -> "web.StreamResponse":
        """Answer with a few words."""
        from aiohttp import web  # noqa: PLC0415  not every test environment has it

        return web.json_response(self.words(request.path, len(self.sent[-1].raw) // 4))

    @staticmethod
    def words(path: str, size: int, text: str = "It is green.") -> dict[str, Any]:
        """Return a reply of the path's API, to a request of some tokens."""
        if path.endswith("/messages"):
            usage = {"input_tokens": size, "output_tokens": 9}
            made = {"id": "m", "type": "message", "role": "assistant", "model": "claude"}
            content = [{"type": "text", "text": text}]
            end = {"stop_reason": "end_turn", "stop_sequence": None}
            return {**made, **end, "content": content, "usage": usage}
        if path.endswith("/responses"):
            usage = {"input_tokens": size, "output_tokens": 9, "total_tokens": size + 9}
            content = [{"type": "output_text", "text": text, "annotations": []}]
            item = {"id": "i", "type": "message", "role": "assistant", "status": "completed"}
            made = {"id": "r", "object": "response", "created_at": 0, "model": "gpt", "tools": []}
            end = {"status": "completed", "parallel_tool_calls": True, "tool_choice": "auto"}
            return {**made, **end, "output": [{**item, "content": content}], "usage": usage}
        if "GenerateContent" in path or "generateContent" in path:
            content = [{"text": text}]
            counts = {"promptTokenCount": size, "candidatesTokenCount": 9}
            end = {"finishReason": "STOP", "content": {"role": "model", "parts": content}}
            usage = {**counts, "totalTokenCount": size + 9}
            return {"candidates": [end], "usageMetadata": usage, "modelVersion": "gemini"}
        usage = {"prompt_tokens": size, "completion_tokens": 9, "total_tokens": size + 9}
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        made = {"id": "c", "object": "chat.completion", "created": 0, "model": "gpt"}
        return {**made, "choices": [choice], "usage": usage}


@attrs.frozen
class Served:
    """A running proxy, and the provider behind it."""

    proxy: Proxy
    provider: Provider
    address: str
    clients: contextlib.ExitStack
    """Closes the clients at the end of the test."""

    def openai(self, key: str = "sk-ann") -> openai.OpenAI:
        """Return OpenAI's client, connected to the proxy."""
        made = openai.OpenAI(base_url=f"{self.address}/v1", api_key=key, max_retries=0)
        return self.clients.enter_context(made)

    def anthropic(self, key: str = "sk-ann") -> anthropic.Anthropic:
        """Return Anthropic's client, connected to the proxy."""
        made = anthropic.Anthropic(base_url=self.address, api_key=key, max_retries=0)
        return self.clients.enter_context(made)


@attrs.define(eq=False)
class _Hosts:
    """A server for proxies and one for providers, for the proxy and the provider of one test."""

    proxy: Proxy | None = None
    provider: Provider = attrs.field(factory=Provider)
    proxy_address: str = ""
    provider_address: str = ""
    loop: asyncio.AbstractEventLoop = attrs.field(factory=asyncio.new_event_loop)

    async def application(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve what the proxy of the present test serves."""
        assert self.proxy is not None
        await self.proxy(scope, receive, send)

    async def answer(self, request: "web.Request") -> "web.StreamResponse":
        """Answer as the provider of the present test does."""
        return await self.provider.handle(request)

    def end(self) -> None:
        """Close the connections of the present proxy to its provider."""
        if self.proxy is not None:
            closing = self.proxy.close()
            asyncio.run_coroutine_threadsafe(closing, self.loop).result(60)


@pytest.fixture(scope="session")
def hosts(serving_apart: Callable[..., AbstractContextManager[str]]) -> Iterator[_Hosts]:
    """Start both servers once: starting and stopping them takes longer than most tests."""
    hosts = _Hosts()
    config = uvicorn.Config(
        hosts.application,
        port=0,
        interface="asgi3",
        lifespan="off",
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    serving = server.serve()
    thread = threading.Thread(
        target=hosts.loop.run_until_complete, args=(serving,), name="proxy", daemon=True
    )
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    hosts.proxy_address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    with serving_apart(hosts.answer) as hosts.provider_address:
        yield hosts
        server.should_exit = True
        thread.join(60)
    hosts.loop.close()


@pytest.fixture
def serve(hosts: _Hosts) -> Iterator[Callable[..., Served]]:
    """Return what starts a proxy with a window, and a provider behind it."""

    def start(
        window: Any = 2_000,
        answering: Any = None,
        *,
        base: str = "",
        to: str = "",
        **options: Any,
    ) -> Served:
        hosts.end()
        hosts.provider = Provider(answering, address=hosts.provider_address)
        hosts.proxy = Proxy(to or hosts.provider_address + base, window, **options)
        return Served(hosts.proxy, hosts.provider, hosts.proxy_address, clients)

    with contextlib.ExitStack() as clients:
        yield start
    hosts.end()
    hosts.proxy = None


@pytest.fixture(scope="session")
def grow() -> Callable[..., list[dict[str, Any]]]:
    """Return what makes a conversation of some turns, about a topic."""

    def make(turns: int, topic: str = "build") -> list[dict[str, Any]]:
        messages = [{"role": "user", "content": f"Mend the {topic}."}]
        for number in range(turns):
            text = f"Step {number} of the {topic}: " + "so it goes. " * 70
            messages += [
                {"role": "assistant", "content": text},
                {"role": "user", "content": f"Go on with step {number + 1}."},
            ]
        return messages

    return make
