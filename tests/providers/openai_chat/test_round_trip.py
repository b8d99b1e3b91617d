import json
from typing import Any

import attrs
import pytest

from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult
from agentic.providers import openai_chat

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
USER = {"role": "user", "content": "Read a.py."}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "call_1", "content": "print()"}

CONVERSATIONS: dict[str, list[Any]] = {
    "a tool round": [USER, ASKING, ANSWER, {"role": "assistant", "content": "Done."}],
    "a developer, and unknown fields": [
        {"role": "developer", "content": "Be brief.", "x": 1},
        {**USER, "name": "ann"},
    ],
    "parts, cache marks, images, sound, files": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
                {"type": "image_url", "image_url": {"url": "https://x.test/a", "detail": "low"}},
                {"type": "image_url", "image_url": "https://x.test/a.png"},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "novelty", "novelty": [1]},
            ],
        }
    ],
    "a tool that sends parts": [
        USER,
        ASKING,
        {**ANSWER, "content": [{"type": "text", "text": "print()"}]},
    ],
    "the form of 2023": [
        USER,
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ],
    "thinking that goes back": [
        USER,
        {**ASKING, "reasoning_content": "Look first."},
        ANSWER,
        {
            "role": "assistant",
            "content": "Done.",
            "reasoning": "So.",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "ZZ", "index": 0}],
        },
    ],
    "Gemini's signature on a call": [
        USER,
        {
            **ASKING,
            "tool_calls": [{**CALL, "extra_content": {"google": {"thought_signature": "sig"}}}],
        },
        ANSWER,
    ],
    "Mistral's chunks": [
        USER,
        {
            "role": "assistant",
            "prefix": True,
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Done."},
            ],
        },
    ],
    "ids that are used again": [USER, ASKING, ANSWER, ASKING, ANSWER],
    "no ids": [
        USER,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "content": "1"},
    ],
    "arguments as an object": [
        USER,
        {**ASKING, "tool_calls": [{**CALL, "function": {"name": "read", "arguments": {"a": 1}}}]},
        ANSWER,
    ],
    "an empty reply, system prompts in the middle": [
        {"role": "system", "content": ""},
        USER,
        {"role": "assistant", "content": ""},
        {"role": "system", "content": "Now."},
        USER,
    ],
    "only a system prompt": [{"role": "system", "content": "Be brief."}],
    "a role nobody knows": [USER, {"role": "critic", "content": {"odd": [None]}}],
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_client_request_survives_a_round_trip(name: str) -> None:
    """To the byte, the order of keys included."""
    wire = CONVERSATIONS[name]

    messages = openai_chat.decode(wire)

    assert json.dumps(openai_chat.encode(messages)) == json.dumps(wire)
    request = openai_chat.encode_request(openai_chat.decode_request({"messages": wire}))
    assert json.dumps(request) == json.dumps({"messages": wire})


@pytest.mark.parametrize("junk", [None, 3, "text", [None], [3, "x", [], {}], [{"role": 7}]])
def test_junk_is_read_without_an_error(junk: Any) -> None:
    """It becomes something, and a list of it is written as it was, but for null."""
    messages = openai_chat.decode(junk)

    expected = [each for each in junk if each is not None] if isinstance(junk, list) else []
    assert openai_chat.encode(messages) == expected


def test_thinking_is_found_anywhere() -> None:
    """The content of some is a list, others have one of three fields beside it."""
    replies = [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Yes."},
                {"type": "reference", "reference_ids": [1]},
            ],
        },
        {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", "reasoning": "Hm."},
        {"role": "assistant", "content": "Yes.", "reasoning": "Hm."},
        {"role": "assistant", "content": "Yes.", "reasoning_details": [{"text": "Hm."}]},
        {"role": "assistant", "content": "Yes.", "reasoning_details": [{"summary": "Hm."}, 3]},
    ]

    for message in openai_chat.decode(replies):
        assert (message.content, message.reasoning) == ("Yes.", "Hm.")


