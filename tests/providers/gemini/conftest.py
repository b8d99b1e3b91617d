"""A server that speaks generateContent, and the recorded traffic beside the checkout."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import httpx2
import pytest
from aiohttp import web
from google import genai

from agentic.providers import gemini

CLOSE = {"Connection": "close"}
"""Kept alive, a connection would outlive the event loop of its test."""


class Google:
    """What a client of the Gemini API sees, on 127.0.0.1.

    `answers` are given one after another, the last one again and again: a response, a list of
    events to stream, an error as `(status, body)`, "drop" in a list of events, or "hang".
    """

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.url = ""
        self.asked = threading.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Note the request and give the next answer."""
        self.paths.append(request.path)
        self.requests.append(json.loads(await request.text()))
        self.asked.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer == "hang":
            await asyncio.sleep(60)
        if isinstance(answer, tuple):
            return web.json_response(answer[1], status=answer[0], headers=CLOSE)
        if "streamGenerateContent" not in request.path:
            return web.json_response(answer, headers=CLOSE)
        return await self._stream(request, answer if isinstance(answer, list) else [answer])

    async def _stream(self, request: web.Request, events: list[Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **CLOSE})
        await response.prepare(request)
        for event in events:
            if event == "drop" and request.transport is not None:
                await asyncio.sleep(0.05)
                request.transport.abort()
                return response
            await response.write(f"data: {json.dumps(event)}\r\n\r\n".encode())
        await response.write_eof()
        return response

    def client(self, **settings: Any) -> genai.Client:
        """Make Google's own client, of this server."""
        http = httpx2.AsyncClient(limits=httpx2.Limits(max_keepalive_connections=0))
        options = {"base_url": self.url, "httpx_async_client": http}
        return genai.Client(api_key="key", http_options=options, **settings)  # type: ignore[arg-type]

    def decider(self, model: str = "gemini-3-flash-preview", **settings: Any) -> gemini.Decider:
        """Make a decider that asks this server."""
        return gemini.Decider(self.client(), model, **settings)


@pytest.fixture
def google(serving_apart: Callable[..., AbstractContextManager[str]]) -> Iterator[Google]:
    """Serve on a port of its own, on a thread of its own."""
    server = Google()
    with serving_apart(server.answer) as server.url:
        yield server


@pytest.fixture(scope="session")
def exchanges(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded exchanges: the request, the model's name, the status, the answer."""
    records = traffic("google-gemini.jsonl", "google-vertex.jsonl", "vercel_ai_fixtures.jsonl")
    return [_exchange(record) for record in records if _speaks_generate_content(record)]


def _speaks_generate_content(record: dict[str, Any]) -> bool:
    source = record["source"]
    fixture = "packages/google/" in source and "interactions" not in source
    return fixture or "enerateContent" in record.get("endpoint", "")


def _exchange(record: dict[str, Any]) -> dict[str, Any]:
    if record["kind"] == "sse":
        lines = [line for line in record["sse"].split("\n") if line.startswith("data: ")]
        answer = [json.loads(line.removeprefix("data: ")) for line in lines]
    else:
        answer = record["chunks"] if "chunks" in record else record["response_json"]
    model = record.get("endpoint", "").rpartition("/")[2].partition(":")[0]
    status, request = record.get("status", 200), record.get("request")
    return {"request": request, "model": model, "status": status, "answer": answer}
