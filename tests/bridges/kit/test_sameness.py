"""The same object is the same Message, whatever is done to a list, as a naive oracle says it.

The oracle keeps what each object said when it was read, and compares all of it: what today's
readers of dicts, LangChain and Pydantic AI answered each by themselves.
"""

import copy
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentic.bridges.dicts._items import ItemMirror, WireForm
from agentic.bridges.dicts._write import RequestWriter
from agentic.bridges.kit._mirror import Mirror
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, openai_chat


@attrs.define
class Foreign:
    """A framework's message, whose owner may edit it in place."""

    role: Any
    text: str
    calls: list[tuple[str, str]] = attrs.field(factory=list)
    answers: str = ""


class ForeignForm:
    """The shortest form of it."""

    def read(self, item: Foreign, /) -> list[Message]:
        """Return one message."""
        if item.answers:
            return [Message("tool", tool_results=[ToolResult(item.answers, "read", item.text)])]
        calls = [ToolCall(each, name) for each, name in item.calls]
        return [Message(item.role, item.text, tool_calls=calls)]

    def write(self, message: Message, /) -> list[Foreign]:
        """Return an item for each result, or for the message."""
        if message.tool_results:
            return [
                Foreign("tool", each.text, answers=each.call_id) for each in message.tool_results
            ]
        calls = [(call.id, call.name) for call in message.tool_calls]
        return [Foreign(message.role, message.content, calls)]


def _foreign(number: int) -> list[Any]:
    call = f"c{number}"
    return [
        Foreign("user", f"u{number}"),
        Foreign("assistant", "", [(call, "read")]),
        Foreign("tool", f"r{number}", answers=call),
        Foreign("assistant", f"a{number}"),
    ]


def _edit_foreign(item: Foreign, number: int) -> None:
    item.text = f"edited {number}"


def _chat(number: int) -> list[Any]:
    function = {"name": "read", "arguments": '{"n": 1}'}
    return [
        {"role": "user", "content": f"u{number}"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"r{number}"},
        {"role": "assistant", "content": f"a{number}"},
    ]


def _edit_dict(item: dict[str, Any], number: int) -> None:
    item["content"] = f"edited {number}"


def _blocks(number: int) -> list[Any]:
    use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"n": 1}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"r{number}"}
    return [
        {"role": "user", "content": f"u{number}"},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": f"a{number}"},
    ]


@attrs.frozen
class World:
    """A framework, as far as its list is concerned."""

    make: Callable[[], Mirror]
    exchange: Callable[[int], list[Any]]
    edit: Callable[[Any, int], None]
    reload: Callable[[list[Any]], list[Any]] = copy.deepcopy


def _mirror_of(wire: ModuleType) -> Callable[[], Mirror]:
    return lambda: ItemMirror(WireForm(wire.ADAPTER))


def _langchain() -> World:
    messages = pytest.importorskip("langchain_core.messages")
    from agentic.bridges.langchain._conversation import LangchainForm  # noqa: PLC0415  an extra

    def exchange(number: int) -> list[Any]:
        call = {"name": "read", "args": {"n": 1}, "id": f"c{number}"}
        return [
            messages.HumanMessage(f"u{number}"),
            messages.AIMessage("", tool_calls=[call]),
            messages.ToolMessage(f"r{number}", tool_call_id=f"c{number}"),
            messages.AIMessage(f"a{number}"),
        ]

    def edit(item: Any, number: int) -> None:
        item.content = f"edited {number}"

    return World(lambda: Mirror(LangchainForm()), exchange, edit)


def _pydantic_ai() -> World:
    theirs = pytest.importorskip("pydantic_ai.messages")
    from agentic.bridges.pydantic_ai._form import PydanticForm  # noqa: PLC0415  an extra

    def exchange(number: int) -> list[Any]:
        return [
            theirs.ModelRequest([theirs.UserPromptPart(f"u{number}")]),
            theirs.ModelResponse([theirs.ToolCallPart("read", {"n": 1}, f"c{number}")]),
            theirs.ModelRequest([theirs.ToolReturnPart("read", f"r{number}", f"c{number}")]),
            theirs.ModelResponse([theirs.TextPart(f"a{number}")]),
        ]

    def edit(item: Any, number: int) -> None:
        part = item.parts[0]
        if isinstance(part, theirs.ToolCallPart):
            part.args = {"n": number}
        else:
            part.content = f"edited {number}"

    def reload(items: list[Any]) -> list[Any]:
        adapter = theirs.ModelMessagesTypeAdapter
        return list(adapter.validate_json(adapter.dump_json(items)))

    return World(lambda: Mirror(PydanticForm()), exchange, edit, reload)


