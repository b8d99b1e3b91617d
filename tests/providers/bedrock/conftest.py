"""A local Bedrock that boto3 talks to, and the recorded exchanges if they are there."""

import asyncio
import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import attrs
import boto3
import pytest
from aiohttp import web
from botocore.config import Config


@pytest.fixture(scope="session")
def recorded(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded exchanges of Converse and ConverseStream, no other operation's."""
    return [row for row in traffic("bedrock.jsonl") if "/converse" in row["endpoint"]]


@pytest.fixture(scope="session")
def fixtures(traffic: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return the recorded replies without requests."""
    return [row for row in traffic("vercel_ai_fixtures.jsonl") if "bedrock" in row["provider"]]


# The local server: it speaks the wire, and keeps what it was sent.


def frame(kind: str, body: dict[str, Any], *, message_type: str = "event") -> bytes:
    """Write one message of vnd.amazon.eventstream: prelude, headers, payload, checksums.

    https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html
    """
    typed = ":event-type" if message_type == "event" else ":exception-type"
    fields = {":message-type": message_type, typed: kind, ":content-type": "application/json"}
    headers = b"".join(_header(name, value) for name, value in fields.items())
    payload = json.dumps(body).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    return (
        bytes([len(name)])
        + name.encode()
        + b"\x07"
        + struct.pack("!H", len(value))
        + value.encode()
    )


@attrs.define
class Reply:
    """What the server answers: JSON, a page as a string, or frames and how they end."""

    body: Any
    status: int = 200
    error: str = ""
    end: str = "close"
    """After the frames: `close`, `drop` the connection, or `hold` it open."""


@attrs.define(eq=False)
class Server:
    """A Bedrock on 127.0.0.1, in a thread of its own."""

    replies: list[Reply] = attrs.field(factory=list)
    """Given in order; the last one again and again."""
    sent: list[tuple[str, bytes]] = attrs.field(factory=list)
    """The paths and the bodies of the requests."""
    dropped: threading.Event = attrs.field(factory=threading.Event)
    """Set when a client leaves a stream that is held open."""
    held: threading.Event = attrs.field(factory=threading.Event)
    """Set when a stream is held open, or an answer held back."""
    release: threading.Event = attrs.field(factory=threading.Event)
    client: Any = None

    @property
    def bodies(self) -> list[Any]:
        """The requests as JSON data."""
        return [json.loads(body) for _, body in self.sent]

    def play(self, *replies: Reply) -> None:
        """Begin a new script."""
        self.replies, self.sent = list(replies), []
        self.dropped.clear()
        self.held.clear()
        self.release.clear()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        self.sent.append((request.path, await request.read()))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply.body, list):
            return await self._stream(request, reply)
        if reply.end == "hold":
            await self._hold(request)
        headers = {"Connection": "close"}  # kept alive, it would outlive the loop of its test
        if reply.error:
            headers["x-amzn-ErrorType"] = reply.error
        if isinstance(reply.body, str):
            return web.Response(text=reply.body, content_type="text/html", headers=headers)
        return web.json_response(reply.body, status=reply.status, headers=headers)

    async def _stream(self, request: web.Request, reply: Reply) -> web.StreamResponse:
        response = web.StreamResponse(
            headers={"Content-Type": "application/vnd.amazon.eventstream", "Connection": "close"}
        )
        await response.prepare(request)
        for piece in reply.body:
            await response.write(piece)
        if reply.end == "drop" and request.transport is not None:
            request.transport.close()  # without the end of the body
        if reply.end == "hold":
            await self._hold(request)
        return response

    async def _hold(self, request: web.Request) -> None:
        self.held.set()
        while not self.release.is_set():
            if request.transport is None or request.transport.is_closing():
                self.dropped.set()
                return
            await asyncio.sleep(0.01)


@pytest.fixture(scope="session")
def running(serving_apart: Callable[..., AbstractContextManager[str]]) -> Iterator[Server]:
    """Run the server, and make boto3's client for it, once for all tests."""
    server = Server()
    with serving_apart(server.answer) as address:
        server.client = boto3.client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=address,
            aws_access_key_id="none",
            aws_secret_access_key="none",  # noqa: S106  nobody checks it
            config=Config(retries={"total_max_attempts": 1}, read_timeout=20),
        )
        yield server
        server.release.set()
        server.client.close()


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """Yield the server with an empty script, and let no late request of a test reach the next."""
    running.play()
    yield running
    running.release.set()
    for thread in threading.enumerate():
        if thread.name == "agentic-bedrock":
            thread.join(60)


@pytest.fixture
def reply() -> type[Reply]:
    """Return the record of what the server answers."""
    return Reply


@pytest.fixture
def converse() -> Callable[..., dict[str, Any]]:
    """Return the maker of a whole reply of Converse."""

    def make(*content: dict[str, Any], stop: str = "end_turn") -> dict[str, Any]:
        return {
            "output": {"message": {"role": "assistant", "content": list(content)}},
            "stopReason": stop,
            "usage": {"inputTokens": 9, "outputTokens": 3, "totalTokens": 12},
            "metrics": {"latencyMs": 1},
        }

    return make


@pytest.fixture
def frames() -> Callable[..., list[bytes]]:
    """Return the maker of the frames of a stream, from its events."""

    def make(*events: dict[str, Any]) -> list[bytes]:
        return [
            frame(kind, body, message_type="exception" if kind.endswith("Exception") else "event")
            for event in events
            for kind, body in event.items()
        ]

    return make


class Events:
    """The events of streams, as AWS's API reference shows them."""

    @staticmethod
    def delta(text: str, index: int = 0) -> dict[str, Any]:
        """Return a piece of text."""
        return {"contentBlockDelta": {"contentBlockIndex": index, "delta": {"text": text}}}

    @staticmethod
    def end(stop: str) -> list[dict[str, Any]]:
        """Return the end of a reply, and what it used."""
        used = {"inputTokens": 10, "outputTokens": 4, "totalTokens": 14}
        metadata = {"usage": used, "metrics": {"latencyMs": 1}, "p": "abc"}
        return [{"messageStop": {"stopReason": stop, "p": "ab"}}, {"metadata": metadata}]

    def text(self, *pieces: str, stop: str = "end_turn") -> list[dict[str, Any]]:
        """Return a reply of text."""
        start: dict[str, Any] = {"messageStart": {"role": "assistant", "p": "a"}}
        deltas = [self.delta(piece) for piece in pieces]
        return [start, *deltas, {"contentBlockStop": {"contentBlockIndex": 0}}, *self.end(stop)]

    def call(
        self, call_id: str, name: str, pieces: list[str], stop: str = "tool_use", index: int = 0
    ) -> list[dict[str, Any]]:
        """Return a reply that is one call, its arguments in pieces."""
        at = {"contentBlockIndex": index}
        start = {"toolUse": {"toolUseId": call_id, "name": name}}
        deltas = [
            {"contentBlockDelta": {**at, "delta": {"toolUse": {"input": piece}}}}
            for piece in pieces
        ]
        return [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockStart": {**at, "start": start}},
            *deltas,
            {"contentBlockStop": at},
            *self.end(stop),
        ]


@pytest.fixture
def stream() -> Events:
    """Return the maker of events."""
    return Events()
