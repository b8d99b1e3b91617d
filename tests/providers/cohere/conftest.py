"""A server that speaks the wire on 127.0.0.1, and the recorded traffic, if it is there."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
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
    """Return the recorded exchanges of version 2 of the API; a request may be missing."""
    recorded = traffic("cohere.jsonl", "vercel_ai_fixtures.jsonl")
    return [one for one in recorded if one["provider"] == "cohere" and not _is_version_1(one)]


def _is_version_1(one: dict[str, Any]) -> bool:
    return str(one.get("endpoint")).endswith("/v1/chat")
