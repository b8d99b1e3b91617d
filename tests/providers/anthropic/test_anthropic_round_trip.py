"""Messages to ours and back: as they came, or as they were edited, never a mix."""

import json
from typing import Any

import attrs
import pytest

from agentic.messages import Media, Message, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.providers import anthropic

PNG = "iVBORw0KGgo="
THINKING = {"type": "thinking", "thinking": "I need the file.", "signature": "EqQBCgIYAhIM1gbc"}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
SECOND_CALL = {**CALL, "id": "toolu_2", "caller": {"type": "direct"}, "cache_control": None}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "print()"}
SECOND_RESULT = {
    "tool_use_id": "toolu_2",
    "type": "tool_result",
    "is_error": True,
    "content": [
        {"type": "text", "text": "No such file."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "tool_reference", "tool_name": "write"},
        {"type": "search_result", "source": "s", "title": "t", "content": []},
    ],
}
TEXT = {"type": "text", "text": "Go on.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
ASK = {"role": "user", "content": "Why is it red?"}
ROUND = [
    {"role": "assistant", "content": [THINKING, CALL, SECOND_CALL]},
    {"content": [RESULT, SECOND_RESULT, TEXT], "role": "user", "unknown": [None, 1.5]},
]
SERVER_TOOLS = [
    {"type": "text", "text": "I search."},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"q": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]},
    {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "e", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": []},
    {"type": "redacted_thinking", "data": "EmwKAhgB"},
    {"type": "container_upload", "file_id": "file_1"},
    {"type": "compaction", "content": "Done so far.", "encrypted_content": "x"},
    {"type": "text", "text": "Found.", "citations": [{"type": "page_location", "file_id": None}]},
    {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
    {"type": "of_next_year", "deep": [{"er": True}]},
]
DOCUMENTS = [
    {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Hi."}},
    {"type": "document", "title": "D", "source": {"type": "content", "content": "Inside."}},
    {"type": "document", "source": {"type": "file", "file_id": "file_1"}, "citations": {}},
    {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "%"}},
]
SYSTEM = {"role": "system", "content": [{"type": "text", "text": "Be brief now."}]}
DIRECTIVE = {"role": "system", "content": [], "output_config": {"effort": "low"}}
ADDITION = {"role": "system", "content": [{"type": "tool_addition", "tool": {"name": "read"}}]}


@pytest.mark.parametrize(
    "wire",
    [
        [ASK],
        [ASK, *ROUND],
        [ASK, {"role": "assistant", "content": SERVER_TOOLS}, ASK],
        [{"role": "user", "content": DOCUMENTS}],
        [ASK, ASK, {"role": "user", "content": []}],
        [ASK, {"role": "assistant", "content": "The answer is ("}],
        [ASK, SYSTEM],
        [ASK, SYSTEM, ADDITION, {"role": "assistant", "content": "Yes."}, ASK],
        [DIRECTIVE, ASK, DIRECTIVE, ASK],
        [{"role": "assistant", "content": "I begin."}, ASK],
        [{"role": "assistant", "content": [CALL]}, {"role": "user", "content": [TEXT, RESULT]}],
        [{"role": "user", "content": [{"type": "of_next_year"}]}, {"role": "user", "content": " "}],
        [{"role": "developer", "content": "?"}, {"role": "user"}, {"content": "no role"}, ASK],
        [ASK, {"role": "assistant", "content": [{"type": "text", "text": "\n\n"}, CALL]}],
    ],
)
def test_wire_messages_return_as_they_came(wire: list[Any]) -> None:
    """Strings, lists, marks of the cache, unknown blocks and fields, and the order of keys."""
    request = {"system": "Be brief.", "messages": wire}

    assert json.dumps(anthropic.encode(anthropic.decode(wire))) == json.dumps(wire)
    encoded = anthropic.encode_request(anthropic.decode_request(request))
    answered = anthropic.validate({"messages": wire}) == []
    assert not answered or json.dumps(encoded) == json.dumps(request)


@pytest.mark.parametrize(
    "system",
    [
        "Be brief.",
        "",
        [],
        [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        [{"type": "text", "text": "Be brief."}, {"text": "Be kind.", "type": "text"}],
    ],
)
def test_system_prompt_goes_back_unchanged(system: Any) -> None:
    """A text stays a text, and a list of one block a list."""
    request = {"system": system, "messages": [ASK]}

    encoded = anthropic.encode_request(anthropic.decode_request(request))

    assert json.dumps(encoded) == json.dumps(request)


def test_answering_user_message_becomes_two_messages() -> None:
    """The results with their tools' names, then the words."""
    _, reply, results, words = anthropic.decode([ASK, *ROUND])

    assert reply.reasoning == "I need the file."
    assert [call.arguments for call in reply.tool_calls] == ['{"path": "a.py"}'] * 2
    assert results.tool_results == (
        ToolResult("toolu_1", "read", "print()"),
        ToolResult(
            "toolu_2",
            "read",
            error=ToolError("No such file.\nt"),
            media=results.tool_results[1].media,
        ),
    )
    assert [media.media_type for media in results.all_media] == ["image/png"]
    assert (words.role, words.content) == ("user", "Go on.")


def test_documents_and_pictures_are_read() -> None:
    """What is text is the message's text; the rest are media."""
    (message,) = anthropic.decode([{"role": "user", "content": DOCUMENTS}])

    assert message.content == "Hi.\n\nD\nInside."
    assert [(media.media_type, media.url) for media in message.media] == [
        ("application/pdf", "https://example.com/a.pdf"),
        ("application/pdf", ""),
        ("image/*", "https://example.com/a.png"),
        ("image/png", ""),
    ]


def test_an_edited_message_goes_out_edited() -> None:
    """So does one whose payload was left on it; the part beside it stays as it came."""
    ask, reply, results, words = anthropic.decode([ASK, *ROUND])
    edited = attrs.evolve(words, content="Stop.")

    sent = anthropic.encode([ask, reply, results, edited])

    assert sent[2]["content"] == [RESULT, SECOND_RESULT, {"type": "text", "text": "Stop."}]
    assert sent[:2] == [ASK, ROUND[0]]


def test_edited_reply_loses_its_thinking() -> None:
    """Its signature is for what the model said, not for what it did not."""
    ask, reply, *_ = anthropic.decode([ASK, *ROUND])
    edited = reply.replace(content="I look.", tool_calls=reply.tool_calls[:1])

    sent = anthropic.encode([ask, edited])

    assert sent[1]["content"] == [{"type": "text", "text": "I look."}, CALL]


def test_half_a_message_is_a_message() -> None:
    """A strategy dropped the words that stood beside the results."""
    ask, reply, results, _ = anthropic.decode([ASK, *ROUND])

    sent = anthropic.encode_request([ask, reply, results])["messages"]

    assert sent[2]["content"] == [RESULT, SECOND_RESULT]
    assert anthropic.validate({"messages": sent}) == []


def test_other_providers_items_are_not_sent() -> None:
    """Neither its payload nor its reasoning."""
    foreign = Message(
        "assistant",
        "Hello.",
        reasoning="Greet.",
        native=ProviderPayload("openai", {"role": "assistant"}),
    )

    assert anthropic.encode([Message("user", "Hi."), foreign])[1] == {
        "role": "assistant",
        "content": "Hello.",
    }


def test_one_turns_results_share_a_message() -> None:
    """They come first in it, whatever stood between them."""
    messages = [
        Message("user", "Read both."),
        Message("assistant", tool_calls=[ToolCall("a", "read"), ToolCall("b", "read")]),
        Message("tool", tool_results=[ToolResult("a", "read", "1", notice="[cut]")]),
        Message("user", "Hurry."),
        Message("tool", tool_results=[ToolResult("b", "read", error=ToolError("gone"))]),
    ]

    assert anthropic.encode_request(messages)["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "1\n[cut]"},
        {"type": "tool_result", "tool_use_id": "b", "content": "Error: gone", "is_error": True},
        {"type": "text", "text": "Hurry."},
    ]


def test_ids_and_names_are_rewritten_alike() -> None:
    """Two that look alike afterwards stay two, and one that comes twice gets a second name."""
    calls = [ToolCall(call_id, "fs.read", "{oops") for call_id in ("a:0", "a.0", "a_0", "a_0", "")]
    results = [ToolResult(call.id, call.name, "x") for call in calls]
    messages = [Message("assistant", tool_calls=calls), Message("tool", tool_results=results)]

    _, reply, answer = anthropic.encode_request(messages)["messages"]

    ids = [block["id"] for block in reply["content"]]
    assert [block["tool_use_id"] for block in answer["content"]] == ids
    assert len(set(ids)) == 5
    assert ids[2:4] == ["a_0", "a_0_2"]
    assert reply["content"][0]["input"] == {"INVALID_JSON": "{oops"}
    assert reply["content"][0]["name"].startswith("fs_read_")


def test_wire_id_keeps_its_name() -> None:
    """The call that was written anew takes another one."""
    wire = anthropic.decode([ASK, *ROUND])
    anew = [
        Message("assistant", tool_calls=[ToolCall("toolu_1", "read")]),
        Message("tool", tool_results=[ToolResult("toolu_1", "read", "x")]),
    ]

    sent = anthropic.encode_request([wire[0], *anew, *wire[1:]])["messages"]

    assert sent[1]["content"][0]["id"] == sent[2]["content"][0]["tool_use_id"] == "toolu_1_2"
    assert sent[3:] == ROUND


def test_id_repeated_in_turn_is_renamed() -> None:
    """Calls and results alike, the same each time; a later turn may use the id of an earlier."""
    call, result = {**CALL, "id": "call_0"}, {**RESULT, "tool_use_id": "call_0"}
    round_ = [
        {"role": "assistant", "content": [THINKING, call, {**call, "id": "call_1"}]},
        {"role": "user", "content": [{**result, "tool_use_id": "call_1"}, result]},
    ]
    twice = [
        {"role": "assistant", "content": [THINKING, call, call]},
        {"role": "user", "content": [result, result]},
    ]
    wire = anthropic.decode([ASK, *round_, *round_, *twice])

    sent = anthropic.encode_request(wire)["messages"]

    assert sent[:5] == [ASK, *round_, *round_]
    assert [block.get("id") for block in sent[5]["content"]] == [None, "call_0", "call_0_2"]
    assert [block["tool_use_id"] for block in sent[6]["content"]] == ["call_0", "call_0_2"]
    assert anthropic.validate({"messages": sent}) == []
    assert anthropic.encode_request(wire)["messages"] == sent


def test_displaced_system_message_becomes_user_message() -> None:
    """The reply after it was dropped, and the user's message before it."""
    wire = anthropic.decode([ASK, SYSTEM, {"role": "assistant", "content": "Yes."}, ASK])
    marked = "<system>\nBe brief now.\n</system>"

    sent = anthropic.encode_request([wire[0], wire[1], wire[3]])["messages"]

    assert [block["text"] for block in sent[0]["content"]] == [
        ASK["content"],
        marked,
        ASK["content"],
    ]


def test_conversation_begins_and_ends_with_user() -> None:
    """A word is said for them where a cut left none."""
    (only,) = anthropic.decode([ASK, {"role": "assistant", "content": "Yes."}])[1:]

    assert anthropic.encode_request([])["messages"] == [{"role": "user", "content": "Continue."}]
    assert anthropic.encode_request([only.replace(content="Yes.")])["messages"] == [
        {"role": "user", "content": "Continue."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Continue."},
    ]


def test_media_unknown_to_api_are_named() -> None:
    """Pictures and documents are blocks; a sound is a line of text."""
    media = [
        Media("image/png", b"\x89PNG"),
        Media("text/plain", b"notes"),
        Media("image/*", extra={"file_id": "file_1"}),
        Media("application/pdf", url="https://example.com/a.pdf"),
        Media("audio/wav", b"RIFF"),
        Media("image/png"),
    ]

    (message,) = anthropic.encode([Message("user", "Look.", media=media)])

    kinds = [(block["type"], block.get("source", {}).get("type")) for block in message["content"]]
    assert kinds == [
        ("image", "base64"),
        ("document", "text"),
        ("image", "file"),
        ("document", "url"),
        ("text", None),
        ("text", None),
        ("text", None),
    ]


def test_tool_named_like_id_keeps_name() -> None:
    """The results are given names by the ids of their calls, and the calls are not."""
    wire = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "read", "name": "run"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "read"}]},
    ]

    names = [call.name for message in anthropic.decode(wire) for call in message.tool_calls]

    assert names == ["run", "read"]
