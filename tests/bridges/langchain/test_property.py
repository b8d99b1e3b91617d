"""Whatever happens to a conversation, what is sent of it is what a View decides, and valid."""

import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.message import add_messages

from agentic.bridges.kit._runs import answer_each_call
from agentic.bridges.langchain import from_message, to_message
from agentic.context.budget import Policy
from agentic.context.view import View
from agentic.messages import Message, close_open_rounds
from agentic.providers import anthropic, openai_chat
from agentic.testing import conversations
from agentic.tokens import CharCounter

_SYSTEM = SystemMessage("Be brief.")
_OPERATIONS = st.one_of(
    st.tuples(st.just("grow"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["rewind", "fork", "replace", "edit"]), st.floats(0, 1)),
    st.tuples(st.sampled_from(["return", "reload", "restart", "forget", "ask"]), st.just(0)),
)


def _in_their_form(messages: Sequence[Message]) -> list[BaseMessage]:
    return [item for message in messages for item in from_message(attrs.evolve(message, id=None))]


def _reloaded(value: Any) -> Any:
    """Return what a checkpointer stored and loaded."""
    serde = JsonPlusSerializer()
    return serde.loads_typed(serde.dumps_typed(value))


@attrs.define
class _Agent:
    """The model node of an agent, which calls the middleware as LangChain does."""

    parts: Any
    window: int = 700
    options: dict[str, Any] = attrs.field(factory=dict)
    state: dict[str, Any] = attrs.field(factory=dict)
    sent: list[BaseMessage] = attrs.field(factory=list)
    middleware: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin anew, as another process does."""
        self.middleware = self.parts.middleware(self.window, **self.options)

    def ask(self, items: list[BaseMessage]) -> list[BaseMessage]:
        """Return what is sent to the model, with the system prompt, and store the state."""

        def answer(request: ModelRequest[Any]) -> ModelResponse[Any]:
            system = [] if request.system_message is None else [request.system_message]
            self.sent = [*system, *request.messages]
            return ModelResponse(result=[AIMessage("So.")])

        request = ModelRequest(
            model=self.parts.model(), messages=items, system_message=_SYSTEM, state=self.state
        )
        done = self.middleware.wrap_model_call(request, answer)
        self.state = json.loads(json.dumps(done.command.update))
        return self.sent


def _is_record(message: BaseMessage) -> bool:
    return message.additional_kwargs.get("lc_source") == "summarization"


def _check_pairs(sent: Sequence[BaseMessage]) -> None:
    """Every call is answered once, right after it, and nothing else is."""
    messages = [to_message(each) for each in sent]
    assert close_open_rounds(messages) is messages


def _check_own(sent: Sequence[BaseMessage], items: Sequence[BaseMessage]) -> None:
    """In order and as the same objects, but for the system prompt and what had to be made up."""
    places = {id(item): at for at, item in enumerate(items)}
    own = [places[id(each)] for each in sent if id(each) in places]
    made = [each for each in sent if id(each) not in places]
    assert len(own) == len(set(own))
    # A result that was separated from its call moves back to it.
    in_order = [at for at in own if items[at].type != "tool"]
    assert in_order == sorted(in_order)
    # A pinned result keeps its round, in which a larger output may be shortened; and a result may
    # be made anew where ids are repeated.
    lengths = {item.tool_call_id: len(item.text) for item in items if item.type == "tool"}
    assert all(
        isinstance(each, SystemMessage)
        or _is_record(each)
        or each.text == "Continue."
        or (isinstance(each, ToolMessage) and each.status == "error")
        or (isinstance(each, ToolMessage) and len(each.text) <= lengths[each.tool_call_id])
        for each in made
    )


@given(conversations(), st.integers(150, 1_200))
@settings(max_examples=60)
def test_a_damaged_conversation_is_sent_well(
    parts: Any, conversation: list[Message], window: int
) -> None:
    """Missing, repeated and orphaned results, arguments that are no JSON, media, pins."""
    items = _in_their_form(conversation)
    last = HumanMessage("the request")
    agent = _Agent(parts, window)

    sent = agent.ask([*items, last])

    _check_pairs(sent)
    _check_own(sent, [*items, last])
    assert sent[-1] is last or sent[-1].type == "tool"
    assert any(each is last for each in sent)


@pytest.fixture(scope="module")
def providers() -> list[tuple[Any, Any]]:
    """Return LangChain's models of two providers, with the validators of their wires."""
    claude = pytest.importorskip("langchain_anthropic").ChatAnthropic
    gpt = pytest.importorskip("langchain_openai").ChatOpenAI
    return [
        (claude(model="claude-sonnet-4-5", api_key="none", max_tokens=100), anthropic),
        (gpt(model="gpt-4.1", api_key="none"), openai_chat),
    ]


@given(conversations(damaged=False, max_rounds=12), st.integers(150, 1_200))
@settings(max_examples=30)
def test_providers_accept_what_is_sent(
    parts: Any, providers: list[tuple[Any, Any]], conversation: list[Message], window: int
) -> None:
    """LangChain's own packages take it, and it follows the rules of the wires that they write."""
    agent = _Agent(parts, window)
    # One refuses sounds, and a blank message that has no neighbour to be joined with.
    conversation = [
        attrs.evolve(m, media=(), content=m.content if m.content.strip() else "words")
        for m in conversation
    ]
    # The record of an earlier summary is the user's there, and parts no system messages.
    system = [m for m in conversation if m.role == "system"]
    system.sort(key=lambda message: message.summary is not None)
    items = _in_their_form([m for m in conversation if m.role != "system"])
    given = [*_in_their_form(system), *items, HumanMessage("the request")]

    sent = agent.ask(given)

    for model, wire in providers:
        before = model._get_request_payload([_SYSTEM, *given])
        after = model._get_request_payload(sent)
        problems = {found.rule for found in wire.validate(after)}
        assert problems <= {found.rule for found in wire.validate(before)}
    assert after["messages"][0]["role"] == "system"
    assert sum(each["role"] == "system" for each in after["messages"]) <= 1 + len(system)


