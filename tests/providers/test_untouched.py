"""What `decode` returned goes back without being read again; what was edited goes out edited."""

import copy
import json
import pickle
import sys
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.messages import (
    Message,
    ProviderPayload,
    ToolCall,
    ToolError,
    ToolResult,
    from_plain,
    to_plain,
)
from agentic.messages._decoding import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
    is_untouched,
)
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from agentic.testing import conversations

ADAPTERS = [openai_chat, anthropic, gemini, openai_responses, bedrock, cohere, ollama]
COPIES: list[Callable[[Message], Message]] = [
    copy.copy,
    copy.deepcopy,
    attrs.evolve,
    lambda message: pickle.loads(pickle.dumps(message)),  # noqa: S301  its own pickle
    lambda message: from_plain(json.loads(json.dumps(to_plain(message)))),
    lambda message: attrs.evolve(message, pinned=True),
    lambda message: message.replace(native=message.native),
]
MARK = "EDITED-7d1f"
READS = {
    "decode_message",
    "read_payload",
    "read_message",
    "message_of",
    "decode_payload",
    "_read_payload",
}
"""The functions that read a payload again to compare it, in all adapters."""
TEXTS = {"text", "content", "id", "call_id", "tool_call_id", "tool_use_id", "toolUseId", "name"}
each_adapter = pytest.mark.parametrize(
    "adapter", ADAPTERS, ids=lambda adapter: adapter.ADAPTER.name
)


def _edit(message: Message) -> Message:
    if message.tool_results:
        first = attrs.evolve(message.tool_results[0], output=MARK)
        return attrs.evolve(message, tool_results=(first, *message.tool_results[1:]))
    return attrs.evolve(message, content=MARK)


def _turns(n: int) -> list[Message]:
    return [
        message
        for turn in range(n)
        for message in (
            Message("user", f"Read part {turn}."),
            Message("assistant", "I look.", tool_calls=[ToolCall(f"c{turn}", "read", '{"n": 1}')]),
            Message("tool", tool_results=[ToolResult(f"c{turn}", "read", "def run(): ...")]),
            Message("assistant", "It defines a function."),
        )
    ]


def _calls_during(work: Callable[[Any], object], argument: object) -> Counter[str]:
    """Count the calls of Python functions, by their names."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        work(argument)
    finally:
        sys.setprofile(None)
    return calls


@each_adapter
def test_untouched_messages_are_not_decoded_again(adapter: ModuleType) -> None:
    """Equal copies are, which shows that the count would see it."""
    decoded = adapter.decode(adapter.encode(_turns(5)))

    as_they_came = _calls_during(adapter.encode, decoded)
    copied = _calls_during(adapter.encode, list(map(copy.copy, decoded)))

    assert not READS & as_they_came.keys()
    assert max(copied[name] for name in READS) >= len(decoded)


@pytest.mark.parametrize(
    ("adapter", "most"),
    [(openai_chat, 2.1), (anthropic, 5.1), (gemini, 2), (openai_responses, 3.1), (bedrock, 3.1)],
    ids=lambda value: getattr(getattr(value, "ADAPTER", None), "name", None),
)
def test_an_untouched_message_costs_few_calls(adapter: ModuleType, most: float) -> None:
    """Beside what a whole list costs, once its payload was looked at."""
    decoded = adapter.decode(adapter.encode(_turns(100)))
    adapter.encode(decoded)

    calls = _calls_during(adapter.encode, decoded)

    assert calls.total() < most * len(decoded)


@each_adapter
def test_a_payload_is_looked_at_once(adapter: ModuleType) -> None:
    """However often a conversation that grows is encoded: only what is new costs more."""
    decoded = adapter.decode(adapter.encode(_turns(100)))
    one_more = adapter.decode(adapter.encode(_turns(1)))
    adapter.encode(decoded)

    calls = _calls_during(adapter.encode, decoded)
    grown = _calls_during(adapter.encode, [*decoded, *one_more])

    assert grown.total() - calls.total() < 50 * len(one_more)


@pytest.mark.parametrize(
    ("adapter", "most"),
    [(openai_chat, 15), (anthropic, 29), (gemini, 47), (openai_responses, 42), (bedrock, 29)],
    ids=lambda value: getattr(getattr(value, "ADAPTER", None), "name", None),
)
def test_decoding_a_message_costs_few_calls(adapter: ModuleType, most: int) -> None:
    """Beside what a whole list costs."""
    wire = adapter.encode(_turns(100))

    calls = _calls_during(adapter.decode, wire)

    assert calls.total() < most * len(wire)


@each_adapter
def test_decoding_walks_through_the_data_once(adapter: ModuleType) -> None:
    """To see that it is plain: once for each list and object in it."""
    wire = adapter.encode(_turns(100))
    holders = sum(isinstance(value, dict | list) for value in _values(wire))

    calls = _calls_during(adapter.decode, wire)

    assert calls["_is_plain"] + calls["_is_json"] <= holders


def _values(data: Any) -> Iterator[Any]:
    """Return data and everything in it."""
    yield data
    if isinstance(data, dict | list):
        for value in data.values() if isinstance(data, dict) else data:
            yield from _values(value)


@each_adapter
@given(messages=conversations(), data=st.data())
@settings(max_examples=40)
def test_edited_message_never_goes_out_unedited(
    adapter: ModuleType, messages: list[Message], data: st.DataObject
) -> None:
    """Whatever copies were made of it before and after the edit."""
    decoded = adapter.decode(adapter.encode(messages))
    if not decoded:
        return
    place = data.draw(st.integers(0, len(decoded) - 1))
    steps = [*data.draw(st.lists(st.sampled_from(COPIES), max_size=2)), _edit]
    steps += data.draw(st.lists(st.sampled_from(COPIES), max_size=2))
    edited = decoded[place]
    for step in steps:
        edited = step(edited)

    sent = adapter.encode([*decoded[:place], edited, *decoded[place + 1 :]])

    assert not is_untouched(edited, adapter.ADAPTER.name)
    assert MARK in json.dumps(sent)


@each_adapter
@given(messages=conversations(), data=st.data())
@settings(max_examples=40)
def test_copies_are_sent_like_originals(
    adapter: ModuleType, messages: list[Message], data: st.DataObject
) -> None:
    """The quick way and the comparing way write the same, in any mixture."""
    decoded: list[Message] = adapter.decode(adapter.encode(messages))
    ways = st.sampled_from([None, *COPIES])
    mixed = [way(m) if (way := data.draw(ways)) else m for m in decoded]

    assert json.dumps(adapter.encode(mixed)) == json.dumps(adapter.encode(decoded))


@each_adapter
@given(messages=conversations(), data=st.data())
@settings(max_examples=100)
def test_odd_wires_return_like_copies(
    adapter: ModuleType, messages: list[Message], data: st.DataObject
) -> None:
    """Also where an id names two calls of a turn, a block is there twice, or a text is blank."""
    wire = copy.deepcopy(adapter.encode(messages))
    for _ in range(data.draw(st.integers(1, 4))):
        if places := list(_places(wire)):
            _make_odd(*data.draw(st.sampled_from(places)), data)
    decoded: list[Message] = adapter.decode(wire)

    as_they_came, again, copied = map(
        adapter.encode, (decoded, decoded, list(map(copy.copy, decoded)))
    )

    assert json.dumps(as_they_came) == json.dumps(again) == json.dumps(copied)


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Find the items of all lists, and the texts and ids: what holds each, and its place there."""
    for key in data if isinstance(data, dict) else range(len(data)):
        if isinstance(data, list) or key in TEXTS:
            yield data, key
        if isinstance(data[key], dict | list):
            yield from _places(data[key])


