"""An asynchronous call may be answered in any later request, or stay open until then."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context import strategies
from agentic.errors import ConfigError
from agentic.messages import (
    Message,
    ToolCall,
    ToolResult,
    close_open_rounds,
    from_plain,
    split_rounds,
    to_plain,
)
from agentic.messages._rounds import count_settled, reopen_rounds

ASK, MORE = Message("user", "Weather?"), Message("user", "And now?")
SAID = Message("assistant", "Meanwhile: pack a coat.")


def _called(*ids: str, later: str = "") -> Message:
    """Return a message that makes calls; those in `later` are asynchronous."""
    return Message(
        "assistant", tool_calls=[ToolCall(each, "look", is_async=each in later) for each in ids]
    )


def _answered(*ids: str) -> Message:
    return Message("tool", tool_results=[ToolResult(each, "look", f"{each}: 12 C") for each in ids])


def test_open_async_call_needs_no_answer() -> None:
    """Nothing is made up, whatever follows it."""
    history = [ASK, _called("a", later="a"), SAID, MORE, SAID]

    assert close_open_rounds(history) is history
    (awaited,) = [found for found in split_rounds(history) if found.awaited]
    assert awaited.positions == (1,)
    assert awaited.pinned
    assert awaited.open_calls == ()


def test_late_output_stays_where_it_is() -> None:
    """It is in a round with its call, at the place of the output."""
    history = [ASK, _called("a", later="a"), SAID, MORE, SAID, _answered("a"), SAID]

    assert close_open_rounds(history) is history
    rounds = split_rounds(history)
    assert [found.positions for found in rounds] == [(0,), (2,), (3,), (4,), (1, 5), (6,)]
    assert [found.late for found in rounds] == [False] * 4 + [True, False]
    assert not any(found.awaited or found.orphaned for found in rounds)


def test_output_after_a_user_message_stays_there() -> None:
    """Of any other call it moves back to the call."""
    late = [ASK, _called("a", later="a"), MORE, _answered("a")]
    parted = [ASK, _called("a"), MORE, _answered("a")]

    assert close_open_rounds(late) is late
    assert close_open_rounds(parted) == [ASK, parted[1], parted[3], MORE]


def test_async_call_answered_at_once_is_like_any_other() -> None:
    """With other results in the same message."""
    history = [ASK, _called("a", "b", later="a"), _answered("b", "a"), SAID]

    assert close_open_rounds(history) is history
    rounds = split_rounds(history)
    assert [found.positions for found in rounds] == [(0,), (1, 2), (3,)]
    assert not any(found.late or found.awaited for found in rounds)


def test_second_output_is_an_orphan() -> None:
    """Only the first output of a call counts; one without a call was never asked for."""
    history = [ASK, _called("a", later="a"), SAID, _answered("a"), SAID, _answered("a", "x")]

    assert close_open_rounds(history) == history[:5]


def test_output_whose_call_is_gone_is_an_orphan() -> None:
    """As after a compaction by somebody who does not know of rounds."""
    history = [MORE, SAID, _answered("a")]

    assert close_open_rounds(history) == history[:2]


def test_other_open_call_beside_it_is_answered() -> None:
    """Right after the call; the late output stays."""
    history = [ASK, _called("a", "b", later="a"), SAID, MORE, _answered("a")]

    closed = close_open_rounds(history)

    assert [message.role for message in closed] == [
        *("user", "assistant", "tool", "assistant", "user", "tool")
    ]
    made_up = closed[2].tool_results
    assert [(each.call_id, each.error and each.error.kind) for each in made_up] == [
        ("b", "interrupted")
    ]
    assert close_open_rounds(closed) is closed
    assert reopen_rounds(closed) == history


def test_made_up_results_part_no_run() -> None:
    """The real result behind the replies answers the first of them, also when it is closed anew."""
    history = [
        _called("a", "b"),
        _called("c", "d", later="d"),
        _answered("b"),
        MORE,
        _answered("d"),
    ]

    closed = close_open_rounds(history)

    assert closed[:2] == history[:2]
    assert [[each.call_id for each in m.tool_results] for m in closed[2:4]] == [["a", "c"], ["b"]]
    assert close_open_rounds(closed) is closed


def test_late_round_answers_the_call_that_is_open() -> None:
    """An id may come again in a later reply of the round: its call has a result, or has none."""
    history = [_called("a", "b", "x", later="x"), _answered("b"), _called("a", "b")]
    history += [_answered("a", "x")]

    closed = close_open_rounds(history)

    assert [m for m in closed if m in history] == history
    assert [[r.call_id for r in m.tool_results] for m in closed if m not in history] == [
        ["a"],
        ["b"],
    ]
    assert close_open_rounds(closed) is closed


def test_late_output_parts_no_open_replies() -> None:
    """What answers the calls of the run comes behind all of its replies."""
    history = [ASK, _called("x", later="x"), MORE, _called("a"), _answered("x"), _called("b")]
    history += [_answered("a", "b")]

    assert close_open_rounds(history) is history
    assert (3, 5, 6) in [found.positions for found in split_rounds(history)]


@pytest.mark.parametrize("outputs", [["a", "c"], ["c", "a"]])
def test_reply_between_results_leaves_late_outputs(outputs: list[str]) -> None:
    """An asynchronous call needs none, so that only the others keep the run open."""
    call, late = _called("a", "b", "c", later="c"), _called("a", "c", later="c")
    history = [ASK, call, _answered("b"), SAID, *map(_answered, outputs)]
    answered = [ASK, late, _answered("a"), SAID, _answered("c")]

    closed = close_open_rounds(history)

    assert {r.call_id for m in closed for r in m.tool_results if not r.error} == {"a", "b", "c"}
    assert close_open_rounds(closed) is closed
    assert close_open_rounds(answered) is answered


def test_open_call_beside_a_late_output_is_unsettled() -> None:
    """Its result may still come, and be the first of the round."""
    history = [ASK, _called("a", "b", later="b"), MORE, _answered("b")]

    assert count_settled(history, split_rounds(history)) == 1


def test_awaited_call_hides_no_open_run() -> None:
    """What is settled before it may be gone on from by another end, with results for the run."""
    history = [ASK, _called("a"), MORE, _called("b", "c", later="c"), _answered("b")]

    assert count_settled(history, split_rounds(history)) == 1


def test_two_outputs_of_one_message_may_come_apart() -> None:
    """The round is at the place of the last one."""
    history = [_called("a", "b", later="ab"), SAID, _answered("b"), MORE, SAID, _answered("a")]

    assert close_open_rounds(history) is history
    assert [found.positions for found in split_rounds(history)] == [(3,), (4,), (0, 1, 2, 5)]
    assert split_rounds(history[:-1])[0].positions == (0, 1, 2)


@pytest.mark.parametrize("later", ["ab", "a"])
def test_output_before_a_direct_one_stays_there(later: str) -> None:
    """Both are results: no other message is between the calls and their outputs."""
    history = [_called("a", later="a"), MORE, _called("b", later=later)]
    history += [_answered("a"), _answered("b"), SAID]

    assert close_open_rounds(history) is history
    assert [found.positions for found in split_rounds(history)] == [(1,), (2, 4), (0, 3), (5,)]


def test_output_beside_a_direct_one_joins_both_calls() -> None:
    """One message may answer an old call and a new one."""
    history = [_called("a", later="a"), SAID, MORE, _called("b"), _answered("a", "b"), SAID]

    assert close_open_rounds(history) is history
    assert [found.positions for found in split_rounds(history)] == [(1,), (2,), (0, 3, 4), (5,)]


def test_orphan_changes_no_output() -> None:
    """A result that answers nothing is never sent: what is around it is read without it."""
    lost = _answered("lost")
    history = [ASK, _called("a", "b", later="a"), _answered("b"), _answered("a"), SAID]

    for at in range(2, len(history)):
        assert close_open_rounds([*history[:at], lost, *history[at:]]) == history
        rounds = split_rounds([*history[:at], lost, *history[at:]])
        assert [found.late for found in rounds if not found.orphaned] == [False] * 3


def test_call_beside_a_late_output_keeps_its_own() -> None:
    """A reply that left its place for a late output does not take another reply's result."""
    history = [ASK, _called("a"), _called("b", later="b"), MORE, _answered("b"), _answered("a")]

    rounds = split_rounds(history)

    assert [1, 5] in [[at for at in found.positions if at in {1, 5}] for found in rounds]


