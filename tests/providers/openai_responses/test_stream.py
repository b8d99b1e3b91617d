"""Events to the response that they make up."""

import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.providers.openai_responses import StreamedResponse, decode_response

CREATED = {
    "type": "response.created",
    "response": {"id": "resp_1", "model": "gpt-5", "status": "in_progress", "output": []},
}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "Look first."}],
}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look."}],
}
CALLS = [
    {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": "read",
        "arguments": f'{{"path": "{number}"}}',
        "status": "completed",
    }
    for number in (1, 2)
]
OUTPUT = [REASONING, SAID, *CALLS]
WHOLE = {
    "id": "resp_1",
    "model": "gpt-5",
    "status": "completed",
    "output": OUTPUT,
    "usage": {"input_tokens": 9, "output_tokens": 7, "total_tokens": 16},
}


def delta(kind: str, text: str, index: int, **more: Any) -> dict[str, Any]:
    """Make the event of one piece."""
    return {"type": f"response.{kind}.delta", "delta": text, "output_index": index, **more}


def added(index: int, item: dict[str, Any]) -> dict[str, Any]:
    """Make the event that announces an item."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


# In the order of https://platform.openai.com/docs/guides/streaming-responses, calls interleaved.
PIECES = [
    CREATED,
    {"type": "response.in_progress", "response": CREATED["response"]},
    added(0, {**REASONING, "summary": []}),
    {
        "type": "response.reasoning_summary_part.added",
        "output_index": 0,
        "summary_index": 0,
        "part": {"type": "summary_text", "text": ""},
    },
    delta("reasoning_summary_text", "Look ", 0, summary_index=0),
    delta("reasoning_summary_text", "first.", 0, summary_index=0),
    added(1, {**SAID, "content": []}),
    {
        "type": "response.content_part.added",
        "output_index": 1,
        "content_index": 0,
        "part": {"type": "output_text", "text": ""},
    },
    {"type": "keepalive", "sequence_number": 3},
    delta("output_text", "I ", 1, content_index=0),
    delta("output_text", "look.", 1, content_index=0),
    {"type": "response.output_text.done", "output_index": 1, "content_index": 0, "text": "I look."},
    added(2, {**CALLS[0], "arguments": ""}),
    added(3, {**CALLS[1], "arguments": ""}),
    delta("function_call_arguments", '{"path": ', 2, item_id="fc_1"),
    delta("function_call_arguments", '{"path": ', 3, item_id="fc_2"),
    delta("function_call_arguments", '"1"}', 2, item_id="fc_1"),
    delta("function_call_arguments", '"2"}', 3, item_id="fc_2"),
]
END = {"type": "response.completed", "response": WHOLE}


def fed(events: Iterable[dict[str, Any]]) -> tuple[StreamedResponse, list[str]]:
    """Feed events; give the stream and the pieces of text that came of them."""
    streamed = StreamedResponse()
    return streamed, [piece for piece in map(streamed.feed, events) if piece]


def test_pieces_are_text_end_is_response() -> None:
    """The assembled response is the one of the last event."""
    streamed, pieces = fed([*PIECES, END])

    assert pieces == ["I ", "look."]
    assert streamed.text == "I look."
    assert streamed.response() == WHOLE


def test_empty_end_uses_what_had_arrived() -> None:
    """Some servers send the items in pieces only."""
    streamed, _ = fed([*PIECES, {**END, "response": {**WHOLE, "output": []}}])

    assert streamed.response() == WHOLE


def test_done_item_replaces_its_pieces() -> None:
    """An item's last event carries all of it, encrypted reasoning included."""
    done = {
        "type": "response.output_item.done",
        "output_index": 0,
        "item": {**REASONING, "encrypted_content": "gAAAA"},
    }

    streamed, _ = fed([*PIECES, done, {**END, "response": {**WHOLE, "output": []}}])

    assert streamed.response()["output"][0]["encrypted_content"] == "gAAAA"


def test_pieceless_text_comes_at_end() -> None:
    """A server that streams no pieces still says something."""
    streamed, pieces = fed([CREATED, END])

    assert pieces == ["I look."]
    assert decode_response(streamed.response()).reply == streamed.text


