import asyncio
import json
from typing import Any

import pytest
from hypothesis import given

from agentic.context import budget, compactors, strategies
from agentic.messages import ContextSummary, Media, Message, ProviderPayload, ToolCall, ToolResult
from agentic.providers import gemini
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""skip_thought_signature_validator, in base64."""


def _contents(*messages: Message) -> list[Any]:
    contents: list[Any] = gemini.encode_request(messages)["contents"]
    return contents


def _is_valid(messages: list[Message]) -> bool:
    """Whether a request is accepted, and can be sent as UTF-8."""
    request = gemini.encode_request(messages, system_prompt="Be brief.")
    json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    return gemini.validate({**request, "model": "gemini-3-pro-preview"}) == []


@given(messages=conversations())
def test_any_conversation_makes_a_valid_request(messages: list[Message]) -> None:
    """Open rounds, orphans, repeated ids, broken arguments, surrogates: nothing is refused."""
    assert _is_valid(messages)


@given(messages=conversations())
def test_a_view_makes_a_valid_request(messages: list[Message]) -> None:
    """Whatever a strategy dropped."""
    assert _is_valid(strategies.FitContextWindow(60).compact(messages))
    assert _is_valid(strategies.KeepLast(3).compact(messages))


@given(messages=conversations())
def test_imported_contents_stay_valid_after_cut(messages: list[Message]) -> None:
    """The native payloads of what is left go together with what was written anew."""
    imported = gemini.decode_request(gemini.encode_request(messages))

    assert gemini.encode_request(imported) == gemini.encode_request(messages)
    assert _is_valid(strategies.FitContextWindow(60).compact(imported))


@pytest.mark.parametrize("damaged", [False, True])
def test_compacted_history_makes_valid_request(damaged: bool) -> None:
    """The summary leads, and the rest follows it."""

    @given(messages=conversations(damaged=damaged))
    def check(messages: list[Message]) -> None:
        policy = budget.Policy(10_000, keep_recent_tokens=20, min_recent_messages=1)
        manager = budget.Manager(CharCounter(), compactors.Digest(), policy)
        compaction = asyncio.run(manager.compact_if_needed(messages, force=True))
        assert _is_valid(compaction.messages)

    check()


def test_leading_system_messages_are_the_instruction() -> None:
    """The prompt is the same after a compaction, whose summary is a content of its own."""
    summary = ContextSummary("The build is red.", 4).to_message()
    request = gemini.encode_request([summary, Message("user", "Go on.")], system_prompt="Be brief.")

    texts = [part["text"] for part in request["systemInstruction"]["parts"]]
    assert texts == ["Be brief."]
    assert request["contents"] == [
        {"role": "user", "parts": [{"text": summary.content}]},
        {"role": "user", "parts": [{"text": "Go on."}]},
    ]


def test_middle_system_message_is_marked() -> None:
    """There are no roles but the user's and the model's."""
    contents = _contents(Message("user", "Hi."), Message("system", "Be brief."))

    assert contents[1] == {"role": "user", "parts": [{"text": "<system>\nBe brief.\n</system>"}]}


def test_userless_conversation_gets_neutral_request() -> None:
    """Neither a model's turn nor nothing may come first."""
    go_on = {"role": "user", "parts": [{"text": "Continue."}]}

    assert _contents(Message("system", "Be brief.")) == [go_on]
    assert _contents(Message("assistant", "Hello."))[0] == go_on


def test_foreign_call_carries_documented_signature() -> None:
    """Only the first of a turn needs one; reasoning of another provider is not sent."""
    calls = [ToolCall("a", "read", '{"path": "a.py"}'), ToolCall("b", "read", "{oops")]
    contents = _contents(
        Message("user", "Read."),
        Message("assistant", "I look.", reasoning="Look first.", tool_calls=calls),
        Message("tool", tool_results=[ToolResult("b", "read", error="no JSON")]),
        Message("tool", tool_results=[ToolResult("a", "read", "text", notice="Cut.")]),
    )

    text, first, second = contents[1]["parts"]
    assert text == {"text": "I look."}
    assert first["thoughtSignature"] == UNSIGNED
    assert second == {
        "functionCall": {"id": "b", "name": "read", "args": {"unparsed_arguments": "{oops"}}
    }
    answers = [part["functionResponse"] for part in contents[2]["parts"]]
    assert answers == [
        {"id": "a", "name": "read", "response": {"output": "text\nCut."}},
        {"id": "b", "name": "read", "response": {"error": "no JSON"}},
    ]


