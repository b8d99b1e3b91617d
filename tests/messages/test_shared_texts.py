import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult, from_plain
from agentic.messages._plain import to_json
from agentic.messages._shared_texts import leave_out, put_back
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

ADAPTERS = [anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses]
REPLY = "The build is red, since a test of the parser fails."
ARGUMENTS = '{"path": "src/parser.py", "text": "def parse(text):\\n    return text.split()"}'
OUTPUT = "1 failed, 12 passed in 0.31 seconds"
TALK = [
    Message("user", "Why is the build red, and since when?"),
    Message("assistant", REPLY, tool_calls=[ToolCall("call_0123456789abcdef", "run", ARGUMENTS)]),
    Message("tool", tool_results=[ToolResult("call_0123456789abcdef", "run", OUTPUT)]),
]
TEXTS = st.sampled_from([REPLY, ARGUMENTS, OUTPUT, "short", "", "{}", "[1, 2, 3, 4, 5, 6, 7, 8]"])
PAYLOADS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | TEXTS.filter(lambda text: text[:1] in {"{", "["}).map(json.loads),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$", "$json", "type", "text"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _spell(payload: Any) -> str:
    # Unlike `==`, it tells 1 from True, and one order of fields from another.
    return json.dumps(payload, ensure_ascii=False)


@given(payload=PAYLOADS, texts=st.lists(TEXTS, max_size=5))
def test_what_is_left_out_is_put_back(payload: Any, texts: list[str]) -> None:
    """Byte by byte, with whatever fields a payload has itself."""
    rest = leave_out(payload, texts)

    assert rest is payload or _spell(put_back(rest, texts)) == _spell(payload)


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.ADAPTER.name)
def test_each_text_is_stored_once(adapter: ModuleType) -> None:
    """In the form that any adapter has decoded; what it was decoded from comes back."""
    decoded = adapter.decode(adapter.encode(TALK))

    stored = [to_json(message) for message in decoded]

    for text in (REPLY, "return text.split()", OUTPUT):
        assert sum(each.count(json.dumps(text, ensure_ascii=False)[1:-1]) for each in stored) == 1
    again = [from_plain(json.loads(each)) for each in stored]
    assert again == decoded
    assert [_spell(m.native and m.native.payload) for m in again] == [
        _spell(m.native and m.native.payload) for m in decoded
    ]


@given(messages=conversations())
def test_every_payload_comes_back(messages: list[Message]) -> None:
    """Of whatever messages one adapter has decoded, usual or not."""
    for message in openai_chat.decode(openai_chat.encode(messages)):
        again = from_plain(json.loads(to_json(message)))
        assert again == message
        assert _spell(again.native and again.native.payload) == _spell(
            message.native and message.native.payload
        )


@pytest.mark.parametrize("field", ["$", "$json"])
def test_payload_with_such_a_field_is_stored_whole(field: str) -> None:
    """So that nothing in it is taken for a text of the message."""
    message = Message("user", REPLY, native=ProviderPayload("acme", [REPLY, {field: 0}]))

    plain = json.loads(to_json(message))

    assert plain["v"] == 1
    assert from_plain(plain) == message


def test_arguments_that_are_no_json_any_more_are_read() -> None:
    """A secret may have been cut out of the middle of their JSON."""
    native = {"provider": "acme", "payload": {"input": {"$json": 4}}}
    call = {"id": "c1", "name": "run", "arguments": '{"a": '}

    message = from_plain({"v": 2, "role": "assistant", "tool_calls": [call], "native": native})

    assert message.native == ProviderPayload("acme", {"input": '{"a": '})


@pytest.mark.parametrize("payload", [{"$": 9}, {"$": -1}, {"$": True}, {"$": "0"}, {"$json": 9}])
def test_reference_to_nothing_is_refused(payload: Any) -> None:
    """Instead of being taken for another text."""
    plain = {"v": 2, "role": "user", "content": REPLY}

    with pytest.raises(ConfigError):
        from_plain({**plain, "native": {"provider": "acme", "payload": payload}})
