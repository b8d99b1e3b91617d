"""How requests and answers pass through: headers, streams, errors, and a client that leaves."""

import asyncio
import gzip
import json
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest

from agentic.app.proxy import Proxy
from agentic.bridges.dicts import Conversation
from agentic.errors import ConfigError
from agentic.providers import openai_chat

web = pytest.importorskip("aiohttp.web")

pytestmark = pytest.mark.slow
Serve = Callable[..., Any]
Grow = Callable[..., list[dict[str, Any]]]
_HELLO = [{"role": "user", "content": "Hello."}]


def _event(data: dict[str, Any]) -> bytes:
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n".encode()


def _chunk(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    made = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "gpt"}
    return _event({**made, "choices": [choice]})


def _streams(pieces: list[bytes], goes_on: asyncio.Event | None = None) -> Callable[..., Any]:
    """Return what streams the first piece, and the others once it may."""

    async def answer(request: Any) -> Any:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(pieces[0])
        for _ in range(6_000):
            if goes_on is None or goes_on.is_set():
                break
            await asyncio.sleep(0.01)
        for piece in pieces[1:]:
            await response.write(piece)
        return response

    return answer


def test_stream_arrives_piece_by_piece(serve: Serve) -> None:
    """The client reads the first words before the provider has written the next."""
    goes_on = asyncio.Event()
    usage = {"prompt_tokens": 1_234, "completion_tokens": 2, "total_tokens": 1_236}
    last = _event({"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": usage})
    pieces = [_chunk("It is "), _chunk("green.", "stop"), last, b"data: [DONE]\n\n"]
    served = serve(answering=_streams(pieces, goes_on))

    stream = served.openai().chat.completions.create(
        model="gpt-4.1", messages=_HELLO, stream=True, stream_options={"include_usage": True}
    )
    first = next(stream)
    assert first.choices[0].delta.content == "It is "
    goes_on.set()
    rest = list(stream)

    assert rest[0].choices[0].delta.content == "green."
    assert rest[-1].usage.prompt_tokens == 1_234


def test_streamed_usage_teaches_the_size(serve: Serve) -> None:
    """Anthropic's first and last events have it; the next request is measured from there."""
    message = {**_message(), "usage": {"input_tokens": 900, "output_tokens": 1}}
    delta = {"type": "text_delta", "text": "Green."}
    pieces = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    served = serve(answering=_streams(list(map(_event, pieces))))
    client = served.anthropic()
    history: list[Any] = list(_HELLO)

    with client.messages.stream(model="claude", max_tokens=9, messages=history) as stream:
        assert stream.get_final_text() == "Green."
    history += [{"role": "assistant", "content": "Green."}, {"role": "user", "content": "Sure?"}]
    with client.messages.stream(model="claude", max_tokens=9, messages=history) as stream:
        stream.until_done()

    (pooled,) = served.proxy._pool._pooled.entries
    assert 900 < pooled.conversation.latest.tokens < 950


def _message() -> dict[str, Any]:
    made = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": []}
    return {**made, "stop_reason": None, "stop_sequence": None}


