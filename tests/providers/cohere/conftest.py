"""A server that speaks the wire on 127.0.0.1, and the recorded traffic, if it is there."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cohere
import pytest
from aiohttp import web

Answer: TypeAlias = dict[str, Any] | tuple[int, dict[str, Any]] | list[Any]
DROP = "drop"
"""In a list of events: the connection is cut here."""


@attrs.define
class Server:
    """Answers in turn; a list is a stream of events, a pair a status and a body."""

    answers: list[Answer] = attrs.field(factory=list)
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    url: str = ""

    def client(self) -> cohere.AsyncClientV2:
        """Make a client that asks this server."""
        return cohere.AsyncClientV2(api_key="none", base_url=self.url)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Return the next answer; the last one again and again."""
        self.requests.append(await request.json())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, list):
            return await _stream(request, answer)
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return web.json_response(body, status=status, headers={"Connection": "close"})


async def _stream(request: web.Request, events: list[Any]) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Connection": "close"}
    )
    await response.prepare(request)
    for event in events:
        if event == DROP:
            assert request.transport is not None
            request.transport.abort()
            return response
        lines = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
        await response.write(lines.encode())
    return response


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start a server in a thread of its own, so that a test may run event loops as it likes."""
    stops: list[Callable[[], None]] = []

    def start(*answers: Answer) -> Server:
        server, ready = Server(list(answers)), threading.Event()
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=_run, args=(server, loop, ready), daemon=True)
        thread.start()
        assert ready.wait(10)
        stops.append(lambda: (loop.call_soon_threadsafe(loop.stop), thread.join(10))[1])
        return server

    yield start
    for stop in stops:
        stop()


def _run(server: Server, loop: asyncio.AbstractEventLoop, ready: threading.Event) -> None:
    async def begin() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v2/chat", server.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    asyncio.set_event_loop(loop)
    runner = loop.run_until_complete(begin())
    ready.set()
    loop.run_forever()
    loop.run_until_complete(runner.cleanup())
    loop.close()


@pytest.fixture(scope="session")
def exchanges() -> list[dict[str, Any]]:
    """Return the recorded exchanges of version 2 of the API; a request may be missing."""
    root = next(at for at in Path(__file__).parents if (at / "pyproject.toml").exists())
    folder = root.parent / "shared" / "data" / "provider_responses"
    if not folder.is_dir():
        pytest.skip("the recorded traffic does not lie beside this checkout")
    lines = [
        json.loads(line)
        for name in ("cohere.jsonl", "vercel_ai_fixtures.jsonl")
        for line in (folder / name).read_text("utf-8").split("\n")
        if line
    ]
    return [one for one in lines if one["provider"] == "cohere" and not _is_version_1(one)]


def _is_version_1(one: dict[str, Any]) -> bool:
    return str(one.get("endpoint")).endswith("/v1/chat")