def _make_odd(holder: Any, key: Any, data: st.DataObject) -> None:
    """Put an item there twice, or another text in the place of one."""
    if isinstance(holder, list):
        holder.insert(data.draw(st.integers(0, len(holder))), copy.deepcopy(holder[key]))
    elif isinstance(holder[key], str):
        holder[key] = data.draw(st.sampled_from(["", " ", "same", "x" * 65, "cut: \ud83d"]))


@each_adapter
@given(messages=conversations(), data=st.data())
@settings(max_examples=40)
def test_untouched_among_rewritten_go_as_copies(
    adapter: ModuleType, messages: list[Message], data: st.DataObject
) -> None:
    """Where messages beside them were written anew, with other ids for their calls."""
    decoded: list[Message] = adapter.decode(adapter.encode(messages))
    anew = [m.replace() if data.draw(st.booleans()) else m for m in decoded]

    assert json.dumps(adapter.encode(anew)) == json.dumps(
        adapter.encode(list(map(copy.copy, anew)))
    )


@each_adapter
@pytest.mark.parametrize("way", COPIES)
def test_a_copy_is_not_marked(adapter: ModuleType, way: Callable[[Message], Message]) -> None:
    """And the original stays marked."""
    for message in adapter.decode(adapter.encode(_turns(1))):
        assert not is_untouched(way(message), adapter.ADAPTER.name)
        assert is_untouched(message, adapter.ADAPTER.name)


def test_what_is_decoded_has_every_field() -> None:
    """It is made without the constructors, and yet equal to what those make."""
    failure = ToolError("It is gone.")

    assert decoded_message("user", "Hello.", None) == Message("user", "Hello.")
    assert decoded_native("acme", [1], joins_previous=True) == ProviderPayload(
        "acme", [1], joins_previous=True
    )
    assert decoded_call("c1", "read", "{}") == ToolCall("c1", "read", "{}")
    assert decoded_result("c1", "read", "text") == ToolResult("c1", "read", "text")
    assert decoded_result("c1", "", "", failure) == ToolResult("c1", error=failure)


@each_adapter
def test_mark_is_no_part_of_message(adapter: ModuleType) -> None:
    """Neither of its equality and hash nor of its texts."""
    messages: list[Message] = adapter.decode(adapter.encode(_turns(1)))
    copies = list(map(copy.deepcopy, messages))

    assert copies == messages
    assert list(map(hash, copies)) == list(map(hash, messages))
    assert list(map(repr, copies)) == list(map(repr, messages))
    assert list(map(to_plain, copies)) == list(map(to_plain, messages))


@each_adapter
def test_the_mark_keeps_no_message_alive(adapter: ModuleType) -> None:
    """Nor needs it the garbage collector, so that big payloads go at once."""
    messages: list[Message] = adapter.decode(adapter.encode(_turns(1)))
    payload, alive = messages[0].native, weakref.ref(messages[0])

    messages.clear()

    assert payload is not None
    assert alive() is None
