"""Junk in a stream raises nothing undocumented, in every adapter's `StreamedResponse`."""

import contextlib
import copy
import json
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.errors import IncompleteReply, ProviderError
from agentic.loop import Decision
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

pytestmark = pytest.mark.slow

USAGE = {"input_tokens": 9, "output_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 4}}


def _chat(**delta: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _block(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    start = {"type": "content_block_start", "index": index, "content_block": {"type": kind}}
    return start if not fields else {**start, "type": "content_block_delta", "delta": fields}


def _cohere(kind: str, index: int = 0, **message: Any) -> dict[str, Any]:
    return {"type": kind, "index": index, "delta": {"message": message}}


def _part(**part: Any) -> dict[str, Any]:
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}


def _piece(path: str, **value: Any) -> dict[str, Any]:
    pieces = [{"jsonPath": path, "willContinue": True, **value}]
    return _part(functionCall={"partialArgs": pieces, "willContinue": True})


EVENTS: Mapping[ModuleType, list[dict[str, Any]]] = {
    anthropic: [
        {"type": "message_start", "message": {"content": [], "model": "m", "usage": USAGE}},
        _block(0, "thinking"),
        _block(0, "", type="thinking_delta", thinking="Hm."),
        _block(0, "", type="signature_delta", signature="EqQB"),
        _block(1, "text"),
        _block(1, "", type="text_delta", text="Hi."),
        _block(1, "", type="citations_delta", citation={}),
        _block(2, "tool_use"),
        _block(2, "", type="input_json_delta", partial_json='{"a": 1}'),
        {"type": "content_block_stop", "index": 2},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": USAGE},
        {"type": "message_stop"},
    ],
    bedrock: [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi."}}},
        {
            "contentBlockDelta": {
                "contentBlockIndex": 1,
                "delta": {"reasoningContent": {"text": "Hm.", "signature": "x"}},
            }
        },
        {"contentBlockStart": {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "t"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"toolUse": {"input": "{}"}}}},
        {
            "contentBlockDelta": {
                "contentBlockIndex": 3,
                "delta": {"toolResult": [{"text": "x"}, {"text": "y"}], "citation": {}},
            }
        },
        {
            "contentBlockDelta": {
                "contentBlockIndex": 4,
                "delta": {"image": {"format": "png", "source": {"bytes": "AAAA"}}},
            }
        },
        {"messageStop": {"stopReason": "tool_use"}},
        {"metadata": {"usage": {"inputTokens": 9, "cacheDetails": [{}]}}},
    ],
    gemini: [
        _part(text="Hm.", thought=True),
        _part(text="Hi.", thoughtSignature="AAE="),
        _part(functionCall={"name": "cook", "willContinue": True}),
        _piece("$.steps[0].text", stringValue="Boil "),
        _piece("$.steps[0].text", stringValue="it."),
        _piece("$.steps[0]", numberValue=2),
        _piece("$.steps.a['b']", boolValue=True),
        _part(functionCall={}),
        _part(functionCall={"name": "now", "args": {"a": 1}}),
        {"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": {"x": 1}},
    ],
    openai_chat: [
        _chat(role="assistant", content="Hi.", reasoning="Hm.", refusal=None),
        _chat(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]),
        _chat(content=[{"type": "text", "text": "Hi."}]),
        _chat(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "Hm."}]),
        _chat(thinking_blocks=[{"type": "thinking", "thinking": "Hm.", "signature": ""}]),
        _chat(thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "x"}]),
        _chat(tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]),
        _chat(tool_calls=[{"index": 0, "function": {"name": "f", "arguments": "{}"}}]),
        _chat(tool_calls=[{"id": "b", "custom": {"name": "g", "input": "x"}}]),
        _chat(audio={"id": "au", "transcript": "Hey"}, function_call={"name": "f"}),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}},
    ],
    cohere: [
        {"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}},
        _cohere("tool-plan-delta", tool_plan="I look."),
        _cohere("content-start", content={"type": "thinking", "thinking": ""}),
        _cohere("content-delta", content={"thinking": "Hm."}),
        _cohere("content-delta", 1, content={"text": "Hi."}),
        _cohere("tool-call-start", tool_calls={"id": "c", "function": {"name": "f"}}),
        _cohere("tool-call-delta", tool_calls={"function": {"arguments": "{}"}}),
        _cohere("citation-start", citations={"start": 0, "end": 3}),
        {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {"tokens": {}}}},
    ],
    openai_responses: [
        {"type": "response.created", "response": {"model": "m", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message"}},
        {
            "type": "response.content_part.added",
            "output_index": 0,
            "content_index": 0,
            "part": {"type": "output_text", "text": ""},
        },
        {
            "type": "response.output_text.delta",
            "output_index": 0,
            "content_index": 0,
            "delta": "Hi.",
        },
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": "Hi."},
        {
            "type": "response.output_item.added",
            "output_index": 1,
            "item": {"type": "function_call", "id": "fc", "call_id": "c", "name": "f"},
        },
        {"type": "response.function_call_arguments.delta", "item_id": "fc", "delta": "{}"},
        {"type": "response.reasoning_summary_text.delta", "output_index": 2, "delta": "Hm."},
        {
            "type": "response.output_item.done",
            "output_index": 2,
            "item": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        },
        {"type": "response.completed", "response": {"output": [], "usage": USAGE}},
    ],
    ollama: [
        {"model": "m", "message": {"role": "assistant", "thinking": "Hm."}, "done": False},
        {"message": {"content": "Hi.", "images": ["iVBORw0KGgo="]}, "logprobs": [{"token": "a"}]},
        {"message": {"tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}},
        {"message": {"tool_calls": [{"id": "c", "function": {"index": 1, "name": "g"}}]}},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 3},
    ],
}
"""A stream of each, which says all that a stream can."""
ADAPTERS = pytest.mark.parametrize("adapter", EVENTS, ids=lambda module: module.ADAPTER.name)


def _nested(levels: int, inner: Any) -> Any:
    for level in range(levels):
        inner = {"a": inner} if level % 2 else [inner]
    return inner


def _junk() -> list[Any]:
    """Make junk afresh, since other junk may be put into it."""
    return [
        *(None, True, -1, 10**40, 1.5, float("nan"), "", "x", "\ud83d", "{", "[1]", "a" * 1_000),
        *([], ["x"], [None], [[]], [1], {}, {"x": 1}, {"type": "text"}, [{}], [{"text": 1}]),
        *("$" + ".a" * 3_000, "$" + "[0]" * 3_000, "[" * 100_000),
        *(_nested(150, 1), _nested(3_000, {})),
    ]


def _paths(data: Any, *path: str | int) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    steps = data.items() if isinstance(data, dict) else ()
    for step, inner in enumerate(data) if isinstance(data, list) else steps:
        yield from _paths(inner, *path, step)


def _put(data: Any, path: tuple[str | int, ...], value: Any) -> None:
    """Set a value where the path still leads after other junk was put in."""
    with contextlib.suppress(LookupError, TypeError):
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value


def _read(adapter: ModuleType, events: list[Any]) -> None:
    stream = adapter.StreamedResponse()
    try:
        for event in events:
            assert isinstance(stream.feed(event), str)
        response = stream.response()
    except (ProviderError, IncompleteReply):
        return
    decision = adapter.decode_response(response)
    assert isinstance(decision, Decision)
    json.dumps([call.arguments for call in decision.tool_calls])


@ADAPTERS
def test_every_stream_here_is_whole(adapter: ModuleType) -> None:
    """So that what follows is about junk, and not about streams that end early."""
    stream = adapter.StreamedResponse()
    for event in EVENTS[adapter]:
        stream.feed(event)

    assert adapter.decode_response(stream.response()).reply


@ADAPTERS
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.long)])
def test_one_junk_piece_raises_nothing_else(adapter: ModuleType, step: int) -> None:
    """In each place of each event; with a step of 4, a place has a quarter of the junk in turn."""
    places = [
        (number, path) for number, event in enumerate(EVENTS[adapter]) for path in _paths(event)
    ]
    for at, (number, path) in enumerate(places):
        for junk in _junk()[at % step :: step]:
            events = copy.deepcopy(EVENTS[adapter])
            _put(events[number], path, junk)
            _read(adapter, events)


@ADAPTERS
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_much_junk_raises_nothing_else(adapter: ModuleType, data: st.DataObject) -> None:
    """Several pieces, events in any order."""
    drawn = data.draw(st.lists(st.sampled_from(EVENTS[adapter]), max_size=12))
    events = [copy.deepcopy(event) for event in drawn]
    for event in events:
        for path in data.draw(st.lists(st.sampled_from(list(_paths(event))), max_size=3)):
            _put(event, path, _junk()[data.draw(st.integers(0, len(_junk()) - 1))])
    _read(adapter, events + copy.deepcopy(EVENTS[adapter][-2:]))
