"""The recorded traffic: every request goes back as it came, every reply is read."""

import json
from typing import Any

import pytest

from agentic.messages import Message
from agentic.providers import anthropic
from agentic.usage import unknown_words_raise

pytestmark = pytest.mark.corpus


def test_requests_go_back_byte_for_byte(recorded: list[dict[str, Any]]) -> None:
    """Messages and system prompt come out of the encoder as they went into the decoder."""
    assert len(recorded) >= 56
    for row in recorded:
        request = row["request"]
        encoded = anthropic.encode_request(anthropic.decode_request(request))

        assert json.dumps(encoded["messages"]) == json.dumps(request["messages"])
        assert json.dumps(encoded.get("system")) == json.dumps(request.get("system"))
        again = anthropic.encode(anthropic.decode(request["messages"]))
        assert json.dumps(again) == json.dumps(request["messages"])


def test_served_requests_are_not_found_wrong(recorded: list[dict[str, Any]]) -> None:
    """The validator knows no rule that the API does not."""
    served = [row["request"] for row in recorded if row["status"] == 200]

    assert [anthropic.validate(request) for request in served] == [[]] * len(served)


def test_every_reply_is_read(replies: list[tuple[dict[str, Any], list[Any]]]) -> None:
    """The usage adds up, the stop word is known, and the blocks go back as they are."""
    assert len(replies) >= 65
    for whole, events in replies:
        response = whole or _assembled(events)
        with unknown_words_raise():
            decision = anthropic.decode_response(response)
        fields = {"reasoning": decision.reasoning, "tool_calls": decision.tool_calls}
        message = Message("assistant", decision.reply, native=decision.native, **fields)

        assert decision.usage is not None
        assert decision.usage.input >= response["usage"]["input_tokens"]
        assert decision.usage.output == response["usage"]["output_tokens"]
        assert anthropic.encode([message]) == [
            {"role": "assistant", "content": response["content"]}
        ]


def test_every_stream_is_put_together(replies: list[tuple[dict[str, Any], list[Any]]]) -> None:
    """The pieces are the reply, and nothing of the last event is missing."""
    streams = [events for _, events in replies if events]
    assert len(streams) >= 24
    for events in streams:
        streamed = anthropic.StreamedResponse()
        pieces = [streamed.feed(event) for event in events]
        decision = anthropic.decode_response(streamed.response())

        assert "".join(pieces) == streamed.text == decision.reply
        assert decision.stop_word
        assert all(call.parse() is not None for call in decision.tool_calls)


def test_streamed_usage_is_last_report(
    replies: list[tuple[dict[str, Any], list[Any]]],
) -> None:
    """Where the report has the input at all."""
    finals = [
        (anthropic.usage(_assembled(events)), event["usage"])
        for _, events in replies
        for event in events
        if event.get("type") == "message_delta" and "input_tokens" in event["usage"]
    ]

    assert len(finals) >= 15
    for used, final in finals:
        assert used == anthropic.usage({"usage": final})


def _assembled(events: list[Any]) -> dict[str, Any]:
    streamed = anthropic.StreamedResponse()
    for event in events:
        streamed.feed(event)
    return streamed.response()
