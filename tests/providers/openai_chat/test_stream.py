import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic.errors import ContextOverflow, IncompleteReply, RequestFailed
from agentic.providers import openai_chat
from agentic.usage import StopReason, Usage

USED = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


def _event(word: str | None = None, /, **delta: Any) -> dict[str, Any]:
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": word}],
    }


def _call(
    arguments: Any, index: int | None = 0, call_id: str | None = None, name: str | None = None
) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name is not None else {})
    call: dict[str, Any] = {"function": function}
    call |= {"index": index} if index is not None else {}
    call |= {"id": call_id, "type": "function"} if call_id is not None else {}
    return _event(tool_calls=[call])


def _whole(*events: Any) -> dict[str, Any]:
    stream = openai_chat.StreamedResponse()
    for event in events:
        stream.feed(event)
    return stream.response()


def test_streamed_reply_equals_the_unstreamed_one() -> None:
    """Texts, thinking, usage in the last event, and what stands beside them."""
    events = [
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}], "id": "", "created": 0},
        _event(role="assistant", content="", refusal=None, reasoning_content="H"),
        _event(reasoning_content="m."),
        {**_event(content="Yes"), "obfuscation": "zz"},
        "not an event",
        {},
        {"choices": [None]},
        _event(content=", sir."),
        _event("stop"),
        {"id": "x", "choices": [], "usage": USED},
    ]
    message = {
        "role": "assistant",
        "content": "Yes, sir.",
        "refusal": None,
        "reasoning_content": "Hm.",
    }

    assert _whole(*events) == {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "created": 0,
        "prompt_filter_results": [{"prompt_index": 0}],
        "usage": USED,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }


def test_each_text_piece_is_given_immediately() -> None:
    """Several tokens may come at once; what is no text gives none."""
    stream = openai_chat.StreamedResponse()
    events = [_event(role="assistant"), _event(content="Hel"), _event(reasoning="x"), _call("")]

    assert [stream.feed(event) for event in events] == ["", "Hel", "", ""]
    assert stream.text == "Hel"


@pytest.mark.parametrize(
    "deltas",
    [
        [{"refusal": "I "}, {"refusal": "cannot."}],
        [
            {"content": "", "audio": {"id": "a", "transcript": "He"}},
            {"audio": {"transcript": "y"}},
            {"audio": {"data": "AAAA"}},
        ],
        [{"content": "Yes.", "refusal": ""}, {"content": "", "audio": {"transcript": "Yes."}}],
    ],
)
def test_pieces_are_the_reply_anywhere(deltas: list[dict[str, Any]]) -> None:
    """A refusal, and what is said aloud, where there is no content."""
    stream = openai_chat.StreamedResponse()

    pieces = [stream.feed(event) for event in [*(_event(**d) for d in deltas), _event("stop")]]

    reply = openai_chat.decode_response(stream.response()).reply
    assert "".join(pieces) == stream.text == reply
    assert len(reply) >= 3


@pytest.mark.parametrize("word", ["null", "not_finished", ""])
def test_invalid_word_ends_no_stream(word: str) -> None:
    """DashScope and watsonx put one into every event but the last."""
    going = _event(word, content="Hi.")

    with pytest.raises(IncompleteReply):
        _whole(going)
    body = _whole(going, _event("stop"), _event(word))

    assert body["choices"][0]["finish_reason"] == "stop"


def test_another_idless_name_is_another_call() -> None:
    """Also under one index, and before any argument."""
    events = [_call("", 0, "", "get_time"), _call("", 0, "", "get_date"), _event("tool_calls")]

    decision = openai_chat.decode_response(_whole(*events))

    assert [call.name for call in decision.tool_calls] == ["get_time", "get_date"]


def test_name_in_pieces_is_one() -> None:
    """Under an id it may grow until the arguments begin."""
    events = [_call("", 0, "a", "get_"), _call(None, 0, None, "time"), _call("{}", 0)]

    decision = openai_chat.decode_response(_whole(*events, _event("tool_calls")))

    assert [(call.name, call.arguments) for call in decision.tool_calls] == [("get_time", "{}")]


