"""Who replied: the provider, the model and the id of a reply, for events and traces."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from agentic import providers
from agentic.loop import Decision, Input
from agentic.messages import Message

CHAT = {
    "id": "chatcmpl-1",
    "model": "gpt-4.1-2025-04-14",
    "choices": [{"message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
}
RESPONSES = {
    "id": "resp_1",
    "model": "gpt-5-2025-08-07",
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}],
}
ANTHROPIC = {
    "id": "msg_1",
    "model": "claude-sonnet-4-5-20250929",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
}
GEMINI = {
    "responseId": "r-1",
    "modelVersion": "gemini-2.5-pro",
    "candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}],
}
BEDROCK = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi."}]}},
    "stopReason": "end_turn",
    "ResponseMetadata": {"RequestId": "q-1"},
}
COHERE = {
    "id": "c-1",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
    "finish_reason": "COMPLETE",
}
REPLIES = {
    "openai_chat": (CHAT, "gpt-4.1-2025-04-14", "chatcmpl-1"),
    "openai_responses": (RESPONSES, "gpt-5-2025-08-07", "resp_1"),
    "anthropic": (ANTHROPIC, "claude-sonnet-4-5-20250929", "msg_1"),
    "gemini": (GEMINI, "gemini-2.5-pro", "r-1"),
    "bedrock": (BEDROCK, "", "q-1"),  # neither Converse nor Cohere names a model in a reply
    "cohere": (COHERE, "", "c-1"),
}

REQUEST = Input(
    system_prompt="",
    user_message="Hi",
    history=(Message("user", "Hi"),),
    tools=(),
    tool_calls=(),
    tool_results=(),
    turn=1,
)


@pytest.mark.parametrize("name", REPLIES)
def test_reply_names_provider_model_and_id(name: str) -> None:
    """As far as the wire has them."""
    reply, model, reply_id = REPLIES[name]

    decision = getattr(providers, name).decode_response(reply)

    found = (decision.provider, decision.response_model, decision.response_id)
    assert found == (name, model, reply_id)
    assert decision.request_model == ""  # a reply does not say what was asked for


@pytest.mark.parametrize("name", REPLIES)
@pytest.mark.parametrize("junk", [None, 7, ["r-1"], {"id": "r-1"}])
def test_non_text_names_are_empty(name: str, junk: Any) -> None:
    """A server that numbers its replies is no reason to raise."""
    reply, *_ = REPLIES[name]
    odd = {**reply, "id": junk, "model": junk, "responseId": junk, "modelVersion": junk}
    odd["ResponseMetadata"] = {"RequestId": junk}

    decision = getattr(providers, name).decode_response(odd)

    assert (decision.response_model, decision.response_id) == ("", "")
    assert decision.reply == "Hi."


def _client(name: str) -> Any:
    """Return a client that gives the reply of `REPLIES` in one piece."""
    reply, *_ = REPLIES[name]

    async def create(**_: Any) -> Any:
        return reply

    async def google(**_: Any) -> Any:
        return {"sdkHttpResponse": {"body": json.dumps(reply)}}

    completions = SimpleNamespace(completions=SimpleNamespace(create=create))
    return SimpleNamespace(
        chat=create if name == "cohere" else completions,
        responses=SimpleNamespace(create=create),
        messages=SimpleNamespace(create=create),
        aio=SimpleNamespace(models=SimpleNamespace(generate_content=google)),
        converse=create,
    )


@pytest.mark.parametrize("name", REPLIES)
def test_a_decider_adds_the_requested_model(name: str) -> None:
    """It may be an alias; the reply has the exact name."""
    options = {"max_tokens": 100} if name == "anthropic" else {}
    decider = getattr(providers, name).Decider(_client(name), "an-alias", options=options)
    decision = asyncio.run(decider.decide(REQUEST))

    assert (decision.reply, decision.request_model) == ("Hi.", "an-alias")


def test_a_bedrock_stream_has_its_request_id() -> None:
    """The id is beside the stream, in what boto3 returns."""

    async def events() -> AsyncIterator[dict[str, Any]]:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi."}}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    async def converse_stream(**_: Any) -> Any:
        return {"stream": events(), "ResponseMetadata": {"RequestId": "q-2"}}

    async def last() -> str | Decision:
        decider = providers.bedrock.Decider(SimpleNamespace(converse_stream=converse_stream), "m")
        *_, decision = [item async for item in decider.stream(REQUEST)]
        return decision

    decision = asyncio.run(last())

    assert isinstance(decision, Decision)
    assert (decision.reply, decision.response_id) == ("Hi.", "q-2")


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("recorded", "name"),
    [("openai", "openai_chat"), ("anthropic", "anthropic"), ("google-gemini", "gemini")],
)
def test_a_recorded_reply_names_its_model(
    recorded: str, name: str, traffic: Callable[..., list[dict[str, Any]]]
) -> None:
    """Every reply with choices, blocks or candidates has a model."""
    adapter = getattr(providers, name)
    key = {"openai_chat": "choices", "anthropic": "content", "gemini": "candidates"}[name]
    found = [exchange.get("response_json") for exchange in traffic(f"{recorded}.jsonl")]
    bodies = [body for body in found if isinstance(body, dict) and body.get(key)]

    nameless = [body for body in bodies if not adapter.decode_response(body).response_model]

    assert len(bodies) > 5
    assert nameless == []
