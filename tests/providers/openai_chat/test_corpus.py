"""What real clients sent to 16 providers and servers, and what these answered."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers import openai_chat
from agentic.usage import StopReason, unknown_words_raise

pytestmark = pytest.mark.corpus
Exchanges: TypeAlias = list[dict[str, Any]]


def _requests(exchanges: Exchanges) -> Exchanges:
    return [one for one in exchanges if (one.get("request") or {}).get("messages")]


def test_every_request_survives_a_round_trip(exchanges: Exchanges) -> None:
    """Read and written again, the JSON text of the conversation is the same."""
    for one in _requests(exchanges):
        sent = one["request"]["messages"]

        request = openai_chat.encode_request(openai_chat.decode_request(one["request"]))

        assert json.dumps(request["messages"]) == json.dumps(sent), one["source"]
        assert json.dumps(openai_chat.encode(openai_chat.decode(sent))) == json.dumps(sent)


def test_no_served_request_breaks_rules(exchanges: Exchanges) -> None:
    """Neither as it was sent, nor written anew from its typed fields."""
    for one in _requests(exchanges):
        messages = [message.replace() for message in openai_chat.decode_request(one["request"])]

        if one["status"] == 200:
            assert openai_chat.validate(one["request"]) == [], one["source"]
        assert openai_chat.validate(openai_chat.encode_request(messages)) == [], one["source"]


def test_mistrals_rules_hold_for_its_traffic(exchanges: Exchanges) -> None:
    """Its dialect is stricter in ids and in order, and no recorded request breaks it."""
    for one in _requests(exchanges):
        if one["provider"] == "mistral" and one["status"] == 200:
            assert openai_chat.validate(one["request"], server="mistral") == [], one["source"]


def test_every_reply_is_read(
    exchanges: Exchanges, as_message: Callable[[Decision], Message]
) -> None:
    """Its stop word is known, its usage adds up, and it goes back as it came."""
    for one in exchanges:
        body = one.get("response_json")
        if not isinstance(body, dict) or one.get("status") not in {200, None}:
            continue
        with unknown_words_raise():
            decision = openai_chat.decode_response(body)
        message = dict(body["choices"][0]["message"], role="assistant")
        if message.get("tool_calls") == []:
            del message["tool_calls"]

        assert decision.stop_reason not in {StopReason.OTHER, StopReason.ERROR}, one["source"]
        assert decision.usage is not None
        assert decision.usage.input + decision.usage.output == decision.usage.total, one["source"]
        assert decision.native is not None
        assert openai_chat.encode([as_message(decision)]) in ([message], [_by_id(message)])


def _by_id(message: dict[str, Any]) -> dict[str, Any]:
    audio = message.get("audio")
    return {**message, "audio": {"id": audio["id"]}} if audio else message


def test_every_stream_is_put_together(exchanges: Exchanges) -> None:
    """The pieces of text are the reply, and the reply ended as a known word says."""
    for one in exchanges:
        events = one.get("chunks") or _events(one.get("sse") or "")
        if not events:
            continue
        stream = openai_chat.StreamedResponse()
        said = "".join(map(stream.feed, events))
        with unknown_words_raise():
            decision = openai_chat.decode_response(stream.response())

        assert said == decision.reply == stream.text, one["source"]
        assert decision.reply or decision.tool_calls
        assert all(isinstance(call.parse(), dict) for call in decision.tool_calls)


def _events(text: str) -> list[Any]:
    lines = [line.removeprefix("data:").strip() for line in text.split("\n") if "data:" in line[:5]]
    return [json.loads(line) for line in lines if line and line != "[DONE]"]
