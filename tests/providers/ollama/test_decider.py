"""The decider, with httpx and a server that speaks the wire over HTTP."""

import asyncio
from typing import Any

import httpx
import pytest

from agentic import limits, providers, testing, tokens
from agentic.context import budget, compactors
from agentic.errors import ConfigError, ContextOverflow, IncompleteReply, RequestFailed
from agentic.limits import ModelLimits
from agentic.loop import Decision, Input, Request, Runner
from agentic.messages import Message
from agentic.providers.ollama import Decider
from agentic.tools import Registry, ToolDefinition, tool
from agentic.usage import StopReason, Usage

pytestmark = pytest.mark.slow

TOO_LONG = {
    "error": '{"error":{"code":400,"message":"request (8889 tokens) exceeds the available context '
    'size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}'
}


def _input(*history: Message, **fields: Any) -> Input:
    given: dict[str, Any] = {
        "system_prompt": "",
        "user_message": "",
        "history": history or (Message("user", "Hi."),),
        "tools": (),
        "tool_calls": (),
        "tool_results": (),
        "turn": 1,
    }
    return Input(**{**given, **fields})


def _reply(content: str = "Done.", word: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "qwen3:8b",
        "created_at": "2026-05-18T10:00:00Z",
        "message": {"role": "assistant", "content": content, **message},
        "done": True,
        "done_reason": word,
        "prompt_eval_count": 21,
        "eval_count": 9,
    }


def _line(content: str, **message: Any) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **message}, "done": False}


class Whole:
    """A decider without streaming."""

    def __init__(self, decider: Decider) -> None:
        self.decide = decider.decide


async def _items(decider: Decider, request: Input) -> list[str | Decision]:
    return [item async for item in decider.stream(request)]


CALLS = [
    {"function": {"name": "read", "arguments": {"path": "a"}}},
    {"function": {"name": "read", "arguments": {"path": "b"}}},
]


def test_tool_run_sends_back_what_came(serve: Any, asked: Any) -> None:
    """Two calls without ids, their thinking, and the results in their order."""

    def read(path: str) -> str:
        """Read a file."""
        return f"text of {path}"

    server = serve(_reply("", thinking="Both.", tool_calls=CALLS), _reply())

    async def job(client: httpx.AsyncClient) -> Any:
        return await Runner(Whole(Decider(client, "qwen3")), Registry([tool(read)])).run("Read.")

    result = asked(server, job)

    _, again = server.requests
    caller = {"role": "assistant", "content": "", "thinking": "Both.", "tool_calls": CALLS}
    assert result.reply == "Done."
    assert result.usage == Usage(42, 18, 60)
    assert again["messages"][1] == caller
    assert [item["content"] for item in again["messages"][2:]] == ["text of a", "text of b"]


def test_stream_gives_pieces_then_the_decision(serve: Any, asked: Any) -> None:
    """The line breaks are line feeds alone; a piece may end in the middle of a line."""
    server = serve(
        [
            _line("one\u0085two", thinking="Hm."),
            b'{"message": {"role": "assistant", "content": "\xc2\x85\xe2\x80',
            b'\xa8three"}, "done": false}\n\n',
            _reply(""),
        ]
    )

    items = asked(server, lambda client: _items(Decider(client, "qwen3"), _input()))

    assert items[:-1] == ["one\u0085two", "\u0085\u2028three"]
    decision = items[-1]
    assert decision.reply == "one\u0085two\u0085\u2028three"
    assert decision.reasoning == "Hm."
    assert (decision.request_model, decision.response_model) == ("qwen3", "qwen3:8b")
    assert server.requests[0]["stream"] is True


def test_a_decider_keeps_its_promises(serve: Any) -> None:
    """Every history, streamed or not; a client belongs to one event loop."""
    server = serve([_line("Done."), _reply("")])

    class Asking:
        name = "ollama:qwen3"

        async def decide(self, request: Input, /) -> Decision:
            *_, last = [item async for item in self.stream(request)]
            assert isinstance(last, Decision)
            return last

        async def stream(self, request: Input, /) -> Any:
            async with httpx.AsyncClient(base_url=server.url) as client:
                async for item in Decider(client, "qwen3").stream(request):
                    yield item

    testing.check_decider(Asking)


def test_request_is_never_silently_cut(serve: Any, asked: Any) -> None:
    """The server is told to refuse it; and to serve the window that the budget assumes."""
    server = serve(_reply())
    decider_limits = ModelLimits(16_000, 2_000)

    asked(server, lambda client: Decider(client, "m", limits=decider_limits).decide(_input()))

    body = server.requests[0]
    assert (body["truncate"], body["shift"], body["stream"]) == (False, False, False)
    assert body["options"] == {"num_ctx": 16_000}


def test_options_are_fields_of_the_request(serve: Any, asked: Any) -> None:
    """Those of the conversation stay ours; `options` are the wire's own, beside num_ctx."""
    options = {
        "think": "low",
        "truncate": True,
        "messages": [],
        "tools": [{"type": "function", "function": {"name": "theirs"}}],
        "options": {"temperature": 0, "num_ctx": 4_096},
    }
    server = serve(_reply())
    given = ModelLimits(16_000, 0)
    tools = (ToolDefinition("ours"),)

    asked(
        server,
        lambda client: Decider(client, "m", options=options, limits=given).decide(
            _input(tools=tools)
        ),
    )

    body = server.requests[0]
    assert (body["think"], body["truncate"]) == ("low", True)
    assert body["options"] == {"num_ctx": 4_096, "temperature": 0}
    assert [each["function"]["name"] for each in body["tools"]] == ["ours", "theirs"]
    assert len(body["messages"]) == 1


