"""A response that comes in events: https://platform.claude.com/docs/en/build-with-claude/streaming."""

from typing import Any

import pytest

from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.providers import anthropic
from agentic.providers.anthropic import StreamedResponse
from agentic.usage import StopReason, Usage

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": "claude-opus-5",
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 25, "cache_read_input_tokens": 100, "output_tokens": 1},
    },
}
STOP = {"type": "message_stop"}
PING = {"type": "ping"}


def _opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def _delta(index: int, kind: str, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **delta}}


def _closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def _ended(word: str, **usage: Any) -> dict[str, Any]:
    delta = {"stop_reason": word, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 15, **usage}}


def _call(index: int, *fragments: str) -> list[dict[str, Any]]:
    name = f"toolu_{index}"
    return [
        _opened(index, type="tool_use", id=name, name="read", input={}),
        *(_delta(index, "input_json_delta", partial_json=text) for text in fragments),
        _closed(index),
    ]


def _fed(*events: Any) -> StreamedResponse:
    streamed = StreamedResponse()
    for event in events:
        streamed.feed(event)
    return streamed


def test_stream_equals_the_whole_reply() -> None:
    """Thinking and its signature, text and its citations, calls, late usage."""
    streamed = _fed(
        START,
        _opened(0, type="thinking", thinking="", signature=""),
        PING,
        _delta(0, "thinking_delta", thinking="Look ", estimated_tokens=5),
        _delta(0, "thinking_delta", thinking="first."),
        _delta(0, "signature_delta", signature="EqQB"),
        _closed(0),
        _opened(1, type="text", text=""),
        _delta(1, "text_delta", text="I "),
        _delta(1, "text_delta", text="look."),
        _delta(1, "citations_delta", citation={"type": "page_location"}),
        _closed(1),
        *_call(2, "", '{"path"', ': "a.py"}'),
        _ended("tool_use", input_tokens=30, cache_read_input_tokens=None),
        STOP,
    )

    assert streamed.response() == {
        **START["message"],  # type: ignore[dict-item]
        "content": [
            {"type": "thinking", "thinking": "Look first.", "signature": "EqQB"},
            {"type": "text", "text": "I look.", "citations": [{"type": "page_location"}]},
            {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "a.py"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 30, "cache_read_input_tokens": 100, "output_tokens": 15},
    }
    assert anthropic.usage(streamed.response()) == Usage(130, 15, 0, 100)


def test_each_event_gives_its_text() -> None:
    """Other events give none, unknown ones included; a block may start with text."""
    streamed = StreamedResponse()
    events = [
        START,
        _opened(0, type="text", text="Hel"),
        _delta(0, "text_delta", text="lo"),
        _delta(0, "of_next_year", text="?"),
        {"type": "of_next_year"},
        _delta(1, "text_delta", text="."),
    ]

    assert [streamed.feed(event) for event in events] == ["", "Hel", "lo", "", "", "."]
    assert streamed.text == "Hello."


def test_mixed_call_fragments_stay_apart() -> None:
    """By their index, whatever the order."""
    first, second = _call(0, '{"a":', " 1}"), _call(1, '{"b":', " 2}")
    mixed = [event for pair in zip(first, second, strict=True) for event in pair]

    response = _fed(START, *mixed, _ended("tool_use"), STOP).response()

    assert [block["input"] for block in response["content"]] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("text", ['{"path": "a', "[1]", "}{"])
def test_non_object_arguments_stay_as_text(text: str) -> None:
    """The call has them as they are; the wire gets an object back."""
    response = _fed(START, *_call(0, text), _ended("max_tokens"), STOP).response()
    decision = anthropic.decode_response(response)

    assert response["content"][0]["input"] == {"INVALID_JSON": text}
    assert decision.tool_calls[0].arguments == text
    assert decision.stop_reason is StopReason.MAX_TOKENS


def test_argumentless_call_has_empty_object() -> None:
    """No fragment comes, or an empty one."""
    response = _fed(START, *_call(0), *_call(1, ""), _ended("tool_use"), STOP).response()

    assert [block["input"] for block in response["content"]] == [{}, {}]


def test_response_has_what_server_does() -> None:
    """A search, its result, a compaction, a container."""
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_0", "content": []}
    container = {"type": "message_delta", "delta": {"container": {"id": "c1"}}, "context": {"x": 1}}
    response = _fed(
        START,
        _opened(0, type="server_tool_use", id="srvtoolu_0", name="web_search", input={}),
        _delta(0, "input_json_delta", partial_json='{"query": "x"}'),
        _closed(0),
        _opened(1, **result),
        _closed(1),
        _opened(2, type="compaction", content=None),
        _delta(2, "compaction_delta", content="Done.", encrypted_content="x"),
        _closed(2),
        container,
        _ended("end_turn"),
        STOP,
    ).response()

    assert response["content"][0]["input"] == {"query": "x"}
    assert response["content"][1:] == [
        result,
        {"type": "compaction", "content": "Done.", "encrypted_content": "x"},
    ]
    assert (response["container"], response["context"]) == ({"id": "c1"}, {"x": 1})


@pytest.mark.parametrize(
    "events",
    [
        [],
        [START],
        [START, _opened(0, type="text", text=""), _delta(0, "text_delta", text="Hel")],
        [START, *_call(0, "{")[:2]],
        [START, *_call(0, "{")[:2], _ended("tool_use")],
    ],
)
def test_broken_off_stream_is_no_response(events: list[Any]) -> None:
    """Neither in the text nor in the middle of a call."""
    streamed = _fed(*events)

    with pytest.raises(IncompleteReply) as broken:
        streamed.response()

    assert broken.value.received == streamed.text


def test_the_last_event_may_be_missing() -> None:
    """A stop reason with every block closed is an end, and so is the last event alone."""
    text = [_opened(0, type="text", text="Hi."), _closed(0)]

    assert _fed(START, *text, _ended("end_turn")).response()["stop_reason"] == "end_turn"
    assert _fed(START, *text, STOP).response()["content"] == [{"type": "text", "text": "Hi."}]


def test_the_start_may_hold_a_text() -> None:
    """It is streamed like any other, so that the pieces are the whole reply."""
    streamed = StreamedResponse()

    begun = streamed.feed(
        {"type": "message_start", "message": {"content": [{"type": "text", "text": "It is "}]}}
    )

    assert begun == streamed.text == "It is "


def test_a_second_start_replaces_the_first() -> None:
    """A gateway tried again in the middle of a call."""
    again = [START, *_call(0, '{"a": 1}'), _ended("tool_use"), STOP]

    response = _fed(START, *_call(0, '{"b')[:2], *again).response()

    assert [block["input"] for block in response["content"]] == [{"a": 1}]


@pytest.mark.parametrize(
    ("kind", "status"),
    [("overloaded_error", 529), ("rate_limit_error", 429), ("of_next_year", None)],
)
def test_stream_error_is_raised(kind: str, status: int | None) -> None:
    """It has no status of its own; its kind says which one it would have had."""
    error = {"type": "error", "error": {"type": kind, "message": "Overloaded"}}

    with pytest.raises(RequestFailed, match=f"{kind}: Overloaded") as failed:
        _fed(START, error)

    assert failed.value.status == status


def test_early_overflow_names_the_asked_model() -> None:
    """Nothing else tells which it was."""
    said = {"type": "invalid_request_error", "message": "prompt is too long: 210 tokens > 200"}

    with pytest.raises(ContextOverflow) as overflow:
        StreamedResponse(model="claude-x").feed({"type": "error", "error": said})

    assert overflow.value.model == "claude-x"


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ({"input_tokens": 0, "cache_read_input_tokens": 0}, Usage(125, 15, 0, 100)),
        ({"input_tokens": 30, "cache_read_input_tokens": None}, Usage(130, 15, 0, 100)),
        ({"output_tokens": 0}, Usage(125, 1, 0, 100)),
        ({"cache_creation": {"ephemeral_5m_input_tokens": 9}}, Usage(134, 15, 0, 100, 9)),
        ({"output_tokens": "x", "cache_creation": [1]}, Usage(125, 0, 0, 100)),
    ],
)
def test_late_counts_may_be_absent(late: dict[str, Any], expected: Usage) -> None:
    """Some servers repeat those of the input as zeros at the end."""
    response = _fed(START, _ended("end_turn", **late), STOP).response()

    assert anthropic.usage(response) == expected


