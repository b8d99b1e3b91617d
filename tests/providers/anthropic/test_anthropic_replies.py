"""What a response says: the decision, the usage, the stop reason."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic.loop import Decision
from agentic.messages import Message, ToolCall
from agentic.providers import anthropic
from agentic.tools import ToolDefinition
from agentic.usage import StopReason, Usage, unknown_words_raise
from agentic.usage._stop import UnknownStopWord

THINKING = {"type": "thinking", "thinking": "Look first.", "signature": "EqQBCgIYAhIM"}
TEXT = {"type": "text", "text": "I look."}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "\u00e4.py"}}


def _response(*content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 12, "output_tokens": 6},
        **fields,
    }


def test_a_reply_is_a_decision() -> None:
    """Text, calls, thinking, usage and the provider's own word."""
    decision = anthropic.decode_response(_response(THINKING, TEXT, CALL, stop_reason="tool_use"))

    assert decision.reply == "I look."
    assert decision.reasoning == "Look first."
    assert decision.tool_calls == (ToolCall("toolu_1", "read", '{"path": "\u00e4.py"}'),)
    assert decision.usage == Usage(input=12, output=6)
    assert (decision.stop_reason, decision.stop_word) == (StopReason.TOOL, "tool_use")


def test_reply_goes_back_as_received(as_message: Callable[[Decision], Message]) -> None:
    """Signatures, unknown blocks and all."""
    content = [THINKING, {"type": "of_next_year", "x": 1}, TEXT, CALL]

    assert anthropic.encode([as_message(anthropic.decode_response(_response(*content)))]) == [
        {"role": "assistant", "content": content}
    ]


@pytest.mark.parametrize(
    "content", [[], [{"type": "text", "text": ""}], [{"type": "text", "text": "\n"}]]
)
def test_empty_reply_is_not_sent_back(
    content: list[Any], as_message: Callable[[Decision], Message]
) -> None:
    """The API gives it, and refuses it in the next request."""
    messages = [
        Message("user", "Hi."),
        as_message(anthropic.decode_response(_response(*content))),
        Message("user", "And?"),
    ]

    request = anthropic.encode_request(messages)

    assert [message["role"] for message in request["messages"]] == ["user"]
    assert anthropic.validate(request) == []


def test_renamed_tools_get_names_back() -> None:
    """And the reply still goes back as it came."""
    (tool,) = anthropic.encode_tools([ToolDefinition("fs.read")])
    called = {**CALL, "name": tool["name"]}
    decision = anthropic.decode_response(_response(called))
    calls = [attrs.evolve(call, name="fs.read") for call in decision.tool_calls]
    message = Message("assistant", tool_calls=calls, native=decision.native)

    assert anthropic.encode([message])[0]["content"] == [called]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", StopReason.STOP),
        ("stop_sequence", StopReason.STOP),
        ("tool_use", StopReason.TOOL),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("refusal", StopReason.CONTENT_FILTER),
        ("pause_turn", StopReason.OTHER),
        ("compaction", StopReason.OTHER),
        (None, StopReason.STOP),
    ],
)
def test_every_provider_word_is_known(word: str | None, reason: StopReason) -> None:
    """The table is the whole vocabulary of the documentation."""
    with unknown_words_raise():
        assert anthropic.stop_reason(_response(TEXT, stop_reason=word)) is reason


def test_calls_are_awaited_unless_cut_off() -> None:
    """A server that says end_turn beside a call waits for it all the same."""
    assert anthropic.stop_reason(_response(CALL)) is StopReason.TOOL
    assert anthropic.stop_reason(_response(CALL, stop_reason="max_tokens")) is StopReason.MAX_TOKENS
    assert anthropic.stop_reason({"type": "error"}) is StopReason.ERROR
    with unknown_words_raise(), pytest.raises(UnknownStopWord, match="tired"):
        anthropic.stop_reason(_response(stop_reason="tired"))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"input_tokens": 5, "output_tokens": 7}, Usage(5, 7)),
        (
            {
                "input_tokens": 5,
                "cache_read_input_tokens": 90,
                "cache_creation_input_tokens": 10,
                "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 6},
                "output_tokens": 7,
                "output_tokens_details": {"thinking_tokens": 3},
                "server_tool_use": {"web_search_requests": 2},
                "iterations": [{"type": "compaction", "input_tokens": 999, "output_tokens": 9}],
            },
            Usage(105, 7, 0, 90, 10, 3),
        ),
        (
            {"cache_creation": {"ephemeral_1h_input_tokens": 6, "of_next_year": 1}},
            Usage(7, 0, 0, 0, 7),
        ),
        ({"input_tokens": None, "output_tokens": "x", "cache_read_input_tokens": -1}, Usage()),
        ({"input_tokens": 5.9, "output_tokens": float("nan"), "x": []}, Usage(5)),
        (None, Usage()),
        ([], Usage()),
    ],
)
def test_cached_tokens_count_as_input(told: Any, expected: Usage) -> None:
    """Null, missing, odd and unknown fields are no reason to raise."""
    assert anthropic.usage({"usage": told}) == expected


@pytest.mark.parametrize(
    "junk", [None, {}, [], "", 3, {"content": 3}, {"content": [None, {"type": []}]}]
)
def test_junk_is_an_empty_decision(junk: Any) -> None:
    """Nothing that a server sends is a reason to raise."""
    decision = anthropic.decode_response(junk)

    assert (decision.reply, decision.tool_calls, decision.usage) == ("", (), None)
    assert anthropic.usage(junk) == Usage()
