"""What the page of the proxy promises: threads, memory, who may use it, and what is refused."""

import asyncio
import gc
import gzip
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import httpx
import pytest

from agentic.app.cli import main
from agentic.app.proxy import Proxy
from agentic.app.proxy import _pool as pool_module
from agentic.app.proxy._body import RequestBody
from agentic.app.proxy._replies import ReplyReader
from agentic.app.proxy._upstream import Relay, Upstream
from agentic.providers import openai_chat
from agentic.tokens import CharCounter

web = pytest.importorskip("aiohttp.web")

pytestmark = pytest.mark.slow
Serve = Callable[..., Any]
Grow = Callable[..., list[dict[str, Any]]]
_OPEN = "0.0.0.0"  # noqa: S104  with a token, or refused


@attrs.define(eq=False)
class _NamingCounter:
    """Counts letters, and notes the names of the threads in which it does."""

    names: set[str] = attrs.field(factory=set)

    def count(self, text: str, /) -> int:
        if text.startswith("Step"):
            self.names.add(threading.current_thread().name)
        return CharCounter().count(text)


def test_first_sight_leaves_the_event_loop(
    serve: Serve, grow: Grow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading, hashing and counting; the loop's thread is named `proxy`."""
    counter, read, hash_item = _NamingCounter(), RequestBody.read, pool_module._hash_item
    names: dict[str, set[str]] = {"read": set(), "hash": set()}

    def noting(work: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            names[work].add(threading.current_thread().name)
            return function(*arguments)

        return call

    monkeypatch.setattr(RequestBody, "read", noting("read", read))
    monkeypatch.setattr(pool_module, "_hash_item", noting("hash", hash_item))
    served = serve(1_000_000, counter=counter)

    served.openai().chat.completions.create(model="gpt-4.1", messages=grow(200))

    for threads in (*names.values(), counter.names):
        assert threads
        assert "proxy" not in threads


def test_compressed_body_counts_as_what_it_holds(serve: Serve, grow: Grow) -> None:
    """Otherwise a bound of 64 MiB holds gigabytes."""
    served = serve(1_000_000)
    plain = json.dumps({"model": "gpt-4.1", "messages": grow(20)}).encode()

    response = httpx.post(
        f"{served.address}/v1/chat/completions",
        content=gzip.compress(plain),
        headers={"content-encoding": "gzip", "content-type": "application/json"},
    )

    (pooled,) = served.proxy._pool._pooled.entries
    assert response.status_code == 200
    assert pooled.size == len(plain)


@pytest.fixture
def without_collector() -> Iterator[None]:
    """Let only the counts of references free an object."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collector")
@pytest.mark.parametrize("turns", [2, 60])
def test_finished_request_holds_no_body(
    serve: Serve, grow: Grow, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """Whether it was passed on as it was or written anew, no cycle is left behind."""
    bodies: list[weakref.ref[Any]] = []
    read, send = RequestBody.read, Upstream.send

    def noting_read(*arguments: Any) -> RequestBody:
        body = read(*arguments)
        bodies.append(weakref.ref(body))
        return body

    async def noting_send(*arguments: Any) -> httpx.Response:
        response = await send(*arguments)
        bodies.append(weakref.ref(response.request))
        return response

    monkeypatch.setattr(RequestBody, "read", noting_read)
    monkeypatch.setattr(Upstream, "send", noting_send)
    served = serve(2_000)
    client = served.openai()
    for topic in ("build", "tests", "docs"):
        client.chat.completions.create(model="gpt-4.1", messages=grow(turns, topic))
    # The last exchange may still be in the hands of the server.
    client.models.with_raw_response.list()

    assert len(bodies) >= 6
    assert all(body() is None for body in bodies[:4])


@pytest.mark.long
def test_memory_is_bounded(tmp_path: Path, hosts: Any, serve: Serve) -> None:
    """2,000 requests of 1 MB for 64 conversations."""

    async def answer(request: Any) -> Any:
        provider.sent.clear()
        return web.json_response(provider.words(request.path, 100))

    provider = serve(answering=answer).provider
    command = [sys.executable, "-m", "agentic", "proxy", "--port", "0", "--window", "1m"]
    with subprocess.Popen(
        [*command, "--to", hosts.provider_address], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert address
        texts = ["so it goes. " * 430 for _ in range(200)]
        with httpx.Client(timeout=60) as client:
            for number in range(2_000):
                messages = [
                    {"role": ("assistant" if at % 2 else "user"), "content": f"{at} {text}"}
                    for at, text in enumerate(texts)
                ]
                messages[0]["content"] = f"Conversation {number % 64}."
                messages.append({"role": "user", "content": f"Turn {number // 64}."})
                body = {"model": "gpt-4.1", "messages": messages}
                sent = client.post(f"{address[0]}/v1/chat/completions", json=body)
                assert sent.status_code == 200
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.send_signal(signal.SIGINT)
        process.stderr.read()

    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak
    assert int(peak[1]) < 400 * 1_000


class _Served:
    """A started command, and the address that it prints."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agentic", "proxy", "--port", "0", "-w", "9k", *options],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> str:
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        address = re.search(r"http://\S+:\d+", line)
        assert address, line
        return address[0]

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=60)


