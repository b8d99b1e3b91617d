"""Texts that no provider takes, and what every adapter sends in their place."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from agentic.providers.kit import replace_surrogates
from agentic.providers.kit._json import parse_object
from agentic.tools import ToolDefinition

ADAPTERS: list[Any] = [anthropic, bedrock, cohere, gemini, ollama, openai_chat, openai_responses]
TEXT = st.text(st.characters(exclude_categories=()))
DATA = st.recursive(
    st.none() | st.integers() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=10,
)


def _sent(adapter: Any, arguments: str) -> str:
    messages = [
        Message("user", "Go."),
        Message("assistant", tool_calls=[ToolCall("c1", "run", arguments)]),
        Message("tool", tool_results=[ToolResult("c1", "run", "ok")]),
    ]
    request = adapter.encode_request(messages)
    assert adapter.validate({**request, "max_tokens": 9}) == []
    return json.dumps(request, ensure_ascii=False)


@given(DATA)
def test_what_is_sent_can_be_encoded(data: Any) -> None:
    """A pair of surrogates is read as its character, like everywhere else."""
    written = json.dumps(data, ensure_ascii=False)

    got = json.dumps(replace_surrogates(data), ensure_ascii=False)

    got.encode()
    if written.isascii():
        assert replace_surrogates(data) is data


def test_equal_keys_leave_no_surrogate() -> None:
    """Though the values are the same."""
    keys = ["\ufffd", "\ud800"]

    assert list(replace_surrogates(dict.fromkeys(keys, 1))) == ["\ufffd"]


@pytest.mark.parametrize("text", ["[1]", "NaN", '{"x": NaN}', '{"x": -Infinity}', '{"x": 1e999}'])
def test_only_json_objects_are_objects(text: str) -> None:
    """NaN and what is larger than any float are Python's, not JSON's."""
    assert parse_object(text) is None


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_other_arguments_are_sent_as_text(adapter: Any) -> None:
    """Under the same key, but for Anthropic, which documents another."""
    key = "INVALID_JSON" if adapter is anthropic else "unparsed_arguments"

    assert key in _sent(adapter, '{"x": NaN}')


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("depth", [700, 5000])
def test_deeply_nested_arguments_do_not_raise(adapter: Any, depth: int) -> None:
    """The parser of JSON goes deeper than functions that call themselves."""
    assert "'deep'" in _sent(adapter, '{"a":' * depth + "\"'deep'\"" + "}" * depth)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_no_depth_of_arguments_raises(adapter: Any) -> None:
    """Not even the last that a function can walk through, which a later one could not."""
    for depth in range(880, 990, 2):
        assert "deep" in _sent(adapter, '{"deep":' + "[" * depth + "]" * depth + "}")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_goes_back_unchanged_is_sendable(adapter: Any) -> None:
    """A text that was cut in two may stand in a payload, too."""
    wire = adapter.encode([Message("user", "cut in two")])
    cut = json.loads(json.dumps(wire).replace("cut in two", "\\ud83d"))

    request = adapter.encode_request(adapter.decode(cut))

    assert "\ufffd" in json.dumps(request, ensure_ascii=False)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_every_text_of_a_request_is_utf_8(adapter: Any) -> None:
    """Also the system prompt, tools and arguments; two halves side by side are one character."""
    messages = [
        Message("user", "\ud83d and \ud83d\ude00"),
        Message("assistant", tool_calls=[ToolCall("c1", "run", '{"half": "\ud83d"}')]),
        Message("tool", tool_results=[ToolResult("c1", "run", "cut \ud83d")]),
    ]
    tools = [ToolDefinition("run", "described \udc00")]

    request = adapter.encode_request(messages, system_prompt="brief \udfff", tools=tools)

    sent = json.dumps(request, ensure_ascii=False)
    assert sent.encode()
    for text in ("\ufffd and \U0001f600", "cut \ufffd", "described \ufffd", "brief \ufffd"):
        assert text in sent


def test_data_url_with_half_a_character_is_read() -> None:
    """Of another application's history, whose texts nobody has checked."""
    image = {"type": "input_image", "image_url": "data:text/plain,a%20\ud83d"}

    (message,) = openai_responses.decode([{"role": "user", "content": [image]}])

    assert message.media[0].data == b"a \xed\xa0\xbd"


def test_instructions_that_came_leave_no_surrogate() -> None:
    """The only text of a request to the Responses API that is sent back beside its items."""
    request = {"instructions": "cut: \ud83d", "input": "Hi"}

    sent = openai_responses.encode_request(openai_responses.decode_request(request))

    assert sent["instructions"] == "cut: \ufffd"
