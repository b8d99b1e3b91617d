"""A framework's list in which something stands between a call and its result."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.bridges.kit import ListView
from agentic.bridges.kit._runs import PartedRuns
from agentic.context.budget import Policy
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, bedrock, cohere, gemini, openai_chat, openai_responses


@attrs.frozen
class _Item:
    message: Message


class _Form:
    def read(self, item: _Item, /) -> list[Message]:
        return [item.message]

    def write(self, message: Message, /) -> list[_Item]:
        return [_Item(message)]


def _calls(text: str, *ids: str) -> Message:
    return Message("assistant", text, tool_calls=[ToolCall(each, "run", "{}") for each in ids])


def _results(*ids: str) -> Message:
    return Message("tool", tool_results=[ToolResult(each, "run", f"of {each}") for each in ids])


_GO = Message("user", "Go.")
_LOOK = Message("assistant", "I look.")
_LISTS = {
    "reply": ([_GO, _calls("", "a"), _LOOK, _results("a")], "Go. a <a I look. Continue."),
    "orphan": (
        [_GO, _calls("", "a"), _results("lost"), _LOOK, _results("a"), Message("assistant", "So.")],
        "Go. a <a I look. Continue. So.",
    ),
    "call behind a reply": (
        [_GO, _calls("", "a"), _LOOK, _calls("", "b"), _results("a", "b")],
        "Go. a <a I look. Continue. b <b",
    ),
    "calls": ([_GO, _calls("", "a"), _calls("", "b"), _results("b", "a")], "Go. a <a b <b"),
    "reply between results": (
        [
            _GO,
            _calls("", "a", "b"),
            _results("a"),
            _LOOK,
            _results("b"),
            Message("assistant", "So."),
        ],
        "Go. a b <a <b I look. Continue. So.",
    ),
    "replies between results": (
        [_GO, _calls("", "a"), _calls("", "b"), _results("b"), _LOOK, _LOOK, _results("a")],
        "Go. a <a b <b I look. I look. Continue.",
    ),
    "in order": ([_GO, _calls("", "a", "b"), _results("a"), _results("b")], "Go. a b <a <b"),
}

_LISTS_OF = {gemini: "contents", openai_responses: "input"}


def _view() -> ListView:
    return ListView(_Form(), Policy(30_000))


def _names(items: Sequence[_Item]) -> str:
    """Return what items say: texts, ids of calls, `<` before those of results, `?` if made up."""
    words: list[str] = []
    for message in (item.message for item in items):
        words += [message.content] if message.content else []
        words += [call.id for call in message.tool_calls]
        results = [(f"<{each.call_id}", "?" if each.error else "") for each in message.tool_results]
        words += map("".join, results)
    return " ".join(words)


@pytest.mark.parametrize("name", _LISTS)
def test_result_stands_behind_its_call(name: str) -> None:
    """Frameworks send each reply as an item of its own; the model goes on from the result."""
    messages, names = _LISTS[name]

    sent = _view().fit(list(map(_Item, messages)))

    assert _names(sent) == names


@st.composite
def _runs(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    for turn in range(draw(st.integers(1, 3))):
        messages.append(Message("user", f"Go {turn}."))
        ids: list[str] = []
        for number in range(draw(st.integers(1, 3))):
            calls = [f"c{turn}{number}{each}" for each in range(draw(st.integers(0, 2)))]
            messages.append(_calls(f"Step {turn}{number}.", *calls))
            if draw(st.booleans()):
                messages.append(_results(f"lost{turn}{number}"))
            ids += calls
        ids = draw(st.permutations(ids))[: draw(st.integers(0, len(ids)))]
        cut = draw(st.integers(0, len(ids)))
        for part in (ids[:cut], ids[cut:]):
            messages += [_results(*part)] if part else []
            messages += draw(st.lists(st.just(_LOOK), max_size=2))
    return messages


def _encoded(wire: Any, items: list[_Item]) -> list[Any]:
    encoded: list[Any] = wire.encode([item.message for item in items])
    return encoded


def _has_call_behind_reply(messages: list[Message]) -> bool:
    """Return whether a reply with calls follows another one, although no call waits."""
    waiting: set[str] = set()
    last = messages[0]
    for message in messages:
        if message.tool_calls and last.role == "assistant" and not waiting:
            return True
        if message.role == "user":
            waiting.clear()
        waiting.update(call.id for call in message.tool_calls)
        waiting.difference_update(result.call_id for result in message.tool_results)
        last = message
    return False


@pytest.mark.parametrize(
    "wire",
    [openai_chat, openai_responses, cohere, bedrock, anthropic, gemini],
    ids=lambda wire: wire.ADAPTER.name,
)
@given(messages=_runs(), restarts=st.booleans())
def test_any_run_is_accepted_as_frameworks_send_it(
    wire: Any, messages: list[Message], *, restarts: bool
) -> None:
    """One item for each reply, which nobody merges with its neighbor; as the list grows."""
    items = list(map(_Item, messages))
    view = _view()
    for end in range(1, len(items) + 1):
        sent = view.fit(items[:end])
        if restarts:
            view = _view()

        # Every framework merges results in a row, where the wire wants it.
        groups = itertools.groupby(sent, key=lambda item: item.message.role == "tool" or id(item))
        encoded = [each for _, group in groups for each in _encoded(wire, list(group))]
        body: dict[str, Any] = {_LISTS_OF.get(wire, "messages"): encoded}
        if wire is anthropic:
            body |= {"max_tokens": 100, "model": "claude-3-5-haiku-latest"}
        if wire is bedrock:
            tool = {"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}
            body["toolConfig"] = {"tools": [tool]}
        rules = {problem.rule for problem in wire.validate(json.loads(json.dumps(body)))}
        # Replies without calls, and results, in a row are the owner's own.
        order = {"order"} if _has_call_behind_reply(messages[:end]) else set()
        assert rules <= {"alternation", "empty_content", *order}


@given(messages=_runs(), other=_runs(), length=st.integers(0, 30))
def test_runs_are_the_same_after_a_rewind(
    messages: list[Message], other: list[Message], length: int
) -> None:
    """As if the list had been read once."""
    kept = messages[:length]
    runs, fresh = PartedRuns(), PartedRuns()
    for position, message in enumerate(messages):
        runs.add(position, message)

    runs.rewind(kept)
    for position, message in enumerate(other, len(kept)):
        runs.add(position, message)

    for position, message in enumerate([*kept, *other]):
        fresh.add(position, message)
    assert runs == fresh or attrs.astuple(runs) == attrs.astuple(fresh)
