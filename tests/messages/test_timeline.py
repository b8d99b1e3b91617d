"""One place says whether messages are the same, and whether a list continues another."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import (
    Media,
    Message,
    ProviderPayload,
    Timeline,
    ToolCall,
    ToolError,
    ToolResult,
    from_plain,
    to_plain,
)
from agentic.messages._timeline import common_length, same

_CALL = ToolCall("c1", "read", '{"path": "a.py"}')
_REPLY = Message("assistant", "So.", reasoning="Hm.", tool_calls=[_CALL])
_RESULT = ToolResult("c1", "read", "text")
_ANSWER = Message("tool", tool_results=[_RESULT])
_NATIVE = ProviderPayload("acme", {"signature": "x"})


@pytest.mark.parametrize(
    ("one", "other", "levels"),
    [
        (_REPLY, _REPLY, {"object", "request", "meaning", "wire"}),
        (_REPLY, from_plain(to_plain(_REPLY)), {"request", "meaning", "wire"}),
        (Message("user", "Why?"), Message("user", "Why?", id="m1"), {"request", "meaning"}),
        (Message("user", "Why?"), Message("user", "Why?", pinned=True), {"request", "meaning"}),
        (_REPLY, Message("assistant", "So.", tool_calls=[_CALL]), {"request"}),
        (_REPLY, Message("assistant", "So.", reasoning="Hm.", native=_NATIVE), set()),
        (
            Message("assistant", "So.", native=_NATIVE),
            Message("assistant", "So.", native=_NATIVE).without_reasoning(),
            {"request"},
        ),
        (Message("user", "Why?"), Message("system", "Why?"), set()),
        (Message("user", "Look."), Message("user", "Look.", media=[Media("image/png")]), set()),
        (_ANSWER, Message("tool", tool_results=[ToolResult("c1", "read", "text", "no")]), set()),
        (
            _ANSWER,
            Message("tool", tool_results=[ToolResult("c1", "read", "text", notice="cut")]),
            set(),
        ),
        (
            Message("tool", tool_results=[ToolResult("c1", "", "", ToolError("no"))]),
            Message("tool", tool_results=[ToolResult("c1", "", "Error: no")]),
            set(),
        ),
    ],
)
def test_levels_of_sameness(one: Message, other: Message, levels: set[Any]) -> None:
    """What a level leaves out, it leaves out on purpose."""
    every: list[Any] = ["object", "request", "meaning", "wire"]

    assert {level for level in every if same(one, other, level)} == levels


class _Sums:
    """A fold: the lengths of the texts so far, by position."""

    def __init__(self) -> None:
        self.sums = [0]

    def rewind(self, length: int) -> None:
        del self.sums[length + 1 :]

    def extend(self, messages: list[Message]) -> None:
        for message in messages:
            self.sums.append(self.sums[-1] + len(message.content))


_TEXTS = st.sampled_from(["", "a", "bb", "ccc"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _TEXTS),
        st.tuples(st.just("rewind"), st.integers(0, 8)),
        st.tuples(st.just("edit"), st.integers(0, 8)),
        st.tuples(st.just("copy"), st.none()),
        st.tuples(st.just("fork"), st.integers(0, 8)),
    ),
    max_size=30,
)


@given(steps=_STEPS)
def test_timeline_and_folds_equal_cold_ones(steps: list[tuple[str, Any]]) -> None:
    """Whatever the owner does to the list between two looks at it."""
    timeline, early, messages = Timeline(), _Sums(), list[Message]()
    timeline.add_fold(early)
    before: list[Message] = []

    for name, value in steps:
        if name == "append":
            messages.append(Message("user", value))
        elif name == "rewind":
            del messages[value:]
        elif name == "edit" and value < len(messages):
            messages[value] = Message("assistant", "edited")
        elif name == "copy":
            messages = [from_plain(to_plain(message)) for message in messages]
        elif name == "fork":
            messages = [*messages[:value], Message("user", "another branch")]
        unchanged = timeline.follow(messages)

        assert unchanged == common_length(messages, before, "wire")
        assert all(one is other for one, other in zip(timeline.messages, messages, strict=True))
        cold, late = Timeline(), _Sums()
        cold.follow(messages)
        cold.add_fold(late)
        assert early.sums == late.sums
        before = list(messages)
