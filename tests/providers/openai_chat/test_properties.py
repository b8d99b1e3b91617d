import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import FitContextWindow
from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers import openai_chat
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

TOOLS = [ToolDefinition("read"), ToolDefinition("files.write")]


def _check(messages: list[Message]) -> None:
    request = openai_chat.encode_request(messages, system_prompt="Be brief.", tools=TOOLS)

    assert openai_chat.validate(request) == []
    assert any(message["role"] == "user" for message in request["messages"])
    json.dumps(request, ensure_ascii=False).encode()


@given(conversations())
def test_any_conversation_makes_a_request_that_is_taken(messages: list[Message]) -> None:
    """However damaged it is."""
    _check(messages)


@given(conversations(), st.integers(1, 400))
@settings(max_examples=50)
def test_a_cut_conversation_makes_a_request_that_is_taken(messages: list[Message], n: int) -> None:
    """Whatever a strategy left of it."""
    _check(FitContextWindow(n, CharCounter()).compact(messages))


@given(conversations())
@settings(max_examples=25)
def test_a_compacted_conversation_makes_a_request_that_is_taken(messages: list[Message]) -> None:
    """Its summary is a system message after the leading ones."""
    import asyncio  # noqa: PLC0415

    policy = Policy(context_window=400, reserve_tokens=100, keep_recent_tokens=50)
    manager = Manager(CharCounter(), Digest(), policy=policy)

    done = asyncio.run(manager.compact_if_needed(messages, force=True))

    _check(done.messages)


@given(conversations())
def test_what_was_written_reads_and_writes_the_same(messages: list[Message]) -> None:
    """A request of ours round-trips like anybody's."""
    request = openai_chat.encode_request(messages)

    again = openai_chat.encode_request(openai_chat.decode_request(request))

    assert json.dumps(again) == json.dumps(request)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "arguments",
                    "id",
                    "index",
                    "role",
                    "usage",
                    "reasoning_details",
                    "audio",
                    "function_call",
                    "thinking",
                    "finish_reason",
                    "type",
                    "image_url",
                    "prompt_tokens",
                    "timings",
                    "name",
                    "text",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_junk_raises(junk: object) -> None:
    """Neither a reply's, nor a message's, nor a stream's."""
    assert isinstance(openai_chat.decode_response(junk), Decision)
    assert isinstance(openai_chat.decode_response({"choices": [{"message": junk}]}), Decision)
    openai_chat.encode_request(openai_chat.decode([junk]))
    openai_chat.validate({"messages": [junk]})
    stream = openai_chat.StreamedResponse()
    for event in (junk, {"choices": [junk]}, {"choices": [{"delta": junk}]}, "[DONE]"):
        if not (isinstance(event, dict) and event.get("error")):
            stream.feed(event)
    openai_chat.decode_response(stream.response())