def test_overflow_leads_to_one_smaller_request(serve: Serve, grow: Grow) -> None:
    """The client sees the answer to the second; what the provider said is not lost on the way."""

    async def answer(request: Any) -> Any:
        sizes.append(len(await request.read()))
        if sizes[-1] > 12_000:
            error = {"code": "context_length_exceeded", "message": "maximum context length is 3000"}
            return web.json_response({"error": error}, status=400)
        return web.json_response(served.provider.words(request.path, sizes[-1] // 4))

    sizes: list[int] = []
    served = serve(8_000, answer)

    reply = served.openai().chat.completions.create(model="gpt-4.1", messages=grow(20))

    assert reply.choices[0].message.content == "It is green."
    assert len(sizes) == 2
    assert sizes[1] < 12_000 < sizes[0]


@pytest.mark.parametrize("streamed", [False, True])
def test_refused_images_are_left_out(serve: Serve, *, streamed: bool) -> None:
    """Once, whether the status says it or the first event."""
    text = "messages: too many images and documents: 12 + 0 > 8"
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}

    async def answer(request: Any) -> Any:
        images.append((await request.read()).count(b"aGk="))
        if images[-1] <= 8:
            return web.json_response(served.provider.words(request.path, 9))
        if streamed:
            return await _streams([_event(error)])(request)
        return web.json_response(error, status=400)

    images: list[int] = []
    served = serve(1_000_000, answer)
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    photo = {"role": "user", "content": [{"type": "image", "source": source}]}
    body = {"model": "claude", "max_tokens": 9, "messages": [photo] * 12}

    assert "It is green." in httpx.post(f"{served.address}/v1/messages", json=body).text
    assert images == [12, 6]


@pytest.mark.parametrize("text", ["", "total message size 2100954 exceeds limit 2097152"])
def test_refused_bytes_are_left_out(serve: Serve, grow: Grow, text: str) -> None:
    """Although the window has room for them."""

    async def answer(request: Any) -> Any:
        sizes.append(len(await request.read()))
        if sizes[-1] > 12_000:
            return web.Response(status=413 if not text else 400, text=text)
        return web.json_response(served.provider.words(request.path, sizes[-1] // 4))

    sizes: list[int] = []
    served = serve(100_000, answer)

    reply = served.openai().chat.completions.create(model="gpt-4.1", messages=grow(20))

    assert reply.choices[0].message.content == "It is green."
    assert len(sizes) == 2


def test_unshrinkable_overflow_is_passed_on(serve: Serve) -> None:
    """With its status and body, after a single request."""

    async def answer(_: Any) -> Any:
        return web.Response(status=400, text=body, content_type="application/json")

    body = '{"error": {"code": "context_length_exceeded",  "message": "Too much."}}'
    served = serve(answering=answer)

    with pytest.raises(openai.BadRequestError) as raised:
        served.openai().chat.completions.create(model="gpt-4.1", messages=_HELLO)

    assert raised.value.response.text == body
    assert len(served.provider.sent) == 1


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/models"])
def test_provider_errors_come_as_they_are(serve: Serve, path: str) -> None:
    """Status, headers and bytes, compressed as they were."""

    async def answer(_: Any) -> Any:
        headers = {"Retry-After": "7", "Content-Encoding": "gzip", "Request-Id": "r1"}
        return web.Response(status=429, body=packed, headers=headers)

    packed = gzip.compress(b'{"error": {"message": "Slow down."}}')
    served = serve(answering=answer)

    with httpx.stream(
        "POST", served.address + path, json={"messages": _HELLO}, headers={"x-api-key": "sk-ann"}
    ) as got:
        raw = b"".join(got.iter_raw())

    assert (got.status_code, raw) == (429, packed)
    assert got.headers["retry-after"] == "7"
    assert got.headers["request-id"] == "r1"


def test_other_paths_pass_unchanged(serve: Serve) -> None:
    """Methods, queries, escaped characters, bodies and repeated headers."""

    async def answer(_: Any) -> Any:
        response = web.Response(status=201, body=b"\x00\xff")
        response.headers.add("Set-Cookie", "a=1")
        response.headers.add("Set-Cookie", "b=2")
        return response

    served = serve(answering=answer, base="/api/v1")
    url = f"{served.address}/v1/files/a%2Fb?limit=2&after=%C3%BC"

    got = httpx.put(url, content=b"\x01" * 3_000_000, headers={"X-One": "1", "Connection": "x-hop"})

    (sent,) = served.provider.sent
    assert (sent.method, sent.target) == ("PUT", "/api/v1/files/a%2Fb?limit=2&after=%C3%BC")
    assert sent.raw == b"\x01" * 3_000_000
    assert sent.header("x-one") == "1"
    assert sent.header("user-agent").startswith("python-httpx")
    assert (got.status_code, got.content) == (201, b"\x00\xff")
    assert got.headers.get_list("set-cookie") == ["a=1", "b=2"]


def test_hop_by_hop_headers_stay_behind(serve: Serve) -> None:
    """Those that the standard names, and those that the connection names."""
    served = serve()
    headers = {"Connection": "x-hop, keep-alive", "X-Hop": "1", "TE": "trailers", "X-Stays": "1"}

    httpx.get(f"{served.address}/v1/models", headers={**headers, "Proxy-Authorization": "Basic x"})

    (sent,) = served.provider.sent
    assert sent.header("x-stays") == "1"
    assert [sent.header(name) for name in ("x-hop", "te", "proxy-authorization")] == [None] * 3
    assert sent.header("host") in served.provider.address


def test_compressed_request_is_fitted(serve: Serve, grow: Grow) -> None:
    """One that fits keeps its bytes; of one that does not, plain JSON is sent."""
    served = serve(2_000)
    url, headers = f"{served.address}/v1/chat/completions", {"Content-Encoding": "gzip"}
    small, large = ({"model": "m", "messages": grow(turns)} for turns in (1, 12))
    packed = gzip.compress(json.dumps(small).encode())

    httpx.post(url, content=packed, headers=headers)
    httpx.post(url, content=gzip.compress(json.dumps(large).encode()), headers=headers)

    first, second = served.provider.sent
    # The provider's server has unpacked it, and says so by leaving out the header, or it has not.
    assert first.raw in {packed, gzip.decompress(packed)}
    assert int(first.header("content-length")) == len(packed)
    assert second.header("content-encoding") is None
    assert second.body == Conversation(openai_chat, 2_000).fit_request(large)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1]", b'{"messages": 7}', b'{"messages": ["\xff"]}', b"[" * 20_000]
)
def test_unreadable_request_is_for_the_provider(serve: Serve, raw: bytes) -> None:
    """The proxy passes it on, and the client has the provider's word for it."""
    served = serve()

    got = httpx.post(f"{served.address}/v1/chat/completions", content=raw)

    assert got.status_code == 200
    assert served.provider.sent[0].raw == raw


def test_large_body_passes_larger_is_refused(serve: Serve) -> None:
    """A picture of megabytes is no problem; the limit is named where it applies."""
    served = serve(10_000, max_body_bytes=5_000_000)
    picture = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64," + "A" * 4_000_000},
    }
    client = served.openai()

    client.chat.completions.create(
        model="gpt-4.1", messages=[{"role": "user", "content": [picture]}]
    )
    with pytest.raises(openai.APIStatusError, match="larger than 5,000,000 bytes") as raised:
        client.chat.completions.create(
            model="gpt-4.1", messages=[{"role": "user", "content": [picture, picture]}]
        )

    assert raised.value.status_code == 413
    assert len(served.provider.sent) == 1


@pytest.mark.parametrize("is_stream", [False, True])
def test_client_that_leaves_ends_the_request(serve: Serve, *, is_stream: bool) -> None:
    """Before the answer, and in the middle of it; then the conversation is free again."""

    async def answer(request: Any) -> Any:
        try:
            if is_stream:
                response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
                await response.prepare(request)
                await response.write(_chunk("It is "))
            # The end of a connection is seen here when something is written to it.
            for _ in range(6_000):
                await asyncio.sleep(0.01)
                if request.transport is None or request.transport.is_closing():
                    served.provider.left.set()
                    break
        except asyncio.CancelledError:
            served.provider.left.set()
            raise
        return web.Response()

    served = serve(answering=answer)
    with (
        socket.create_connection(("127.0.0.1", int(served.address.rpartition(":")[2]))) as client,
    ):
        body = json.dumps({"messages": _HELLO}).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        assert served.provider.arrived.wait(60)
        if is_stream:
            assert client.recv(100)

    assert served.provider.left.wait(60)
    deadline = time.monotonic() + 60
    while served.proxy._pool._pooled.entries[0].is_busy and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not served.proxy._pool._pooled.entries[0].is_busy


def test_broken_stream_breaks_for_the_client(serve: Serve) -> None:
    """A part of an answer never looks like the whole."""

    async def answer(request: Any) -> Any:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_chunk("It is "))
        request.transport.abort()
        return response

    served = serve(answering=answer)

    with pytest.raises(httpx.RemoteProtocolError):
        httpx.post(f"{served.address}/v1/chat/completions", json={"messages": _HELLO})


