"""A round of several replies of which one message was edited: the others are the owner's own."""

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.strategies import TruncateToolOutputs
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

_LONG = "\n".join(f"line {number}" for number in range(100))

_ANSWERED = [openai_chat, cohere]
"""Wires on which each reply with calls is followed by their results."""
_MERGED = [bedrock, gemini]
"""Wires on which the replies of a turn are one item."""
_CALLS = {"args", "response", "function"}


def _turn(forms: Any, wire: ModuleType, call_id: str, output: str) -> tuple[list[Any], list[Any]]:
    """Return the items of one call, and those of its result."""
    call = Message("assistant", "I look.", tool_calls=[ToolCall(call_id, "run", '{"n": 1}')])
    result = Message("tool", tool_results=[ToolResult(call_id, "run", output)])
    items = forms.to_items(wire, [Message("user", "Go."), call, result])
    return items[1:-1], items[-1:]


def _places(sent: list[Any], items: list[Any]) -> list[int | None]:
    """Return which of the owner's objects each item is."""
    by_id = {id(item): place for place, item in enumerate(items)}
    return [by_id.get(id(item)) for item in sent]


def test_what_nobody_edited_is_sent_itself(forms: Any, wire: ModuleType) -> None:
    """Also where the adapter joins neighbors of one role to a new item."""
    (one, long), (other, short) = (
        _turn(forms, wire, "c1", _LONG),
        _turn(forms, wire, "c2", "short"),
    )
    end = forms.to_items(wire, [Message("user", "Go."), Message("assistant", "Done.")])
    items = [end[0], *one, *other, *long, *short, end[1]]
    # The same in the form that the wire takes: see `test_any_run_of_replies_is_accepted`.
    order = [end[0], *one, *long, *other, *short, end[1]] if wire in _ANSWERED else items
    edited = items.index(long[0])

    sent = forms.make(wire, 30_000, strategies=[TruncateToolOutputs(60)]).fit(items)

    places = [place if place != edited else None for place in _places(order, items)]
    merged = [0, None, None, len(items) - 1]
    assert _places(sent, items) == (merged if wire in _MERGED else places)


def test_nothing_parts_calls_and_their_results(forms: Any, wire: ModuleType) -> None:
    """A result of no call, which is not sent, is not replaced by words of ours."""
    (one, _), (other, short) = (_turn(forms, wire, each, "short") for each in ("c1", "c2"))
    _, lost = _turn(forms, wire, "lost", "short")
    _, first = _turn(forms, wire, "c1", "short")
    items = [forms.to_items(wire, [Message("user", "Go.")])[0], *one, *lost, *other, *first, *short]
    items = json.loads(json.dumps(items))

    sent = forms.make(wire, 30_000).fit(items)

    del items[1 + len(one)]
    assert not forms.problems(wire, sent)
    assert sorted(_leaves(sent)) == sorted(_leaves(items)) or wire in _MERGED
    assert wire in _ANSWERED + _MERGED or sent == items


@pytest.mark.parametrize("cuts", [False, True])
def test_reply_between_results_loses_none(forms: Any, wire: ModuleType, *, cuts: bool) -> None:
    """It goes behind them, and the model goes on from the user's word, also in later requests."""
    calls = [ToolCall(each, "run", '{"n": 1}') for each in ("c1", "c2")]
    look, done = Message("assistant", "I look."), Message("assistant", "Done.")
    messages = [Message("user", "Go."), Message("assistant", tool_calls=calls)]
    messages += [_result("c1"), look, _result("c2", "" if not cuts else _LONG), done]
    items = [item for each in messages for item in wire.encode([each])]
    strategies = [TruncateToolOutputs(60)] if cuts else []
    conversation = forms.make(wire, 30_000, strategies=strategies)

    sent, later = conversation.fit(items[:-1]), conversation.fit(items)

    assert not forms.problems(wire, sent)
    texts = ["Go.", "result of c1", "result of c2", "I look.", "Continue.", "Done."]
    found = [next((text for text in texts if text in leaf), "") for leaf in _leaves(later)]
    assert [text for text in found if text] == texts
    assert later[:-1] == sent
    assert forms.make(wire, 30_000, strategies=strategies).fit(items) == later


