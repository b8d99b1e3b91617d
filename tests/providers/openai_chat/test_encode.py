import json

import pytest

from agentic.messages import Media, Message, ToolCall, ToolError, ToolResult
from agentic.providers import openai_chat
from agentic.tools import ToolDefinition

ASK = Message("user", "Read it.")


def _asking(*calls: ToolCall) -> Message:
    return Message("assistant", tool_calls=calls)


def _answering(*ids: str) -> Message:
    return Message("tool", tool_results=[ToolResult(each, "read", "text") for each in ids])


def test_results_of_one_message_become_several() -> None:
    """Each answers its call; error and notice are part of the text."""
    results = [
        ToolResult("c1", "read", "text", notice="[1 line is missing]"),
        ToolResult("c2", "read", error=ToolError("gone")),
    ]
    calls = _asking(ToolCall("c1", "read", '{"path": "a"}'), ToolCall("c2", "read", ""))

    sent = openai_chat.encode([ASK, calls, Message("tool", tool_results=results)])

    assert [call["function"]["arguments"] for call in sent[1]["tool_calls"]] == [
        '{"path": "a"}',
        "{}",
    ]
    assert sent[1]["content"] == ""
    assert sent[2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": "text\n[1 line is missing]"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: gone"},
    ]


def test_unfit_ids_are_replaced_everywhere_alike() -> None:
    """Empty ones, long ones, and ones that were used before, the same way every time."""
    long = "x" * 41
    messages = [
        ASK,
        _asking(ToolCall("", "read"), ToolCall("", "read")),
        _answering("", ""),
        _asking(ToolCall("c", "read"), ToolCall("c", "read"), ToolCall(long, "read")),
        _answering("c", "c", long),
        _asking(ToolCall("c", "read")),
        _answering("c"),
    ]

    request = openai_chat.encode_request(messages)

    assert openai_chat.validate(request) == []
    ids = [m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"]
    assert ids == ["call_1", "call_2", "c", "c_1", "x" * 30 + "_1", "c_2"]


def test_open_round_closes_and_orphans_go() -> None:
    """A request never holds a call without a result, nor a result without a call."""
    request = openai_chat.encode_request([ASK, _answering("lost"), _asking(ToolCall("c", "read"))])

    assert [message["role"] for message in request["messages"]] == ["user", "assistant", "tool"]
    assert "no result" in request["messages"][2]["content"]


def test_empty_messages_are_left_out() -> None:
    """Also a reply of the server that held nothing: null is refused on the way back."""
    nothing = {"choices": [{"message": {"role": "assistant", "content": None, "refusal": None}}]}
    empty = Message("assistant", native=openai_chat.decode_response(nothing).native)
    messages = [Message("system"), ASK, Message("user"), Message("assistant"), empty]

    assert openai_chat.encode_request(messages) == {
        "messages": [{"role": "user", "content": "Read it."}]
    }


def test_userless_conversation_gets_a_user() -> None:
    """After the leading system messages; a summary is one, in the role that it is sent in."""
    rules = Message("system", "In English.")

    request = openai_chat.encode_request(
        [rules, _asking(ToolCall("c", "read")), _answering("c")], system_prompt="Be brief."
    )

    assert [message["role"] for message in request["messages"]] == [
        "system",
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert openai_chat.encode_request([])["messages"] == [{"role": "user", "content": "Go on."}]


def test_media_become_parts_or_are_named() -> None:
    """Images, sound and PDF have parts; a film has none."""
    media = [
        Media("image/png", b"png"),
        Media("audio/wav", b"wav"),
        Media("application/pdf", b"pdf"),
        Media("video/mp4", url="https://x.test/a.mp4"),
        Media("text/plain"),
    ]

    content = openai_chat.encode([Message("user", "See.", media=media)])[0]["content"]

    assert content[0]["text"] == "See.\n[video/mp4: https://x.test/a.mp4]\n[text/plain]"
    assert [part["type"] for part in content[1:]] == ["image_url", "input_audio", "file"]
    assert content[1]["image_url"]["url"] == "data:image/png;base64,cG5n"


def test_tool_media_follow_the_whole_round() -> None:
    """Not between two results, which would part the second from its call."""
    shot = Message("tool", tool_results=[ToolResult("a", "shot")], media=[Media("image/png", b"x")])
    calls = _asking(ToolCall("a", "shot"), ToolCall("b", "read"))

    request = openai_chat.encode_request([ASK, calls, shot, _answering("b")])

    assert openai_chat.validate(request) == []
    assert [m["role"] for m in request["messages"]][-3:] == ["tool", "tool", "user"]
    assert request["messages"][-1]["content"][1]["type"] == "image_url"


def test_assistants_media_are_named_in_text() -> None:
    """Only a user may send an image."""
    message = Message("assistant", media=[Media("image/png", url="https://x.test/a.png")])

    assert openai_chat.encode([message])[0]["content"] == "[image/png: https://x.test/a.png]"


def test_non_object_arguments_get_a_key() -> None:
    """Raw newlines are mended, anything else is kept as a text."""
    written = ["{oops", "[1]", '{"text": "a\nb"}', '{"path": "\ud83d"}']
    calls = [ToolCall(f"c{number}", "t", text) for number, text in enumerate(written)]

    sent = openai_chat.encode([_asking(*calls)])[0]["tool_calls"]

    given = [json.loads(call["function"]["arguments"]) for call in sent]
    assert given == [
        {"unparsed_arguments": "{oops"},
        {"unparsed_arguments": "[1]"},
        {"text": "a\nb"},
        {"path": "\ufffd"},
    ]


def test_tool_name_is_made_to_fit() -> None:
    """Dots and 128 characters are allowed here, and not there; two names stay two."""
    names = ["files.read", "files_read", "x" * 128]

    sent = openai_chat.encode_request([ASK], tools=[ToolDefinition(name) for name in names])

    assert openai_chat.validate(sent) == []
    assert len({tool["function"]["name"] for tool in sent["tools"]}) == 3


@pytest.mark.parametrize("wanted", ["", "c", "x" * 41])
def test_many_rounds_of_one_id_make_a_request(wanted: str) -> None:
    """Calls and results agree."""
    rounds = [
        Message("assistant", tool_calls=[ToolCall(wanted, "read")]),
        Message("tool", tool_results=[ToolResult(wanted, "read", "text")]),
    ]

    request = openai_chat.encode_request([Message("user", "Read."), *rounds * 300])

    assert openai_chat.validate(request) == []
    assert len({m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"}) == 300
