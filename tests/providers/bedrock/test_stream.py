"""Streams put together: the reply is the one that would not have been streamed."""

import json
import sys
import tracemalloc
from types import FrameType
from typing import Any

import pytest

from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.messages import Message
from agentic.providers import bedrock
from agentic.providers.bedrock._decoding import for_boto3
from agentic.usage import StopReason


def fed(*events: Any) -> bedrock.StreamedResponse:
    """Feed events."""
    reply = bedrock.StreamedResponse("model")
    for event in events:
        reply.feed(event)
    return reply


def delta(index: int, **given: Any) -> dict[str, Any]:
    """Make a delta."""
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": given}}


def started(index: int, **given: Any) -> dict[str, Any]:
    """Make the start of a block."""
    return {"contentBlockStart": {"contentBlockIndex": index, "start": given}}


def content(*events: Any) -> list[Any]:
    """Return the blocks that events make."""
    reply = fed(*events, {"messageStop": {"stopReason": "end_turn"}}).response()
    return reply["output"]["message"]["content"]


def test_a_text_comes_in_pieces(stream: Any) -> None:
    """Usage comes after the end, and the padding is dropped."""
    reply = fed(*stream.text("Hel", "lo."))

    assert reply.text == "Hello."
    assert reply.response() == {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello."}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 4, "totalTokens": 14},
        "metrics": {"latencyMs": 1},
    }


def test_reasoning_comes_with_its_signature() -> None:
    """Or redacted, in pieces that were encoded one by one."""
    assert content(
        delta(0, reasoningContent={"text": "H"}),
        delta(0, reasoningContent={"text": "m."}),
        delta(0, reasoningContent={"signature": "c2ln"}),
        delta(1, reasoningContent={"redactedContent": b"\x00"}),
        delta(1, reasoningContent={"redactedContent": "/w=="}),
        delta(2, text=""),
    ) == [
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "AP8="}},
    ]


def test_calls_may_come_simultaneously() -> None:
    """Their fragments are told apart by the block's index; no fragment is no argument."""
    calls = content(
        started(1, toolUse={"toolUseId": "t1", "name": "a"}),
        started(2, toolUse={"toolUseId": "t2", "name": "b", "type": "server_tool_use"}),
        delta(1, toolUse={"input": '{"x":'}),
        delta(2, toolUse={"input": ""}),
        delta(1, toolUse={"input": " 1}"}),
    )

    assert calls == [
        {"toolUse": {"toolUseId": "t1", "name": "a", "input": {"x": 1}}},
        {"toolUse": {"toolUseId": "t2", "name": "b", "type": "server_tool_use", "input": {}}},
    ]


def test_cut_off_arguments_stay_text(stream: Any) -> None:
    """The call is told, and why it is not whole."""
    reply = fed(*stream.call("t1", "a", ['{"x'], stop="max_tokens"))

    decision = bedrock.decode_response(reply.response())

    assert decision.tool_calls[0].arguments == '{"x'
    assert decision.stop_reason is StopReason.MAX_TOKENS


@pytest.mark.parametrize("depth", [150, 400, 900, 2_000, 100_000])
def test_overly_deep_arguments_stay_text(stream: Any, depth: int) -> None:
    """They are the model's mistake, and no reason to lose the reply."""
    arguments = '{"a":' * depth + "1" + "}" * depth
    reply = fed(*stream.call("t1", "a", [arguments]))

    decision = bedrock.decode_response(reply.response())

    assert decision.tool_calls[0].arguments == arguments
    called = Message("assistant", tool_calls=decision.tool_calls, native=decision.native)
    request = for_boto3(bedrock.encode_request([Message("user", "Hi"), called]))
    call = request["messages"][1]["content"][0]["toolUse"]
    assert call["input"] == {"unparsed_arguments": arguments}


@pytest.mark.parametrize(
    "piece", [{"text": "{}"}, {"toolUse": {"input": "{}"}}, {"reasoningContent": {"text": "{}"}}]
)
def test_piece_costs_only_itself(piece: dict[str, Any]) -> None:
    """However much came before it."""
    long = json.loads(json.dumps(piece).replace("{}", "x" * 1_000_000))
    reply = fed(delta(0, **long), delta(0, **piece))
    tracemalloc.start()

    reply.feed(delta(0, **piece))

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000


def test_citations_results_and_images_come_too() -> None:
    """Each as the block that Converse would have given."""
    assert content(
        delta(0, text="So."),
        delta(0, citation={"title": "t", "location": {}}),
        started(1, toolResult={"toolUseId": "s1", "status": "success"}),
        delta(1, toolResult=[{"text": "a"}]),
        delta(1, toolResult=[{"text": "b"}, {"json": {}}]),
        started(2, image={"format": "png"}),
        delta(2, image={"source": {"bytes": "AA=="}}),
        delta(2, image={"source": {"bytes": "/w=="}}),
    ) == [
        {
            "citationsContent": {
                "content": [{"text": "So."}],
                "citations": [{"title": "t", "location": {}}],
            }
        },
        {
            "toolResult": {
                "toolUseId": "s1",
                "status": "success",
                "content": [{"text": "ab"}, {"json": {}}],
            }
        },
        {"image": {"format": "png", "source": {"bytes": "AP8="}}},
    ]


def test_image_is_decoded_once() -> None:
    """However many pieces it comes in."""
    decoded: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == "from_base64":
            decoded.append(frame.f_locals["text"])

    pieces = ["AAAA"] * 50
    sys.setprofile(note)
    try:
        (block,) = content(*(delta(0, image={"source": {"bytes": piece}}) for piece in pieces))
    finally:
        sys.setprofile(None)

    assert block == {"image": {"source": {"bytes": "".join(pieces)}}}
    assert decoded == pieces


def test_unknown_events_and_junk_add_nothing() -> None:
    """Keep-alives of gateways, too."""
    junk = [None, {}, 3, {"ping": {}}, {"contentBlockDelta": None}, delta(0, text=None), delta(0)]
    odd = [delta(0, reasoningContent="x", toolUse=1, image=2), started(0, toolUse=3), started(0)]

    assert content(*junk, *odd) == []


def test_without_end_there_is_no_reply(stream: Any) -> None:
    """What had come is in the error; a reply without usage is whole."""
    events = stream.text("Hel", "lo.")
    with pytest.raises(IncompleteReply) as broken:
        fed(*events[:-2]).response()

    assert broken.value.received == "Hello."
    assert bedrock.decode_response(fed(*events[:-1]).response()).usage is None


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("internalServerException", 500),
        ("modelStreamErrorException", 424),
        ("validationException", 400),
        ("throttlingException", 429),
        ("serviceUnavailableException", 503),
        ("newException", None),
    ],
)
def test_stream_error_is_raised(kind: str, status: int | None) -> None:
    """With the status that it would have had as an answer."""
    with pytest.raises(RequestFailed, match="no luck") as failed:
        fed({kind: {"message": "no luck"}})

    assert failed.value.status == status


def test_overflow_in_stream_is_one() -> None:
    """It names the model that was asked."""
    with pytest.raises(ContextOverflow) as overflow:
        fed({"validationException": {"message": "context_length_exceeded"}})

    assert overflow.value.model == "model"