_WORLDS: dict[str, Callable[[], World]] = {
    "foreign": lambda: World(lambda: Mirror(ForeignForm()), _foreign, _edit_foreign),
    "openai_chat": lambda: World(
        lambda: ItemMirror(WireForm(openai_chat.ADAPTER)), _chat, _edit_dict
    ),
    "anthropic": lambda: World(
        lambda: ItemMirror(WireForm(anthropic.ADAPTER)), _blocks, _edit_dict
    ),
    "langchain": _langchain,
    "pydantic_ai": _pydantic_ai,
}
_OPERATIONS = st.tuples(
    st.sampled_from(
        ["append", "append", "rewind", "fork", "edit", "reload", "twice", "drop", "insert"]
    ),
    st.integers(0, 11),
)


@attrs.define
class Owner:
    """Somebody who does anything to a list."""

    world: World
    items: list[Any] = attrs.field(factory=list)
    numbers: Iterator[int] = attrs.field(factory=itertools.count)

    def do(self, operation: str, place: int) -> None:
        """Do one thing; a place behind the end is its last one."""
        number = next(self.numbers)
        place = min(place, len(self.items) - 1)
        if operation == "append" or place < 0:
            self.items += self.world.exchange(number)
        elif operation == "rewind":
            del self.items[place:]
        elif operation == "fork":
            self.items = [*self.items[:place], *self.world.exchange(number)]
        elif operation == "edit":
            self.world.edit(self.items[place], number)
        elif operation == "reload":
            self.items = self.world.reload(self.items)
        elif operation == "twice":
            self.items.append(self.items[place])
        elif operation == "drop":
            del self.items[place]
        elif operation == "insert":
            self.items[place:place] = self.world.exchange(number)


def _without_payloads(messages: list[Message]) -> list[Message]:
    """Return messages without what may be a former cache mark, or a former neighbor."""
    return [attrs.evolve(message, native=None) for message in messages]


@pytest.mark.parametrize("name", _WORLDS)
@settings(deadline=None, max_examples=200)
@given(operations=st.lists(_OPERATIONS, min_size=2, max_size=12))
def test_mirror_equals_one_made_anew(name: str, operations: list[tuple[str, int]]) -> None:
    """It reads what a new one reads, and what says the same is the same object, wherever it is."""
    world = _WORLDS[name]()
    owner, mirror = Owner(world), world.make()
    before: list[tuple[Any, Message]] = []
    for operation, place in operations:
        owner.do(operation, place)
        messages = list(mirror.read(owner.items))
        anew = list(world.make().read(owner.items))
        now = [(_item_of(mirror, message), message) for message in messages]

        assert _without_payloads(messages) == _without_payloads(anew)
        assert len({id(message) for message in messages}) == len(messages)
        for fresh, (item, message) in zip(anew, now, strict=True):
            then = [old for owned, old in before if owned is item]
            again = [new for owned, new in now if owned is item]
            # An object that is in the list twice is two messages.
            if len(then) == len(again) == 1 and then[0] == fresh:
                assert message is then[0]
        if operation == "reload" and before:
            assert all(new is old for (_, new), (_, old) in zip(now, before, strict=True))
        before = now


@pytest.mark.parametrize("name", _WORLDS)
def test_our_words_say_nothing_when_they_come_back(name: str) -> None:
    """An owner who keeps what is sent has what parts two messages in the list."""
    world = _WORLDS[name]()
    mirror = world.make()
    items = [item for number in range(3) for item in world.exchange(number)]
    messages = list(mirror.read(items))
    sent = [messages[0], messages[3], *messages[7:]]
    if isinstance(mirror, ItemMirror):
        sent = [messages[0], *messages[4:]]  # its wires take two replies in a row
        wire = mirror.form.wire
        writer = RequestWriter(wire, attrs.evolve(wire.form, has_turns=True, parts_users=True))
        written = writer.write(sent, mirror)
    else:
        written = mirror.write(sent)

    assert len(written) == len(sent) + 1
    assert mirror.read([*written, *world.exchange(3)])[: len(sent)] == sent
    assert all(map(lambda new, old: new is old, mirror.messages, sent))
    if isinstance(mirror, ItemMirror):
        again = writer.write(mirror.messages, mirror, extends=True)
        anew = RequestWriter(wire, writer.form).write(mirror.messages, mirror)
    else:
        again = mirror.write(mirror.messages, extends=True)
        anew = mirror.write([*mirror.messages[:-1], attrs.evolve(mirror.messages[-1])])
    assert list(map(id, again[: len(written)])) == list(map(id, written))
    assert list(map(id, anew[: len(written)])) == list(map(id, written))


