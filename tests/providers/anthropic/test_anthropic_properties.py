"""Whatever a conversation has been through, the API takes what is sent of it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.messages import Message
from agentic.providers import anthropic
from agentic.testing import conversations
from agentic.tokens import CharCounter

CONVERSATIONS = conversations(damaged=True) | conversations(damaged=False)
KEYS = [
    "role",
    "content",
    "type",
    "text",
    "input",
    "id",
    "source",
    "usage",
    "system",
    "messages",
    "delta",
    "index",
    "message",
    "data",
    "tool_use_id",
    "input_tokens",
]
KINDS = ["text", "tool_use", "tool_result", "image", "assistant", "system"]
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | st.text("ab", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS), inner | st.sampled_from(KINDS), max_size=5)
    ),
    max_leaves=12,
)


def check(messages: list[Message]) -> None:
    """Assert that the newest model, strictest of all, would take the request, as bytes."""
    request = anthropic.encode_request(messages, system_prompt="Be brief.")
    whole = {"model": "claude-opus-5-5", "max_tokens": 100, **request}

    assert anthropic.validate(request) == []
    assert anthropic.validate(whole) == []
    assert json.dumps(request, ensure_ascii=False, allow_nan=False).encode("utf-8")


@given(messages=CONVERSATIONS)
def test_any_conversation_is_sent_in_a_valid_request(messages: list[Message]) -> None:
    """Damaged or not, no rule that the validator knows is broken."""
    check(messages)


@given(messages=CONVERSATIONS, tokens=st.integers(1, 2_000))
def test_a_view_is_sent_in_a_valid_request(messages: list[Message], tokens: int) -> None:
    """A strategy may leave out any of the rounds."""
    check(FitContextWindow(tokens, CharCounter()).compact(messages))


@given(messages=conversations(damaged=True))
def test_a_compacted_conversation_is_sent_in_a_valid_request(messages: list[Message]) -> None:
    """A summary takes the place of whatever is older."""
    manager = Manager(CharCounter(), Digest(), Policy(1_000))

    done = asyncio.run(manager.compact_if_needed(messages, force=True))

    check(done.messages)


@given(messages=CONVERSATIONS)
def test_what_is_sent_comes_back_as_it_was(messages: list[Message]) -> None:
    """Our own requests are wire traffic like any other."""
    request = anthropic.encode_request(messages)

    again = anthropic.encode_request(anthropic.decode_request(request))

    assert json.dumps(again["messages"]) == json.dumps(request["messages"])
    assert again.get("system") == request.get("system")


@given(messages=CONVERSATIONS, dropped=st.sets(st.integers(0, 20)), edited=st.sets(st.integers()))
def test_decoded_messages_may_be_dropped_and_edited(
    messages: list[Message], dropped: set[int], edited: set[int]
) -> None:
    """What is left of a wire conversation goes out valid, payloads and all."""
    decoded = anthropic.decode_request(anthropic.encode_request(messages))
    kept = [
        message.replace(content="edited") if position in edited else message
        for position, message in enumerate(decoded)
        if position not in dropped
    ]
    asked = [*kept, Message("user", "And now?")]

    check(asked)


@given(junk=JUNK)
def test_nothing_that_comes_is_a_reason_to_raise(junk: Any) -> None:
    """Junk is read as far as it goes; a list of objects goes back as it was."""
    anthropic.decode_response(junk)
    anthropic.usage(junk)
    anthropic.stop_reason(junk)
    anthropic.validate(junk)
    anthropic.validate({"messages": junk, "tools": junk, "system": junk})
    anthropic.encode_request(anthropic.decode_request({"messages": junk, "system": junk}))
    if isinstance(junk, list) and all(isinstance(item, dict) for item in junk):
        assert json.dumps(anthropic.encode(anthropic.decode(junk))) == json.dumps(junk)


@given(events=st.lists(JUNK, min_size=1, max_size=6))
def test_no_event_of_a_stream_is_a_reason_to_raise(events: list[Any]) -> None:
    """Each is tried in the place of every kind of event."""
    kinds = ["message_start", "content_block_start", "content_block_delta", "content_block_stop"]
    streamed = anthropic.StreamedResponse()

    for kind in [*kinds, "message_delta", "message_stop"]:
        for event in events:
            streamed.feed(
                {**(event if isinstance(event, dict) else {"delta": event}), "type": kind}
            )

    assert isinstance(streamed.response(), dict)


@given(messages=conversations(damaged=False))
def test_no_words_are_lost_on_the_way(messages: list[Message]) -> None:
    """Whatever is sent anew, every text and every call's id that says something is in it."""
    sent = json.dumps(anthropic.encode_request(messages), ensure_ascii=False)

    for message in messages:
        if message.content.strip():
            assert json.dumps(message.content, ensure_ascii=False)[1:-1] in sent
        for call in message.tool_calls:
            assert sent.count(f'"{call.id}"') == 2


NESTED: list[Callable[[Any], Any]] = [
    lambda inner: [inner],
    lambda inner: {"content": inner},
    lambda inner: [{"type": "document", "source": {"type": "content", "content": inner}}],
    lambda inner: [{"type": "tool_result", "tool_use_id": "a", "content": inner}],
    lambda inner: [{"type": "tool_use", "id": "a", "name": "f", "input": inner}],
]


@pytest.mark.parametrize("nested", NESTED)
def test_depth_is_no_reason_to_raise(nested: Callable[[Any], Any]) -> None:
    """Nobody sends hundreds of levels, but for somebody who wants to see what happens."""
    deep: Any = []
    while str(deep).count("[") + str(deep).count("{") < 600:
        deep = nested(deep)
    request = {"messages": [{"role": "user", "content": deep}], "system": deep, "usage": deep}

    anthropic.validate(request)
    anthropic.encode_request(anthropic.decode_request(request))
    anthropic.usage(request)
    anthropic.decode_response(request)
    anthropic.StreamedResponse().feed(request)
