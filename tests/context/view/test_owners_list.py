"""A View beside a list that its owner appends to, rewinds, forks, edits and copies."""

import asyncio
import copy
import json
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Policy
from agentic.context.strategies import ClearToolOutputs
from agentic.context.view import Prepared, View
from agentic.messages import (
    Message,
    ToolCall,
    ToolResult,
    close_open_rounds,
    from_plain,
    split_rounds,
    to_plain,
)
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.usage import Usage

_WINDOW = 700


@attrs.define
class Naming:
    """A compactor whose summary names every message that it stands for, and nothing else."""

    asked: int = 0
    given: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.asked += 1
        self.given += len(messages)
        names: list[str] = []
        for message in messages:
            names += [message.summary.content] if message.summary else [_name(message)]
        return " ".join(names)


def _name(message: Message) -> str:
    text = message.content or "".join(result.output for result in message.tool_results)
    return text.split()[0]


def _exchange(number: int, *, tool: bool) -> list[Message]:
    made = [Message("user", f"u{number} " + "please " * 12)]
    if tool:
        call = ToolCall(f"c{number}", "run")
        made.append(Message("assistant", f"t{number}", tool_calls=[call]))
        output = f"r{number} " + "line " * 30
        made.append(Message("tool", tool_results=[ToolResult(call.id, "run", output)]))
    made.append(Message("assistant", f"a{number} " + "done " * 12))
    return made


_OPERATIONS = st.one_of(
    st.tuples(st.just("grow"), st.integers(1, 4), st.booleans()),
    st.tuples(st.just("rewind"), st.floats(0, 1), st.booleans()),
    st.tuples(st.just("fork"), st.floats(0, 1), st.booleans()),
    st.tuples(st.just("edit"), st.floats(0, 1), st.booleans()),
    st.tuples(st.sampled_from(["return", "copy", "restart", "forget"]), st.just(0), st.booleans()),
)


@attrs.define
class _Owner:
    """Somebody with a list, and a View that follows it."""

    compactor: Naming = attrs.field(factory=Naming)
    view: View = attrs.field(init=False)
    talk: list[Message] = attrs.field(factory=list)
    other: list[Message] = attrs.field(factory=list)
    number: int = 0

    def __attrs_post_init__(self) -> None:
        self.view = self.make_view(None)

    def make_view(self, state: dict[str, Any] | None) -> View:
        policy = Policy(_WINDOW, min_recent_messages=3)
        return View(policy, counter=CharCounter(), compactor=self.compactor, state=state)

    def do(self, operation: str, amount: float, *, tool: bool) -> None:
        if operation == "grow":
            self._grow(int(amount), tool=tool)
        elif operation in {"restart", "forget"}:
            state = json.loads(json.dumps(self.view.state()))
            self.view = self.make_view(state if operation == "restart" else None)
        else:
            self._change(operation, int(amount * len(self.talk)))
        if not self.talk or self.talk[-1].role != "user":
            self.number += 1
            self.talk = [*self.talk, Message("user", f"u{self.number} and now?")]

    def _grow(self, exchanges: int, *, tool: bool) -> None:
        for _ in range(exchanges):
            self.number += 1
            self.talk += _exchange(self.number, tool=tool)

    def _change(self, operation: str, at: int) -> None:
        if operation == "rewind":
            self.talk = _whole(self.talk[:at])
        elif operation == "fork":
            self.other, self.talk = self.talk, _whole(self.talk[:at])
        elif operation == "return":
            self.other, self.talk = self.talk, self.other
        elif operation == "copy":
            self.talk = [from_plain(json.loads(json.dumps(to_plain(m)))) for m in self.talk]
        elif at < len(self.talk) and self.talk[at].content:
            self.number += 1
            edited = self.talk[at].replace(content=f"e{self.number} " + "other " * 10)
            self.talk = [*self.talk[:at], edited, *self.talk[at + 1 :]]


def _whole(talk: list[Message]) -> list[Message]:
    """Leave out a round that was cut in two."""
    rounds = [found for found in split_rounds(talk) if not found.open_calls]
    return [message for found in rounds for message in found.messages]


@settings(max_examples=150)
@given(st.lists(_OPERATIONS, min_size=1, max_size=12))
def test_every_message_is_sent_or_explained(operations: list[tuple[str, float, bool]]) -> None:
    """Whatever the owner does, the summary stands for messages of this list and no others."""
    owner = _Owner()
    for operation, amount, tool in operations:
        owner.do(operation, amount, tool=tool)
        before = owner.talk.copy()

        prepared = owner.view.prepare_sync(owner.talk)

        assert owner.talk == before
        _check(owner, prepared)


