"""Whatever a conversation is like, LiteLLM makes a request of it that the provider accepts."""

import asyncio
import copy
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, TypeAlias

import attrs
import litellm
import pytest
from hypothesis import HealthCheck, given, settings

from agentic import loop
from agentic.bridges.litellm import Decider
from agentic.messages import Media, Message, ToolResult
from agentic.providers import anthropic, openai_chat
from agentic.testing import ScriptedExecutor, conversations
from agentic.tools import ToolDefinition
from agentic.usage import StopReason

pytestmark = pytest.mark.slow

Serve: TypeAlias = Callable[..., Any]
_TOOLS = tuple(ToolDefinition(name) for name in ("read", "write", "edit", "bash"))
_CLAUDE = "anthropic/claude-sonnet-4-5"
_HEAD = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4o"}


def _reply(word: str = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": "Done.", **message}
    choice = {"index": 0, "message": said, "finish_reason": word}
    return {**_HEAD, "object": "chat.completion", "choices": [choice]}


def _stream(word: str = "stop", **delta: Any) -> list[Any]:
    pieces = [({"role": "assistant", "content": None}, None), (delta, None), ({}, word)]
    chunks = [{"index": 0, "delta": said, "finish_reason": end} for said, end in pieces]
    head = {**_HEAD, "object": "chat.completion.chunk"}
    return [*({**head, "choices": [chunk]} for chunk in chunks), "data: [DONE]"]


def _claude(word: str = "end_turn", *content: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    usage = {"input_tokens": 5, "output_tokens": 9}
    return {**head, "content": list(content), "stop_reason": word, "usage": usage}


def _input(history: list[Message]) -> loop.Input:
    return loop.Input(
        system_prompt="Be brief.",
        user_message="",
        history=tuple(history),
        tools=_TOOLS,
        tool_calls=(),
        tool_results=(),
        turn=1,
    )


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Return one event loop for all examples: LiteLLM keeps its connections."""
    with asyncio.Runner() as one:
        yield one


@pytest.mark.parametrize(
    ("model", "wire", "answer"),
    [
        ("openai/gpt-4o", openai_chat, _reply()),
        (_CLAUDE, anthropic, _claude("end_turn", {"type": "text", "text": "Done."})),
    ],
)
def test_generated_conversations_are_accepted(
    serve: Serve, runner: asyncio.Runner, model: str, wire: ModuleType, answer: Any
) -> None:
    """Parallel calls, media, damage: valid on both wires, and the same when it is asked again."""
    server = serve(answer)
    decider = server.connect(model)

    @given(conversations(max_rounds=6))
    @settings(max_examples=10, suppress_health_check=list(HealthCheck))
    def check(messages: list[Message]) -> None:
        # Anthropic refuses blank texts, and LiteLLM passes them on.
        spoken = [attrs.evolve(m, content=m.content.strip() or "words") for m in messages]
        history = [*spoken, Message("user", "the last request")]
        for _ in range(2):
            runner.run(decider.decide(_input(history)))

        first, again = server.requests[-2:]
        assert wire.validate(first) == []
        assert first == again  # what is kept for the next request was not changed by LiteLLM
        assert "the last request" in json.dumps(first["messages"][-1])

    check()


def test_changes_of_litellm_are_not_kept() -> None:
    """For some providers it changes the messages in place: pops fields, flattens contents."""
    picture = Media("image/png", b"...")
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": "c1", "type": "function", "function": function}]
    (called,) = openai_chat.decode_request(
        {"messages": [{"role": "assistant", "tool_calls": calls}]}
    )
    result = Message("tool", tool_results=[ToolResult("c1", "read", "text")])
    history = [Message("user", "Look.", media=[picture]), called, result]
    sent = []

    class Changing:
        async def acompletion(self, *, messages: list[Any], **_: Any) -> Any:
            sent.append(copy.deepcopy(messages))
            for message in messages:
                for part in [*(message.get("tool_calls") or ()), *(message.get("content") or ())]:
                    if isinstance(part, dict):
                        # Of a call, the arguments; of a picture, its address.
                        for inner in filter(lambda each: isinstance(each, dict), part.values()):
                            inner.clear()
                        part.clear()
                message["content"] = "flat"
                message.pop("tool_calls", None)
            return litellm.ModelResponse(**_reply())

    decider = Decider("openai/gpt-4o", router=Changing())
    for _ in range(2):
        asyncio.run(decider.decide(_input(history)))

    assert (
        sent[0]
        == sent[1]
        == openai_chat.encode_request(history, system_prompt="Be brief.")["messages"]
    )
    assert called.native.payload["tool_calls"] == calls


def test_schemas_of_tools_are_not_changed() -> None:
    """For some providers, LiteLLM takes what they do not know out of a schema."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    sent = []

    class Changing:
        async def acompletion(self, *, tools: list[Any], **_: Any) -> Any:
            sent.append(copy.deepcopy(tools))
            tools[0]["function"].pop("parameters")["properties"].clear()
            return litellm.ModelResponse(**_reply())

    decider = Decider("openai/gpt-4o", router=Changing())
    request = attrs.evolve(
        _input([Message("user", "Look.")]), tools=[ToolDefinition("read", parameters=schema)]
    )
    for _ in range(2):
        asyncio.run(decider.decide(request))

    assert sent[0] == sent[1]
    assert sent[0][0]["function"]["parameters"] == schema


@pytest.mark.parametrize("streamed", [False, True])
def test_damaged_ids_are_told_apart(serve: Serve, *, streamed: bool) -> None:
    """Three parallel calls, two with one id and one without: each gets its own result."""
    function = {"name": "read", "arguments": '{"n": 1}'}
    calls = [{"id": each, "type": "function", "function": function} for each in ("c1", "c1", "")]
    numbered = [{"index": at, **call} for at, call in enumerate(calls)]
    if streamed:
        server = serve(_stream("tool_calls", tool_calls=numbered), _stream(content="Done."))
    else:
        server = serve(_reply("tool_calls", content=None, tool_calls=calls), _reply())
    decider = server.connect("openai/gpt-4o")

    result = loop.Runner(
        decider if streamed else _Whole(decider), ScriptedExecutor({"read": "text"})
    ).run_sync("Read it.")

    sent = server.requests[1]
    answered = [item["tool_call_id"] for item in sent["messages"] if item["role"] == "tool"]
    assert result.reply == "Done."
    assert len(set(answered)) == 3
    assert openai_chat.validate(sent) == []


def test_refusal_is_a_reply(serve: Serve) -> None:
    """OpenAI has a field for its words, which goes back. Of streams, LiteLLM drops it."""
    words = "I cannot help with that."
    server = serve(_reply(content=None, refusal=words), _reply())
    runner = loop.Runner(_Whole(server.connect("openai/gpt-4o")))

    first = runner.run_sync("Do it.")
    runner.run_sync(loop.Request("And now?", history=first.history))

    assert first.reply == words
    assert server.requests[1]["messages"][1]["refusal"] == words


def test_refusal_of_claude_is_filtered(serve: Serve) -> None:
    """Without a word of text; LiteLLM spells the reason as OpenAI does."""
    decider = serve(_claude("refusal")).connect(_CLAUDE)

    decision = asyncio.run(decider.decide(_input([Message("user", "Do it.")])))

    assert decision.stop_reason is StopReason.CONTENT_FILTER
    assert decision.reply == ""


class _Whole:
    """A decider without its stream, so that the loop asks for whole replies."""

    def __init__(self, decider: Any) -> None:
        self.decide = decider.decide