def test_llama_cpp_names_items_by_id() -> None:
    """No index beside them, and a function's call has no id of its own.

    https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-task.cpp
    """
    calls = [{k: v for k, v in call.items() if k != "id"} for call in CALLS]
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "item": {**SAID, "content": []}},
        {"type": "response.output_text.delta", "item_id": "msg_1", "delta": "I look."},
    ]
    for call in calls:
        events += [
            {"type": "response.output_item.added", "item": {**call, "arguments": ""}},
            {
                "type": "response.function_call_arguments.delta",
                "item_id": call["call_id"],
                "delta": call["arguments"],
            },
        ]
    end = {
        "type": "response.completed",
        "response": {"status": "completed", "output": []},
        "timings": {"prompt_n": 5, "predicted_n": 3},
    }

    streamed, _ = fed([*events, end])
    decision = decode_response(streamed.response())

    assert decision.reply == "I look."
    assert [call.arguments for call in decision.tool_calls] == [c["arguments"] for c in calls]
    assert decision.usage is not None
    assert decision.usage.output == 3


@pytest.mark.parametrize("kind", ["response.incomplete", "response.cancelled", "response.done"])
def test_a_stream_may_end_otherwise(kind: str) -> None:
    """Its response says how."""
    cut = {**WHOLE, "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}

    streamed, _ = fed([*PIECES, {"type": kind, "response": cut}])

    assert decode_response(streamed.response()).stop_reason == "max_tokens"


@pytest.mark.parametrize("count", [0, 1, 10, len(PIECES) - 1, len(PIECES)])
def test_broken_off_stream_is_no_reply(count: int) -> None:
    """The error holds the text that had arrived, in the middle of a call as well."""
    streamed, pieces = fed(PIECES[:count])

    with pytest.raises(IncompleteReply) as broken:
        streamed.response()

    assert broken.value.received == "".join(pieces)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "try again", "param": None},
        {"type": "error", "error": {"code": "server_error", "message": "try again"}},
        {"error": {"code": "server_error", "message": "try again"}},
        {
            "type": "response.failed",
            "response": {
                "status": "failed",
                "error": {"code": "server_error", "message": "try again"},
            },
        },
        {
            "type": "response.done",
            "response": {
                "status": "failed",
                "error": {"code": "server_error", "message": "try again"},
            },
        },
    ],
)
def test_stream_failure_is_raised(event: dict[str, Any]) -> None:
    """Whether it comes as an event of its own or as a failed response."""
    streamed, _ = fed(PIECES)

    with pytest.raises(RequestFailed, match="server_error: try again"):
        streamed.feed(event)


@pytest.mark.parametrize("event", [{"type": "error"}, {"type": "response.failed", "response": {}}])
def test_failure_without_reason_is_one(event: dict[str, Any]) -> None:
    """The error says so much."""
    with pytest.raises(RequestFailed, match="without a reason"):
        StreamedResponse().feed(event)


def test_streamed_overflow_is_raised_as_one() -> None:
    """With the model that the first event named."""
    streamed, _ = fed([CREATED])
    error = {
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window of this model.",
    }

    with pytest.raises(ContextOverflow) as overflow:
        streamed.feed({"type": "response.failed", "response": {"error": error}})

    assert overflow.value.model == "gpt-5"


def test_early_overflow_names_the_asked_model() -> None:
    """A stream may begin with its error."""
    with pytest.raises(ContextOverflow) as overflow:
        StreamedResponse("gpt-5").feed({"type": "error", "code": "context_length_exceeded"})

    assert overflow.value.model == "gpt-5"


@pytest.mark.parametrize(
    ("kind", "index"),
    [
        ("output_text", {"content_index": 0}),
        ("reasoning_summary_text", {"summary_index": 0}),
        ("function_call_arguments", {}),
    ],
)
def test_piece_costs_only_itself(kind: str, index: dict[str, int]) -> None:
    """However much came before it: nothing is copied until the end."""
    streamed = StreamedResponse()
    streamed.feed(delta(kind, "x" * 1_000_000, 0, **index))
    piece = delta(kind, "and", 0, **index)
    streamed.feed(piece)
    tracemalloc.start()

    streamed.feed(piece)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100_000
    streamed.feed({"type": "response.completed", "response": {"output": []}})
    assert f"{'x' * 1_000_000}andand" in str(streamed.response()["output"])


@pytest.mark.parametrize(
    "event",
    [
        None,
        "x",
        {"type": "response.output_text.delta"},
        {"type": "response.output_text.delta", "delta": 3, "content_index": -4},
        {"type": "response.output_item.added", "item": "x"},
        {"type": "response.output_item.done", "item": {"content": None}, "output_index": "x"},
        {"type": "response.content_part.added", "part": None},
        {"type": "response.function_call_arguments.delta", "output_index": 9, "delta": "{"},
        {"type": "response.completed"},
    ],
)
def test_an_odd_event_adds_nothing(event: object) -> None:
    """And it harms nothing that comes after."""
    streamed = StreamedResponse()

    assert streamed.feed(event) == ""
    assert streamed.feed(END) == "I look."
    assert streamed.response() == WHOLE
