"""Whatever a history is like, and whatever happens to it, the invariants of a View hold."""

import copy
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    ToolReturnPart,
    UserPromptPart,
)

from agentic.bridges.kit._mirror import Mirror
from agentic.bridges.kit._runs import answer_each_call
from agentic.bridges.pydantic_ai import ContextBudget, to_messages, to_model_messages
from agentic.bridges.pydantic_ai._form import PydanticForm
from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.messages import ContextSummary, Message, split_rounds
from agentic.providers.kit._record import move_record
from agentic.testing import conversations
from agentic.tokens import CharCounter

_POLICY = Policy(700, min_recent_messages=3)
_HISTORIES = conversations().map(lambda found: [*to_model_messages(found), _ask("Go on.")])


def _ask(words: str) -> ModelRequest:
    return ModelRequest([UserPromptPart(words)])


def _says(messages: Sequence[Message]) -> list[Any]:
    """Return what messages say, without the words that only lead up to a reply.

    Results beside each other are one, because the framework joins the answers to a reply.
    """
    said: list[Any] = []
    for message in messages:
        calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
        results = [(result.call_id, result.text) for result in message.tool_results]
        if message.role == "tool" and said and said[-1][0] == "tool":
            said[-1] = ("tool", "", said[-1][2] + message.media, [], said[-1][4] + results)
        elif (message.role, message.content) != ("user", "Continue."):
            said.append((message.role, message.content, message.media, calls, results))
    return said


def _in_order(sent: Sequence[Message], read: list[Message]) -> list[Message]:
    """Return a view as a framework gets it: each result behind its call.

    A summary that the history does not have stands behind the system's texts.
    """
    summaries = {id(each) for each in sent if each.summary is not None}
    moved = list(sent) if summaries & set(map(id, read)) else move_record(sent)
    return answer_each_call(moved, [None] * len(moved))[0]


@settings(deadline=None)
@given(history=_HISTORIES)
def test_calls_and_results_stay_paired(framework: Any, history: list[ModelMessage]) -> None:
    """No result is sent without its call, and no call without a result."""
    sent = framework.fit(framework.budget(), history)
    for found in split_rounds(to_messages(sent)):
        assert not found.open_calls
        assert not found.orphaned


@settings(deadline=None)
@given(history=_HISTORIES)
def test_request_holds_given_objects(framework: Any, history: list[ModelMessage]) -> None:
    """What is sent are the caller's own parts in their order, and at most one summary."""
    before = copy.deepcopy(history)
    sent = framework.fit(framework.budget(), history)
    places = {id(part): at for at, part in enumerate(p for m in history for p in m.parts)}
    made = [p for m in sent for p in m.parts if id(p) not in places]
    assert sum(isinstance(part, CompactionPart) for part in made) <= 1
    assert all(isinstance(part, CompactionPart | ToolReturnPart | UserPromptPart) for part in made)
    kept = [places[id(p)] for m in sent for p in m.parts if id(p) in places]
    assert len(kept) == len(set(kept))
    assert [message.parts for message in history] == [message.parts for message in before]


@settings(deadline=None)
@given(history=_HISTORIES)
def test_prompts_and_request_are_kept(framework: Any, history: list[ModelMessage]) -> None:
    """The system prompts at the start and the latest request are always sent."""
    sent = framework.fit(framework.budget(), history)
    parts = [part for message in sent for part in message.parts]
    assert any(part is history[-1].parts[0] for part in parts)
    for message in history:
        if not isinstance(message.parts[0] if message.parts else None, SystemPromptPart):
            break
        assert any(part is message.parts[0] for part in parts)
    assert isinstance(sent[-1], ModelRequest)


@settings(deadline=None)
@given(history=_HISTORIES)
def test_request_fits_or_says_so(framework: Any, history: list[ModelMessage]) -> None:
    """A request that is said to fit is within the window."""
    budget = framework.budget()
    framework.fit(budget, history)
    latest = budget.latest("c")
    assert latest.fits == (latest.tokens <= _POLICY.available_tokens)


