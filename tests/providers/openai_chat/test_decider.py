"""The official SDK against a server on 127.0.0.1."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest

from agentic import loop
from agentic.context import budget
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.history import MemoryStore
from agentic.limits import ModelLimits
from agentic.messages import Message
from agentic.providers import openai_chat
from agentic.testing import EventRecorder, ScriptedExecutor, check_decider
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, Usage

pytestmark = pytest.mark.slow

Serve: TypeAlias = Callable[..., Any]
USED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
CALLS = [
    {"id": f"call_{n}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    for n in (1, 2)
]
BOUND = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block. The block is "
        "bound to a different conversation.",
    },
}
OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 4097 tokens. However, your messages "
        "resulted in 9000 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}


def _reply(content: str | None = "Done.", word: str = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": word}
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": USED,
    }


def _event(word: str | None = None, /, **delta: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": word}],
    }


STREAM = [
    ": keep-alive",
    _event(role="assistant", content=""),
    _event(content="Do"),
    _event(content="ne."),
    _event("stop"),
    {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": USED,
    },
    "data: [DONE]",
]


class Whole:
    """A decider without its stream, so that the loop asks for whole replies."""

    def __init__(self, decider: openai_chat.Decider) -> None:
        self.decide = decider.decide


def _decider(server: Any, **changes: Any) -> openai_chat.Decider:
    return openai_chat.Decider(server.connect(), "m", **changes)


def _input(*tools: ToolDefinition) -> loop.Input:
    return loop.Input(
        system_prompt="Be brief.",
        user_message="hi",
        history=(Message("user", "hi"),),
        tools=tools,
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


def test_a_run_with_tools(serve: Serve) -> None:
    """Two calls at once; the reply that made them goes back as it came, thinking included."""
    asking = _reply(None, "tool_calls", tool_calls=CALLS, reasoning_content="Look.", refusal=None)
    server = serve(asking, _reply())
    runner = loop.Runner(
        Whole(_decider(server)), ScriptedExecutor({"read": "text"}), system_prompt="Be brief."
    )

    result = runner.run_sync("Read both.")

    first, second = server.requests
    assert (result.reply, result.usage) == ("Done.", Usage(14, 6, 20))
    assert [message["role"] for message in first["messages"]] == ["system", "user"]
    assert second["messages"][2] == asking["choices"][0]["message"]
    assert [m["tool_call_id"] for m in second["messages"][3:]] == ["call_1", "call_2"]
    assert second["tools"][0]["function"]["name"] == "read"


def test_a_streamed_run_with_tools(serve: Serve) -> None:
    """The pieces are shown as they come, the usage is asked for."""
    calls = [{**call, "index": n} for n, call in enumerate(CALLS)]
    asking = [_event(role="assistant", tool_calls=calls), _event("tool_calls"), "data: [DONE]"]
    server = serve(asking, STREAM)
    runner = loop.Runner(_decider(server), ScriptedExecutor({"read": "text"}))

    with EventRecorder() as recorder:
        result = runner.run_sync("Read both.")

    deltas = [event.delta for event in recorder.events if hasattr(event, "delta")]
    assert (result.reply, deltas, result.usage) == ("Done.", ["Do", "ne."], Usage(7, 3, 10))
    assert [request["stream_options"] for request in server.requests] == [
        {"include_usage": True}
    ] * 2


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"stream_options": None}, None), ({"stream_options": {"x": 1}}, {"x": 1})],
)
def test_options_go_into_the_call(serve: Serve, options: Any, expected: Any) -> None:
    """Untouched, and they decide on what a stream is asked for."""
    server = serve(STREAM)
    decider = _decider(server, options={"temperature": 0, "extra_body": {"top_k": 1}, **options})

    async def main() -> list[Any]:
        return [item async for item in decider.stream(_input())]

    items = asyncio.run(main())

    sent = server.requests[0]
    assert items[:2] == ["Do", "ne."]
    assert (sent["temperature"], sent["top_k"], sent.get("stream_options")) == (0, 1, expected)


@pytest.mark.parametrize("streamed", [False, True])
def test_tools_of_options_are_added(serve: Serve, *, streamed: bool) -> None:
    """As a provider's own do; what belongs to a stream is left to the call."""
    search = {"type": "web_search"}
    server = serve(STREAM if streamed else _reply())
    options = {"tools": [search], "stream": True, "messages": [], "model": "x"}
    decider = _decider(server, options=options)

    async def main() -> Any:
        request = _input(ToolDefinition("read"))
        if not streamed:
            return await decider.decide(request)
        return [item async for item in decider.stream(request)][-1]

    assert asyncio.run(main()).reply == "Done."
    sent = server.requests[0]
    assert [tool["type"] for tool in sent["tools"]] == ["function", "web_search"]
    assert sent["tools"][1] == search
    assert (len(sent["messages"]), "stream" in sent) == (2, streamed)


