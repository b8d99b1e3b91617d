"""Whatever the owner does to the list, each wire accepts what is sent of it."""

import copy
import json
import re
from types import ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.messages import Message
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.testing import conversations
from agentic.tokens import CharCounter

_WIRES = [openai_chat, openai_responses, anthropic, gemini, bedrock]
_HEADING = re.compile(r"\[Context Summary - (\d+) previous messages\]")
_OPERATIONS = st.one_of(
    st.tuples(st.just("grow"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["rewind", "fork", "replace", "edit"]), st.floats(0, 1)),
    st.tuples(st.sampled_from(["return", "copy", "restart", "forget", "ask"]), st.just(0)),
)


def _said(messages: list[Message]) -> list[Any]:
    """Return what messages say to a provider."""
    return [
        (
            message.role,
            message.content,
            [(call.id, call.name, call.arguments) for call in message.tool_calls],
            [(result.call_id, result.text) for result in message.tool_results],
        )
        for message in messages
    ]


@attrs.define
class _Owner:
    """Somebody with a list of dicts, who also asks a View about the same list, decoded whole."""

    forms: Any
    wire: ModuleType
    items: list[Any] = attrs.field(factory=list)
    other: list[Any] = attrs.field(factory=list)
    number: int = 0
    conversation: Conversation = attrs.field(init=False)
    view: View = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.start(None, None)

    def start(self, state: Any, view_state: Any) -> None:
        """Begin anew, as another process does."""
        self.conversation = self.forms.make(self.wire, compactor=self.forms.Naming(), state=state)
        policy = Policy(700, min_recent_messages=3)
        self.view = View(
            policy, counter=CharCounter(), compactor=self.forms.Naming(), state=view_state
        )

    def do(self, operation: str, amount: float) -> None:
        """Do something to the list, or to the process."""
        at = int(amount * len(self.items))
        if operation in {"rewind", "fork"}:
            if operation == "fork":
                self.other = self.items.copy()
            del self.items[at:]
        elif operation in {"replace", "edit"} and self.items:
            at = min(at, len(self.items) - 1)
            self.change(at, in_place=operation == "edit")
        elif operation == "return" and self.other:
            self.items, self.other = self.other, self.items
        elif operation == "copy":
            self.items = json.loads(json.dumps(self.items))
        elif operation == "restart":
            states = self.conversation.state(), self.view.state()
            self.start(*json.loads(json.dumps(states)))
        elif operation == "forget":
            self.start(None, None)
        else:
            calls = int(amount) if operation == "grow" else 0
            self.grow(calls, beside="Go on." if calls > 2 else "")

    def made(self) -> int:
        """Count what is sent beside what the list holds: a summary, and made-up results."""
        latest = self.conversation.latest
        assert latest is not None
        made = [m for m in latest.messages if self.conversation._list.mirror.find(m) is None]
        return sum(max(1, len(message.tool_results)) for message in made)

    @property
    def most_parting(self) -> int:
        """Return how many items may part turns that would follow each other."""
        return 0 if self.wire in {openai_chat, openai_responses} else 3

    def grow(self, calls: int, beside: str) -> None:
        """Append an exchange."""
        self.number += 1
        self.items += self.forms.to_items(
            self.wire, self.forms.exchange(self.number, calls=calls, beside=beside)
        )

    def change(self, at: int, *, in_place: bool) -> None:
        """Change what an item says; in place only behind the cut, where that is seen."""
        text = json.dumps(self.items[at]).replace(" please", " kindly", 3)
        in_place = in_place and at >= self.conversation.state()["covered"]
        if in_place:
            self.items[at].update(json.loads(text))
        else:
            self.items[at] = json.loads(text)


@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
@given(operations=st.lists(_OPERATIONS, min_size=8, max_size=40))
@settings(max_examples=40)
def test_any_list_history_is_sent_well(
    forms: Any, wire: ModuleType, operations: list[tuple[str, float]]
) -> None:
    """Rewound, forked, edited, copied, restarted: it is valid, ours only where it has to be."""
    owner = _Owner(forms, wire)
    for operation, amount in operations:
        owner.do(operation, amount)
        if not owner.items:
            continue
        before = copy.deepcopy(owner.items)

        sent = owner.conversation.fit(owner.items)
        decided = owner.view.prepare_sync(wire.decode(owner.items))

        assert owner.items == before
        assert forms.problems(wire, sent) <= forms.problems(wire, owner.items)
        latest = owner.conversation.latest
        assert latest is not None
        assert _said(latest.messages) == _said(decided.messages)
        own = {id(item) for item in owner.items}
        assert sum(id(item) not in own for item in sent) <= owner.made() + owner.most_parting
        assert len({id(item) for item in sent}) == len(sent)