PIECES: dict[str, list[dict[str, Any]]] = {
    "OpenAI: id and name once, calls interleaved": [
        _call("", 0, "a", "read"),
        _call("", 1, "b", "list"),
        _call('{"p":', 0),
        _call("{", 1),
        _call("1}", 0),
        _call("}", 1),
    ],
    "llama-cpp-python: id and name in every piece": [
        _call("", 0, "a", "read"),
        _call('{"p":', 0, "a", "read"),
        _call("1}", 0, "a", "read"),
        _call("{}", 1, "b", "list"),
    ],
    "no index": [
        _call('{"p":', None, "a", "read"),
        _call("1}", None),
        _call("{}", None, "b", "list"),
    ],
    "no index, the id in every piece": [
        _call('{"p":', None, "a", "read"),
        _call("1}", None, "a"),
        _call("{}", None, "b", "list"),
    ],
    "all with the index 0": [_call('{"p":1}', 0, "a", "read"), _call("{}", 0, "b", "list")],
    "null in what is not repeated": [
        _call(None, 0, "a", "read"),
        _call('{"p":1}', 0, None, ""),
        _call("{}", 1, "b", "list"),
    ],
}


@pytest.mark.parametrize("server", PIECES)
def test_pieces_of_calls_are_put_together(server: str) -> None:
    """However a server marks which piece belongs to which call."""
    decision = openai_chat.decode_response(_whole(*PIECES[server], _event("tool_calls")))

    calls = [(call.id, call.name, call.arguments) for call in decision.tool_calls]
    assert calls == [("a", "read", '{"p":1}'), ("b", "list", "{}")]


def test_calls_without_ids_are_told_apart() -> None:
    """By a name that comes when the arguments of the last call are whole."""
    body = _whole(_call('{"p":1}', 0, None, "read"), _call("{}", 0, None, "list"), _event("stop"))

    decision = openai_chat.decode_response(body)

    assert [(call.id, call.name) for call in decision.tool_calls] == [("", "read"), ("", "list")]
    assert decision.stop_reason is StopReason.TOOL


def test_idless_calls_of_tool_stay_apart() -> None:
    """Also where they have no arguments."""
    body = _whole(*[_call("{}", 0, None, "now")] * 2, _event("tool_calls"))

    assert [call.name for call in openai_chat.decode_response(body).tool_calls] == ["now", "now"]


def test_object_arguments_keep_fields_beside_them() -> None:
    """Gemini's signature stays with its call."""
    extra = {"google": {"thought_signature": "sig"}}
    event = _event(
        "stop",
        tool_calls=[
            {
                "id": "a",
                "extra_content": extra,
                "type": "function",
                "function": {"name": "f", "arguments": {"p": 1}},
            }
        ],
    )

    call = _whole(event)["choices"][0]["message"]["tool_calls"][0]

    assert call["extra_content"] == extra
    assert call["function"] == {"name": "f", "arguments": {"p": 1}}