@pytest.mark.parametrize(
    ("settings", "window", "known"),
    [
        ({"limits": ModelLimits(16_000, 0)}, 16_000, True),
        ({"options": {"options": {"num_ctx": 4_096}}}, 4_096, True),
        ({"options": {"options": {"num_ctx": "many"}}}, limits.lookup("").context_window, False),
        ({}, limits.lookup("").context_window, False),
    ],
)
def test_window_is_the_served_one(settings: Any, window: int, known: bool) -> None:
    """Not the model's: the server decides, unless it is told."""
    found = Decider(httpx.AsyncClient(), "gpt-oss:20b", **settings).limits()

    assert (found.context_window, found.known) == (window, known)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_overflow_is_recovered(serve: Any, asked: Any, *, streamed: bool) -> None:
    """Compacted, and asked again with less."""
    server = serve((400, TOO_LONG), [_line("Done."), _reply("")] if streamed else _reply())
    policy = budget.Policy(4_096)
    manager = budget.Manager(tokens.CharCounter(), compactors.Digest(), policy)
    before = [Message("user", f"Log {n} is fine. " * 60) for n in range(20)]

    async def job(client: httpx.AsyncClient) -> Any:
        decider = Decider(client, "m", limits=ModelLimits(4_096, 0))
        runner = Runner(decider if streamed else Whole(decider), budget=manager)
        return await runner.run(Request("Is it green?", history=before))

    assert asked(server, job).reply == "Done."
    first, second = (len(str(request)) for request in server.requests)
    assert second < first


def test_a_cut_prompt_is_an_overflow(serve: Any, asked: Any) -> None:
    """By a server that does not know `truncate`: it counts half a window of a larger request."""
    server = serve({**_reply(), "prompt_eval_count": 2_050})
    long = Message("user", "word " * 8_000)

    with pytest.raises(ContextOverflow) as caught:
        asked(
            server,
            lambda client: Decider(client, "m", limits=ModelLimits(4_096, 0)).decide(_input(long)),
        )

    assert caught.value.window == 4_096


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (404, {"error": "model 'nope' not found"}, "(HTTP 404): model 'nope' not found"),
        (502, "<html>bad gateway</html>", "(HTTP 502): the answer is not a reply: b'<html>"),
        (500, {"error": {"code": 7}}, "(HTTP 500): {'code': 7}"),
    ],
)
def test_a_refusal_is_a_failed_request(
    serve: Any, asked: Any, status: int, body: Any, problem: str, *, streamed: bool
) -> None:
    """With the server's words."""
    server = serve((status, body))

    def ask(client: httpx.AsyncClient) -> Any:
        decider = Decider(client, "nope")
        return _items(decider, _input()) if streamed else decider.decide(_input())

    with pytest.raises(RequestFailed) as caught:
        asked(server, ask)

    assert problem in str(caught.value)


@pytest.mark.parametrize("body", ["[]", "{}", {"status": "ok"}])
def test_an_answer_without_a_reply(serve: Any, asked: Any, body: Any) -> None:
    """A proxy's, for example: it is an error, not a reply without text."""
    server = serve((200, body))

    with pytest.raises(RequestFailed, match="is not a reply"):
        asked(server, lambda client: Decider(client, "m").decide(_input()))


def test_a_missing_server_is_a_failed_request() -> None:
    """No answer, and why."""

    async def job() -> Any:
        async with httpx.AsyncClient(base_url="http://127.0.0.1:9") as client:
            return await Decider(client, "m").decide(_input())

    with pytest.raises(RequestFailed, match="no answer"):
        asyncio.run(job())


@pytest.mark.parametrize(
    ("lines", "error", "said"),
    [
        ([_line("It is")], IncompleteReply, "ended after 5 characters"),
        ([_line("It is"), {"error": "an error was encountered"}], RequestFailed, "encountered"),
        ([_line("It is"), b'{"message": {"con'], IncompleteReply, "5 characters"),
        ([TOO_LONG], ContextOverflow, "4,?096"),
    ],
)
def test_broken_off_stream_is_no_reply(
    serve: Any, asked: Any, lines: list[Any], error: type[Exception], said: str
) -> None:
    """Whatever came is not stored."""
    server = serve(lines)

    with pytest.raises(error, match=said):
        asked(server, lambda client: _items(Decider(client, "m"), _input()))


def test_a_stream_can_be_cancelled(serve: Any, asked: Any) -> None:
    """While the server is silent."""
    server = serve([_line("It"), "hang"])

    with pytest.raises(TimeoutError):
        asked(
            server,
            lambda client: asyncio.wait_for(_items(Decider(client, "m"), _input()), 0.3),
        )


def test_connection_follows_ollamas_environment(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host, and the key of a hosted server."""
    server = serve(_reply())
    monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
    monkeypatch.setenv("OLLAMA_API_KEY", "k-1")

    async def ask() -> Decision:
        decider = providers.connect("ollama:qwen3:8b", limits=ModelLimits(16_000, 0))
        decision = await decider.decide(_input())
        await decider.client.aclose()  # type: ignore[attr-defined]
        return decision

    decision = asyncio.run(ask())

    assert (decision.reply, decision.stop_reason) == ("Done.", StopReason.STOP)
    assert server.requests[0]["model"] == "qwen3:8b"
    assert server.headers[0]["Authorization"] == "Bearer k-1"


def test_a_bad_host_is_a_config_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Said when the client is created."""
    monkeypatch.setenv("OLLAMA_HOST", "localhost:eleven")

    with pytest.raises(ConfigError, match="cannot create a client for 'ollama:m'"):
        providers.connect("ollama:m")
