"""Whatever a conversation has been through, each provider takes the request that is sent of it."""

import asyncio
import json
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
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
from agentic.providers.bedrock._decoding import for_boto3
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

CONVERSATIONS = conversations(damaged=True) | conversations(damaged=False)
GO = Message("user", "Go.")
TOOLS = [ToolDefinition("read"), ToolDefinition("files.write")]
LLAMA = "us.meta.llama4-maverick-17b-instruct-v1:0"
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _forms_anthropic(request: dict[str, Any], _: list[Message]) -> list[dict[str, Any]]:
    # The newest model is the strictest of all.
    return [{"model": "claude-opus-5-5", "max_tokens": 100, **request}]


def _forms_bedrock(request: dict[str, Any], messages: list[Message]) -> list[dict[str, Any]]:
    parted = bedrock.encode_request(messages, system_prompt="Be brief.", model=LLAMA)
    return [for_boto3(request), {**parted, "modelId": LLAMA}]


def _forms_with_a_user(request: dict[str, Any], _: list[Message]) -> list[dict[str, Any]]:
    assert any(message["role"] == "user" for message in request["messages"])
    return []


def _forms_openai_responses(request: dict[str, Any], _: list[Message]) -> list[dict[str, Any]]:
    return [{"model": model, **request} for model in ("gpt-5", "deepseek-v4-flash")]


FORMS: dict[ModuleType, Callable[..., list[dict[str, Any]]]] = {
    anthropic: _forms_anthropic,
    bedrock: _forms_bedrock,
    cohere: _forms_with_a_user,
    gemini: lambda *_: [],
    ollama: lambda *_: [],
    openai_chat: _forms_with_a_user,
    openai_responses: _forms_openai_responses,
}
"""Each adapter with the further forms in which its request is sent."""
EVERY = pytest.mark.parametrize("adapter", FORMS, ids=lambda adapter: adapter.ADAPTER.name)


def _check(adapter: ModuleType, messages: list[Message]) -> None:
    """Assert that the request would be taken, and can be put into bytes."""
    for tools in ([], TOOLS):
        request = adapter.encode_request(messages, system_prompt="Be brief.", tools=tools)
        for form in (request, *FORMS[adapter](request, messages)):
            assert adapter.validate(form) == []
        assert json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")


@EVERY
@MANY
@given(messages=CONVERSATIONS)
def test_any_conversation_makes_a_valid_request(
    adapter: ModuleType, messages: list[Message]
) -> None:
    """Damaged or not, no rule that the validator knows is broken."""
    _check(adapter, messages)


@EVERY
@MANY
@given(messages=CONVERSATIONS, tokens=st.integers(1, 2_000))
def test_a_view_makes_a_valid_request(
    adapter: ModuleType, messages: list[Message], tokens: int
) -> None:
    """A strategy may leave out any of the rounds."""
    _check(adapter, FitContextWindow(tokens, CharCounter()).compact(messages))


@EVERY
@MANY
@given(messages=conversations(damaged=True))
def test_compacted_conversation_makes_valid_request(
    adapter: ModuleType, messages: list[Message]
) -> None:
    """A summary takes the place of whatever is older."""
    policy = Policy(1_000, reserve_tokens=100, keep_recent_tokens=50)
    manager = Manager(CharCounter(), Digest(), policy)

    done = asyncio.run(manager.compact_if_needed(messages, force=True))

    _check(adapter, done.messages)


@EVERY
@MANY
@given(messages=CONVERSATIONS)
def test_request_reads_and_writes_the_same(adapter: ModuleType, messages: list[Message]) -> None:
    """Our own requests are wire traffic like any other."""
    request = adapter.encode_request(messages)

    again = adapter.encode_request(adapter.decode_request(request))

    assert json.dumps(again) == json.dumps(request)


@EVERY
@MANY
@given(messages=CONVERSATIONS, dropped=st.sets(st.integers(0, 20)), edited=st.sets(st.integers()))
def test_decoded_messages_allow_drops_and_edits(
    adapter: ModuleType, messages: list[Message], dropped: set[int], edited: set[int]
) -> None:
    """What is left of a wire conversation goes out valid, payloads and all."""
    decoded = adapter.decode_request(adapter.encode_request(messages))
    kept = [
        message.replace(content="edited") if position in edited else message
        for position, message in enumerate(decoded)
        if position not in dropped
    ]

    _check(adapter, [*kept, Message("user", "And now?")])


def _lines_run(adapter: ModuleType, messages: list[Message]) -> int:
    lines = 0

    def trace(_: Any, event: str, __: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        adapter.encode_request(messages)
    finally:
        sys.settrace(former)
    return lines


@EVERY
@pytest.mark.parametrize("role", ["user", "assistant", "system"])
def test_many_messages_of_one_role(adapter: ModuleType, role: Any) -> None:
    """They cost linear time, whether they are joined or not: twice as many take twice as long."""
    few, many = ([GO, *(Message(role, f"{n}") for n in range(count))] for count in (100, 200))

    assert _lines_run(adapter, many) < 2.2 * _lines_run(adapter, few)


@EVERY
@pytest.mark.parametrize("call_id", ["", "c1", "x" * 129])
def test_many_calls_of_one_id(adapter: ModuleType, call_id: str) -> None:
    """The hundredth is renamed at the cost of the second."""
    called = [
        Message("assistant", tool_calls=[ToolCall(call_id, "read")]),
        Message("tool", tool_results=[ToolResult(call_id, "read", "text")]),
    ]

    few, many = [GO, *called * 50], [GO, *called * 100]

    assert _lines_run(adapter, many) < 2.2 * _lines_run(adapter, few)