def test_mistrals_chunks_are_joined_by_kind() -> None:
    """Thoughts first, then texts, which may come as bare texts."""
    thought = [
        [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}] for text in "ab"
    ]
    stream = openai_chat.StreamedResponse()
    events = [
        _event(content=""),
        *(_event(content=each) for each in thought),
        _event(content="Y"),
        _event("stop", content=[{"type": "text", "text": "es"}, 3]),
    ]

    said = [stream.feed(event) for event in events]

    assert said == ["", "", "", "Y", "es"]
    assert stream.response()["choices"][0]["message"]["content"] == [
        {"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]},
        {"type": "text", "text": "Yes"},
    ]


def test_reasoning_details_join_by_index() -> None:
    """A signature comes in a piece of its own."""
    detail = {"type": "reasoning.text", "index": 0}
    events = [_event(reasoning_details=[{**detail, "text": text}]) for text in ("a", "b")]
    sealed = {"type": "reasoning.encrypted", "index": 1, "data": "ZZ"}

    body = _whole(
        *events,
        _event(reasoning_details=[{**detail, "signature": "s"}]),
        _event("stop", reasoning_details=[sealed, 3]),
    )

    assert body["choices"][0]["message"]["reasoning_details"] == [
        {**detail, "text": "ab", "signature": "s"},
        sealed,
        3,
    ]


def test_sound_and_legacy_call_are_joined() -> None:
    """The transcript is the text; a name may come again."""
    events = [
        _event(audio={"id": "au", "transcript": "He"}),
        _event(audio={"transcript": "y", "data": "A"}),
        _event(function_call={"name": "f", "arguments": "{"}),
        _event("function_call", function_call={"name": "f", "arguments": "}"}),
    ]

    message = _whole(*events)["choices"][0]["message"]

    assert message["audio"] == {"id": "au", "transcript": "Hey", "data": "A"}
    assert message["function_call"] == {"name": "f", "arguments": "{}"}


def test_several_choices_are_kept_apart() -> None:
    """The text that is given is the first one's."""
    other = {"index": 1, "delta": {"content": "No."}, "finish_reason": "stop"}
    events = [_event("stop", content="Yes."), {"choices": [other]}]
    stream = openai_chat.StreamedResponse()

    assert [stream.feed(event) for event in events] == ["Yes.", ""]
    said = [choice["message"]["content"] for choice in stream.response()["choices"]]
    assert said == ["Yes.", "No."]


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": USED},
        {"choices": [], "x_groq": {"id": "r", "usage": USED}},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": None, "usage": USED}]},
    ],
)
def test_any_last_event_may_hold_usage(last: dict[str, Any]) -> None:
    """It stands in the reply's own place in the end."""
    assert openai_chat.usage(_whole(_event("stop", content="Hi."), last)) == Usage(7, 3, 10)


@pytest.mark.parametrize(
    "events", [[], [_event(content="He")], [_event(content="He"), _call('{"p', 0, "a", "read")]]
)
def test_stream_without_end_is_no_reply(events: list[Any]) -> None:
    """The error holds the text that had come."""
    with pytest.raises(IncompleteReply) as broken:
        _whole(*events)

    assert broken.value.received == ("He" if events else "")


@pytest.mark.parametrize("end", ["[DONE]", "data: [DONE]", {"choices": [], "usage": USED}])
def test_stream_may_end_without_reason(end: Any) -> None:
    """Snowflake's never give one: the usage, or the mark of the transport, ends them."""
    decision = openai_chat.decode_response(_whole(_event(content="Hi."), end))

    assert (decision.reply, decision.stop_reason) == ("Hi.", StopReason.STOP)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"error": {"code": 502, "message": "gone"}, "choices": []}, 502),
        ({"error": "gone"}, None),
        ({"object": "error", "message": "gone", "code": 500}, 500),
        ({"error": {"code": "server_error", "message": "gone"}}, None),
    ],
)
def test_stream_error_is_raised(error: dict[str, Any], status: int | None) -> None:
    """With the status that it names."""
    with pytest.raises(RequestFailed, match="gone") as failed:
        _whole(_event(content="He"), error)

    assert failed.value.status == status


def test_overflow_in_stream_is_one() -> None:
    """So that the loop compacts and asks again."""
    message = (
        "This model's maximum context length is 4097 tokens. However, your messages resulted "
        "in 5000 tokens. Please reduce the length of the messages."
    )

    with pytest.raises(ContextOverflow):
        _whole({"model": "m", "error": {"message": message, "code": "context_length_exceeded"}})


def test_overflow_in_stream_names_the_model() -> None:
    """That of the events before it."""
    message = "This model's maximum context length is 4097 tokens. Please reduce the length."

    with pytest.raises(ContextOverflow) as failed:
        _whole(_event(content="He"), {"error": {"message": message}})

    assert failed.value.model == "m"


