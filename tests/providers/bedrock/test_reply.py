"""What a reply says, from AWS's examples and from junk."""

import json
from typing import Any

import pytest

from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers import bedrock
from agentic.providers.bedrock._decoding import for_boto3
from agentic.usage import StopReason, Usage, unknown_words_raise
from agentic.usage._stop import UnknownStopWord

CALL = {"toolUse": {"toolUseId": "t1", "name": "top_song", "input": {"sign": "WZPZ"}}}


def said(*content: dict[str, Any], stop: Any = "end_turn") -> dict[str, Any]:
    """Make a reply."""
    return {"output": {"message": {"role": "assistant", "content": [*content]}}, "stopReason": stop}


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", StopReason.STOP),
        ("stop_sequence", StopReason.STOP),
        ("tool_use", StopReason.TOOL),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.MAX_TOKENS),
        ("guardrail_intervened", StopReason.CONTENT_FILTER),
        ("content_filtered", StopReason.CONTENT_FILTER),
        ("malformed_model_output", StopReason.ERROR),
        ("malformed_tool_use", StopReason.ERROR),
    ],
)
def test_every_stop_word_is_known(word: str, reason: StopReason) -> None:
    """Those of the API reference; the provider's own word is kept."""
    with unknown_words_raise():
        decision = bedrock.decode_response(said({"text": "Hi"}, stop=word))

    assert (decision.stop_reason, decision.stop_word) == (reason, word)
    assert set(bedrock.ADAPTER.stop_words.reasons) >= {word}


def test_reply_waits_for_its_calls() -> None:
    """Whatever the word says, unless it was cut off."""
    assert bedrock.stop_reason(said(CALL)) is StopReason.TOOL
    assert bedrock.stop_reason(said(CALL, stop=None)) is StopReason.TOOL
    assert bedrock.stop_reason(said(CALL, stop="max_tokens")) is StopReason.MAX_TOKENS


def test_a_new_word_is_other() -> None:
    """In tests it raises."""
    assert bedrock.stop_reason(said(stop="bored")) is StopReason.OTHER
    with unknown_words_raise(), pytest.raises(UnknownStopWord):
        bedrock.stop_reason(said(stop="bored"))


def test_provider_run_tools_are_no_calls() -> None:
    """It stays in the payload."""
    ran = {"toolUse": {**CALL["toolUse"], "type": "server_tool_use"}}

    decision = bedrock.decode_response(said(ran, {"text": "So."}))

    assert decision.tool_calls == ()
    assert decision.stop_reason is StopReason.STOP
    assert decision.native is not None


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (
            {
                "inputTokens": 2,
                "outputTokens": 5,
                "totalTokens": 1329,
                "cacheReadInputTokens": 1000,
                "cacheWriteInputTokens": 322,
            },
            Usage(1324, 5, 1329, 1000, 322),
        ),
        ({"inputTokens": 1, "cacheReadInputTokenCount": 7}, Usage(8, cache_read=7)),
        (
            {"inputTokens": 1, "cacheDetails": [{"ttl": "5m", "inputTokens": 4}, None]},
            Usage(5, cache_write=4),
        ),
        ({"inputTokens": None, "outputTokens": "many", "totalTokens": -1}, Usage()),
        ({"inputTokens": 2.0, "outputTokens": 3.9, "new": {}}, Usage(2, 3)),
    ],
)
def test_the_cache_stands_beside_the_input(used: Any, expected: Usage) -> None:
    """It is added; what is no number counts as nothing."""
    assert bedrock.usage({"usage": used}) == expected
    assert bedrock.usage({"metadata": {"usage": used}}) == expected


@pytest.mark.parametrize("depth", [150, 400, 850])
def test_overly_deep_arguments_are_read(depth: int) -> None:
    """A reply that was not streamed holds them as data."""
    arguments = '{"a": ' * depth + "1" + "}" * depth
    reply = said({"toolUse": {"toolUseId": "t1", "name": "x", "input": json.loads(arguments)}})

    decision = bedrock.decode_response(reply)

    assert decision.tool_calls[0].arguments == arguments
    called = Message("assistant", tool_calls=decision.tool_calls, native=decision.native)
    request = for_boto3(bedrock.encode_request([Message("user", "Hi"), called]))
    call = request["messages"][1]["content"][0]["toolUse"]
    assert call["input"] == {"unparsed_arguments": arguments}


def test_endless_data_raises_nothing() -> None:
    """It reads as absent."""
    deep: Any = None
    for _ in range(50_000):
        deep = {"content": [deep]}

    assert bedrock.decode_response(said({"text": "Hi"}, deep)).reply == "Hi"
    assert bedrock.validate({"messages": [deep]})


@pytest.mark.parametrize("junk", [None, {}, [], 3, "x", {"output": []}, {"usage": 3, "output": 1}])
def test_junk_is_an_empty_decision(junk: Any) -> None:
    """Reading a reply never raises."""
    assert bedrock.decode_response(junk) == Decision(provider="bedrock")
    assert bedrock.usage(junk) == Usage()
    assert bedrock.stop_reason(junk) is StopReason.STOP