def test_silent_provider_is_a_timeout(serve: Serve) -> None:
    """In the form of the API that was called."""

    async def answer(request: Any) -> Any:
        # The end of a connection has no event here.
        while not (request.transport is None or request.transport.is_closing()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return web.Response()

    served = serve(answering=answer, timeout_seconds=0.05)

    with pytest.raises(anthropic.InternalServerError, match="did not answer in time") as raised:
        served.anthropic().messages.create(model="claude", max_tokens=9, messages=_HELLO)

    assert raised.value.status_code == 504


def test_keys_enter_no_log_or_error(
    serve: Serve, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not even with all loggers at their most talkative, or where nobody listens."""
    caplog.set_level(logging.DEBUG)
    headers = {"Authorization": "Bearer sk-secret", "X-Api-Key": "sk-secret"}
    answers = []
    for to in ("", "http://127.0.0.1:9"):
        served = serve(to=to)
        for path in ("chat/completions", "messages", "models?key=sk-secret"):
            for content in (b'{"messages": [{"role": "user", "content": "Hello."}]}', b"{"):
                url = f"{served.address}/v1/{path}"
                answers.append(httpx.post(url, content=content, headers=headers))

    logged = [each.getMessage() for each in caplog.records if each.threadName == "proxy"]
    assert [each.status_code for each in answers] == [200] * 6 + [502] * 6
    assert "cannot connect to http://127.0.0.1:9" in answers[-1].text
    assert "cannot connect to http://127.0.0.1:9" in logged
    assert "secret" not in "".join([*logged, *capfd.readouterr(), *(a.text for a in answers)])


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("api.openai.com", "to must be an address such as"),
        ("ftp://api.openai.com", "to must be an address such as"),
        ("https://api.openai.com/v1?key=1", "to must be an address such as"),
        ("https://ann:secret@host", "to must be an address without a user and a password"),
        ("http://host:port", "to must be an address such as"),
    ],
)
def test_wrong_address_is_one_sentence(to: str, told: str) -> None:
    """It says what an address is, and repeats no password."""
    with pytest.raises(ConfigError, match=told) as raised:
        Proxy(to, 2_000)

    assert "secret" not in str(raised.value)
