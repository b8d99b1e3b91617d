"""Mistral's replies: thinking in chunks with signatures, and several messages in one choice.

The shapes are those of `ThinkChunk`, `DeltaMessage` and `ChatCompletionChoice` in mistralai 3.7.0.
"""

from typing import Any

import pytest

from agentic.loop import Decision
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import openai_chat

SEARCH = {"id": "aB3dE5fG7", "function": {"name": "web_search", "arguments": '{"q": "Oslo"}'}}
READ = {"id": "hI9jK1lM3", "function": {"name": "read", "arguments": "{}"}}
FOUND = '{"results": ["12 C"]}'
ANSWERED: list[dict[str, Any]] = [
    {"role": "assistant", "content": "", "tool_calls": [SEARCH]},
    {"role": "tool", "content": FOUND, "tool_call_id": "aB3dE5fG7"},
    {"role": "assistant", "content": "It is cold."},
]


def _thinking(text: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": text}], **fields}]


def _event(word: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": word}]}


def _streamed(*events: dict[str, Any]) -> tuple[str, Decision]:
    stream = openai_chat.StreamedResponse()
    for event in events:
        stream.feed(event)
    return stream.text, openai_chat.decode_response(stream.response())


def _sent(decision: Decision, *more: Message) -> list[dict[str, Any]]:
    reply = Message(
        "assistant",
        decision.reply,
        reasoning=decision.reasoning,
        tool_calls=decision.tool_calls,
        native=decision.native,
    )
    return openai_chat.encode([reply, *more])


def test_late_signature_of_thinking_is_kept() -> None:
    """It goes back with the whole text, and says that it is closed."""
    _, decision = _streamed(
        _event(content=_thinking("Look ")),
        _event(content=_thinking("up.")),
        _event(content=_thinking("", signature="EqQB", closed=True)),
        _event("stop", content=[{"type": "text", "text": "Done."}]),
    )

    assert _sent(decision)[0]["content"] == [
        *_thinking("Look up.", signature="EqQB", closed=True),
        {"type": "text", "text": "Done."},
    ]


def test_signed_thinking_is_never_signed_again() -> None:
    """What follows a signature is a chunk of its own, with its own signature."""
    _, decision = _streamed(
        _event(content=_thinking("Look up.", signature="EqQB")),
        _event(content=_thinking("Now act.", signature="Zm9v")),
        _event("stop", content="Done."),
    )

    assert _sent(decision)[0]["content"][:2] == [
        *_thinking("Look up.", signature="EqQB"),
        *_thinking("Now act.", signature="Zm9v"),
    ]


def _whole_choice() -> dict[str, Any]:
    messages = [{**each, "index": n} for n, each in enumerate(ANSWERED)]
    return {"choices": [{"index": 0, "finish_reason": "stop", "messages": messages}]}


def _stream_events() -> list[dict[str, Any]]:
    return [
        _event(role="assistant", content="", index=0),
        _event(tool_calls=[SEARCH], index=0),
        _event(role="tool", content=FOUND[:5], tool_call_id="aB3dE5fG7", index=1),
        _event(content=FOUND[5:], index=1),
        _event(role="assistant", content="It is ", index=2),
        _event("stop", content="cold.", index=2),
    ]


@pytest.mark.parametrize("streamed", [False, True])
def test_messages_of_a_choice_are_one_reply(streamed: bool) -> None:
    """The model's text, without the result of a tool; the server has answered its own call."""
    if streamed:
        text, decision = _streamed(*_stream_events())
        assert text == "It is cold."
    else:
        decision = openai_chat.decode_response(_whole_choice())

    assert decision.reply == "It is cold."
    assert decision.tool_calls == ()
    assert _sent(decision) == ANSWERED
    assert openai_chat.validate({"messages": [{"role": "user", "content": "Hi."}, *ANSWERED]}) == []


def test_open_call_among_messages_is_to_be_answered() -> None:
    """Only what the server has not answered is left to the loop; the result follows all of it."""
    messages = [*ANSWERED[:2], {"role": "assistant", "content": "", "tool_calls": [READ]}]
    choice = {"index": 0, "finish_reason": "tool_calls", "messages": messages}

    decision = openai_chat.decode_response({"choices": [choice]})

    assert decision.tool_calls == (ToolCall("hI9jK1lM3", "read", "{}"),)
    result = Message("tool", tool_results=[ToolResult("hI9jK1lM3", "read", "ok")])
    answer = {"role": "tool", "tool_call_id": "hI9jK1lM3", "content": "ok"}
    assert _sent(decision, result) == [*messages, answer]


def test_single_message_in_a_list_is_the_reply() -> None:
    """As if it were in the place of one message."""
    message = {"role": "assistant", "content": "Hi.", "tool_calls": [], "index": 0}

    decision = openai_chat.decode_response({"choices": [{"index": 0, "messages": [message]}]})

    assert decision.reply == "Hi."
    assert _sent(decision) == [{"role": "assistant", "content": "Hi."}]


def test_tool_result_alone_is_no_reply() -> None:
    """A stream may end before the model has written anything."""
    text, decision = _streamed(
        _event("stop", role="tool", content=FOUND, tool_call_id="aB3dE5fG7", index=0)
    )

    assert (text, decision.reply) == ("", "")


def test_index_that_counts_events_is_no_message() -> None:
    """Only a role begins another message."""
    text, decision = _streamed(
        *(_event(content=piece, index=n) for n, piece in enumerate(["It ", "is ", "so."])),
        _event("stop"),
    )

    assert text == decision.reply == "It is so."


def test_edited_reply_of_several_messages_is_rebuilt() -> None:
    """A stale payload never undoes an edit."""
    reply = Message(
        "assistant", "It is warm.", native=openai_chat.decode_response(_whole_choice()).native
    )

    assert openai_chat.encode([reply]) == [{"role": "assistant", "content": "It is warm."}]
