"""What is read of the wire, and what is written to it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import (
    Media,
    Message,
    ToolCall,
    ToolError,
    ToolResult,
    from_plain,
    to_plain,
)
from agentic.providers import ollama
from agentic.providers.ollama import IncrementalDecoder
from agentic.testing import conversations
from agentic.tools import ToolDefinition

TWO = {
    "role": "assistant",
    "content": "",
    "thinking": "Both.",
    "tool_calls": [
        {"function": {"name": "read", "arguments": {"path": "a.py"}}},
        {"function": {"name": "read", "arguments": {"path": "b.py"}}},
    ],
}
ANSWERS = [
    {"role": "tool", "tool_name": "read", "content": "text of a"},
    {"role": "tool", "tool_name": "read", "content": "text of b"},
]
NAMED = [
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": {"name": "run"}}]},
    {"role": "tool", "tool_call_id": "c1", "tool_name": "run", "content": "1 passed"},
]
ROUND = [{"role": "user", "content": "Read both."}, TWO, *ANSWERS]


def test_calls_without_ids_are_told_apart() -> None:
    """And each result belongs to the call that its tool and its place say."""
    _, caller, first, second = ollama.decode(ROUND)

    ids = [call.id for call in caller.tool_calls]
    assert len(set(ids)) == 2
    assert [message.tool_results[0].call_id for message in (first, second)] == ids


def test_results_match_tool_before_place() -> None:
    """Parallel calls of two tools may be answered in any order."""
    calls = [{"function": {"name": name, "arguments": {}}} for name in ("read", "run")]
    told = [{"role": "tool", "tool_name": name, "content": name} for name in ("run", "read")]

    caller, *results = ollama.decode([{"role": "assistant", "tool_calls": calls}, *told])

    ids = {call.id: call.name for call in caller.tool_calls}
    for message in results:
        (result,) = message.tool_results
        assert ids[result.call_id] == result.name == result.output


def test_equal_replies_have_own_ids() -> None:
    """The same call, made twice; and the same list gives the same ids again."""
    messages = ollama.decode([*ROUND, *ROUND])

    ids = [call.id for message in messages for call in message.tool_calls]
    assert len(set(ids)) == 4
    assert ollama.decode([*ROUND, *ROUND]) == messages


def test_equal_replies_differ_by_time() -> None:
    """So that a Runner need not rename them, and their thinking goes back."""
    one, other = (
        ollama.decode_response({"message": TWO, "created_at": f"2026-05-18T10:00:0{at}Z"})
        for at in (1, 2)
    )

    assert {call.id for call in one.tool_calls}.isdisjoint(call.id for call in other.tool_calls)


def test_idless_round_survives_a_restart() -> None:
    """As it came, from the JSON form of a store; nothing that was made up is sent."""
    messages = ollama.decode(ROUND)
    stored = [from_plain(json.loads(json.dumps(to_plain(message)))) for message in messages]

    assert ollama.encode_request(stored)["messages"] == ROUND


def test_edited_idless_reply_stays_idless() -> None:
    """A call with an id and a result without would not fit each other."""
    user, caller, *results = ollama.decode(ROUND)
    edited = caller.replace(content="Never mind.")

    items = ollama.encode_request([user, edited, *results])["messages"]

    assert items[1]["content"] == "Never mind."
    assert all("id" not in call for call in items[1]["tool_calls"])
    assert ollama.validate({"messages": items}) == []


def test_idless_results_follow_their_calls_order() -> None:
    """Their place is all that tells them apart."""
    user, caller, *results = ollama.decode(ROUND)
    both = [message.tool_results[0] for message in reversed(results)]

    items = ollama.encode_request([user, caller, Message("tool", tool_results=both)])["messages"]

    assert [item["content"] for item in items[2:]] == ["text of a", "text of b"]


def test_nameless_result_gets_name_of_call() -> None:
    """As Chat Completions and callers of an adapter leave it out: the tool is in the call alone."""
    messages = [
        Message("user", "Read it."),
        Message("assistant", tool_calls=[ToolCall("c1", "list"), ToolCall("c2", "read")]),
        Message("tool", tool_results=[ToolResult("c2", output="text"), ToolResult("c1")]),
    ]

    items = ollama.encode_request(messages)["messages"]

    assert [item["tool_name"] for item in items[2:]] == ["read", "list"]


def test_foreign_calls_keep_their_ids() -> None:
    """Newer servers read them; older ones ignore them."""
    call = ToolCall("toolu_1", "read", '{"path": "a.py"}')
    messages = [
        Message("user", "Read it."),
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("toolu_1", "read", "text")]),
    ]

    items = ollama.encode_request(messages)["messages"]

    function = {"name": "read", "arguments": {"path": "a.py"}}
    assert items[1]["tool_calls"] == [{"id": "toolu_1", "function": function}]
    assert items[2] == {
        "role": "tool",
        "tool_name": "read",
        "tool_call_id": "toolu_1",
        "content": "text",
    }


def test_an_error_is_text() -> None:
    """The wire has no mark for it."""
    failed = ToolResult("c1", "read", "half", ToolError("no disk"), "[1 line is missing.]")

    (item,) = ollama.encode([Message("tool", tool_results=[failed])])

    assert item["content"] == "half\nError: no disk\n[1 line is missing.]"


def test_images_are_base64_others_are_named() -> None:
    """A location is no image for this server."""
    media = [
        Media("image/png", b"\x89PNG\r\n\x1a\n"),
        Media("image/png", url="https://example.com/a.png"),
        Media("application/pdf", b"%PDF"),
    ]

    (item,) = ollama.encode([Message("user", "Look.", media=media)])

    named = "Look.\n[image/png: https://example.com/a.png]\n[application/pdf]"
    assert item == {"role": "user", "content": named, "images": ["iVBORw0KGgo="]}


@pytest.mark.parametrize(
    ("data", "media"),
    [
        ("iVBORw0KGgo=", Media("image/png", b"\x89PNG\r\n\x1a\n")),
        ("/9j/4A==", Media("image/jpeg", b"\xff\xd8\xff\xe0")),
        ("R0lGODlh", Media("image/gif", b"GIF89a")),
        ("UklGRgAAAABXRUJQ", Media("image/webp", b"RIFF\0\0\0\0WEBP")),
        ("not base64!", Media("image/png")),
        (None, Media("image/png")),
    ],
)
def test_images_first_bytes_give_type(data: Any, media: Media) -> None:
    """What is no image is still one in number, and its message goes back as it came."""
    wire = [{"role": "user", "content": "Look.", "images": [data]}]

    (message,) = ollama.decode(wire)

    assert message.media == (media,)
    assert ollama.encode([message]) == wire


def test_unknown_fields_come_back() -> None:
    """Of a message and of its calls."""
    call = {"id": "c1", "function": {"index": 0, "name": "read", "arguments": {}}, "new": 1}
    wire = [{"role": "assistant", "content": "", "tool_calls": [call], "mood": "hurried"}]

    assert ollama.encode(ollama.decode(wire)) == wire


def test_thinking_returns_only_to_its_source() -> None:
    """Another server's thinking is not sent."""
    (own,) = ollama.decode([{"role": "assistant", "content": "Yes.", "thinking": "Well."}])
    foreign = Message("assistant", "Yes.", reasoning="Well.")

    assert ollama.encode([own])[0]["thinking"] == "Well."
    assert ollama.encode([foreign]) == [{"role": "assistant", "content": "Yes."}]


