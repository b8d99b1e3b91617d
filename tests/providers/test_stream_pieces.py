"""How the pieces of a stream are put together, whatever a server adds or numbers wrongly."""

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

Piece: TypeAlias = dict[str, Any]
Noise: TypeAlias = Callable[[list[list[Piece]]], list[Piece]]

_ARGUMENTS = st.dictionaries(
    st.text("ab{}", min_size=1, max_size=3), st.text('a{}\\"', max_size=6) | st.integers()
).map(json.dumps)
_CALLS = st.lists(st.tuples(st.sampled_from(["read", "list"]), _ARGUMENTS), min_size=1, max_size=4)


@st.composite
def _split_calls(draw: st.DrawFn) -> tuple[list[tuple[str, str, str]], list[list[Piece]]]:
    """Draw calls, and each as pieces: a head with id and name, and tails with arguments."""
    calls = [(f"call_{n}", *call) for n, call in enumerate(draw(_CALLS))]
    split = []
    for n, (call_id, name, arguments) in enumerate(calls):
        cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=4)))
        parts = [arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        first = parts.pop(0) if draw(st.booleans()) else ""
        head = {"index": n, "id": call_id, "function": {"name": name, "arguments": first}}
        tails = [{"index": n, "function": {"arguments": part}} for part in parts]
        split.append([head, *tails])
    return calls, split


def _flat(calls: list[list[Piece]]) -> list[Piece]:
    return [piece for call in calls for piece in call]


def _interleaved(calls: list[list[Piece]]) -> list[Piece]:
    longest = max(map(len, calls))
    return [call[n] for n in range(longest) for call in calls if n < len(call)]


def _identified(calls: list[list[Piece]]) -> list[list[Piece]]:
    """Put the id of a call, which is in its head, into each of its pieces."""
    return [[{**piece, "id": call[0]["id"]} for piece in call] for call in calls]


def _named(calls: list[list[Piece]]) -> list[list[Piece]]:
    return [
        [{**p, "function": {"name": call[0]["function"]["name"], **p["function"]}} for p in call]
        for call in calls
    ]


def _whole_again(calls: list[list[Piece]], **fields: Any) -> list[list[Piece]]:
    """Add a piece to each call that repeats its arguments as a whole."""
    again = []
    for call in calls:
        arguments = "".join(piece["function"]["arguments"] for piece in call)
        again.append([*call, {**call[-1], **fields, "function": {"arguments": arguments}}])
    return again


NOISE: dict[str, Noise] = {
    "none": _flat,
    "interleaved": _interleaved,
    "no index": lambda calls: [{**piece, "index": None} for piece in _flat(calls)],
    "index 0": lambda calls: [{**piece, "index": 0} for piece in _flat(calls)],
    "heads at 0": lambda calls: _flat([[{**call[0], "index": 0}, *call[1:]] for call in calls]),
    "counts pieces": lambda calls: [{**p, "index": n} for n, p in enumerate(_flat(calls))],
    "counts the pieces of a call": lambda calls: _flat(
        [[{**piece, "index": n} for n, piece in enumerate(call)] for call in calls]
    ),
    "known id, another index": lambda calls: [
        {**p, "index": -n} for n, p in enumerate(_interleaved(_identified(calls)))
    ],
    "another type": lambda calls: [
        {**piece, "index": (int, str, float)[n % 3](piece["index"])}
        for n, piece in enumerate(_interleaved(calls))
    ],
    "id and name in each piece": lambda calls: _interleaved(_named(_identified(calls))),
    "another id in each piece": lambda calls: _flat(
        [[call[0], *({**p, "id": f"x{n}"} for n, p in enumerate(call[1:]))] for call in calls]
    ),
    "whole again": lambda calls: _flat(_whole_again(calls)),
    "whole again, after all": lambda calls: [
        *_flat(calls),
        *(call[-1] for call in _whole_again(_named(_identified(calls)))),
    ],
    "whole again, elsewhere": lambda calls: _flat(_whole_again(calls, index=99)),
}
"""What servers send in place of OpenAI's pieces."""


def _chat(pieces: list[Piece]) -> list[Any]:
    deltas = [{"tool_calls": [piece]} for piece in pieces]
    events: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*events, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]


def _cohere(pieces: list[Piece]) -> list[Any]:
    events: list[Any] = []
    for piece in pieces:
        kind = "start" if piece["function"].get("name") else "delta"
        message = {"tool_calls": {k: v for k, v in piece.items() if k != "index"}}
        event = {
            "type": f"tool-call-{kind}",
            "index": piece["index"],
            "delta": {"message": message},
        }
        events.append(event)
    return [*events, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}]


def _decoded(adapter: ModuleType, events: list[Any]) -> Any:
    stream = adapter.StreamedResponse()
    for event in events:
        stream.feed(event)
    return adapter.decode_response(stream.response())


