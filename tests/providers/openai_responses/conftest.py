"""A local server that speaks the Responses API, and the recorded traffic if it is there."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeAlias

import attrs
import pytest
from aiohttp import web
from openai import AsyncOpenAI

from agentic.providers.openai_responses import Decider

Answer: TypeAlias = dict[str, Any] | list[Any] | tuple[int, dict[str, Any]] | str | None
Serve: TypeAlias = Callable[..., AbstractAsyncContextManager["Server"]]


CLOSE = {"Connection": "close"}
"""Kept alive, a connection would outlive the event loop of its test."""


@attrs.define
class Server:
    """Plays its answers in order, the last one for ever, and keeps the requests.

    A dict is a response, a list the events of a stream (`None` in it drops the connection), a pair
    a status and an error's body, a string a page, and `None` never answers.
    """

    answers: list[Answer]
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    silent: asyncio.Event = attrs.field(factory=asyncio.Event)
    """Set when a request came that is never answered."""
    client: AsyncOpenAI = attrs.field(init=False)

    def decider(self, model: str = "gpt-5", **more: Any) -> Decider:
        """Make a decider that asks this server."""
        return Decider(self.client, model, **more)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Play the next answer."""
        body = await request.json()
        self.requests.append(body)
        if request.path.endswith("/input_tokens"):
            return web.json_response(
                {"object": "response.input_tokens", "input_tokens": 42}, headers=CLOSE
            )
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer is None:
            self.silent.set()
            await asyncio.Event().wait()
        if isinstance(answer, tuple):
            return web.json_response(answer[1], status=answer[0], headers=CLOSE)
        if isinstance(answer, list):
            return await _stream(request, answer)
        if body.get("stream"):
            end = {"type": "response.completed", "response": answer}
            return await _stream(request, [end])
        if isinstance(answer, str):
            return web.Response(text=answer, content_type="text/html", headers=CLOSE)
        return web.json_response(answer, headers=CLOSE)


async def _stream(request: web.Request, events: Sequence[Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **CLOSE})
    await response.prepare(request)
    for event in events:
        if event is None:
            assert request.transport is not None
            request.transport.abort()
            break
        text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
        await response.write(text.encode())
    return response


@pytest.fixture(scope="session")
def serve(serving: Callable[..., AbstractAsyncContextManager[str]]) -> Serve:
    """Return what starts a server with its answers, as an async context manager."""

    @asynccontextmanager
    async def start(*answers: Answer) -> AsyncIterator[Server]:
        server = Server(list(answers))
        async with (
            serving(server.handle) as url,
            AsyncOpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as server.client,
        ):
            yield server

    return start


@pytest.fixture(scope="session")
def recorded(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded exchanges that speak this API."""
    return [found for each in traffic() for found in _read(each)]


def _read(exchange: dict[str, Any]) -> Iterator[dict[str, Any]]:
    body = exchange.get("response_json")
    is_response = isinstance(body, dict) and body.get("object") == "response"
    events = _events(exchange)
    asked = "/responses" in str(exchange.get("endpoint")) and exchange.get("request")
    if is_response or events or asked:
        yield {**exchange, "events": events}


def _events(exchange: dict[str, Any]) -> list[dict[str, Any]]:
    sse, chunks = exchange.get("sse"), exchange.get("chunks")
    lines = sse.split("\n") if isinstance(sse, str) else []
    found = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    found = found or (chunks if isinstance(chunks, list) else [])
    first = found[0] if found else None
    named = isinstance(first, dict) and str(first.get("type")).startswith("response.")
    return found if named else []
