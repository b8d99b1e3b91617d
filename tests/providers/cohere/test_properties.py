import json

from hypothesis import given
from hypothesis import strategies as st

from agentic.context.strategies import FitContextWindow
from agentic.messages import Media, Message, ToolCall, ToolResult
from agentic.providers import cohere
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

TOOLS = [ToolDefinition("read"), ToolDefinition("files-write")]


@given(conversations(), st.integers(1, 400))
def test_cut_conversation_makes_a_valid_request(messages: list[Message], n: int) -> None:
    """However damaged it was, and whatever a strategy left of it."""
    for each in (messages, FitContextWindow(n, CharCounter()).compact(messages)):
        request = cohere.encode_request(each, system_prompt="Be brief.", tools=TOOLS)

        assert cohere.validate(request) == []
        assert any(message["role"] == "user" for message in request["messages"])
        json.dumps(request, ensure_ascii=False).encode()


@given(conversations())
def test_written_request_reads_and_writes_the_same(messages: list[Message]) -> None:
    """A request of ours round-trips like anybody's."""
    request = cohere.encode_request(messages)

    again = cohere.encode_request(cohere.decode_request(request))

    assert json.dumps(again) == json.dumps(request)


def test_text_before_a_call_is_its_plan() -> None:
    """An edited message keeps its place on the wire; what one says without calls is content."""
    call = ToolCall("c1", "read", "{}")
    result = Message("tool", tool_results=[ToolResult("c1", "read", "text")])
    said = Message("assistant", "I look.", tool_calls=[call])

    sent = cohere.encode([Message("user", "Go."), said, result, Message("assistant", "Done.")])

    assert [each.get("tool_plan", each.get("content")) for each in sent] == [
        "Go.",
        "I look.",
        "text",
        "Done.",
    ]


def test_image_of_a_user_is_sent_and_others_are_named() -> None:
    """A tool may send only text, and no role a PDF."""
    image, pdf = Media("image/png", b"\x89PNG"), Media("application/pdf", b"%PDF")
    call = Message("assistant", tool_calls=[ToolCall("c1", "look", "{}")])
    shown = Message("tool", tool_results=[ToolResult("c1", "look", "a tree")], media=[image])

    sent = cohere.encode([Message("user", "See.", media=[image, pdf]), call, shown])

    assert [part["type"] for part in sent[0]["content"]] == ["text", "image_url"]
    assert "[application/pdf]" in sent[0]["content"][0]["text"]
    assert sent[2]["content"] == "a tree\n[image/png]"
