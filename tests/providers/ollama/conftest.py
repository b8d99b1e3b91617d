"""A server that speaks `/api/chat` on 127.0.0.1, and the shapes of its messages."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeAlias

import attrs
import httpx
import pytest
from aiohttp import web

Answer: TypeAlias = dict[str, Any] | tuple[int, Any] | list[Any]


@attrs.define
class Server:
    """Answers in turn: a list is a stream of lines or pieces, a pair a status and a body."""

    answers: list[Answer]
    requests: list[dict[str, Any]] = attrs.field(factory=list)
    headers: list[Any] = attrs.field(factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Return the next answer; the last one again and again."""
        self.requests.append(await request.json())
        self.headers.append(request.headers)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, list):
            return await _stream(request, answer)
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(text=text, status=status, headers={"Connection": "close"})


async def _stream(request: web.Request, pieces: list[Any]) -> web.StreamResponse:
    headers = {"Content-Type": "application/x-ndjson", "Connection": "close"}
    response = web.StreamResponse(headers=headers)
    await response.prepare(request)
    for piece in pieces:
        if piece == "hang":
            await asyncio.sleep(3600)
        data = piece if isinstance(piece, bytes) else json.dumps(piece).encode() + b"\n"
        await response.write(data)
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


@pytest.fixture
def asked() -> Callable[..., Any]:
    """Run a job with a client for a server, in a new event loop."""

    def run(server: Server, job: Callable[[httpx.AsyncClient], Any]) -> Any:
        async def main() -> Any:
            async with httpx.AsyncClient(base_url=server.url) as client:
                return await job(client)

        return asyncio.run(main())

    return run