def test_tool_media_follow_their_results() -> None:
    """In a content of their own: old models refuse them in a result, Vertex AI beside one."""
    tool = Message(
        "tool", tool_results=[ToolResult("a", "see", "seen")], media=[Media("image/png", b"\x89")]
    )
    contents = _contents(
        Message("user", "Look."), Message("assistant", tool_calls=[ToolCall("a", "see")]), tool
    )

    assert contents[3]["parts"] == [{"inlineData": {"mimeType": "image/png", "data": "iQ=="}}]


def test_media_go_by_bytes_or_place() -> None:
    """A data URL is bytes; of what has neither, the kind is named."""
    message = Message(
        "user",
        media=[
            Media("audio/wav", url="gs://bucket/a.wav"),
            Media("image/png", url="data:image/png;base64,iQ=="),
            Media("text/plain", url="data:text/plain,a%20b"),
            Media("image/png"),
            Media("image/png", url="data:image/png;base64,?"),
        ],
    )

    assert _contents(message)[0]["parts"] == [
        {"fileData": {"mimeType": "audio/wav", "fileUri": "gs://bucket/a.wav"}},
        {"inlineData": {"mimeType": "image/png", "data": "iQ=="}},
        {"inlineData": {"mimeType": "text/plain", "data": "YSBi"}},
        {"text": "[image/png]"},
        {"text": "[image/png]"},
    ]


def test_words_before_call_share_its_content() -> None:
    """A call right after the model's own content is refused."""
    contents = _contents(
        Message("user", "Go."),
        Message("assistant", "First."),
        Message("assistant", tool_calls=[ToolCall("a", "run")]),
    )

    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert len(contents[1]["parts"]) == 2


def test_no_empty_content_is_ever_sent() -> None:
    """A content without a part is refused."""
    contents = _contents(Message("user"), Message("assistant"), Message("user", "Go."))

    assert [content["parts"][0]["text"] for content in contents] == ["(empty message)", "Go."]


def test_a_repeated_id_is_sent_once() -> None:
    """Later calls of that id and their results belong together by name and order."""
    turn = [
        Message("assistant", tool_calls=[ToolCall("a", "run"), ToolCall("a", "run")]),
        Message("tool", tool_results=[ToolResult("a", "run", "1"), ToolResult("a", "run", "2")]),
    ]
    _, calls, results = _contents(Message("user", "Go."), *turn)

    assert ["id" in part["functionCall"] for part in calls["parts"]] == [True, False]
    outputs = [part["functionResponse"]["response"] for part in results["parts"]]
    assert outputs == [{"output": "1"}, {"output": "2"}]
    assert ["id" in part["functionResponse"] for part in results["parts"]] == [True, False]


def test_refused_name_changes_everywhere_alike() -> None:
    """They are of the same function still."""
    _, calls, results = _contents(
        Message("user", "Go."),
        Message("assistant", tool_calls=[ToolCall("a", "2 files")]),
        Message("tool", tool_results=[ToolResult("a", "2 files", "x")]),
    )

    assert calls["parts"][0]["functionCall"]["name"].startswith("_2_files_")
    assert results["parts"][0]["functionResponse"]["name"].startswith("_2_files_")


def test_other_providers_items_are_not_sent() -> None:
    """The message is written from its typed fields."""
    message = Message(
        "user", "Hi.", native=ProviderPayload("elsewhere", {"content": {"parts": []}})
    )

    assert gemini.encode([message]) == [{"role": "user", "parts": [{"text": "Hi."}]}]


def test_tools_keep_their_json_schema() -> None:
    """JSON Schema needs no translation."""
    schema = {"type": "object", "properties": {"q": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}
    tools = gemini.encode_request([], tools=[ToolDefinition("find", "Find.", schema)])["tools"]

    declared = {"name": "find", "description": "Find.", "parametersJsonSchema": schema}
    assert tools == [{"functionDeclarations": [declared]}]
    assert gemini.encode_tools([]) == []