def test_an_edited_message_goes_out_edited() -> None:
    """By `replace`, and by `evolve`, which keeps the payload that is stale then."""
    message = openai_chat.decode([{"role": "user", "content": "secret", "name": "ann"}])[0]

    for edited in (message.replace(content="open"), attrs.evolve(message, content="open")):
        assert openai_chat.encode([edited]) == [{"role": "user", "content": "open"}]


def test_foreign_payload_and_thinking_stay_here() -> None:
    """The message is written from its typed fields, its reasoning is not."""
    message = Message(
        "assistant", "Yes.", reasoning="Hm.", native=ProviderPayload("elsewhere", {"x": 1})
    )

    assert openai_chat.encode([message]) == [{"role": "assistant", "content": "Yes."}]


def test_edit_keeps_an_images_detail() -> None:
    """The text changes; the image is sent with its `detail`, as it came."""
    wire = CONVERSATIONS["parts, cache marks, images, sound, files"]

    edited = openai_chat.decode(wire)[0].replace(content="b")

    parts = openai_chat.encode([edited])[0]["content"]
    assert parts == [{"type": "text", "text": "b"}, *wire[0]["content"][1:]]


def test_edited_result_keeps_its_place() -> None:
    """Only the edited one is written anew."""
    wire = [
        USER,
        {**ASKING, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
        {**ANSWER, "x": 1},
        {**ANSWER, "tool_call_id": "call_2", "x": 2},
    ]
    messages = openai_chat.decode(wire)

    messages[2] = messages[2].replace(tool_results=[ToolResult("call_1", "read", "short")])

    sent = openai_chat.encode_request(messages)["messages"]
    assert sent[2:] == [{**ANSWER, "content": "short"}, wire[3]]


def test_edited_legacy_call_takes_result_along() -> None:
    """Both are written in today's form, under one id."""
    messages = openai_chat.decode(CONVERSATIONS["the form of 2023"])
    messages[1] = messages[1].replace(content="I call.")

    request = openai_chat.encode_request(messages)

    assert openai_chat.validate(request) == []
    assert request["messages"][2] == {"role": "tool", "tool_call_id": "call_1", "content": "1"}


def test_our_result_may_answer_legacy_call() -> None:
    """The result takes the form that the call is in, and its name if it has none."""
    messages = openai_chat.decode(CONVERSATIONS["the form of 2023"])[:2]

    for result in (ToolResult("", "f", "2"), ToolResult("", output="2")):
        sent = openai_chat.encode([*messages, Message("tool", tool_results=[result])])

        assert sent[2] == {"role": "function", "name": "f", "content": "2"}


@pytest.mark.parametrize("before", [[USER], [USER, ASKING, ANSWER], [USER, ASKING]])
def test_lone_function_message_survives_round_trip(before: list[Any]) -> None:
    """No call of the older form stands before it."""
    wire = [*before, {"role": "function", "name": "f", "content": "1"}, USER]

    assert openai_chat.encode(openai_chat.decode(wire)) == wire


def test_spoken_reply_goes_back_by_id() -> None:
    """The transcript is the reply's text, the sound is not sent again."""
    spoken = {
        "role": "assistant",
        "content": None,
        "audio": {"id": "audio_1", "data": "AAAA", "transcript": "Hello."},
    }

    message = openai_chat.decode([spoken])[0]

    assert message.content == "Hello."
    assert openai_chat.encode([message]) == [{**spoken, "audio": {"id": "audio_1"}}]


def test_a_custom_tools_input_becomes_arguments() -> None:
    """The free text stands under `input`."""
    call = {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls\n"}}

    message = openai_chat.decode([{"role": "assistant", "content": None, "tool_calls": [call]}])[0]

    assert message.tool_calls == (ToolCall("c", "sh", '{"input": "ls\\n"}'),)