def test_page_of_another_site_is_refused(tmp_path: Path, hosts: Any, serve: Serve) -> None:
    """By the host of a name that points here, and by its origin; nothing reaches the provider."""
    provider = serve().provider
    with _Served(tmp_path, "--to", hosts.provider_address) as address:
        url = f"{address}/v1/models"
        rebound = httpx.get(url, headers={"host": "evil.example"})
        crossed = httpx.get(url, headers={"origin": "https://evil.example"})
        served = httpx.get(url)

    assert (rebound.status_code, crossed.status_code, served.status_code) == (403, 403, 200)
    assert len(provider.sent) == 1


def test_every_loopback_address_is_served(tmp_path: Path, hosts: Any, serve: Serve) -> None:
    """Also 127.0.0.2."""
    serve()
    with _Served(tmp_path, "--to", hosts.provider_address, "--host", "127.0.0.2") as address:
        assert httpx.get(f"{address}/v1/models").status_code == 200


def test_token_is_a_header_of_its_own(tmp_path: Path, hosts: Any, serve: Serve) -> None:
    """The provider's key has the other one, and the token does not reach the provider."""
    provider = serve().provider
    (tmp_path / "token").write_text("secret-1\n")
    options = ("--to", hosts.provider_address, "--token-file", "token", "--host", _OPEN)
    key = {"authorization": "Bearer sk-ann"}
    with _Served(tmp_path, *options) as address:
        url = address.replace(_OPEN, "127.0.0.1") + "/v1/models"
        refused = httpx.get(url, headers=key)
        served = httpx.get(url, headers={**key, "proxy-authorization": "Bearer secret-1"})

    assert (refused.status_code, refused.headers["proxy-authenticate"]) == (407, "Bearer")
    assert served.status_code == 200
    assert [(sent.header("authorization"), "secret-1" in str(sent)) for sent in provider.sent] == [
        ("Bearer sk-ann", False)
    ]


def test_open_address_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """Without a token, unless a proxy in front controls access."""
    status = main(["proxy", "--to", "http://x", "-w", "9k", "--host", _OPEN, "--port", "0"])

    assert status == 2
    assert "pass --token-file, or pass --behind-proxy" in capfd.readouterr().err


def test_silent_stream_is_held_for_a_limited_time() -> None:
    """Also if nothing more comes after the first heartbeat; what comes later is not lost."""

    async def hold() -> tuple[Any, list[bytes]]:
        goes_on = asyncio.Event()

        async def pieces() -> AsyncIterator[bytes]:
            yield b": ping\n\n"
            await goes_on.wait()
            yield b"data: [DONE]\n\n"

        async def close() -> None:
            pass

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()
            raise AssertionError

        async def send(message: dict[str, Any]) -> None:
            sent.append(message.get("body", b""))

        request = httpx.Request("POST", "http://x")
        answer: Any = SimpleNamespace(
            aiter_raw=pieces,
            aclose=close,
            request=request,
            status_code=200,
            headers=httpx.Headers(),
        )
        sent: list[bytes] = []
        reader = ReplyReader(openai_chat.ADAPTER, True, "", None)  # noqa: FBT003
        relay = Relay(answer, reader=reader)
        async with asyncio.timeout(60):
            refusal = await relay.read_refusal(0.01)
            goes_on.set()
            await relay({}, receive, send)  # type: ignore[arg-type]
        return refusal, sent

    refusal, sent = asyncio.run(hold())

    assert refusal is None
    assert b"".join(sent) == b": ping\n\ndata: [DONE]\n\n"


def test_request_with_two_lengths_is_refused(serve: Serve) -> None:
    """With a sentence; it never reaches the provider."""
    served = serve()
    host, port = served.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
            b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
        )
        answer = b"".join(iter(lambda: client.recv(65_536), b""))

    assert answer.startswith(b"HTTP/1.1 400")
    assert served.provider.sent == []


def test_path_with_an_escaped_line_end_is_passed_on() -> None:
    """Exactly as the client wrote it."""
    targets: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        targets.append(request.extensions["target"])
        return httpx.Response(200, stream=httpx.ByteStream(b"{}"))

    async def ask() -> int:
        proxy = Proxy("http://localhost:9", 2_000)
        proxy._upstream._client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        served = httpx.ASGITransport(proxy)
        async with httpx.AsyncClient(transport=served, base_url="http://x") as client:
            return (await client.get("/v1/files/a%0Ab")).status_code

    assert asyncio.run(ask()) == 200
    assert targets == [b"/v1/files/a%0Ab"]


@pytest.mark.usefixtures("without_collector")
def test_closed_proxy_holds_no_connection(serving_apart: Any) -> None:
    """Without lifespan events, its owner closes it; a later request opens new ones."""

    async def handle(_: Any) -> Any:
        return web.json_response({})

    async def ask(address: str) -> list[int]:
        proxy, statuses = Proxy(address, 2_000), []
        transport = httpx.ASGITransport(proxy)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            for _ in "ab":
                statuses.append((await client.get("/v1/models")).status_code)
                await proxy.close()
        return statuses

    with serving_apart(handle) as address, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        statuses = asyncio.run(ask(address))
        gc.collect()

    assert statuses == [200, 200]
    assert [str(each.message) for each in caught] == []


def test_application_answers_no_web_socket() -> None:
    """It is closed, as before."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    scope = {"type": "websocket", "path": "/", "headers": [], "query_string": b"", "root_path": ""}
    asyncio.run(Proxy("http://localhost:9", 2_000)(scope, receive, send))

    assert sent == ["websocket.close"]