@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize(("adapter", "events"), [(openai_chat, _chat), (cohere, _cohere)])
@given(drawn=_split_calls())
def test_calls_in_any_pieces_are_the_same(
    adapter: ModuleType,
    events: Callable[[list[Piece]], list[Any]],
    noise: str,
    drawn: tuple[list[tuple[str, str, str]], list[list[Piece]]],
) -> None:
    """None is lost, none has another's arguments, and none appears."""
    calls, split = drawn

    decision = _decoded(adapter, events(NOISE[noise](split)))

    read = [(call.id, call.name, json.loads(call.arguments)) for call in decision.tool_calls]
    assert read == [(*call[:2], json.loads(call[2])) for call in calls]


def _anthropic_call(index: int, call_id: str, *fragments: str, at: int | None = None) -> list[Any]:
    block = {"type": "tool_use", "id": call_id, "name": "read", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": each} for each in fragments]
    place = index if at is None else at
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": place, "delta": each} for each in deltas),
        {"type": "content_block_stop", "index": place},
    ]


def _bedrock_call(index: int, call_id: str, *fragments: str, at: int | None = None) -> list[Any]:
    start = {"toolUse": {"toolUseId": call_id, "name": "read"}}
    place = index if at is None else at
    return [
        {"contentBlockStart": {"contentBlockIndex": index, "start": start}},
        *(
            {"contentBlockDelta": {"contentBlockIndex": place, "delta": {"toolUse": {"input": i}}}}
            for i in fragments
        ),
    ]


def _responses_call(index: int, call_id: str, *fragments: str, at: int | None = None) -> list[Any]:
    item = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "read"}
    piece = {"type": "response.function_call_arguments.delta"}
    place = index if at is None else at
    return [
        {"type": "response.output_item.added", "output_index": index, "item": item},
        *({**piece, "output_index": place, "delta": each} for each in fragments),
    ]


ENDS: dict[ModuleType, list[Any]] = {
    anthropic: [{"type": "message_stop"}],
    bedrock: [{"messageStop": {"stopReason": "tool_use"}}],
    openai_responses: [{"type": "response.completed", "response": {"output": []}}],
}
WRITERS = pytest.mark.parametrize(
    ("adapter", "write"),
    [
        (anthropic, _anthropic_call),
        (bedrock, _bedrock_call),
        (openai_responses, _responses_call),
    ],
)


@WRITERS
def test_arguments_under_unknown_index_continue_the_call(adapter: ModuleType, write: Any) -> None:
    """The latest one: no second call without a name appears."""
    events = [*write(0, "a", '{"n":', "1}"), *write(1, "b", '{"n":', "2}", at=7), *ENDS[adapter]]

    calls = _decoded(adapter, events).tool_calls

    assert [(call.id, json.loads(call.arguments)) for call in calls] == [
        ("a", {"n": 1}),
        ("b", {"n": 2}),
    ]


def test_second_block_with_same_index_is_another() -> None:
    """A gateway may number all blocks 0: neither replaces the other."""
    text = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    piece = {"type": "content_block_delta", "index": 0}
    events = [
        text,
        {**piece, "delta": {"type": "text_delta", "text": "I look."}},
        *_anthropic_call(0, "a", "{}"),
        *_anthropic_call(0, "b", "{}"),
        *ENDS[anthropic],
    ]

    decision = _decoded(anthropic, events)

    assert decision.reply == "I look."
    assert [call.id for call in decision.tool_calls] == ["a", "b"]


def test_known_item_wins_over_the_index() -> None:
    """A delta of a Responses stream names its item, and may have another's index."""
    delta = {"type": "response.function_call_arguments.delta", "delta": '{"n": 1}'}
    events = [
        *_responses_call(0, "a"),
        *_responses_call(1, "b", "{}"),
        {**delta, "item_id": "fc_a", "output_index": 1},
        *ENDS[openai_responses],
    ]

    calls = _decoded(openai_responses, events).tool_calls

    assert [call.arguments for call in calls] == ['{"n": 1}', "{}"]


def _chat_deltas(name: str, pieces: list[str]) -> list[Any]:
    events: list[Any] = [{"choices": [{"index": 0, "delta": {name: piece}}]} for piece in pieces]
    return [
        *events,
        {"choices": [{"index": 0, "delta": {"content": "."}, "finish_reason": "stop"}]},
    ]


def _chat_nested(name: str, pieces: list[str]) -> list[Any]:
    deltas = [{"provider_specific_fields": {name: piece}} for piece in pieces]
    events: list[Any] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*events, *_chat_deltas(name, [])]


def _cohere_parts(name: str, pieces: list[str]) -> list[Any]:
    content = [{"type": "text", "text": "."}, *({name: piece} for piece in pieces)]
    return [
        *(
            {"type": "content-delta", "index": 0, "delta": {"message": {"content": c}}}
            for c in content
        ),
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    ]


def _ollama_lines(name: str, pieces: list[str]) -> list[Any]:
    return [
        *({"message": {"role": "assistant", name: piece}} for piece in pieces),
        {"message": {"content": "."}, "done": True, "done_reason": "stop"},
    ]


def _anthropic_deltas(name: str, pieces: list[str]) -> list[Any]:
    return [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "."}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": f"{name}_delta", name: p}}
            for p in pieces
        ),
        *ENDS[anthropic],
    ]