@pytest.mark.parametrize(
    ("start", "late", "expected"),
    [
        (
            {"input_tokens": 181, "cache_creation_input_tokens": 55_096},
            {"input_tokens": 181, "cache_creation_input_tokens": 0},
            Usage(181, 15),
        ),
        (
            {"input_tokens": 181, "cache_creation": {"ephemeral_5m_input_tokens": 55_096}},
            {"input_tokens": 181, "cache_creation_input_tokens": 0},
            Usage(181, 15),
        ),
        ({"input_tokens": 55_277}, {"input_tokens": 181}, Usage(181, 15)),
        (
            {"input_tokens": 55_277},
            {"input_tokens": 181, "cache_read_input_tokens": 55_096},
            Usage(55_277, 15, 0, 55_096),
        ),
        (
            {"input_tokens": 5, "cache_creation": {"ephemeral_1h_input_tokens": 6}},
            {"input_tokens": 5, "cache_creation": {"ephemeral_1h_input_tokens": 4}},
            Usage(9, 15, 0, 0, 4),
        ),
    ],
)
def test_the_last_report_is_final(
    start: dict[str, Any], late: dict[str, Any], expected: Usage
) -> None:
    """Counts are cumulative, so that a later one replaces an earlier one, also a larger one."""
    begun = {"type": "message_start", "message": {"usage": start}}

    response = _fed(begun, _ended("end_turn", **late), STOP).response()

    assert anthropic.usage(response) == expected


def test_the_latest_of_several_reports_counts() -> None:
    """Tools of the server make several."""
    reports = [_ended("pause_turn", input_tokens=40, output_tokens=7), _ended("end_turn")]

    assert anthropic.usage(_fed(START, *reports, STOP).response()) == Usage(140, 15, 0, 100)


class _Piece(str):
    """A text that counts the characters that are copied when it is put behind another."""

    __slots__ = ()
    copied = 0

    def __radd__(self, before: str) -> str:
        type(self).copied += len(before) + len(self)
        return str.__add__(before, self)


@pytest.mark.parametrize(
    ("kind", "field"),
    [("text_delta", "text"), ("thinking_delta", "thinking"), ("input_json_delta", "partial_json")],
)
def test_long_reply_keeps_pieces_cheap(kind: str, field: str) -> None:
    """What has come is not copied again with every delta."""
    _Piece.copied = 0
    fragments = ['{"a": "', *["tick"] * 500, '"}']

    streamed = _fed(START, *(_delta(0, kind, **{field: _Piece(text)}) for text in fragments), STOP)

    assert "tick" * 500 in str(streamed.response()["content"])
    assert streamed.text in {"", "".join(fragments)}
    assert _Piece.copied == 0


def test_citations_are_collected_in_order() -> None:
    """Behind those that the block started with."""
    block = _opened(0, type="text", text="", citations=[1])
    cited = [_delta(0, "citations_delta", citation=number) for number in (2, 3)]

    response = _fed(START, block, *cited, STOP).response()

    assert response["content"] == [{"type": "text", "text": "", "citations": [1, 2, 3]}]
