"""A provider may answer 200, and say only in the answer that the request is too large."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from agentic.app.proxy._replies import ReplyReader
from agentic.app.proxy._upstream import Relay
from agentic.providers import gemini, openai_chat

web = pytest.importorskip("aiohttp.web")

pytestmark = pytest.mark.slow
Serve = Callable[..., Any]
Grow = Callable[..., list[dict[str, Any]]]
_HELLO = [{"role": "user", "content": "Hello."}]


def _event(data: dict[str, Any]) -> bytes:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def _chunk(finish: str | None = None, **delta: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    made = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "gpt"}
    return _event({**made, "choices": [choice]})


def _of_claude(kind: str, **fields: Any) -> bytes:
    return _event({"type": kind, **fields})


_MESSAGE = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [],
    "stop_reason": None,
    "usage": {"input_tokens": 9, "output_tokens": 1},
}
_TOO_LONG = "prompt is too long: 9000 tokens > 3000 maximum"
_CODED = {"message": "maximum context length is 3000", "code": "context_length_exceeded"}
_TOO_MANY = "The input token count (9000) exceeds the maximum number of tokens allowed (3000)."
_RESPONSE = {"id": "r", "object": "response", "model": "gpt", "status": "in_progress", "output": []}
_GEMINI = "models/gemini-2.5-pro:streamGenerateContent"
_REFUSALS = {
    "chat/completions": [
        b": wait\n\n",
        _chunk(role="assistant", content=""),
        _event({"error": _CODED}),
    ],
    "messages": [
        _of_claude("message_start", message=_MESSAGE),
        _of_claude("ping"),
        _of_claude("error", error={"type": "invalid_request_error", "message": _TOO_LONG}),
    ],
    "responses": [
        _event({"type": "response.created", "response": _RESPONSE}),
        _event({"type": "response.in_progress", "response": _RESPONSE}),
        _event(
            {
                "type": "response.failed",
                "response": {**_RESPONSE, "status": "failed", "error": _CODED},
            }
        ),
    ],
    _GEMINI: [
        b": wait\n\n",
        _event({"usageMetadata": {"promptTokenCount": 9}}),
        _event({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": _TOO_MANY}}),
    ],
}
_REPLIES = {
    "chat/completions": [_chunk(content="Green."), _chunk("stop"), b"data: [DONE]\n\n"],
    "messages": [
        _of_claude("message_start", message=_MESSAGE),
        _of_claude("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        _of_claude("content_block_delta", index=0, delta={"type": "text_delta", "text": "Green."}),
        _of_claude("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 5}),
        _of_claude("message_stop"),
    ],
    "responses": [
        _event({"type": "response.created", "response": _RESPONSE}),
        _event({"type": "response.output_text.delta", "output_index": 0, "delta": "Green."}),
        _event({"type": "response.output_text.done", "output_index": 0, "text": "Green."}),
        _event({"type": "response.completed", "response": {**_RESPONSE, "status": "completed"}}),
    ],
    _GEMINI: [
        _event({"candidates": [{"content": {"role": "model", "parts": [{"text": "Green."}]}}]}),
        _event({"candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}}]}),
        _event({"candidates": [{"finishReason": "STOP"}]}),
    ],
}
_PATHS = sorted(_REPLIES)


def _streams(
    choose: Callable[[int], list[bytes]], sizes: list[int], *, packed: bool = False
) -> Callable[..., Any]:
    """Return what streams the pieces that are chosen by the size of a request."""

    async def answer(request: Any) -> Any:
        sizes.append(len(await request.read()))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        pieces = choose(sizes[-1])
        if packed:
            response.headers["Content-Encoding"] = "gzip"
            pieces = [gzip.compress(b"".join(pieces))]
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
        return response

    return answer


def _body(path: str, messages: list[dict[str, Any]], *, stream: bool = True) -> dict[str, Any]:
    """Return a request of the API at a path."""
    if path == _GEMINI:
        roles = {"assistant": "model", "user": "user"}
        contents = [
            {"role": roles[each["role"]], "parts": [{"text": each["content"]}]} for each in messages
        ]
        return {"contents": contents}
    key = "input" if path == "responses" else "messages"
    return {"model": "m", "max_tokens": 9, "stream": stream, key: messages}


def _post(served: Any, path: str, messages: list[dict[str, Any]], *, stream: bool = True) -> str:
    body = _body(path, messages, stream=stream)
    return httpx.post(f"{served.address}/v1/{path}", json=body).text


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("path", _PATHS)
def test_refused_stream_leads_to_smaller_request(
    serve: Serve, grow: Grow, path: str, *, packed: bool
) -> None:
    """The client reads the second stream alone, byte for byte."""
    sizes: list[int] = []
    pieces = {True: _REFUSALS[path], False: _REPLIES[path]}
    served = serve(8_000, _streams(lambda size: pieces[size > 12_000], sizes, packed=packed))

    got = _post(served, path, grow(20))

    assert got == b"".join(_REPLIES[path]).decode()
    assert len(sizes) == 2
    assert sizes[1] < 12_000 < sizes[0]


@pytest.mark.parametrize("length", [True, False])
@pytest.mark.parametrize("path", _PATHS)
def test_refused_answer_leads_to_smaller_request(
    serve: Serve, grow: Grow, path: str, *, length: bool
) -> None:
    """Not streamed, with a length and without: some gateways answer every error with 200."""
    sizes: list[int] = []

    async def answer(request: Any) -> Any:
        sizes.append(len(await request.read()))
        refusal = {"type": "error", "error": {**_CODED, "message": _TOO_LONG}}
        body = refusal if sizes[-1] > 12_000 else served.provider.words(request.path, 9)
        response = web.json_response(body)
        if not length:
            response.enable_chunked_encoding()
        return response

    served = serve(8_000, answer)

    assert "It is green." in _post(served, path, grow(20), stream=False)
    assert len(sizes) == 2
    assert sizes[1] < 12_000 < sizes[0]


@pytest.mark.parametrize("path", _PATHS)
def test_unshrinkable_refusal_is_streamed_on(serve: Serve, path: str) -> None:
    """As it came, after a single request."""
    sizes: list[int] = []
    served = serve(answering=_streams(lambda _: _REFUSALS[path], sizes))

    got = _post(served, path, _HELLO)

    assert got == b"".join(_REFUSALS[path]).decode()
    assert len(sizes) == 1


@pytest.mark.parametrize("path", _PATHS)
@pytest.mark.parametrize("problem", ["after content", "another error"])
def test_other_stream_errors_are_streamed_on(
    serve: Serve, grow: Grow, path: str, problem: str
) -> None:
    """What the client has read cannot be taken back, and no other error becomes a smaller one."""
    sizes: list[int] = []
    pieces = [*_REPLIES[path][:-2], _REFUSALS[path][-1]]
    if problem == "another error":
        busy = {"type": "overloaded_error", "message": "Try again."}
        pieces = [*_REFUSALS[path][:-1], _event({"type": "error", "error": busy})]
    served = serve(8_000, _streams(lambda _: pieces, sizes))

    got = _post(served, path, grow(20))

    assert got == b"".join(pieces).decode()
    assert len(sizes) == 1


@pytest.mark.parametrize("path", _PATHS)
def test_broken_start_is_an_error(serve: Serve, path: str) -> None:
    """Nothing was passed on yet, so the client need not guess from half a stream."""

    async def answer(request: Any) -> Any:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_REFUSALS[path][0])
        request.transport.abort()
        return response

    served = serve(answering=answer)

    got = httpx.post(f"{served.address}/v1/{path}", json=_body(path, _HELLO))

    assert got.status_code == 502
    assert not served.proxy._pool._pooled.entries[0].is_busy


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_array_of_events_is_read_as_they_come(size: int) -> None:
    """Gemini streams an array, unless it is asked for server-sent events."""
    events = [json.loads(each[6:]) for each in _REPLIES[_GEMINI]]
    events[0]["candidates"][0]["content"]["parts"][0]["text"] = 'G}],{"r\u00fcn'
    raw = json.dumps(events, indent=1, ensure_ascii=False).encode()
    reader = ReplyReader(gemini.ADAPTER, is_stream=False, encoding="", length=None)

    begun = None
    for start in range(0, len(raw), size):
        reader.feed(raw[start : start + size])
        if reader.has_begun and begun is None:
            begun = start + size
    reader.finish()

    parts = reader.response["candidates"][0]["content"]["parts"]
    assert parts == [{"text": 'G}],{"r\u00fcnYes.'}]
    assert begun is not None
    assert begun < len(raw) or size == 10_000


def test_refusal_in_an_array_is_a_refusal() -> None:
    """Also as its only item, after status 200."""
    error = {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": _TOO_MANY}}
    reader = ReplyReader(gemini.ADAPTER, is_stream=False, encoding="", length=None)

    reader.feed(json.dumps([error]).encode())

    assert reader.refusal is not None
    assert reader.has_begun


def test_heartbeats_are_not_held_for_long() -> None:
    """Without a word of content they are passed on after a while, with all that came before."""

    class Beating(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for _ in range(500):
                await asyncio.sleep(0.005)
                yield b": wait\n\n"

    async def held() -> tuple[object, bytes]:
        upstream = httpx.Response(200, stream=Beating())
        relay = Relay(
            upstream,
            reader=ReplyReader(openai_chat.ADAPTER, is_stream=True, encoding="", length=None),
        )
        return await relay.read_refusal(seconds=0.05), relay._head

    refusal, head = asyncio.run(held())

    assert refusal is None
    assert 0 < head.count(b": wait") < 100


def test_long_line_is_read_in_linear_time(growth: Any) -> None:
    """An image may be one line of megabytes, which arrives in pieces of a few kilobytes."""

    def read(size: int) -> None:
        reader = ReplyReader(openai_chat.ADAPTER, is_stream=True, encoding="", length=None)
        line = _chunk(content="x" * size)
        for start in range(0, len(line), 1_024):
            reader.feed(line[start : start + 1_024])
        assert reader.has_begun

    assert growth(read, 1_000_000) < 10