def test_an_overflow_is_recovered(serve: Serve) -> None:
    """The loop compacts, asks again with less, and goes on."""
    server = serve((400, OVERFLOW), _reply())
    manager = budget.Manager(CharCounter(), Digest(), policy=budget.Policy(context_window=4097))
    runner = loop.Runner(Whole(_decider(server)), store=MemoryStore(), budget=manager)
    history = [Message(("user", "assistant")[n % 2], "words " * 60) for n in range(40)]

    result = runner.run_sync(loop.Request("And now?", history=history))

    first, second = (sum(len(m["content"]) for m in r["messages"]) for r in server.requests)
    assert result.reply == "Done."
    assert second < first


def test_overflow_without_budget_is_raised(serve: Serve) -> None:
    """With the sizes that the server named."""
    with pytest.raises(ContextOverflow) as failed:
        loop.Runner(Whole(_decider(serve((400, OVERFLOW))))).run_sync("hi")

    assert failed.value.model == "m"
    assert failed.value.window == 4097


def test_an_overflow_that_opens_a_stream(serve: Serve) -> None:
    """It names the model: no event before it has. Mistral's errors pass the SDK."""
    event = {"object": "error", "message": OVERFLOW["error"]["message"]}

    with pytest.raises(ContextOverflow) as failed:
        loop.Runner(_decider(serve([event]))).run_sync("hi")

    assert failed.value.model == "m"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ((429, {"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}), 429),
        ((500, {"error": {"message": "oops"}}), 500),
        ({"error": {"message": "upstream is gone", "code": 502}}, 502),
        ({"object": "chat.completion", "choices": []}, None),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_refusal_is_a_failed_request(
    serve: Serve, answer: Any, status: int | None, *, streamed: bool
) -> None:
    """With the status, where there is one; an error of status 200 is one too."""
    if streamed and not isinstance(answer, tuple):
        answer = [{**answer, "choices": [], "error": answer.get("error", {"message": "?"})}]
        status = None
    decider = _decider(serve(answer))

    with pytest.raises(RequestFailed) as failed:
        loop.Runner(decider if streamed else Whole(decider)).run_sync("hi")

    assert failed.value.status == status


def test_a_missing_server_is_a_failed_request(serve: Serve) -> None:
    """No answer has no status."""
    server = serve(_reply())
    server.url = "http://127.0.0.1:9"

    with pytest.raises(RequestFailed) as failed:
        loop.Runner(_decider(server)).run_sync("hi")

    assert failed.value.status is None


@pytest.mark.parametrize("end", [["drop"], []])
def test_a_broken_connection_is_an_incomplete_reply(serve: Serve, end: list[str]) -> None:
    """Whether it is cut, or just ends without a mark; the text that had come is told."""
    store = MemoryStore()
    runner = loop.Runner(_decider(serve([*STREAM[:3], *end])), store=store)

    with pytest.raises(IncompleteReply) as broken:
        runner.run_sync("hi")

    assert broken.value.received == "Do"
    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_cancelled_run_leaves_whole_session(serve: Serve) -> None:
    """The request is stored, nothing half after it."""
    server, store = serve({}), MemoryStore()

    async def main() -> None:
        async with server.connect() as client:
            runner = loop.Runner(openai_chat.Decider(client, "m"), store=store)
            run = asyncio.create_task(runner.run("hi"))
            await asyncio.to_thread(server.asked.wait, 10)
            run.cancel()
            await asyncio.wait({run})
            assert run.cancelled()

    asyncio.run(main())

    assert [message.role for message in asyncio.run(store.load())] == ["user"]


def test_it_keeps_a_deciders_promises(serve: Serve) -> None:
    """Whole replies."""
    server = serve(_reply())

    check_decider(lambda: Whole(_decider(server)))

    assert all(openai_chat.validate(request) == [] for request in server.requests)


def test_it_keeps_a_streaming_deciders_promises(serve: Serve) -> None:
    """Streams, which end with the decision."""
    server = serve(STREAM)

    class Streaming:
        def __init__(self) -> None:
            self.stream = _decider(server).stream

        async def decide(self, request: loop.Input) -> loop.Decision:
            items = [item async for item in self.stream(request)]
            assert isinstance(items[-1], loop.Decision)
            return items[-1]

    check_decider(Streaming)


def test_tool_without_parameters_has_properties() -> None:
    """OpenAI refuses an object without them, and servers of MCP tools often leave them out."""
    tool = ToolDefinition("now", parameters={"type": "object"})

    (sent,) = openai_chat.encode_tools([tool])

    assert sent["function"]["parameters"] == {"type": "object", "properties": {}}


def test_renamed_tools_are_called_by_name(serve: Serve) -> None:
    """The server knows it under a name that it accepts."""
    tool = ToolDefinition("files.read")
    sent = openai_chat.encode_tools([tool])[0]["function"]["name"]
    call = {**CALLS[0], "function": {"name": sent, "arguments": "{}"}}
    decider = _decider(serve(_reply(None, "tool_calls", tool_calls=[call])))

    decision = asyncio.run(decider.decide(_input(tool)))

    assert decision.tool_calls[0].name == "files.read"


@pytest.mark.parametrize(
    ("arguments", "limit", "reason"),
    [
        ('{"path": "a', 3, StopReason.MAX_TOKENS),
        ('{"path": "a"}', 3, StopReason.TOOL),
        ('{"path": "a', 4, StopReason.TOOL),
        ('{"path": "a', None, StopReason.TOOL),
    ],
)
def test_a_cut_call_is_no_call(
    serve: Serve, arguments: str, limit: int | None, reason: StopReason
) -> None:
    """The server says `tool_calls`, but the limit was reached and half a call is there."""
    call = {**CALLS[0], "function": {"name": "read", "arguments": arguments}}
    server = serve(_reply(None, "tool_calls", tool_calls=[call]))
    options = {"max_tokens": limit} if limit else {}

    decision = asyncio.run(_decider(server, options=options).decide(_input()))

    assert decision.stop_reason is reason


def _asked(letters: int) -> loop.Input:
    history = (Message("user", "x" * letters),)
    return loop.Input(
        system_prompt="",
        user_message=history[0].content,
        history=history,
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


@pytest.mark.parametrize(
    ("letters", "counted"),
    [
        pytest.param(40_000, 2_050, id="cut to half of the window"),
        pytest.param(40_000, 4_090, id="cut to the window"),
        pytest.param(4_000, 4_200, id="more than the window that was given"),
    ],
)
def test_a_cut_prompt_is_an_overflow(serve: Serve, letters: int, counted: int) -> None:
    """What was counted and what was sent give it away, where the window is known."""
    server = serve({**_reply(), "usage": {"prompt_tokens": counted, "completion_tokens": 9}})
    decider = openai_chat.Decider(server.connect(), "tiny", limits=ModelLimits(4_096, 0))

    with pytest.raises(ContextOverflow) as caught:
        asyncio.run(decider.decide(_asked(letters)))

    assert caught.value.window == 4_096


@pytest.mark.parametrize(
    ("model", "counted"),
    [
        pytest.param("gpt-4o", 200_000, id="a longer window than the catalog knows was served"),
        pytest.param("nobody-knows-this", 9_000, id="no window is known"),
        pytest.param("gpt-4o", 0, id="no usage"),
    ],
)
def test_a_whole_prompt_is_no_overflow(serve: Serve, model: str, counted: int) -> None:
    """A reply is not thrown away on a guess."""
    server = serve({**_reply(), "usage": {"prompt_tokens": counted, "completion_tokens": 9}})

    decision = asyncio.run(openai_chat.Decider(server.connect(), model).decide(_asked(40_000)))

    assert decision.reply == "Done."


@pytest.mark.parametrize(
    "fields",
    [
        {
            "reasoning": "Hm.",
            "reasoning_details": [{"type": "reasoning.text", "signature": "EqQB"}],
        },
        {"reasoning_text": "Hm.", "reasoning_opaque": "EqQB"},
    ],
)
def test_bound_reasoning_of_a_gateway_is_left_out(serve: Serve, fields: dict[str, Any]) -> None:
    """The API has no setting for it; the readable text goes with what it repeats."""
    refusal = {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": json.dumps(BOUND), "provider_name": "Anthropic"},
        }
    }
    server = serve((400, refusal), _reply())
    wire = [
        {"role": "user", "content": "Is it?"},
        {"role": "assistant", "content": "Yes.", **fields},
        {"role": "user", "content": "Sure?"},
    ]
    decider = openai_chat.Decider(server.connect(), "anthropic/claude-fable-5.2")
    request = attrs.evolve(_input(), history=tuple(openai_chat.decode(wire)))

    for _ in "ab":
        asyncio.run(decider.decide(request))

    assert [body["messages"][-3:] for body in server.requests] == [
        wire,
        *[[wire[0], {"role": "assistant", "content": "Yes."}, wire[2]]] * 2,
    ]
