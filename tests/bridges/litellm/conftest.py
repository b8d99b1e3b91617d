"""A server on 127.0.0.1 that speaks the wires of OpenAI and of Anthropic, asked by LiteLLM."""

import asyncio
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import attrs
import pytest
from aiohttp import web

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import asks the network
pytest.importorskip("litellm", reason="LiteLLM is not installed")

from agentic.bridges.litellm import Decider

Answer: TypeAlias = dict[str, Any] | tuple[int, dict[str, Any]] | list[Any]
DROP = "drop"
"""In a list of events: the connection is cut here."""
OPENAI, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"


@attrs.define
class Server:
    """Answers in turn; a list is a stream of events, a pair a status and a body."""

    answers: list[Answer] = attrs.field(factory=list)
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    url: str = ""
    asked: threading.Event = attrs.field(factory=threading.Event)

    def decider(self, model: str = OPENAI, **options: Any) -> Decider:
        """Return a decider whose requests arrive here, once."""
        base = self.url if model.startswith("anthropic/") else f"{self.url}/v1"
        here = {"api_base": base, "api_key": "none", "num_retries": 0, "max_retries": 0}
        return Decider(model, options={**here, **options})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Return the next answer; the last one again and again."""
        self.requests.append(await request.json())
        self.asked.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == {}:
            await asyncio.sleep(3600)
        if isinstance(answer, list):
            return await _stream(request, answer)
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        # Kept alive, a connection would outlive the event loop of its test.
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
        text = event if isinstance(event, str) else f"data: {json.dumps(event)}"
        if isinstance(event, dict) and "type" in event:
            text = f"event: {event['type']}\n{text}"
        await response.write(f"{text}\n\n".encode())
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
        app.router.add_post("/v1/chat/completions", server.handle)
        app.router.add_post("/v1/messages", server.handle)
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