def _check(owner: _Owner, prepared: Prepared) -> None:
    sent = prepared.messages
    names = [_name(message) for message in owner.talk]
    summaries = [message for message in sent if message.summary]
    assert len(summaries) <= 1
    covered = [each.summary.content.split() for each in summaries if each.summary]
    compacted = [each for each in owner.view.explain() if each.part == "compaction"]
    positions = [at for each in compacted for at in each.positions]
    assert [sorted(each) for each in covered] == [sorted(names[at] for at in positions)] * len(
        summaries
    )
    left_out = {at for each in owner.view.explain() if not each.shortened for at in each.positions}
    assert [_name(m) for m in sent if not m.summary] == [
        name for at, name in enumerate(names) if at not in left_out
    ]
    assert sent[-1] == owner.talk[-1]
    assert not any(found.orphaned or found.open_calls for found in split_rounds(sent))
    counted = sum(len(m.content) + sum(len(r.text) for r in m.tool_results) for m in sent) / 4
    assert not prepared.fits or counted <= owner.view.policy.available_tokens


_MEANWHILE = st.lists(
    st.tuples(st.sampled_from(["grow", "rewind", "fork", "edit"]), st.floats(0, 1)), max_size=6
)


@settings(max_examples=150, deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4), meanwhile=_MEANWHILE)
def test_owner_acts_while_a_summary_is_made(
    sizes: list[int], meanwhile: list[tuple[str, float]]
) -> None:
    """The list is changed in place, or a branch of it is prepared by another task."""
    owner, actions = _Owner(), iter(meanwhile)
    branches = list[tuple[list[Message], asyncio.Task[Prepared]]]()

    class Disturbed(Naming):
        async def compact(self, messages: list[Message], /) -> str:
            operation, amount = next(actions, ("", 0.0))
            talk, owner.talk = owner.talk, owner.talk.copy()
            if operation in {"rewind", "edit", "grow"}:
                owner.do(operation, amount + (operation == "grow"), tool=False)
                talk[:] = owner.talk
            elif operation == "fork":
                owner.do("rewind", amount, tool=False)
                task = asyncio.create_task(owner.view.prepare(owner.talk))
                branches.append((owner.talk, task))
            owner.talk = talk
            await asyncio.sleep(0)
            return await super().compact(messages)

    async def talk() -> None:
        for size in sizes:
            owner.do("grow", size, tool=True)
            _check(owner, await owner.view.prepare(owner.talk))
            while branches:
                branch, task = branches.pop()
                sent = (await task).messages
                assert sent[-1] == branch[-1]
                assert {_name(m) for m in sent if not m.summary} <= set(map(_name, branch))
                assert close_open_rounds(sent) is sent

    owner.compactor = owner.view.compactor = Disturbed()
    asyncio.run(talk())


def test_growing_list_is_summarized_once() -> None:
    """No message is given to the compactor twice: only the former summary comes again."""
    owner = _Owner()
    for _ in range(60):
        owner.do("grow", 1, tool=True)
        owner.view.prepare_sync(owner.talk)

    assert owner.compactor.asked > 3
    assert owner.compactor.given <= len(owner.talk) + owner.compactor.asked


def test_returning_to_a_branch_costs_nothing() -> None:
    """The summary of a branch is still known after a visit to another one."""
    owner = _Owner()
    owner.do("grow", 20, tool=True)
    owner.view.prepare_sync(owner.talk)
    owner.do("fork", 0.1, tool=False)
    owner.do("grow", 20, tool=True)
    owner.view.prepare_sync(owner.talk)
    asked = owner.compactor.asked

    owner.do("return", 0, tool=False)
    prepared = owner.view.prepare_sync(owner.talk)

    assert prepared.compaction is None
    assert owner.compactor.asked == asked


def test_summary_outlives_edits_behind_it() -> None:
    """An edit of a recent message leaves the summary valid; one of a covered message does not."""
    owner = _Owner()
    owner.do("grow", 20, tool=True)
    owner.view.prepare_sync(owner.talk)
    asked = owner.compactor.asked

    owner.do("edit", 0.99, tool=False)
    assert owner.view.prepare_sync(owner.talk).compaction is None
    owner.do("edit", 0.01, tool=False)
    owner.view.prepare_sync(owner.talk)

    assert owner.compactor.asked == asked + 1