def test_providers_without_async_calls_get_answers() -> None:
    """The output moves to its call; one that is awaited is replaced by a sentence."""
    history = [ASK, _called("a", "b", later="ab"), SAID, MORE, SAID, _answered("a")]

    closed = close_open_rounds(history, answer_async=True)

    assert [message.role for message in closed] == [
        *("user", "assistant", "tool", "assistant", "user", "assistant")
    ]
    first, second = closed[2].tool_results
    assert (first.call_id, first.output) == ("a", "a: 12 C")
    assert second.error is not None
    assert (second.call_id, second.error.kind) == ("b", "not_finished")
    assert "still running" in second.error.message
    assert close_open_rounds(closed, answer_async=True) is closed


def test_async_survives_the_plain_form() -> None:
    """An old file says nothing of it, and is read as before."""
    plain = to_plain(_called("a", "b", later="a"))

    assert plain["tool_calls"] == [
        {"id": "a", "name": "look", "is_async": True},
        {"id": "b", "name": "look"},
    ]
    assert [call.is_async for call in from_plain(plain).tool_calls] == [True, False]


def test_async_is_a_bool() -> None:
    """Whatever came over a wire."""
    wrong: Any = "yes"

    with pytest.raises(ConfigError, match="is_async"):
        ToolCall("a", "look", is_async=wrong)