@given(conversations(damaged=False, max_rounds=12))
@settings(max_examples=40)
def test_restart_every_turn_changes_nothing(parts: Any, conversation: list[Message]) -> None:
    """Messages and state go through the checkpointer's serializer each time."""
    conversation = [attrs.evolve(m, usage=None) for m in conversation]  # their counts are random
    items = add_messages([], _in_their_form(conversation))
    steady, restarted = (_Agent(parts, 400, {"compactor": parts.Naming()}) for _ in range(2))

    for end in range(1, len(items) + 1):
        if items[end - 1].type not in {"human", "tool"}:
            continue
        sent = steady.ask(items[:end])
        restarted.restart()
        restarted.state = _reloaded(restarted.state)

        again = restarted.ask(_reloaded(items[:end]))

        assert [(m.type, m.content) for m in again] == [(m.type, m.content) for m in sent]


@given(conversations(), st.integers(0, 12), st.integers(150, 1_200))
@settings(max_examples=40)
def test_a_saved_conversation_is_sent_alike(
    parts: Any, conversation: list[Message], at: int, window: int
) -> None:
    """Damaged, and with a refusal in it, through the checkpointer's serializer."""
    items = _in_their_form(conversation)
    items.insert(at, AIMessage("", additional_kwargs={"refusal": "I cannot help with that."}))
    items = add_messages([], [*items, HumanMessage("the request")])

    sent = _Agent(parts, window).ask(items)
    again = _Agent(parts, window).ask(_reloaded(items))

    assert [(m.type, m.content, m.id) for m in again] == [(m.type, m.content, m.id) for m in sent]
    _check_pairs(again)


@attrs.define
class _Owner:
    """Somebody who edits, forks, rewinds and reloads a thread."""

    parts: Any
    items: list[BaseMessage] = attrs.field(factory=list)
    other: tuple[list[BaseMessage], dict[str, Any]] = attrs.field(default=([], {}))
    number: int = 0
    agent: _Agent = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.agent = _Agent(self.parts)

    def do(self, operation: str, amount: float) -> None:
        """Do something to the thread, or to the process."""
        at = int(amount * len(self.items))
        if operation in {"rewind", "fork"}:
            if operation == "fork":
                self.other = self.items.copy(), self.agent.state
            del self.items[at:]
        elif operation in {"replace", "edit"} and self.items:
            self.change(min(at, len(self.items) - 1), in_place=operation == "edit")
        elif operation == "return" and self.other[0]:
            self.items, self.agent.state = self.other
        elif operation == "reload":
            self.items = _reloaded(self.items)
        elif operation in {"restart", "forget"}:
            self.agent.restart()
            if operation == "forget":
                self.agent.state = {}
        else:
            self.number += 1
            self.items += self.parts.exchange(self.number, int(amount))

    def change(self, at: int, *, in_place: bool) -> None:
        """Change the text of a message."""
        item = self.items[at]
        text = str(item.content).replace("please", "kindly", 3)
        if in_place:
            item.content = text
        else:
            self.items[at] = item.model_copy(update={"content": text})


@pytest.mark.parametrize("stores_state", [True, False])
@given(operations=st.lists(_OPERATIONS, min_size=8, max_size=40))
@settings(max_examples=40)
def test_any_thread_history_is_sent_well(
    parts: Any, operations: list[tuple[str, float]], *, stores_state: bool
) -> None:
    """Rewound, forked, edited, reloaded, restarted, with a checkpointer and without."""
    owner = _Owner(parts)
    for operation, amount in operations:
        owner.do(operation, amount)
        if not any(item.type == "human" for item in owner.items):
            continue
        if not stores_state:
            owner.agent.state = {}
        before = _reloaded(owner.items)
        items = list(owner.items)

        sent = owner.agent.ask(items)

        assert owner.items == before
        assert all(map(lambda a, b: a is b, items, owner.items))
        _check_pairs(sent)
        _check_own(sent, items)
        latest = next(item for item in reversed(items) if item.type == "human")
        assert any(each is latest for each in sent)
        size = sum(4 + CharCounter().count(m.text) for m in sent)
        assert size < 700 - Policy(700).reserve_tokens + 100


@given(conversations(max_rounds=12), st.integers(150, 1_200))
@settings(max_examples=40)
def test_the_view_alone_decides(parts: Any, conversation: list[Message], window: int) -> None:
    """A View that is given the same messages makes the same decision."""
    items = [*_in_their_form(conversation), HumanMessage("the request")]
    view = View(
        Policy(window, min_recent_messages=3), counter=CharCounter(), compactor=parts.Naming()
    )

    sent = _Agent(parts, window).ask(items)
    decided = view.prepare_sync([to_message(each) for each in items], system_prompt="Be brief.")

    spoken = [each for each in sent if not isinstance(each, SystemMessage)]
    texts = [each.text for each in spoken if not _is_record(each)]
    expected = [each for each in decided.messages if each.role != "system"]
    expected = answer_each_call(expected, [None] * len(expected))[0]
    expected_texts = [item.text for m in expected for item in from_message(m)]
    assert [text for text in texts if text != "Continue."] == expected_texts