@settings(deadline=None)
@given(history=_HISTORIES)
def test_bridge_sends_what_view_sends(framework: Any, history: list[ModelMessage]) -> None:
    """A View that is asked about the same messages sends the same, also the second time."""
    view = View(_POLICY, counter=CharCounter(), compactor=framework.Naming())
    # Not `to_messages`: answers beside each other are read together, as the framework joins them.
    read, budget = Mirror(PydanticForm()).read(history), framework.budget()
    for _ in range(2):
        prepared = view.prepare_sync(read)
        sent = Mirror(PydanticForm()).read(framework.fit(budget, history))
        assert _says(sent) == _says(_in_order(prepared.messages, read))


@settings(deadline=None)
@given(history=_HISTORIES, at=st.integers(0, 12))
def test_saved_history_is_sent_alike(framework: Any, history: list[ModelMessage], at: int) -> None:
    """Damaged, or with a refusal in it: what went through JSON leads to the same request."""
    history.insert(min(at, len(history) - 1), ModelResponse([], finish_reason="content_filter"))
    saved = framework.through_json(history)  # before the first request writes a summary into it
    sent = framework.fit(framework.budget(), history)
    loaded = framework.fit(framework.budget(), saved)
    assert _says(to_messages(framework.through_json(loaded))) == _says(to_messages(sent))


@attrs.define
class _Owner:
    """Somebody whose history goes through the framework's serializer, in one process or two."""

    framework: Any
    budget: ContextBudget[None]
    other: ContextBudget[None]
    history: list[ModelMessage] = attrs.field(factory=list)
    number: int = 0

    def do(self, operation: str, amount: int) -> None:
        """Do something to the history."""
        self.number += 1
        if operation == "grow":
            exchange = self.framework.exchange(self.number, calls=amount)
            self.history += to_model_messages(exchange)
        elif operation == "rewind":
            del self.history[2 * amount :]
        elif operation == "json":
            self.history = self.framework.through_json(self.history)
        elif operation == "switch":
            self.history = self.framework.through_json(self.history)
            self.budget, self.other = self.other, self.budget
        elif operation == "replace" and self.history:
            at = min(amount, len(self.history) - 1)
            if isinstance(self.history[at], ModelRequest):
                self.history[at] = _ask(f"Changed {self.number}.")


_OPERATIONS = st.one_of(
    st.tuples(st.just("grow"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["rewind", "replace"]), st.integers(0, 12)),
    st.tuples(st.sampled_from(["json", "switch"]), st.just(0)),
)


@pytest.mark.parametrize("rewrite", [False, True])
@settings(deadline=None)
@given(operations=st.lists(_OPERATIONS, min_size=6, max_size=24))
def test_history_may_change_anyhow(
    framework: Any, rewrite: bool, operations: list[tuple[str, int]]
) -> None:
    """Rewound, edited, saved or continued elsewhere: each request is paired and fits."""
    made = [framework.budget(rewrite=rewrite) for _ in range(2)]
    owner = _Owner(framework, *made)
    for operation, amount in operations:
        owner.do(operation, amount)
        owner.history.append(_ask(f"q{owner.number}"))
        sent = framework.fit(owner.budget, owner.history)
        assert not framework.unpaired(sent)
        assert owner.budget.latest("c").fits
        assert len(framework.summaries(sent)) <= 1
        assert sent[-1] is owner.history[-1]
        owner.history += to_model_messages(_REPLY)
    if not rewrite:
        alone = framework.fit(framework.budget(), [*owner.history, _ask("End.")])
        assert not framework.unpaired(alone)


_REPLY = [Message("assistant", "It is done, as you asked.")]


def test_summary_that_the_owner_keeps_stays_in_its_place(framework: Any) -> None:
    """A list that fits is sent as the same objects, also with a summary before a system prompt."""
    (record,) = to_model_messages([ContextSummary("Nine.", 1).to_message()])
    history = [record, ModelRequest([SystemPromptPart("Be brief.")]), _ask("Go on.")]

    sent = framework.fit(framework.budget(), history)

    assert len(sent) == len(history)
    assert all(one is other for one, other in zip(sent, history, strict=True))
