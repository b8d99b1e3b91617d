"""A server that speaks the wire on 127.0.0.1, and the recorded traffic, if it is there."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeAlias

import attrs
import pytest
from aiohttp import web
from openai import AsyncOpenAI

Answer: TypeAlias = dict[str, Any] | tuple[int, dict[str, Any]] | list[Any]
DROP = "drop"
"""In a list of events: the connection is cut here."""


@attrs.define
class Server:
    """Answers in turn; a list is a stream of events, a pair a status and a body."""

    answers: list[Answer] = attrs.field(factory=list)
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    url: str = ""
    asked: threading.Event = attrs.field(factory=threading.Event)

    def client(self) -> AsyncOpenAI:
        """Make a client that asks this server, once."""
        return AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)

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
        await response.write(f"{text}\n\n".encode())
    return response


@pytest.fixture
def serve(
    serving_apart: Callable[..., AbstractContextManager[str]],
) -> Iterator[Callable[..., Server]]:
    """Start a server in a thread of its own, so that a test may run event loops as it likes."""
    with ExitStack() as stack:

        def start(*answers: Answer) -> Server:
            server = Server(list(answers))
            server.url = stack.enter_context(serving_apart(server.handle))
            return server

        yield start


@pytest.fixture(scope="session")
def exchanges(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded exchanges of every endpoint that speaks Chat Completions."""
    return [one for one in traffic() if _speaks_chat(one)]


def _speaks_chat(one: dict[str, Any]) -> bool:
    endpoint = str(one.get("endpoint"))
    if one.get("provider") == "cohere" or one.get("kind") is None:
        return False
    if endpoint.endswith(("/chat/completions", "/v1/chat")) or "chat/completions?" in endpoint:
        return True
    body = one.get("response_json") or (one.get("chunks") or [None])[0]
    return endpoint == "None" and isinstance(body, dict) and "choices" in body
