"""Results of calls without ids are paired by name and order, over the whole run of replies."""

from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import close_open_rounds
from agentic.providers import gemini, ollama

_NAMES = st.lists(st.sampled_from(["read", "list"]), max_size=3)
EVERY = pytest.mark.parametrize(
    "adapter", [gemini, ollama], ids=lambda adapter: adapter.ADAPTER.name
)


def _user(adapter: ModuleType, text: str) -> Any:
    if adapter is gemini:
        return {"role": "user", "parts": [{"text": text}]}
    return {"role": "user", "content": text}


def _reply(adapter: ModuleType, names: list[str], number: int) -> Any:
    if adapter is gemini:
        calls = [{"functionCall": {"name": name, "args": {"n": number}}} for name in names]
        return {"role": "model", "parts": calls or [{"text": "Hm."}]}
    asked = [{"function": {"name": name, "arguments": {"n": number}}} for name in names]
    return {"role": "assistant", "content": "Hm.", **({"tool_calls": asked} if asked else {})}


def _answers(adapter: ModuleType, names: list[str]) -> list[Any]:
    if adapter is gemini:
        parts = [
            {"functionResponse": {"name": name, "response": {"output": f"{name} {number}"}}}
            for number, name in enumerate(names)
        ]
        return [{"role": "user", "parts": parts}] if parts else []
    return [
        {"role": "tool", "tool_name": name, "content": f"{name} {number}"}
        for number, name in enumerate(names)
    ]


@EVERY
def test_two_replies_answered_together_keep_both_results(adapter: ModuleType) -> None:
    """Nothing is made up, and nothing is left out."""
    wire = [
        _user(adapter, "Look."),
        _reply(adapter, ["read"], 1),
        _reply(adapter, ["list"], 2),
        *_answers(adapter, ["read", "list"]),
    ]

    history = adapter.decode(wire)

    assert close_open_rounds(history) is history
    calls = [call for message in history for call in message.tool_calls]
    results = {r.call_id: r.output for message in history for r in message.tool_results}
    assert [results[call.id] for call in calls] == ["read 0", "list 1"]


@EVERY
@pytest.mark.parametrize("names", [["read", "list"], ["read", "read"]])
def test_reply_between_results_parts_no_run(adapter: ModuleType, names: list[str]) -> None:
    """Without calls of its own it belongs to the run; its end is said in one place."""
    answers = [item for name in names for item in _answers(adapter, [name])]
    wire = [_reply(adapter, names, 1), answers[0], _reply(adapter, [], 2), answers[1]]

    history = adapter.decode(wire)

    calls = [call.id for message in history for call in message.tool_calls]
    assert [result.call_id for message in history for result in message.tool_results] == calls
    assert close_open_rounds(history) == [history[0], history[1], history[3], history[2]]
    assert adapter.encode(history) == wire


@EVERY
@pytest.mark.parametrize("names", [["list"], []])
def test_run_ends_with_new_calls_or_words(adapter: ModuleType, names: list[str]) -> None:
    """As with ids: what follows answers no call before them."""
    between = (
        [_reply(adapter, names, 2)] if names else [_user(adapter, "And?"), _reply(adapter, [], 2)]
    )
    first, second = (_answers(adapter, [name])[0] for name in ("read", "write"))
    wire = [_reply(adapter, ["read", "write"], 1), first, *between, second]

    results = [r for m in close_open_rounds(adapter.decode(wire)) for r in m.tool_results]

    assert [bool(result.error) for result in results] == [False, *[True] * (1 + len(names))]


@EVERY
def test_result_of_no_call_parts_no_run(adapter: ModuleType) -> None:
    """It is never sent, so that both replies around it are answered by what follows them."""
    answers = _answers(adapter, ["list", "read"])
    wire = [_reply(adapter, ["read"], 1), _reply(adapter, ["list"], 2), *answers]

    history = adapter.decode([wire[0], *_answers(adapter, ["lost"]), *wire[1:]])

    results = [r for m in close_open_rounds(history) for r in m.tool_results]
    assert [result.output for result in results] == ["list 0", "read 1"]


@EVERY
@given(runs=st.lists(st.lists(_NAMES, min_size=1, max_size=3), max_size=3), data=st.data())
def test_every_answered_run_is_sound(adapter: ModuleType, runs: Any, data: Any) -> None:
    """By name, in the order of the calls: whoever else answers a call of that name comes later."""
    wire = [_user(adapter, "Look.")]
    expected = []
    for number, replies in enumerate(runs):
        names = [name for reply in replies for name in reply]
        answered = data.draw(st.permutations(names))
        wire += [_reply(adapter, reply, number) for reply in replies]
        wire += [*_answers(adapter, answered), _user(adapter, "Go on.")]
        for name in set(names):
            said = [f"{name} {at}" for at, each in enumerate(answered) if each == name]
            expected += [(number, name, text) for text in said]

    history = adapter.decode(wire)

    assert close_open_rounds(history) is history
    results = {r.call_id: r.output for message in history for r in message.tool_results}
    found = [
        (call.parse()["n"], call.name, results[call.id])
        for message in history
        for call in message.tool_calls
    ]
    assert sorted(found) == sorted(expected)
    for number, name in {(number, name) for number, name, _ in found}:
        texts = [text for n, called, text in found if (n, called) == (number, name)]
        assert texts == sorted(texts)
    assert adapter.encode(history) == wire


@EVERY
@given(cut=st.integers(0, 6))
def test_growing_list_is_paired_like_the_whole(adapter: ModuleType, cut: int) -> None:
    """Also after the end of the list was taken back."""
    wire = [
        _user(adapter, "Look."),
        _reply(adapter, ["read"], 1),
        _reply(adapter, [], 1),
        _reply(adapter, ["read", "list"], 2),
        *_answers(adapter, ["read", "list", "read"]),
        _user(adapter, "Go on."),
    ]
    decoder = adapter.IncrementalDecoder()
    decoder.decode(wire)

    again = decoder.decode(wire, cut)

    whole = [each for item in adapter.IncrementalDecoder().decode(wire) for each in item.messages]
    count = sum(len(item.messages) for item in again)
    assert [each for item in again for each in item.messages] == whole[len(whole) - count :]
