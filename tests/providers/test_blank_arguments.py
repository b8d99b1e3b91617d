"""A call without arguments, which some servers refuse to get back, is sent with an empty object."""

import copy
import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.messages import Message, ProviderPayload
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

_TEXT_CALL: dict[str, Any] = {"id": "call_1", "type": "function"}
_ANSWER = {"role": "tool", "tool_call_id": "call_1", "content": "noon"}
_CHAT = (
    {"role": "user", "content": "What time is it?"},
    {"role": "assistant", "tool_calls": [{**_TEXT_CALL, "function": {"name": "now"}}]},
    _ANSWER,
)
# Each with the path of the arguments, and with what is sent in their place.
WIRES: dict[str, tuple[ModuleType, Any, tuple[Any, ...], Any]] = {
    "chat": (openai_chat, _CHAT, (1, "tool_calls", 0, "function", "arguments"), "{}"),
    "chat of 2023": (
        openai_chat,
        (
            _CHAT[0],
            {"role": "assistant", "content": None, "function_call": {"name": "now"}},
            {"role": "function", "name": "now", "content": "noon"},
        ),
        (1, "function_call", "arguments"),
        "{}",
    ),
    "cohere": (cohere, _CHAT, (1, "tool_calls", 0, "function", "arguments"), "{}"),
    "responses": (
        openai_responses,
        (
            {"role": "user", "content": "What time is it?"},
            {"type": "function_call", "call_id": "call_1", "name": "now"},
            {"type": "function_call_output", "call_id": "call_1", "output": "noon"},
        ),
        (1, "arguments"),
        "{}",
    ),
    "anthropic": (
        anthropic,
        (
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "now"}]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "noon"}],
            },
        ),
        (1, "content", 0, "input"),
        {},
    ),
    "bedrock": (
        bedrock,
        (
            {"role": "user", "content": [{"text": "What time is it?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "now"}}]},
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "noon"}]}}],
            },
        ),
        (1, "content", 0, "toolUse", "input"),
        {},
    ),
    "ollama": (
        ollama,
        (
            {"role": "user", "content": "What time is it?"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "now"}}]},
            {"role": "tool", "tool_name": "now", "content": "noon"},
        ),
        (1, "tool_calls", 0, "function", "arguments"),
        {},
    ),
    "gemini": (
        gemini,
        (
            {"role": "user", "parts": [{"text": "What time is it?"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "now"}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "now", "response": {"output": "noon"}}}],
            },
        ),
        (1, "parts", 0, "functionCall", "args"),
        {},
    ),
}
_MISSING = object()
BLANKS = st.sampled_from(["", " ", None, _MISSING])


def put(items: Any, path: tuple[Any, ...], value: Any) -> list[Any]:
    """Return a copy of the items with a value at a path."""
    copied = copy.deepcopy(list(items))
    holder = copied
    for step in path[:-1]:
        holder = holder[step]
    if value is not _MISSING:
        holder[path[-1]] = value
    return copied


def filled(name: str, blank: Any) -> list[Any]:
    """Return the items as they are to be sent."""
    _, items, path, empty = WIRES[name]
    # Google's `args` are optional, and null says the same.
    is_optional = name == "gemini" and blank in (None, _MISSING)
    return put(items, path, blank if is_optional else empty)


@pytest.mark.parametrize("name", WIRES)
@given(blank=BLANKS)
def test_blank_arguments_go_out_as_an_empty_object(name: str, blank: Any) -> None:
    """In a copy, and whether the messages come from the wire or from a store."""
    wire, items, path, _ = WIRES[name]
    received, expected = put(items, path, blank), filled(name, blank)

    decoded = wire.decode(received)
    stored = [m.replace(native=m.native) for m in decoded]

    assert wire.encode(decoded) == expected
    assert wire.encode(stored) == expected
    assert received == put(items, path, blank)
    for messages in (decoded, stored):
        assert wire.validate(wire.encode_request(messages)) == []


@pytest.mark.parametrize("name", WIRES)
def test_call_keeps_the_models_own_blank_arguments(name: str) -> None:
    """An executor reads them as no arguments."""
    wire, items, path, empty = WIRES[name]

    call = wire.decode(put(items, path, " "))[1].tool_calls[0]

    assert call.arguments in (" ", "{}") if empty == {} else call.arguments == " "
    assert call.parse() == {}


@pytest.mark.parametrize("name", WIRES)
@given(blank=BLANKS)
def test_owners_item_is_sent_as_a_copy_with_an_empty_object(name: str, blank: Any) -> None:
    """The list of the owner is never changed, and its other items are sent themselves."""
    wire, items, path, _ = WIRES[name]
    received = put(items, path, blank)
    conversation = Conversation(wire, 100_000)

    sent = conversation.fit(received)

    assert sent == filled(name, blank)
    assert received == put(items, path, blank)
    assert sent[0] is received[0]
    assert sent[2] is received[2]
    again = conversation.fit([*received, copy.deepcopy(received[0])])
    assert again[:3] == sent


@pytest.mark.parametrize("blank", ["", None, _MISSING])
def test_reply_with_a_blank_call_goes_back_with_an_empty_object(blank: Any) -> None:
    """A stream may have no piece with arguments, and a reply none either."""
    message = put([_CHAT[1]], (0, *WIRES["chat"][2][1:]), blank)[0]
    reply = openai_chat.decode_response(
        {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    )
    said = Message("assistant", tool_calls=reply.tool_calls, native=reply.native)

    sent = openai_chat.encode([said])[0]

    assert json.loads(sent["tool_calls"][0]["function"]["arguments"]) == {}
    assert reply.tool_calls[0].arguments == ("" if blank in (None, _MISSING) else blank)


def test_request_holds_the_text_of_an_object() -> None:
    """Servers that parse a history refuse all of it for one call that is not such a text."""
    items = put(_CHAT, WIRES["chat"][2], "{oops")

    request = openai_chat.encode_request(openai_chat.decode(items))

    text = request["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert json.loads(text) == {"unparsed_arguments": "{oops"}
    assert openai_chat.encode(openai_chat.decode(items)) == items


def test_payload_from_elsewhere_is_no_matter() -> None:
    """A payload that says something else is not sent."""
    said = Message("assistant", "Hm.", native=ProviderPayload("openai_chat", {"role": "assistant"}))

    assert openai_chat.encode([said]) == [{"role": "assistant", "content": "Hm."}]