def test_text_arguments_are_read() -> None:
    """Some models write them so; they are sent back as an object when rebuilt."""
    call = {"function": {"name": "read", "arguments": '{"path": "a.py"}'}}
    (message,) = ollama.decode([{"role": "assistant", "content": "", "tool_calls": [call]}])

    assert message.tool_calls[0].parse() == {"path": "a.py"}
    rebuilt = ollama.encode([message.replace(content="Now.")])[0]["tool_calls"][0]
    assert rebuilt["function"]["arguments"] == {"path": "a.py"}


def test_arguments_are_read_unescaped() -> None:
    """As the model wrote them: an escaped character is shown and counted as six."""
    call = {"function": {"name": "read", "arguments": {"path": "日本.txt"}}}

    (message,) = ollama.decode([{"role": "assistant", "content": "", "tool_calls": [call]}])

    assert message.tool_calls[0].arguments == '{"path": "日本.txt"}'


def test_userless_conversation_gets_a_user() -> None:
    """After its system messages."""
    items = ollama.encode_request([Message("assistant", "Hi.")], system_prompt="Be brief.")

    assert [item["role"] for item in items["messages"]] == ["system", "user", "assistant"]


def test_tools_keep_their_whole_schema() -> None:
    """Nested properties, references, alternatives: the server's template shows what it can."""
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}]}}, "$defs": {}}
    definition = ToolDefinition("read", "Read a file.", schema)

    (tool,) = ollama.encode_tools([definition])

    function = {"name": "read", "description": "Read a file.", "parameters": schema}
    assert tool == {"type": "function", "function": function}


@pytest.mark.parametrize("junk", [None, 3, "x", [None], [[]], [{"role": 3}], {"role": "user"}])
def test_junk_is_read_without_raising(junk: Any) -> None:
    """Nothing that anybody sends is a reason to raise."""
    for message in ollama.decode(junk):
        assert isinstance(message, Message)
    assert isinstance(ollama.decode_response(junk).reply, str)
    assert isinstance(ollama.validate({"messages": junk}), list)


@given(conversations())
def test_any_history_is_accepted_and_reread(messages: list[Message]) -> None:
    """Whatever its damage; and what was written is read and written the same."""
    body = ollama.encode_request(messages)

    assert ollama.validate(body) == []
    assert ollama.encode(ollama.decode_request(body)) == body["messages"]
    json.dumps(body).encode()


@given(st.lists(st.sampled_from([*ROUND, *NAMED]), max_size=12), st.data())
def test_growing_list_reads_like_whole(items: list[Any], data: st.DataObject) -> None:
    """Read on, or from an earlier place again, as after an edit: the same ids."""
    decoder = IncrementalDecoder()
    ends = sorted({*data.draw(st.lists(st.integers(0, len(items)), max_size=4)), len(items)})
    read: list[Message] = []
    for end in ends:
        start = data.draw(st.integers(0, len(read)))
        found = decoder.decode(items[:end], start)
        read[start:] = [message for each in found for message in each.messages]

    assert read == ollama.decode(items)