@st.composite
def _runs(draw: st.DrawFn) -> list[Message]:
    """Draw a conversation of runs of replies, with orphans among them, answered in any order."""
    messages: list[Message] = []
    for turn in range(draw(st.integers(1, 3))):
        messages.append(Message("user", f"Go {turn}."))
        ids: list[str] = []
        for number in range(draw(st.integers(1, 4))):
            calls = [f"c{turn}{number}{each}" for each in range(draw(st.integers(0, 2)))]
            text = draw(st.sampled_from(["", "I look."])) if calls else f"Step {number}."
            made = [ToolCall(each, "run", '{"n": 1}') for each in calls]
            messages.append(Message("assistant", text, tool_calls=made))
            if draw(st.booleans()):
                messages.append(_result(f"lost{turn}{number}"))
            ids += calls
        ids = draw(st.permutations(ids))
        for each in ids[: draw(st.integers(0, len(ids)))]:
            messages.append(_result(each))
            messages += draw(st.lists(st.just(Message("assistant", "So far.")), max_size=2))
    return messages


def _result(call_id: str, more: str = "") -> Message:
    output = f"result of {call_id}{more}"
    return Message("tool", tool_results=[ToolResult(call_id, "run", output)])


@pytest.mark.parametrize(
    "wire",
    [*_ANSWERED, *_MERGED, anthropic, ollama, openai_responses],
    ids=lambda wire: wire.ADAPTER.name,
)
@given(messages=_runs(), cuts=st.booleans(), restarts=st.booleans())
def test_any_run_of_replies_is_accepted(
    forms: Any, wire: ModuleType, messages: list[Message], cuts: bool, restarts: bool
) -> None:
    """Whatever stands between a call and its result in the owner's list, and as the list grows."""
    items = [item for each in messages for item in wire.encode([each])]
    strategies = [TruncateToolOutputs(8)] if cuts else []
    conversation = forms.make(wire, 30_000, strategies=strategies)
    # The owner's replies in a row are the owner's own, where no call is among them.
    allowed = {"alternation"} if "alternation" in forms.problems(wire, items) else set()
    for end in range(1, len(items) + 1):
        sent = conversation.fit(items[:end])
        if restarts:
            conversation = forms.make(wire, 30_000, strategies=strategies)

        assert forms.problems(wire, sent) <= allowed | {"empty_content"}


def _leaves(value: Any) -> list[str]:
    """Return what is said in items, wherever it stands."""
    if isinstance(value, dict | list):
        each = value.values() if isinstance(value, dict) else value
        return [leaf for one in each for leaf in _leaves(one)]
    return [str(value)]


@pytest.mark.parametrize("call_id", ["x" * 100, "a b", ""])
def test_edited_result_answers_the_call_that_is_sent(
    forms: Any, wire: ModuleType, call_id: str
) -> None:
    """Also if the id is one that the adapter would not write itself."""
    call, result = _turn(forms, wire, "c1", _LONG)
    items = [forms.to_items(wire, [Message("user", "Go.")])[0], *call, *result]
    items = json.loads(json.dumps(items).replace('"c1"', json.dumps(call_id)))

    sent = forms.make(wire, 30_000, strategies=[TruncateToolOutputs(60)]).fit(items)

    assert sent[-1] is not items[-1]
    ids = [own for item in sent for own in _ids(item) if own is not None]
    assert ids == ids[:1] * 2 or (not call_id and not any(ids))


def _ids(item: Any) -> list[Any]:
    """Return the call ids in an item of any wire, in order."""
    if isinstance(item, list):
        return [own for each in item for own in _ids(each)]
    if not isinstance(item, dict):
        return []
    names = ("call_id", "tool_call_id", "tool_use_id", "toolUseId")
    own = [item[name] for name in names if name in item]
    is_call = item.get("type") in {"function", "tool_use"} or not item.keys().isdisjoint(_CALLS)
    own += [item["id"]] if is_call and "id" in item else []
    return own + [each for value in item.values() for each in _ids(value)]
