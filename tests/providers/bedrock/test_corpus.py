"""The recorded traffic of Bedrock: every request goes back as it came, every reply is read."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from botocore.eventstream import EventStreamBuffer

from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers import bedrock
from agentic.usage import unknown_words_raise

pytestmark = pytest.mark.corpus


def _streamed(events: list[dict[str, Any]]) -> bedrock.StreamedResponse:
    reply = bedrock.StreamedResponse()
    for event in events:
        reply.feed(event)
    return reply


def _model(row: dict[str, Any]) -> str:
    return unquote(row["endpoint"].split("/model/")[1].rpartition("/")[0])


def _events(row: dict[str, Any]) -> list[dict[str, Any]]:
    frames = EventStreamBuffer()
    frames.add_data(base64.b64decode(row["body_base64"]))
    return [{frame.headers[":event-type"]: json.loads(frame.payload)} for frame in frames]


def test_requests_go_back_byte_for_byte(recorded: list[dict[str, Any]]) -> None:
    """Messages and system prompt come out of the encoder as they went into the decoder."""
    assert recorded
    for row in recorded:
        request = row["request"]
        encoded = bedrock.encode_request(bedrock.decode_request(request))

        assert json.dumps(encoded["messages"]) == json.dumps(request["messages"])
        assert encoded.get("system", []) == request.get("system", [])
        assert bedrock.encode(bedrock.decode(request["messages"])) == request["messages"]
        assert bedrock.encode_request(bedrock.decode_request(request), model=_model(row)) == encoded


def test_served_requests_are_not_found_wrong(recorded: list[dict[str, Any]]) -> None:
    """The validator knows no rule that Bedrock does not."""
    served = [
        {**row["request"], "modelId": _model(row)} for row in recorded if row["status"] == 200
    ]

    assert [bedrock.validate(request) for request in served] == [[]] * len(served)


def test_every_reply_is_read(
    recorded: list[dict[str, Any]], as_message: Callable[[Decision], Message]
) -> None:
    """The usage adds up to the provider's total, the stop word is known, it goes back as it is."""
    replies = [row["response_json"] for row in recorded if "output" in row.get("response_json", {})]
    assert replies
    for reply in replies:
        with unknown_words_raise():
            decision = bedrock.decode_response(reply)
        used = bedrock.usage(reply)
        message = as_message(decision)

        assert used.total == used.input + used.output > 0
        assert decision.stop_word == reply["stopReason"]
        assert bedrock.encode([message]) == [reply["output"]["message"]]


def test_every_stream_is_put_together(recorded: list[dict[str, Any]]) -> None:
    """The text is whole, and usage and stop word are found in the last events."""
    streams = [_events(row) for row in recorded if "body_base64" in row]
    assert streams
    for events in streams:
        reply = _streamed(events)
        with unknown_words_raise():
            decision = bedrock.decode_response(reply.response())

        assert decision.reply == reply.text != ""
        assert decision.stop_word
        assert decision.usage is not None
        assert decision.usage.total == decision.usage.input + decision.usage.output


def test_replies_without_requests_are_read_too(fixtures: list[dict[str, Any]]) -> None:
    """Those of another toolkit's tests: one reply, and streams with signed reasoning."""
    for row in fixtures:
        reply = row.get("response_json") or _streamed(row["chunks"]).response()
        with unknown_words_raise():
            decision = bedrock.decode_response(reply)

        assert decision.reply
        assert decision.stop_word
        assert bedrock.usage(reply).total
