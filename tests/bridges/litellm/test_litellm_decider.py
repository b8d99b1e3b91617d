"""LiteLLM itself, against a server on 127.0.0.1 that speaks its providers' wires."""

import asyncio
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TypeAlias

import litellm
import pytest

from agentic import loop
from agentic.bridges.litellm import Decider, PricedDecision
from agentic.errors import BoundReasoning, ContextOverflow, IncompleteReply, RequestFailed
from agentic.history import MemoryStore
from agentic.messages import Media, Message
from agentic.providers import openai_chat
from agentic.testing import ScriptedExecutor, check_decider
from agentic.usage import StopReason, Usage

pytestmark = pytest.mark.slow

Serve: TypeAlias = Callable[..., Any]
CLAUDE = "anthropic/claude-sonnet-4-5"
USED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "EqQBCkgIBRABGAI="}
TEXT = {"type": "text", "text": "Done."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
ADAPTIVE = "anthropic/claude-opus-4-6"
"""LiteLLM takes `thinking` for it from 1.83 on. It refuses the setting for a model that its table
lacks, which is how newer models begin; the reasoning is then left out."""
HANDS_ON_DROPS = tuple(map(int, version("litellm").split(".")[:2])) >= (1, 110)


def _input(*history: Message) -> loop.Input:
    return loop.Input(
        system_prompt="Be brief.",
        user_message="hi",
        history=history or (Message("user", "hi"),),
        tools=(),
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


async def _streamed(decider: Decider, request: loop.Input) -> list[Any]:
    return [item async for item in decider.stream(request)]


def _reply(content: str | None = "Done.", word: str = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    choice = {"index": 0, "message": said, "finish_reason": word}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1}
    return {**head, "model": "gpt-4o-2024-08-06", "choices": [choice], "usage": USED}


def _event(word: str | None = None, /, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": word}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    return {**head, "model": "gpt-4o-2024-08-06", "choices": [choice]}


DROP = "drop"
STREAM = [
    _event(role="assistant", content=""),
    _event(content="Do"),
    _event(content="ne."),
    _event("stop"),
    {**_event(), "choices": [], "usage": USED},
    "data: [DONE]",
]


def _claude(*content: Any, word: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": list(content),
        "stop_reason": word,
        "usage": {"input_tokens": 5, "output_tokens": 9, "cache_read_input_tokens": 100},
    }


def _claude_stream() -> list[Any]:
    begun = {**_claude(), "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": begun},
        _part(0, "start", {"type": "thinking", "thinking": "", "signature": ""}),
        _part(0, "delta", {"type": "thinking_delta", "thinking": "Look "}),
        _part(0, "delta", {"type": "thinking_delta", "thinking": "first."}),
        _part(0, "delta", {"type": "signature_delta", "signature": THOUGHT["signature"]}),
        {"type": "content_block_stop", "index": 0},
        _part(1, "start", {**CALL, "input": {}}),
        _part(1, "delta", {"type": "input_json_delta", "partial_json": '{"path": '}),
        _part(1, "delta", {"type": "input_json_delta", "partial_json": '"a.py"}'}),
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def _claude_text_stream() -> list[Any]:
    begun = {**_claude(), "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": begun},
        _part(0, "start", {"type": "text", "text": ""}),
        _part(0, "delta", {"type": "text_delta", "text": "Done."}),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    ]


def _part(index: int, kind: str, content: Any) -> dict[str, Any]:
    key = "content_block" if kind == "start" else "delta"
    return {"type": f"content_block_{kind}", "index": index, key: content}


class Whole:
    """A decider without its stream, so that the loop asks for whole replies."""

    def __init__(self, decider: Decider) -> None:
        self.decide = decider.decide


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_goes_back_with_its_signature(serve: Serve, *, streamed: bool) -> None:
    """Claude's block arrives at Anthropic again as it came, whole or streamed in pieces."""
    asking = _claude_stream() if streamed else _claude(THOUGHT, CALL, word="tool_use")
    server = serve(asking, _claude(TEXT) if not streamed else _claude_text_stream())
    decider = server.connect(CLAUDE, thinking={"type": "enabled", "budget_tokens": 1024})
    runner = loop.Runner(
        decider if streamed else Whole(decider), ScriptedExecutor({"read": "text"})
    )

    result = runner.run_sync("Read it.")

    again = server.requests[1]["messages"][1]["content"]
    assert result.reply == "Done."
    assert [part for part in again if part["type"] == "thinking"] == [THOUGHT]
    assert [part["input"] for part in again if part["type"] == "tool_use"] == [CALL["input"]]
    assert result.history[1].reasoning == "Look first."


@pytest.mark.parametrize("streamed", [False, True])
def test_decision_names_its_maker_and_price(serve: Serve, *, streamed: bool) -> None:
    """The vendor's own name of the model, the provider, the price, and every kind of token."""
    server = serve(_claude_text_stream() if streamed else _claude(TEXT))
    decider = server.connect(CLAUDE)

    async def main() -> PricedDecision:
        if not streamed:
            return await decider.decide(_input())
        return (await _streamed(decider, _input()))[-1]

    decision = asyncio.run(main())

    assert (decision.reply, decision.provider) == ("Done.", "anthropic")
    assert decision.response_model.startswith("claude-sonnet-4-5")
    assert decision.usage == Usage(105, 9, 114, cache_read=100)
    # 5 tokens at 3 USD a million, 100 from the cache at 0.30, 9 generated at 15: LiteLLM's list.
    assert decision.cost_usd == pytest.approx((5 * 3 + 100 * 0.3 + 9 * 15) / 1e6)


def test_model_without_price_has_no_cost(serve: Serve) -> None:
    """None, and not 0: it is unknown."""
    server = serve({**_reply(), "model": "my-own-7b"})

    decision = asyncio.run(server.connect("openai/my-own").decide(_input()))

    assert (decision.cost_usd, decision.provider) == (None, "openai")
    assert (decision.response_model, decision.response_id) == ("my-own-7b", "chatcmpl-1")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("stop", StopReason.STOP),
        ("length", StopReason.MAX_TOKENS),
        ("content_filter", StopReason.CONTENT_FILTER),
    ],
)
def test_stop_reasons_follow_the_wire(serve: Serve, word: str, reason: StopReason) -> None:
    """Whatever the provider says, LiteLLM spells it as OpenAI does."""
    decision = asyncio.run(serve(_reply(word=word)).connect().decide(_input()))

    assert (decision.stop_reason, decision.stop_word) == (reason, word)