def _bedrock_deltas(name: str, pieces: list[str]) -> list[Any]:
    return [
        *({"contentBlockDelta": {"delta": {"text": ".", name: piece}}} for piece in pieces),
        *ENDS[bedrock],
    ]


def _responses_deltas(name: str, pieces: list[str]) -> list[Any]:
    return [
        {"type": "response.output_text.delta", "delta": "."},
        *({"type": f"response.{name}.delta", "delta": piece} for piece in pieces),
        *ENDS[openai_responses],
    ]


def _gemini_parts(name: str, pieces: list[str]) -> list[Any]:
    parts: list[Piece] = [{name: piece} for piece in pieces]
    return [
        {"candidates": [{"content": {"parts": [part]}}]} for part in [*parts, {"text": "."}]
    ] + [{"candidates": [{"finishReason": "STOP"}]}]


STREAMS: dict[str, tuple[ModuleType, Callable[[str, list[str]], list[Any]]]] = {
    "openai_chat": (openai_chat, _chat_deltas),
    "openai_chat, nested": (openai_chat, _chat_nested),
    "openai_responses": (openai_responses, _responses_deltas),
    "anthropic": (anthropic, _anthropic_deltas),
    "gemini": (gemini, _gemini_parts),
    "bedrock": (bedrock, _bedrock_deltas),
    "cohere": (cohere, _cohere_parts),
    "ollama": (ollama, _ollama_lines),
}


def _values(data: Any, name: str) -> list[str]:
    """Return all texts in fields of a name, in their order."""
    if isinstance(data, list):
        return [text for each in data for text in _values(each, name)]
    if not isinstance(data, dict):
        return []
    own = [data[name]] if isinstance(data.get(name), str) else []
    return own + [text for each in data.values() for text in _values(each, name)]


@pytest.mark.parametrize("wire", STREAMS)
@pytest.mark.parametrize("pieces", [["Look ", "it up", "."], ["ha", "ha"], ["", "x", ""]])
def test_unknown_text_is_whole_or_left_out(wire: str, pieces: list[str]) -> None:
    """Its last piece alone would be sent back as if the model had written it."""
    adapter, events = STREAMS[wire]
    stream = adapter.StreamedResponse()
    for event in events("musing", pieces):
        stream.feed(event)

    assert "".join(_values(stream.response(), "musing")) in ("".join(pieces), "")


def test_copilots_reasoning_is_read_and_sent_back() -> None:
    """Its text comes in pieces, the signature once."""
    events = [
        *_chat_deltas("reasoning_text", ["Look ", "it ", "up."])[:-1],
        *_chat_deltas("reasoning_opaque", ["EqQB"]),
    ]

    decision = _decoded(openai_chat, events)

    assert decision.reasoning == "Look it up."
    assert decision.native is not None
    assert decision.native.payload == {
        "role": "assistant",
        "content": ".",
        "reasoning_text": "Look it up.",
        "reasoning_opaque": "EqQB",
    }


_READING = """
import json, sys, tracemalloc
from agentic.providers import {name} as adapter

event, pieces = json.loads({event!r}), {pieces}
stream, total = adapter.StreamedResponse(), 0
tracemalloc.start()
for _ in range(pieces):
    stream.feed(event)
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    assert stream.text
    total += max(0, tracemalloc.get_traced_memory()[1] - before)
assert len(stream.text) == pieces * {length}
print(total)
"""
"""Prints how many bytes reading the text after each event allocates at once, in total."""

TEXTS: dict[ModuleType, Callable[[str], Any]] = {
    openai_chat: lambda text: {"choices": [{"index": 0, "delta": {"content": text}}]},
    anthropic: lambda text: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    },
    openai_responses: lambda text: {"type": "response.output_text.delta", "delta": text},
    ollama: lambda text: {"message": {"content": text}},
    gemini: lambda text: {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]
    },
    bedrock: lambda text: {
        "contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}},
    },
}


@pytest.mark.parametrize("adapter", TEXTS, ids=lambda module: module.ADAPTER.name)
def test_text_is_put_together_once(adapter: ModuleType) -> None:
    """Reading it again costs nothing, until another piece arrives."""
    stream = adapter.StreamedResponse()
    stream.feed(TEXTS[adapter]("It is "))
    stream.feed(TEXTS[adapter]("green"))

    first = stream.text
    again = stream.text
    stream.feed(TEXTS[adapter]("."))

    assert first == "It is green"
    assert again is first
    assert stream.text == "It is green."


@pytest.mark.slow
@pytest.mark.parametrize("adapter", TEXTS, ids=lambda module: module.ADAPTER.name)
def test_text_may_be_read_after_each_piece(
    adapter: ModuleType, run_python: Callable[[str], str]
) -> None:
    """Each reading copies what is new, and not the whole text.

    In an interpreter of its own: CPython extends no text in place while coverage traces it.
    """
    pieces, length = 200, 2_000
    event = json.dumps(TEXTS[adapter]("x" * length))
    name = adapter.__name__.rpartition(".")[2]

    total = int(run_python(_READING.format(name=name, event=event, pieces=pieces, length=length)))

    # To copy the whole each time makes a hundred times as much.
    assert total < 5 * pieces * length
