from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from agentic.messages import (
    Message,
    ToolCall,
    ToolError,
    ToolResult,
    close_open_rounds,
    from_plain,
    to_plain,
)
from agentic.messages._rounds import reopen_rounds

IDS = st.sampled_from(["c1", "c2"])
MESSAGES = st.one_of(
    st.builds(Message, st.sampled_from(["system", "user"]), st.just("text")),
    st.builds(
        Message,
        st.just("assistant"),
        tool_calls=st.lists(st.builds(ToolCall, IDS, st.just("run")), max_size=2),
    ),
    st.builds(
        Message,
        st.just("tool"),
        tool_results=st.lists(st.builds(ToolResult, IDS, st.just("run")), min_size=1, max_size=2),
    ),
)


@given(st.lists(MESSAGES, max_size=8))
def test_reopening_removes_only_made_up_results(messages: list[Message]) -> None:
    """Raw messages are left as they are, and closed again the history has the same calls."""
    closed = close_open_rounds(messages)
    reopened = reopen_rounds(closed)
    again = close_open_rounds(reopened)

    assert reopen_rounds(messages) is messages
    assert _results(reopened) == [result for result in _results(closed) if not result.error]
    assert Counter(_results(again)) == Counter(_results(closed))
    assert [each for each in again if each.role != "tool"] == [
        each for each in closed if each.role != "tool"
    ]


def _results(messages: list[Message]) -> list[ToolResult]:
    return [result for message in messages for result in message.tool_results]


def test_edited_made_up_result_stays_known() -> None:
    """Neither another message around it nor the JSON form hides what it is."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "run"), ToolCall("c2", "run")])
    _, made_up = close_open_rounds([call])
    real = ToolResult("c1", "run", "ok")
    edited = made_up.replace(tool_results=[real, made_up.tool_results[1]], pinned=True)

    _, left = reopen_rounds([call, from_plain(to_plain(edited))])

    assert left.tool_results == (real,)
    assert left.pinned


def test_other_failures_are_real() -> None:
    """A run that was cancelled says so itself: that stays."""
    failed = ToolResult("c1", "run", error=ToolError("cancelled", "interrupted"))
    history = [Message("assistant", tool_calls=[ToolCall("c1", "run")])]
    history.append(Message("tool", tool_results=[failed]))

    assert reopen_rounds(history) is history
