"""A list in the form of another wire is refused, with the name of the adapter that reads it."""

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.bridges.dicts._items import ItemMirror, WireForm, check_wire
from agentic.errors import ConfigError
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
from agentic.testing import conversations

WIRES = [anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses]
KEYS = {"openai_responses": "input", "gemini": "contents"}
BY_NAME = {wire.ADAPTER.name: wire for wire in WIRES}
# What both wires write alike, so that each reads the other's: but for the plan of a reply, the
# arguments as an object, and the name of a result's tool.
SHARED = {frozenset({"openai_chat", "cohere"})}
ROUND = [
    Message("assistant", "I look.", tool_calls=[ToolCall("c1", "read", '{"path": "a.py"}')]),
    Message("tool", tool_results=[ToolResult("c1", "read", "x = 1")]),
]
pairs = pytest.mark.parametrize(
    ("wire", "other"),
    [(wire, other) for wire in WIRES for other in WIRES if wire is not other],
    ids=lambda wire: wire.ADAPTER.name,
)


def items_of(wire: ModuleType, messages: list[Message]) -> list[Any]:
    """Return the items that an owner of this wire would have."""
    items = wire.encode_request(messages)[KEYS.get(wire.ADAPTER.name, "messages")]
    return [items] if isinstance(items, str) else items


def spoken(messages: list[Message]) -> list[Any]:
    """Return the calls and results of messages, whatever their ids."""
    calls = [(call.name, call.parse()) for message in messages for call in message.tool_calls]
    return [calls, [result.text for message in messages for result in message.tool_results]]


def read_as(wire: ModuleType, items: list[Any]) -> list[Any] | ConfigError:
    """Return the calls and results that a conversation reads, or why it reads nothing."""
    reader = ItemMirror(WireForm(wire.ADAPTER, takes_texts=True))
    try:
        reader.read(items, 0)
    except ConfigError as error:
        return error
    return spoken(reader.messages)


@pairs
def test_list_of_another_wire_is_refused_with_its_name(wire: ModuleType, other: ModuleType) -> None:
    """Or read with the very same calls and results, where the form is shared."""
    items = items_of(other, [Message("user", "Look."), *ROUND])

    result = read_as(wire, items)

    if isinstance(result, ConfigError):
        assert result.name.startswith("messages[")
        assert f"providers.{other.ADAPTER.name}" in str(result)
    else:
        assert frozenset({wire.ADAPTER.name, other.ADAPTER.name}) in SHARED
        assert result == read_as(other, items)


@given(wires=st.permutations(WIRES), conversation=conversations(damaged=False, max_rounds=4))
@settings(max_examples=60)
def test_no_call_is_taken_for_something_else(
    wires: list[ModuleType], conversation: list[Message]
) -> None:
    """Any list with calls, as JSON data, is refused or read as its own wire reads it."""
    wire, other, *_ = wires
    items = json.loads(json.dumps(items_of(other, [*conversation, *ROUND])))

    result = read_as(wire, items)

    assert isinstance(result, ConfigError) or result == read_as(other, items)


@given(wire=st.sampled_from(WIRES), conversation=conversations(max_rounds=8))
@settings(max_examples=60)
def test_own_list_is_never_refused(wire: ModuleType, conversation: list[Message]) -> None:
    """Whatever was in the history that it was written from."""
    for position, item in enumerate(items_of(wire, conversation)):
        check_wire(position, item, wire.ADAPTER.name)


@pytest.mark.parametrize(
    "wire", [w for w in WIRES if w not in (openai_responses, gemini)], ids=lambda w: w.ADAPTER.name
)
def test_item_without_role_is_refused(wire: ModuleType) -> None:
    """Its text would not be anybody's, and a server refuses it."""
    conversation = Conversation(wire, 10_000)

    with pytest.raises(ConfigError, match=r"messages\[1\].*role"):
        conversation.fit([{"role": "user", "content": "Why?"}, {"content": "Because."}])


@pytest.mark.parametrize(
    ("wire", "item"),
    [
        (openai_responses, {"text": "Why?"}),
        (gemini, {"role": "user", "content": "Why?"}),
        (openai_chat, {"role": "user", "parts": [{"text": "Why?"}]}),
        (anthropic, {"role": "model", "content": "So."}),
        (openai_chat, {"role": "assistant", "tool_calls": [{"name": "read", "args": {}}]}),
        (openai_chat, {"type": "human", "data": {"content": "Why?"}}),
        (bedrock, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]}),
    ],
)
def test_shape_of_nobody_is_refused(wire: ModuleType, item: dict[str, Any]) -> None:
    """What would be read as an empty message, or as a call that nobody made."""
    with pytest.raises(ConfigError, match=r"messages\[0\]"):
        Conversation(wire, 10_000).fit([item])


def test_refused_list_leaves_the_conversation_as_it_was() -> None:
    """The next right list is read as if nothing had happened."""
    conversation = Conversation(openai_chat, 10_000)
    items = [{"role": "user", "content": "Why?"}]
    conversation.fit(items)
    with pytest.raises(ConfigError):
        conversation.fit([*items, *items_of(anthropic, ROUND)])

    assert conversation.fit(items) is items


def test_request_is_refused_with_the_name_of_its_adapter() -> None:
    """As `fit` refuses a list."""
    request = anthropic.encode_request([Message("user", "Look."), *ROUND])

    with pytest.raises(ConfigError, match=r"providers\.anthropic"):
        Conversation(openai_chat, 10_000).fit_request(request)
