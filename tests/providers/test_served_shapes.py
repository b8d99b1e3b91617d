"""Shapes of conversations that providers serve: accepted, and sent as they came."""

from types import ModuleType
from typing import Any

import pytest

from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

ADAPTERS = [openai_chat, openai_responses, anthropic, gemini, bedrock, cohere, ollama]
EVERY = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.ADAPTER.name)

ASK = Message("user", "Go.")


def _calling(*ids: str, text: str = "") -> Message:
    return Message("assistant", text, tool_calls=[ToolCall(name, "read", "{}") for name in ids])


def _answered(*ids: str) -> Message:
    return Message("tool", tool_results=[ToolResult(name, "read", f"[{name}]") for name in ids])


RUNS = {
    "calls in two messages": [ASK, _calling("a"), _calling("b"), _answered("a", "b")],
    "results out of order": [ASK, _calling("a"), _calling("b"), _answered("b"), _answered("a")],
    "a reply between calls": [
        ASK,
        _calling("a"),
        Message("assistant", "And b."),
        _calling("b", text="Now."),
        _answered("a", "b"),
    ],
    "a reply behind a call": [ASK, _calling("a"), Message("assistant", "Soon."), _answered("a")],
    "one id in a run": [ASK, _calling("a"), _calling("a"), _answered("a", "a")],
    "ids that no provider takes": [ASK, _calling("a b"), _calling(""), _answered("a b", "")],
}


@EVERY
@pytest.mark.parametrize("name", RUNS)
def test_runs_calls_keep_their_results(adapter: ModuleType, name: str) -> None:
    """Every result goes out once, behind its call, and no made-up one beside it."""
    request = adapter.encode_request(RUNS[name])

    assert adapter.validate(request) == []
    read = adapter.decode_request(request)
    assert "there is no result" not in str(request)
    calls = [call.id for message in read for call in message.tool_calls]
    results = [result for message in read for result in message.tool_results]
    assert sorted(result.call_id for result in results) == sorted(calls)
    wanted = [result.output for m in RUNS[name] for result in m.tool_results]
    assert sorted(result.output for result in results) == sorted(wanted)


@EVERY
@pytest.mark.parametrize("name", list(RUNS)[:4])
def test_runs_results_answer_their_own_calls(adapter: ModuleType, name: str) -> None:
    """Each with the output that was its own, where the wire has ids."""
    read = adapter.decode_request(adapter.encode_request(RUNS[name]))

    outputs = {result.call_id: result.output for m in read for result in m.tool_results}
    assert outputs == {call.id: f"[{call.id}]" for m in read for call in m.tool_calls}


def _use(call_id: str = "t1") -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
    return {"role": "assistant", "content": [block]}


def _used(*ids: str) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": each, "content": "x"} for each in ids]
    return {"role": "user", "content": blocks}


def _chat_call(call_id: str) -> dict[str, Any]:
    function = {"name": "read", "arguments": "{}"}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def _chat_result(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": "x"}


def _converse(*roles: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": [{"text": f"{n}"}]} for n, role in enumerate(roles)]


_USER = {"role": "user", "content": "Go."}
_TOOL_USE = {"toolUse": {"toolUseId": "t1", "name": "read", "input": {}}}
_TOOL_RESULT = {"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}]}}
_CONVERSE_ROUND = [
    {"role": "assistant", "content": [_TOOL_USE]},
    {"role": "user", "content": [_TOOL_RESULT]},
]
_LONG_ID = "tool_0_read_" + "x" * 35
_ITEM = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
_OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x"}
SERVED: dict[str, tuple[ModuleType, dict[str, Any]]] = {
    "one id in two turns, Anthropic": (
        anthropic,
        {"messages": [_USER, _use(), _used("t1"), _use(), _used("t1")]},
    ),
    "one id in two turns, Converse": (
        bedrock,
        {
            "messages": [*_converse("user"), *_CONVERSE_ROUND, *_CONVERSE_ROUND],
            "toolConfig": {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {}}}}]},
        },
    ),
    "one id in two turns, Responses": (
        openai_responses,
        {"input": [{"role": "user", "content": "Go."}, _ITEM, _OUTPUT, _ITEM, _OUTPUT]},
    ),
    "one id in two turns, chat": (
        openai_chat,
        {"messages": [_USER, *[_chat_call("a"), _chat_result("a")] * 2]},
    ),
    "calls in two messages, Anthropic": (
        anthropic,
        {"messages": [_USER, _use("t1"), _use("t2"), _used("t1", "t2")]},
    ),
    "an assistant begins, Anthropic": (
        anthropic,
        {"messages": [{"role": "assistant", "content": "Hello."}, _USER]},
    ),
    "two users in a row, Converse": (bedrock, {"messages": _converse("user", "user")}),
    "an id of 47 characters, OpenRouter": (
        openai_chat,
        {
            "model": "openai/gpt-4.1",
            "messages": [_USER, _chat_call(_LONG_ID), _chat_result(_LONG_ID)],
        },
    ),
    "an empty id, Google's endpoint": (
        openai_chat,
        {
            "model": "gemini-2.5-pro",
            "messages": [_USER, _chat_call(""), _chat_result("")],
        },
    ),
}


@pytest.mark.parametrize("name", SERVED)
def test_a_served_shape_is_accepted(name: str) -> None:
    """The validator has nothing to say against it."""
    adapter, request = SERVED[name]

    assert adapter.validate(request) == []


@pytest.mark.parametrize("name", SERVED)
def test_a_served_shape_goes_back_unchanged(name: str) -> None:
    """What was read from the wire is written as it was."""
    adapter, request = SERVED[name]
    (talk,) = {"messages", "input", "contents"} & request.keys()

    assert adapter.encode(adapter.decode(request[talk])) == request[talk]
    assert adapter.encode_request(adapter.decode_request(request))[talk] == request[talk]


def test_openai_id_still_has_its_limit() -> None:
    """Without a router's model the rules are OpenAI's own."""
    messages = [_USER, _chat_call(_LONG_ID), _chat_result(_LONG_ID)]

    (found,) = openai_chat.validate({"model": "gpt-4.1", "messages": messages})

    assert found.rule == "id"


REASONING = {"type": "reasoning", "id": "rs_" + "0" * 40, "summary": []}


@pytest.mark.parametrize(
    "items",
    [
        [{**REASONING, "id": "rs_" + "1" * 40}, REASONING, {**_ITEM, "id": "fc_1"}, _OUTPUT],
        [_USER, {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}],
    ],
    ids=["before reasoning of another response", "without an id, at the end"],
)
def test_reasoning_without_its_item_is_refused(items: list[dict[str, Any]]) -> None:
    """OpenAI says so: https://github.com/vercel/ai/issues/7099."""
    found = openai_responses.validate({"model": "gpt-5", "input": items})

    assert [violation.rule for violation in found] == ["thinking"]