@pytest.mark.parametrize("name", _WORLDS)
def test_equal_object_takes_the_place_of_a_covered_one(name: str) -> None:
    """It is sent after a rewind, when the compaction holds no more."""
    world = _WORLDS[name]()
    mirror = world.make()
    items = [item for number in range(3) for item in world.exchange(number)]
    mirror.read(items)

    items[0] = copy.deepcopy(items[0])
    mirror.read(items, len(items) - 2)

    assert all(map(lambda own, item: own is item, mirror.items, items))


@pytest.mark.no_cover
@pytest.mark.parametrize("change", ["shift", "repeat", "mark"])
def test_equal_messages_are_found_at_a_linear_cost(change: str) -> None:
    """An owner's list may say "ok" thousands of times, each time with another payload."""

    def steps(number: int) -> int:
        mirror = ItemMirror(WireForm(openai_chat.ADAPTER))
        items = [{"role": "user", "content": "ok", "name": f"n{at}"} for at in range(number)]
        mirror.read(items)
        changed = {
            "shift": copy.deepcopy(items[number // 4 :]),
            "repeat": [items[-1]] * number,
            "mark": [{**item, "name": f"m{at}"} for at, item in enumerate(items[5:])],
        }[change]
        return _count_steps(lambda: mirror.read(changed))

    assert steps(100) < 7 * steps(20)


def _count_steps(run: Callable[[], object]) -> int:
    """Return how many instructions of the mirror's modules are executed."""
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        if Path(frame.f_code.co_filename).name not in {"_forms.py", "_mirror.py", "_units.py"}:
            return None
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        run()
    finally:
        sys.settrace(before)
    return steps


def _item_of(mirror: Mirror, message: Message) -> Any:
    unit = mirror.find(message)
    assert unit is not None
    return mirror.items[unit.start]


@pytest.mark.parametrize("name", _WORLDS)
@settings(deadline=None, max_examples=200)
@given(operations=st.lists(_OPERATIONS, min_size=2, max_size=12))
def test_unchanged_start_keeps_its_messages(name: str, operations: list[tuple[str, int]]) -> None:
    """Up to the first object that says something else than when it was read: today's answer."""
    world = _WORLDS[name]()
    owner, mirror = Owner(world), world.make()
    snapshot: list[Any] = []
    before: list[Message] = []
    for operation, place in operations:
        owner.do(operation, place)
        pairs = zip(owner.items, snapshot, strict=False)
        same = next((at for at, (new, old) in enumerate(pairs) if new != old), None)
        same = min(len(owner.items), len(snapshot)) if same is None else same
        messages = list(mirror.read(owner.items))

        # How an item is read may depend on the next one, which may be another one now.
        start = mirror.units[same - 1].first if 0 < same <= len(mirror.units) else 0
        assert all(map(lambda new, old: new is old, messages[:start], before))
        snapshot, before = copy.deepcopy(owner.items), messages


def _parts_a_call(messages: list[Message]) -> bool:
    """Return whether a reply is between a call and its result: it is sent behind the result."""
    calls = [(call.id, at) for at, each in enumerate(messages) for call in each.tool_calls]
    results = {result.call_id: at for at, m in enumerate(messages) for result in m.tool_results}
    return any(
        each.role == "assistant"
        for call_id, at in calls
        for each in messages[at + 1 : results.get(call_id, 0)]
    )


@pytest.mark.parametrize("name", _WORLDS)
@settings(deadline=None, max_examples=200)
@given(operations=st.lists(_OPERATIONS, min_size=2, max_size=12))
@example(operations=[("append", 0), ("twice", 2), ("drop", 2)])
def test_what_is_unchanged_is_sent_as_the_owner_has_it(
    name: str, operations: list[tuple[str, int]]
) -> None:
    """All of it, and an end of it, as the very objects; the list itself is never changed."""
    world = _WORLDS[name]()
    owner, mirror = Owner(world), world.make()
    for operation, place in operations:
        owner.do(operation, place)
        given = list(owner.items)
        messages = mirror.read(owner.items)
        if _parts_a_call(list(messages)):
            continue

        sent = mirror.write(messages)
        assert list(map(id, sent)) == list(map(id, owner.items)) == list(map(id, given))
        starts = [at for at, each in enumerate(messages) if each.role == "user"]
        if starts and name not in {"openai_chat", "anthropic"}:  # their writer is another one
            start = starts[place % len(starts)]
            end = mirror.write(messages[start:])
            first = mirror.find(messages[start])
            assert first is not None
            if first.first == start:
                assert list(map(id, end)) == list(map(id, owner.items[first.start :]))