@st.composite
def _conversations(draw: st.DrawFn) -> list[Message]:
    """Draw a conversation with calls of both kinds, some open, and outputs in any order."""
    history = [Message("system", "Be brief."), ASK]
    running: list[str] = []
    for turn in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["user", "reply", "call", "late", "late", "mixed"]))
        now, later = f"n{turn}", f"l{turn}"
        if kind == "user":
            history.append(Message("user", f"Request {turn}."))
        elif kind == "reply":
            history.append(Message("assistant", f"Reply {turn}."))
        elif kind == "call":
            calls = draw(st.sampled_from([[now], [later], [now, later]]))
            history.append(_called(*calls, later=later))
            running += [each for each in calls if each == later]
            if now in calls:
                history.append(_answered(now))
        elif running:
            late = running.pop(draw(st.integers(0, len(running) - 1)))
            if kind == "mixed":
                answers = draw(st.sampled_from([[late, now], [now, late], [late], [now]]))
                apart = [each for each in (late, now) if each not in answers]
                history += [_called(now), _answered(*answers), *map(_answered, apart)]
            else:
                history.append(_answered(late))
    return history


@given(_conversations())
def test_sound_conversation_is_left_alone(history: list[Message]) -> None:
    """Each message is in one round, and nothing needs repair."""
    assert close_open_rounds(history) is history
    positions = [at for found in split_rounds(history) for at in found.positions]
    assert sorted(positions) == list(range(len(history)))


@given(_conversations(), st.integers(0, 20))
def test_settled_rounds_stay_as_they_are(history: list[Message], length: int) -> None:
    """A conversation may be split in two steps, the second from where the first is settled."""
    begun = history[:length]
    settled = count_settled(begun, split_rounds(begun))

    first = [found for found in split_rounds(begun) if found.positions[0] < settled]

    whole = [found.positions for found in split_rounds(history)]
    rest = [found.positions for found in split_rounds(history, settled)]
    assert [found.positions for found in first] + rest == whole


@given(_conversations())
def test_answers_for_other_providers_are_complete(history: list[Message]) -> None:
    """Every output is there, right after its call, and every call has one."""
    closed = close_open_rounds(history, answer_async=True)

    assert not any(
        found.late or found.awaited or found.open_calls for found in split_rounds(closed)
    )
    assert close_open_rounds(closed, answer_async=True) is closed
    outputs = {result.output for message in history for result in message.tool_results}
    assert outputs <= {result.output for message in closed for result in message.tool_results}


STRATEGIES: list[Any] = [
    strategies.KeepLast(2),
    strategies.TrimRounds(1),
    strategies.Importance(keep_recent=1, min_score_threshold=1.0),
    strategies.FitContextWindow(60),
    strategies.ClearToolOutputs(10),
    strategies.TruncateToolOutputs(5),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: type(each).__name__)
@given(history=_conversations())
def test_views_keep_calls_and_outputs_together(strategy: Any, history: list[Message]) -> None:
    """Turn by turn as all at once; a call whose output is awaited stays; nothing is an orphan."""
    growing, cold = strategy.for_conversation(), strategy.for_conversation()
    for length in range(2, len(history)):
        growing.compact(history[:length])

    view = growing.compact(history)

    assert view == cold.compact(history)
    assert close_open_rounds(view) == view
    ids = {call.id for message in view for call in message.tool_calls}
    awaited = {
        call.id
        for found in split_rounds(history)
        if found.awaited
        for call in found.tool_calls
        if call.is_async
    }
    assert awaited <= ids