def test_assembled_json_leaves_events_alone() -> None:
    """An event may be fed to two readers."""
    events = [_call("{", 0, "a", "f"), _event("stop", reasoning_details=[{"text": "a"}])]
    before = json.dumps(events)

    first, second = _whole(*events), _whole(*events)

    assert json.dumps(first) == json.dumps(second)
    assert json.dumps(events) == before


THOUGHT = {"type": "thinking", "thinking": "Look first.", "signature": "EqQB"}
SECOND = {"type": "thinking", "thinking": "Now act.", "signature": "Zm9v"}
SEALED = {"type": "redacted_thinking", "data": "x"}


def _thought(text: Any, signature: str | None = "") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


@pytest.mark.parametrize(
    "blocks",
    [
        [
            *(_thought("Look "), _thought("first."), _thought("", "EqQB"), SEALED),
            *(_thought("Now act.", None), _thought(None, "Zm9v")),
        ],
        [_thought("Look "), _thought("first."), THOUGHT, SEALED, _thought("Now act."), SECOND],
        [THOUGHT, SEALED, SECOND],
    ],
    ids=["fragments", "the whole text again", "finished blocks"],
)
def test_thinking_blocks_of_litellm_are_joined(blocks: list[Any]) -> None:
    """Each has its text and its signature, and may go back to Anthropic."""
    deltas = [
        {"thinking_blocks": [each], "provider_specific_fields": {"thinking_blocks": [each]}}
        for each in blocks
    ]
    events = [_event(content="", **delta) for delta in deltas]

    message = _whole(*events, _event("stop"))["choices"][0]["message"]

    assert message["thinking_blocks"] == [THOUGHT, SEALED, SECOND]
    assert message["provider_specific_fields"] == {"thinking_blocks": [THOUGHT, SEALED, SECOND]}


@pytest.mark.slow
def test_many_calls_cost_linear_time(
    growth: Callable[[Callable[[int], object], int], float],
) -> None:
    """A scan of the calls for each piece took 23 s for 32,000 of them."""

    def read(count: int) -> None:
        calls = (_call("{}", n, f"c{n}", "read") for n in range(count))
        message = _whole(_event(content="Hm."), *calls, _event("tool_calls"))
        assert openai_chat.decode_response(message).stop_reason is StopReason.TOOL

    assert growth(read, 4_000) < 10


@pytest.mark.slow
def test_long_text_keeps_pieces_cheap(
    growth: Callable[[Callable[[int], object], int], float],
) -> None:
    """The text before the pieces of a call is not copied with each of them."""

    def read(count: int) -> None:
        texts = [_event(content="word " * 400)] * count
        pieces = [_call("1", 0, "c", "read")] * count
        message = _whole(*texts, *pieces, _event("tool_calls"))
        assert openai_chat.decode_response(message).stop_reason is StopReason.TOOL

    assert growth(read, 1_000) < 10


@pytest.mark.parametrize(
    "deltas",
    [
        [{"reasoning": "Hm."}, {"reasoning": [{"text": "Hm."}]}],
        [{"reasoning": ["Hm."]}, {"reasoning": "Hm."}],
        [{"content": [{"type": "thinking", "thinking": each}]} for each in ("x", [], "x")],
        [{"content": [{"type": "text"}]}, {"content": [{"type": "text", "text": "Hi."}]}],
        [{"content": [{"type": "text", "text": {}}]}, {"content": "Hi."}],
        [{"tool_calls": [{"index": [1], "id": 7, "function": {"name": "f"}}] * 2}],
        [{"tool_calls": [{"function": {"name": "f", "arguments": [1]}}]}] * 2,
        [{"thinking_blocks": ["x", {"type": "thinking", "thinking": [1]}, _thought("y")]}],
    ],
)
def test_junk_in_a_stream_raises_nothing(deltas: list[dict[str, Any]]) -> None:
    """Whatever follows what under one name, the reply is JSON data."""
    body = _whole(*(_event(**delta) for delta in deltas), _event("stop"))

    json.dumps(body)
    assert openai_chat.decode_response(body).stop_word == "stop"