def test_state_replaces_the_process() -> None:
    """With the state of the last request each request is served by a new View, for one summary."""
    owner = _Owner()
    lasting = _Owner()
    for _ in range(40):
        owner.do("grow", 1, tool=True)
        lasting.do("grow", 1, tool=True)
        owner.do("restart", 0, tool=False)
        fresh = owner.view.prepare_sync(owner.talk)
        kept = lasting.view.prepare_sync(lasting.talk)

        assert [m.content for m in fresh.messages] == [m.content for m in kept.messages]

    assert owner.compactor == lasting.compactor
    assert len(json.dumps(owner.view.state())) < 4_000


def test_state_has_only_json_types() -> None:
    """A store that keeps types, such as msgpack or pickle, has to know none of ours."""
    owner = _Owner()
    owner.do("grow", 20, tool=True)
    for _ in range(2):
        owner.view.prepare_sync(owner.talk)
        owner.talk.append(Message("assistant", "Yes."))
        owner.view.report(owner.talk[-1], Usage(input=500, output=4))
    found: set[type] = set()
    waiting: list[Any] = [owner.view.state()]
    while waiting:
        value = waiting.pop()
        found.add(type(value))
        waiting += [*value, *value.values()] if isinstance(value, dict) else ()
        waiting += value if isinstance(value, list) else ()

    assert owner.view.state()["compaction"]["reason"] == "window"
    assert found <= {dict, list, str, int, float, bool, type(None)}


def test_adopted_view_is_not_summarized_again() -> None:
    """The loop `h = view.prepare(h).messages` is legal, too."""
    owner = _Owner()
    talk: list[Message] = []
    total = 0
    for number in range(60):
        fresh = _exchange(number, tool=True)
        total += len(fresh)
        talk = owner.view.prepare_sync([*talk, *fresh]).messages

    assert owner.compactor.given <= total + owner.compactor.asked
    assert sum(message.summary is not None for message in talk) == 1


def test_plain_system_summary_is_recognized() -> None:
    """A summary that lost its record on the way through dicts is merged, not summarized."""
    owner = _Owner()
    owner.do("grow", 20, tool=True)
    sent = owner.view.prepare_sync(owner.talk).messages
    plain = [Message(m.role, m.content) if m.summary else m for m in sent]
    known = owner.view.prepare_sync(plain).messages
    forged = Message("user", next(m.content for m in sent if m.summary))

    fresh = owner.make_view(None).prepare_sync([*plain, forged]).messages

    assert [m.summary.messages_summarized for m in known if m.summary] == [
        m.summary.messages_summarized for m in fresh if m.summary
    ]
    assert fresh[-1].summary is None


def test_message_is_expected_not_a_dict() -> None:
    """A list of dicts is refused, and the error names the way."""
    wrong: Any = [{"role": "user", "content": "Why?"}]

    with pytest.raises(ValueError, match="decode"):
        View(Policy(1_000), counter=CharCounter()).prepare_sync(wrong)


def test_strategy_is_not_shared_between_views() -> None:
    """Two conversations on one strategy object do not push each other out of its memory."""
    asked: list[object] = []

    class Asked(ClearToolOutputs):
        def compact(self, messages: list[Message], /) -> list[Message]:
            asked.append(self)
            return messages

    shared = Asked(100, CharCounter())
    for _ in range(2):
        view = View(Policy(1_000), counter=CharCounter(), strategies=[shared])
        view.prepare_sync([Message("user", "Go.")])

    first, second = asked
    assert len({id(shared), id(first), id(second)}) == 3


def test_equal_copies_are_the_same_list() -> None:
    """A checkpointer hands out copies each time: the summary still holds."""
    owner = _Owner()
    owner.do("grow", 20, tool=True)
    owner.view.prepare_sync(owner.talk)
    asked = owner.compactor.asked

    for _ in range(3):
        owner.do("copy", 0, tool=False)
        assert owner.view.prepare_sync(copy.deepcopy(owner.talk)).compaction is None

    assert owner.compactor.asked == asked


@given(messages=conversations())
def test_repair_grows_as_it_is_made_at_once(messages: list[Message]) -> None:
    """Turn by turn, whatever is damaged: the same objects, and as many made up."""
    view = View(Policy(10_000_000))
    for length in range(len(messages) + 1):
        sent = view.prepare_sync(messages[:length]).messages
        if any(each.content.startswith("This came after the call was given up") for each in sent):
            return  # what was made up was replied to and stays, which no cold repair can know
        assert sent == close_open_rounds(messages[:length])