@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
@given(conversations(damaged=False, max_rounds=12), st.integers(150, 1200))
@settings(max_examples=40)
def test_every_conversation_start_is_sent_well(
    forms: Any, wire: ModuleType, messages: list[Message], window: int
) -> None:
    """Also where it ends with calls that have no results yet."""
    items = forms.to_items(wire, messages)
    assume(not forms.problems(wire, items))
    conversation = forms.make(wire, window)
    for end in range(1, len(items) + 1):
        sent = conversation.fit(items[:end])

        assert forms.problems(wire, sent) <= forms.problems(wire, items[:end]) - {"unanswered_call"}


@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
@given(conversations(), st.data())
@settings(max_examples=60)
def test_incremental_reading_equals_whole_reading(
    forms: Any, wire: ModuleType, messages: list[Message], data: st.DataObject
) -> None:
    """An incremental decoder gives what `decode` gives, also after it went back."""
    items = forms.to_items(wire, messages)
    decoder = wire.IncrementalDecoder()
    found: list[Any] = []
    ends = data.draw(st.lists(st.integers(1, len(items)), max_size=6)) if items else []
    for end in [*ends, len(items)]:
        start, kept = 0, []
        for each in found[:-1]:
            if start + each.items > end:
                break
            start += each.items
            kept.append(each)
        found = [*kept, *decoder.decode(items[:end], start)]

        assert [m for each in found for m in each.messages] == wire.decode(items[:end])


@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
@given(operations=st.lists(_OPERATIONS, min_size=20, max_size=40))
@settings(max_examples=20)
def test_resending_sent_items_piles_nothing_up(
    forms: Any, wire: ModuleType, operations: list[tuple[str, float]]
) -> None:
    """`h = fit(h)` is legal: one summary, which is folded into the next, also after a restart."""
    items: list[Any] = []
    count = 0
    conversation = forms.make(wire)
    for number, (operation, amount) in enumerate(operations):
        items = [*items, *forms.to_items(wire, forms.exchange(number, calls=int(amount)))]
        if operation == "restart":
            conversation = forms.make(wire, state=json.loads(json.dumps(conversation.state())))

        items = conversation.fit(items)

        counts = [int(each) for each in _HEADING.findall(json.dumps(items))]
        assert len(counts) <= 1
        assert not counts or counts[0] >= count
        count = counts[0] if counts else count
        assert not forms.problems(wire, items)


@pytest.mark.corpus
@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
def test_some_recorded_sessions_are_sent_well(
    forms: Any, wire: ModuleType, transcripts: dict[str, list[Message]]
) -> None:
    """Every fifth transcript, another fifth for each wire, at twenty turns."""
    for messages in [*transcripts.values()][_WIRES.index(wire) :: len(_WIRES)]:
        _send_session(forms, wire, messages, 20)


@pytest.mark.corpus
@pytest.mark.long
@pytest.mark.parametrize("wire", _WIRES, ids=lambda wire: wire.ADAPTER.name)
def test_every_recorded_session_is_sent_well(
    forms: Any, wire: ModuleType, transcripts: dict[str, list[Message]]
) -> None:
    """All transcripts on all wires, at sixty turns."""
    for messages in transcripts.values():
        _send_session(forms, wire, messages, 60)


def _send_session(forms: Any, wire: ModuleType, messages: list[Message], turns: int) -> None:
    """Send a transcript at a number of turns, in a window of a fifth of it."""
    items = forms.to_items(wire, messages)
    if wire is openai_responses and "call_output" in items[0].get("type", ""):
        return
    window = max(2_000, sum(len(json.dumps(item)) for item in items) // 20)
    conversation = forms.make(wire, window)
    allowed = forms.problems(wire, items)
    for end in range(1, len(items) + 1, max(1, len(items) // turns)):
        given_ = items[:end]

        sent = conversation.fit(given_)

        assert forms.problems(wire, sent) <= allowed | forms.problems(wire, given_) - {
            "unanswered_call"
        }
        own = {id(item) for item in given_}
        assert [item for item in sent if id(item) in own] == [
            item for item in given_ if any(item is other for other in sent)
        ]
