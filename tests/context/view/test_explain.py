"""`explain`: what the latest request leaves out or shortens, by which part, and where it is."""

from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.compat.open_agent_sdk import ContextConfig
from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import (
    ClearToolOutputs,
    ContextStrategy,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import conversations
from agentic.tokens import CharCounter


def _round(name: str, output: str, ref: str | None = None) -> list[Message]:
    return [
        Message("assistant", tool_calls=[ToolCall(name, "read")]),
        Message("tool", tool_results=[ToolResult(name, "read", output, ref=ref)]),
    ]


def _view(*strategies: ContextStrategy, window: int = 0) -> View:
    return View(Policy(window), counter=CharCounter(), strategies=strategies)


def test_shortened_output_is_named_with_reference() -> None:
    """It is still there in part, and the whole is where the reference says."""
    talk = [Message("user", "Look."), *_round("a", "x" * 900, "spill/a"), *_round("b", "short")]
    view = _view(TruncateToolOutputs(100))
    view.prepare_sync(talk)

    (removal,) = view.explain()

    assert (removal.part, removal.positions, removal.shortened) == (
        "TruncateToolOutputs",
        (2,),
        True,
    )
    assert removal.where == "the list itself, spill/a"
    assert removal.tokens > 150


@pytest.mark.parametrize("window", [0, 400])
def test_later_messages_are_not_missing(window: int) -> None:
    """The owner appends before asking, and the list has a compaction or none."""
    orphan = Message("tool", tool_results=[ToolResult("x", "read", "?")])
    talk = [*[Message("user", "so it goes. " * 20)] * 9, orphan, *_round("a", "x" * 900)]
    view = View(Policy(window), counter=CharCounter(), compactor=Digest(), strategies=[KeepLast(3)])
    view.prepare_sync(talk)
    removals = view.explain()

    talk += [Message("assistant", "Done."), *_round("b", "short")]

    assert removals
    assert view.explain() == removals


@pytest.mark.parametrize(
    ("strategy", "where"),
    [
        ("truncation", "the list itself"),
        ("summarization", "in the summary; the originals are in the list itself"),
    ],
)
def test_summary_is_named_only_if_made(strategy: Any, where: str) -> None:
    """A compaction may leave messages out without one."""
    view = ContextConfig(1_000, 800, strategy).make_view()
    view.prepare_sync([Message("user", "so it goes. " * 20)] * 30)

    assert [each.where for each in view.explain() if each.part == "compaction"] == [where]


def test_each_part_names_what_it_took() -> None:
    """What one strategy left out is not named again by the next, and places are the list's own."""
    talk = [Message("user", "Look."), *_round("a", "x" * 900), *_round("b", "y" * 900)]
    talk += [Message("user", "Go on.")]
    view = _view(TrimRounds(1), TruncateToolOutputs(100))
    view.prepare_sync(talk)

    removals = [(each.part, each.positions, each.shortened) for each in view.explain()]

    assert removals == [
        ("TrimRounds", (1, 2), False),
        ("TruncateToolOutputs", (4,), True),
    ]


def test_the_window_is_the_last_resort() -> None:
    """Without a compactor, what does not fit is left out, and the reason is the window."""
    talk = [Message("user", f"Remark {at}. " + "word " * 100) for at in range(30)]
    view = _view(window=1_000)
    sent = view.prepare_sync(talk).messages

    (removal,) = view.explain()

    assert removal.part == "window"
    assert "window" in removal.reason
    assert removal.positions == tuple(at for at, each in enumerate(talk) if each not in sent)


@pytest.mark.parametrize("window", [0, 400])
@given(
    talk=conversations().map(
        lambda talk: [attrs.evolve(each) for each in talk if each.summary is None]
    ),
    parts=st.lists(
        st.sampled_from(
            [
                KeepLast(6),
                TrimRounds(2),
                TruncateToolOutputs(10),
                ClearToolOutputs(60, CharCounter(), keep_rounds=1, min_tokens=1),
            ]
        ),
        max_size=3,
        unique_by=id,
    ),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_change_is_explained(
    window: int, talk: list[Message], parts: list[ContextStrategy]
) -> None:
    """Of a damaged list too: each message is sent, or a part says that it is not, or not whole."""
    view = _view(*parts, window=window)
    sent = {id(each) for each in view.prepare_sync(talk).messages}

    removals = view.explain()

    gone = {at for each in removals if not each.shortened for at in each.positions}
    edited = {at for each in removals if each.shortened for at in each.positions}
    assert not gone & {at for at, each in enumerate(talk) if id(each) in sent}
    assert {at for at, each in enumerate(talk) if id(each) not in sent} == gone | edited


def test_an_orphan_is_explained() -> None:
    """It is sent to nobody, and the caller can see why."""
    orphan = ToolResult("gone", "read", "of no call")
    talk = [Message("user", "Look."), *_round("a", "text")]
    talk[2] = talk[2].replace(tool_results=[*talk[2].tool_results, orphan])
    talk.append(Message("tool", tool_results=[orphan]))
    view = _view()
    view.prepare_sync(talk)

    removals = [(each.part, each.positions, each.shortened) for each in view.explain()]

    assert removals == [("repair", (3,), False), ("repair", (2,), True)]


def test_positions_follow_an_orphan_that_comes() -> None:
    """The request goes on, and its list has changed in place."""
    talk = [Message("user", "Look."), *_round("a", "old"), *_round("b", "new")]
    view = _view(TrimRounds(1))
    view.prepare_sync(talk)

    talk.insert(1, Message("tool", tool_results=[ToolResult("gone", "read", "of no call")]))
    prepared = view.prepare_sync(talk)

    assert prepared.extends
    removals = [(each.part, each.positions) for each in view.explain()]
    assert removals == [("repair", (1,)), ("TrimRounds", (2, 3))]
