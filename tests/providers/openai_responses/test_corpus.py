"""The adapter against recorded traffic of OpenAI, Azure, DeepSeek, xAI, Bedrock's mantle."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers.openai_responses import (
    StreamedResponse,
    decode,
    decode_request,
    decode_response,
    encode,
    encode_request,
    validate,
)
from agentic.usage import unknown_words_raise

pytestmark = pytest.mark.corpus


def test_every_request_round_trips(recorded: list[dict[str, Any]]) -> None:
    """The order of keys included."""
    requests = [exchange["request"] for exchange in recorded if exchange.get("request")]

    for request in requests:
        said = {key: request[key] for key in ("instructions", "input") if key in request}
        assert json.dumps(encode_request(decode_request(request))) == json.dumps(said)
        items = request["input"]
        if isinstance(items, list):
            assert json.dumps(encode(decode(items))) == json.dumps(items)

    assert len(requests) >= 80


def test_no_served_request_is_refused(recorded: list[dict[str, Any]]) -> None:
    """Nor one that was refused for something else than its shape."""
    served = [exchange for exchange in recorded if exchange.get("request")]

    assert [validate(exchange["request"]) for exchange in served] == [[]] * len(served)


def test_responses_are_read_and_go_back(
    recorded: list[dict[str, Any]], as_message: Callable[[Decision], Message]
) -> None:
    """No word is unknown, usage is found, and the items are sent as they came."""
    responses = [e["events"][-1]["response"] for e in recorded if e["events"]]
    responses += [
        exchange["response_json"]
        for exchange in recorded
        if "output" in (exchange.get("response_json") or {})
    ]

    for response in responses:
        with unknown_words_raise():
            decision = decode_response(response)
        turn = as_message(decision)
        assert json.dumps(encode([turn])) == json.dumps(response["output"])
        assert (decision.usage is None) == (response.get("usage") is None)
        told = (response.get("usage") or {}).get("total_tokens", 0)
        assert (decision.usage.total if decision.usage else 0) == told

    assert len(responses) >= 100


def test_every_stream_is_put_together(recorded: list[dict[str, Any]]) -> None:
    """By its last event, and by the events before it alone."""
    streams = [exchange["events"] for exchange in recorded if exchange["events"]]

    for events in streams:
        streamed, bare = StreamedResponse(), StreamedResponse()
        pieces = [streamed.feed(event) for event in events]
        whole = events[-1]["response"]
        for event in [*events[:-1], {**events[-1], "response": {**whole, "output": []}}]:
            bare.feed(event)
        assert streamed.response() == whole
        assert "".join(pieces) == streamed.text == decode_response(whole).reply
        alone, told = decode_response(bare.response()), decode_response(whole)
        assert (alone.reply, alone.tool_calls) == (told.reply, told.tool_calls)
        assert alone.reasoning == told.reasoning

    assert len(streams) >= 20
