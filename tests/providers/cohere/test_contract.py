import logging
from typing import Any

import pytest

from agentic.providers import cohere
from agentic.testing import check_adapter
from agentic.usage import StopReason, Usage

# Shapes from https://docs.cohere.com/reference/chat and /docs/tool-use-streaming (2026-11).
CALLS = [
    {
        "id": "read_dqgshstja6p9",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a.py"}'},
    },
    {
        "id": "read_dcxfx4myvx68",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "b.py"}'},
    },
]
CALLING = {
    "id": "f201af17",
    "message": {"role": "assistant", "tool_plan": "I will read both.", "tool_calls": CALLS},
    "finish_reason": "TOOL_CALL",
    "usage": {
        "billed_units": {"input_tokens": 119, "output_tokens": 52},
        "tokens": {"input_tokens": 1549, "output_tokens": 103},
        "cached_tokens": 992,
    },
}
SPEAKING = {
    "id": "3f2a",
    "message": {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "The second is shorter."},
            {"type": "text", "text": "Both define a function."},
        ],
        "citations": [{"start": 0, "end": 4, "text": "Both", "sources": []}],
    },
    "finish_reason": "COMPLETE",
    "usage": {"tokens": {"input_tokens": 1700, "output_tokens": 9}},
}
CUT_OFF = {
    "id": "0395",
    "message": {"role": "assistant", "content": [{"type": "text", "text": "**The History of"}]},
    "finish_reason": "MAX_TOKENS",
    "usage": {"tokens": {"input_tokens": 506, "output_tokens": 5}, "cached_tokens": 448},
}
CALLED = (CALLING, Usage(input=1549, output=103, cache_read=992), StopReason.TOOL)
SPOKE = (SPEAKING, Usage(input=1700, output=9), StopReason.STOP)
CUT = (CUT_OFF, Usage(input=506, output=5, cache_read=448), StopReason.MAX_TOKENS)

REQUEST = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Read both."},
                {"type": "image_url", "image_url": {"url": "https://x.test/a", "detail": "low"}},
            ],
        },
        CALLING["message"],
        {"role": "tool", "tool_call_id": CALLS[0]["id"], "content": "def a(): ..."},
        {
            "role": "tool",
            "tool_call_id": CALLS[1]["id"],
            "content": [{"type": "document", "document": {"id": "b", "data": {"text": "def b"}}}],
        },
        SPEAKING["message"],
        {"role": "user", "content": "Thanks."},
    ]
}


def _event(kind: str, index: int | None = None, **message: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind, "delta": {"message": message}}
    return found if index is None else {**found, "index": index}


def _end(response: dict[str, Any]) -> dict[str, Any]:
    delta = {key: response[key] for key in ("finish_reason", "usage")}
    return {"type": "message-end", "delta": delta}


def _call(index: int) -> list[dict[str, Any]]:
    function: Any = CALLS[index]["function"]
    begun = {**CALLS[index], "function": {"name": function["name"], "arguments": ""}}
    pieces = (function["arguments"][:5], function["arguments"][5:])
    return [
        _event("tool-call-start", index, tool_calls=begun),
        *(
            _event("tool-call-delta", index, tool_calls={"function": {"arguments": piece}})
            for piece in pieces
        ),
        _event("tool-call-end", index),
    ]


CALL_EVENTS = [
    {**_event("message-start", role="assistant", content=[], tool_calls=[]), "id": "f201af17"},
    _event("tool-plan-delta", tool_plan="I will "),
    _event("tool-plan-delta", tool_plan="read both."),
    *_call(0),
    *_call(1),
    _end(CALLING),
]
SPOKEN_EVENTS = [
    {**_event("message-start", role="assistant"), "id": "3f2a"},
    _event("content-start", 0, content={"type": "thinking", "thinking": ""}),
    _event("content-delta", 0, content={"thinking": "The second is shorter."}),
    _event("content-end", 0),
    _event("content-start", 1, content={"type": "text", "text": ""}),
    _event("content-delta", 1, content={"text": "Both define"}),
    _event("content-delta", 1, content={"text": " a function."}),
    _event("content-end", 1),
    _event("citation-start", 0, citations={"start": 0, "end": 4, "text": "Both", "sources": []}),
    _event("citation-end", 0),
    _end(SPEAKING),
]
TOO_LONG = {
    "message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - "
    "received 4202. Try using a shorter prompt, or enable prompt truncating."
}


@pytest.mark.slow
def test_the_adapter_keeps_its_promises(caplog: pytest.LogCaptureFixture) -> None:
    """Those that every adapter makes, on Cohere's shapes."""
    caplog.set_level(logging.CRITICAL, "agentic.usage")

    check_adapter(
        cohere,
        requests=[REQUEST],
        responses=[CALLED, SPOKE, CUT],
        streams=[(CALL_EVENTS, CALLED), (SPOKEN_EVENTS, SPOKE)],
        overflows=[TOO_LONG],
        other_errors=[{"message": "You are using a Trial key, limited to 20 API calls / minute."}],
    )


def test_plan_and_content_are_told_apart() -> None:
    """A reply may have both; what is streamed is what the reply says."""
    streamed = cohere.StreamedResponse()
    events = [*CALL_EVENTS[:3], *SPOKEN_EVENTS[4:8], SPOKEN_EVENTS[-1]]

    pieces = [streamed.feed(event) for event in events]

    decision = cohere.decode_response(streamed.response())
    assert decision.reply == "I will read both.\n\nBoth define a function."
    assert "".join(pieces) == streamed.text == decision.reply


@pytest.mark.corpus
def test_recorded_exchanges_go_back_unchanged(exchanges: list[dict[str, Any]]) -> None:
    """Every request and every reply; usage and stop words are known."""
    requests = [one["request"] for one in exchanges if one.get("request")]
    replies = [one["response_json"] for one in exchanges if one.get("response_json")]
    streams = [one["chunks"] for one in exchanges if one.get("chunks")]

    assert requests
    assert replies
    check_adapter(
        cohere,
        requests=requests,
        responses=replies,
        streams=[(events, None) for events in streams],
    )
    for reply in replies:
        used = reply["usage"]["tokens"]
        total = used["input_tokens"] + used["output_tokens"]
        assert cohere.usage(reply).total == total