def test_reply_goes_back_without_nulls(serve: Serve) -> None:
    """LiteLLM's empty fields are not part of the history."""
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    server = serve(_reply(None, "tool_calls", tool_calls=calls, refusal=None), _reply())

    loop.Runner(Whole(server.connect()), ScriptedExecutor({"read": "text"})).run_sync("Read it.")

    sent = server.requests[1]["messages"][1]
    assert {key: value for key, value in sent.items() if key != "content"} == {
        "role": "assistant",
        "tool_calls": calls,
    }
    assert not sent.get("content")


OPENAIS_OVERFLOW = {
    "error": {
        "message": "This model's maximum context length is 4097 tokens. However, your messages "
        "resulted in 9000 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
}
LONGER = "The request is longer than the model's context length"
CLAUDES_OVERFLOW = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 208310 tokens > 200000 maximum",
    },
}


@pytest.mark.parametrize(
    ("model", "answer", "sent", "window"),
    [
        ("openai/gpt-4o", OPENAIS_OVERFLOW, 9000, 4097),
        (CLAUDE, CLAUDES_OVERFLOW, 208_310, 200_000),
        ("openai/gpt-4o", {"error": {"message": LONGER}}, None, 128_000),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_an_overflow_has_its_sizes(
    serve: Serve, model: str, answer: Any, sent: int | None, window: int, *, streamed: bool
) -> None:
    """From the provider's words; if it names no window, the model's is known."""
    decider = serve((400, answer)).connect(model)

    with pytest.raises(ContextOverflow) as failed:
        asyncio.run(_streamed(decider, _input()) if streamed else decider.decide(_input()))

    assert (failed.value.model, failed.value.sent, failed.value.window) == (model, sent, window)


@pytest.mark.parametrize("model", [CLAUDE, "openai/gpt-4o"])
def test_refused_images_are_left_out(serve: Serve, model: str) -> None:
    """A Runner sends the request once more, with as many as are accepted."""
    text = "messages: too many images and documents: 12 + 0 > 8"
    refusal = {"type": "error", "error": {"type": "invalid_request_error", "message": text}}
    served = serve((400, refusal), _claude_text_stream() if model == CLAUDE else STREAM)
    photo, store = Media("image/png", b"pixels"), MemoryStore()
    for number in range(12):
        asyncio.run(store.append(Message("user", f"Photo {number}.", media=[photo])))

    result = loop.Runner(served.connect(model), store=store).run_sync("And now?")

    assert result.reply == "Done."
    assert [str(each).count("cGl4ZWxz") for each in served.requests] == [12, 6]


@pytest.mark.parametrize("text", ["Request entity too large", "Payload Too Large"])
def test_refused_bytes_are_no_tokens(serve: Serve, text: str) -> None:
    """Nor is the model's window their limit."""
    refusal = {"type": "error", "error": {"type": "request_too_large", "message": text}}

    with pytest.raises(ContextOverflow) as failed:
        asyncio.run(serve((413, refusal)).connect(CLAUDE).decide(_input()))

    assert (failed.value.kind, failed.value.window) == ("bytes", None)


@pytest.mark.parametrize(
    ("status", "model"), [(401, CLAUDE), (429, "openai/gpt-4o"), (500, CLAUDE)]
)
def test_a_refusal_names_the_provider(serve: Serve, status: int, model: str) -> None:
    """The one behind LiteLLM, with the status that it answered."""
    answer = {"type": "error", "error": {"type": "some_error", "message": "not today"}}

    with pytest.raises(RequestFailed) as failed:
        asyncio.run(serve((status, answer)).connect(model).decide(_input()))

    assert (failed.value.provider, failed.value.status) == (model.partition("/")[0], status)
    assert "not today" in failed.value.problem


@pytest.mark.parametrize("end", [[DROP], []], ids=["cut", "closed"])
def test_a_stream_that_breaks_is_incomplete(serve: Serve, end: list[str]) -> None:
    """LiteLLM says "stop" for some of these; the text that had come is told, and not stored."""
    store = MemoryStore()
    runner = loop.Runner(serve([*STREAM[:2], *end]).connect(), store=store)

    with pytest.raises(IncompleteReply) as broken:
        runner.run_sync("hi")

    assert broken.value.received == "Do"
    assert [message.role for message in asyncio.run(store.full())] == ["user"]


def test_cancelled_request_leaves_a_whole_session(serve: Serve) -> None:
    """The request is stored, nothing half after it."""
    server, store = serve({}), MemoryStore()

    async def main() -> None:
        run = asyncio.create_task(loop.Runner(server.connect(), store=store).run("hi"))
        await asyncio.to_thread(server.asked.wait, 30)
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()

    asyncio.run(main())

    assert [message.role for message in asyncio.run(store.load())] == ["user"]


def test_a_mocked_reply_is_complete() -> None:
    """LiteLLM's own test replies have no stop word either."""
    decider = Decider(CLAUDE, options={"mock_response": "It is green."})

    assert loop.Runner(decider).run_sync("Is it?").reply == "It is green."


def test_options_go_into_the_call(serve: Serve) -> None:
    """Untouched; and a stream is asked for its usage."""
    server = serve(STREAM)

    items = asyncio.run(_streamed(server.connect(temperature=0.5, seed=7), _input()))

    sent = server.requests[0]
    assert (items[:2], items[2].usage) == (["Do", "ne."], Usage(7, 3, 10))
    assert (sent["temperature"], sent["seed"]) == (0.5, 7)
    assert sent["stream_options"] == {"include_usage": True}


# Not ours to hide: the test imports the router by itself, as a user would.
@pytest.mark.filterwarnings("ignore:.* on TypedDict class:UserWarning")
def test_a_router_chooses_the_deployment(serve: Serve) -> None:
    """The model is a name of the router's; the price is that of the model behind it."""
    server = serve(_reply())
    there = {"model": "openai/gpt-4o", "api_base": f"{server.url}/v1", "api_key": "none"}
    router = litellm.Router(model_list=[{"model_name": "fast", "litellm_params": there}])

    decision = asyncio.run(Decider("fast", router=router).decide(_input()))

    assert (decision.reply, server.requests[0]["model"]) == ("Done.", "gpt-4o")
    assert decision.cost_usd == pytest.approx((7 * 2.5 + 3 * 10) / 1e6)


@pytest.mark.parametrize("answer", [_reply(), STREAM], ids=["whole", "streamed"])
def test_it_keeps_a_deciders_promises(serve: Serve, answer: Any) -> None:
    """Whole replies, and streams that end with the decision."""
    server = serve(answer)

    class Streaming(Whole):
        def __init__(self) -> None:
            self.stream = server.connect().stream

        async def decide(self, request: loop.Input) -> loop.Decision:
            return (await _streamed(server.connect(), request))[-1]  # type: ignore[no-any-return]

    streamed = isinstance(answer, list)
    check_decider(Streaming if streamed else lambda: Whole(server.connect()))

    assert all(openai_chat.validate(request) == [] for request in server.requests)


def _invalid(problem: str) -> tuple[int, dict[str, Any]]:
    error = {"type": "invalid_request_error", "message": problem}
    return 400, {"type": "error", "error": error}


BOUND = _invalid(
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation."
)


def _reasoned() -> loop.Input:
    reply = {"role": "assistant", "content": "Yes.", "thinking_blocks": [THOUGHT]}
    wire = [{"role": "user", "content": "a"}, reply, {"role": "user", "content": "b"}]
    return _input(*openai_chat.decode(wire))


def _thoughts(body: dict[str, Any]) -> list[Any]:
    blocks = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [block for block in blocks if block["type"] == "thinking"]


def test_bound_reasoning_is_asked_to_be_dropped(serve: Serve) -> None:
    """Through LiteLLM's own translation; what was dropped is in the decision."""
    change = {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "x"}
    server = serve(BOUND, {**_claude(TEXT), "input_transformations": [change]})
    decider = server.connect(ADAPTIVE)

    decisions = [asyncio.run(decider.decide(_reasoned())) for _ in "ab"]

    drop = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    assert [body.get("thinking") for body in server.requests] == [None, drop, drop]
    assert all(map(_thoughts, server.requests))
    if HANDS_ON_DROPS:
        note = loop.InputTransformation(
            kind="thinking_dropped", place="messages.1.content.0", reason="x"
        )
        assert decisions[1].input_transformations == (note,)


def test_bound_reasoning_is_left_out_where_the_setting_is_refused(serve: Serve) -> None:
    """Two refusals, and then no more."""
    unknown = _invalid("thinking.adaptive.block_binding: Extra inputs are not permitted")
    server = serve(BOUND, unknown, _claude(TEXT))
    decider = server.connect(ADAPTIVE)

    for _ in "ab":
        asyncio.run(decider.decide(_reasoned()))

    assert len(server.requests) == 4
    assert not any(map(_thoughts, server.requests[2:]))
    assert not any("thinking" in body for body in server.requests[2:])


def test_bound_reasoning_is_left_out_where_litellm_lacks_the_model(serve: Serve) -> None:
    """LiteLLM refuses the setting itself, so the server refuses only once."""
    server = serve(BOUND, _claude(TEXT))

    asyncio.run(server.connect("anthropic/of-next-year").decide(_reasoned()))

    assert [body.get("thinking") for body in server.requests] == [None, None]
    assert list(map(bool, map(_thoughts, server.requests))) == [True, False]


def test_bound_reasoning_without_a_way_out_names_the_provider(serve: Serve) -> None:
    """It keeps its class, so that a caller can tell it apart."""
    server = serve(BOUND)

    with pytest.raises(BoundReasoning, match="anthropic refused reasoning"):
        asyncio.run(server.connect("anthropic/claude-fable-5-1").decide(_reasoned()))
