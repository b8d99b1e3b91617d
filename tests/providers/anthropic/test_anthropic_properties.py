"""Whatever the API sends or a history holds, nothing raises."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import Message
from agentic.providers import anthropic
from agentic.testing import conversations
from agentic.usage import Usage

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


@given(junk=JUNK)
def test_nothing_incoming_makes_it_raise(junk: Any) -> None:
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
def test_no_stream_event_makes_it_raise(events: list[Any]) -> None:
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
def test_no_words_are_lost_underway(messages: list[Message]) -> None:
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

    assert isinstance(anthropic.validate(request), list)
    assert "messages" in anthropic.encode_request(anthropic.decode_request(request))
    assert anthropic.usage(request) == Usage()
    assert anthropic.decode_response(request).tool_calls == ()
    anthropic.StreamedResponse().feed(request)
