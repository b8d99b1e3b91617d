"""Pairing, against an oracle that is slow and says the rule as it is written."""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.errors import ConfigError
from agentic.messages import (
    Message,
    ProviderPayload,
    ToolCall,
    ToolResult,
    close_open_rounds,
    leading_system_count,
    split_rounds,
)
from agentic.messages._rounds import count_settled, count_sound, repair_rounds
from agentic.testing import conversations


@attrs.frozen
class _Place:
    """What the rule says of one message."""

    run: list[int]
    """The positions of the last run of assistant messages before it."""
    answers: list[tuple[ToolResult, int]]
    """Its results that are the first for a call of the run, with the positions of the calls."""


def _read(messages: list[Message]) -> list[_Place]:
    """Say the rule message by message."""
    run: list[int] = []
    waiting: list[tuple[str, int]] = []
    is_over, is_answered = True, False
    places: list[_Place] = []
    for position, message in enumerate(messages):
        answers: list[tuple[ToolResult, int]] = []
        places.append(_Place(run, answers))
        if message.role == "assistant":
            is_between = waiting and not message.tool_calls
            if is_over or (is_answered and not is_between):
                run, waiting, is_over, is_answered = [], [], False, False
            run = [*run, position]
            # The nearest first: of two calls with one id, the later one is answered first.
            waiting = [*((call.id, position) for call in message.tool_calls), *waiting]
        elif message.role != "tool":
            is_over = True
        for result in message.tool_results if message.role == "tool" else ():
            fitting = [call for call in waiting if call[0] == result.call_id]
            if fitting:
                waiting.remove(fitting[0])
                answers.append((result, fitting[0][1]))
                is_answered = True
    return places


def _run(messages: list[Message], at: int) -> list[int]:
    """Return the positions of the last run of assistant messages before a position."""
    return _read([*messages[:at], Message("user")])[-1].run


def _answering(messages: list[Message], at: int) -> list[ToolResult]:
    """Return the results of a message that are the first for a call of the run before it."""
    return [result for result, _ in _read(messages[: at + 1])[-1].answers]


def _answered_calls(messages: list[Message], at: int) -> list[int]:
    """Return where the calls stand that the results of a message answer, the nearest first."""
    return [position for _, position in _read(messages[: at + 1])[-1].answers]


def _homes(messages: list[Message]) -> list[int]:
    """Return the first position of the round that each message is in."""
    homes = list(range(len(messages)))
    for at in range(len(messages)):
        if answered := _answered_calls(messages, at):
            first, run = homes[min(answered)], _run(messages, at)
            for i in range(at):
                # Not by the range alone: an orphan may stand between the replies of a run.
                if homes[i] in run and homes[i] >= first:
                    homes[i] = first
            homes[at] = first
    return homes


def _naive_rounds(messages: list[Message]) -> list[tuple[tuple[int, ...], bool]]:
    """Return the positions of every round, and whether it holds an orphan."""
    homes = _homes(messages)
    orphans = {
        at
        for at, message in enumerate(messages)
        if message.role == "tool"
        and len(_answering(messages, at)) < max(1, len(message.tool_results))
    }
    rounds = [tuple(at for at, home in enumerate(homes) if home == start) for start in homes]
    unique = sorted(set(rounds))
    return [(positions, bool(orphans & set(positions))) for positions in unique]


def _faults(messages: list[Message]) -> Iterator[str]:
    """Return what a provider would refuse: the rule of every provider, written once more."""
    position = 0
    while position < len(messages):
        if messages[position].role == "tool":
            yield f"no call before {position}"
        wanted = [call.id for call in messages[position].tool_calls]
        is_reply = messages[position].role == "assistant"
        position += 1
        while wanted and is_reply and position < len(messages):
            if messages[position].role != "assistant":
                break
            wanted += [call.id for call in messages[position].tool_calls]
            position += 1
        given_ids: list[str] = []
        while wanted and position < len(messages) and messages[position].role == "tool":
            if not messages[position].tool_results:
                yield f"nothing in {position}"
            given_ids += [result.call_id for result in messages[position].tool_results]
            position += 1
        if sorted(given_ids) != sorted(wanted):
            yield f"{wanted} answered by {given_ids} before {position}"


def _real_results(messages: list[Message]) -> list[ToolResult]:
    return [
        result
        for message in messages
        for result in message.tool_results
        if not (result.error and result.error.message.startswith("there is no result, because"))
    ]


@given(messages=conversations())
def test_every_message_has_exactly_one_round(messages: list[Message]) -> None:
    """Nothing is left out, and rounds come in the order of their first message."""
    rounds = split_rounds(messages)

    positions = [position for found in rounds for position in found.positions]
    assert sorted(positions) == list(range(len(messages)))
    assert [found.positions[0] for found in rounds] == sorted(
        found.positions[0] for found in rounds
    )


@given(messages=conversations())
def test_positions_say_where_the_messages_stand(messages: list[Message]) -> None:
    """They ascend, and each is that of the very object."""
    for found in split_rounds(messages):
        assert list(found.positions) == sorted(set(found.positions))
        assert len(found.messages) == len(found.positions)
        for message, position in zip(found.messages, found.positions, strict=True):
            assert message is messages[position]


@given(messages=conversations())
def test_rounds_agree_with_the_naive_rule(messages: list[Message]) -> None:
    """A result answers a call of the nearest run before it; the first one wins."""
    got = [(found.positions, found.orphaned) for found in split_rounds(messages)]

    assert got == _naive_rounds(messages)


@given(messages=conversations())
def test_calls_are_open_until_their_result(messages: list[Message]) -> None:
    """Of two calls with one id and one result, the second is open."""
    for found in split_rounds(messages):
        answered = [
            result.call_id
            for position in found.positions
            for result in _answering(messages, position)
        ]
        still_open = [call.id for call in found.open_calls]
        calls = [call.id for message in found.messages for call in message.tool_calls]
        assert [call.id for call in found.tool_calls] == calls
        assert sorted(answered + still_open) == sorted(calls)


@given(messages=conversations())
def test_settled_messages_need_no_second_split(messages: list[Message]) -> None:
    """Whatever comes later, the rounds of the settled part stay as they are."""
    whole = split_rounds(messages)
    settled = 0

    for length in range(len(messages) + 1):
        fresh = split_rounds(messages[:length], settled)
        settled = count_settled(messages[:length], fresh)
        early = [found for found in whole if found.positions[0] < settled]
        assert early == [
            found for found in split_rounds(messages[:length]) if found.positions[0] < settled
        ]
        assert split_rounds(messages, settled) == whole[len(early) :]


@given(messages=conversations(), other=conversations())
def test_settled_rounds_stay_in_a_fork(messages: list[Message], other: list[Message]) -> None:
    """Whatever follows instead, also a late result: whoever keeps the start relies on it."""
    for length in range(len(messages) + 1):
        settled = count_settled(messages[:length], split_rounds(messages[:length]))
        start = messages[:settled]
        for rest in (messages[settled:], messages[settled + 1 :], other):
            early = [r for r in split_rounds([*start, *rest]) if r.positions[0] < settled]
            assert early == split_rounds(start)


@given(messages=conversations())
def test_only_trailing_open_runs_are_unsettled(messages: list[Message]) -> None:
    """So that what follows an unanswered call of long ago is not worked out again."""
    rounds = split_rounds(messages)
    open_at = [found.positions[0] for found in rounds if found.open_calls]

    expected = len(messages)
    while open_now := [at for at in _run(messages, expected) if at in open_at]:
        expected = open_now[0]

    assert count_settled(messages, rounds) == expected


def test_negative_start_is_refused() -> None:
    """A negative start would take the end of the conversation for its beginning."""
    with pytest.raises(ConfigError, match=r"start must be a position.*, got -1"):
        split_rounds([Message("user")], -1)


def test_start_beyond_end_gives_nothing() -> None:
    """There is nothing there to split."""
    assert split_rounds([Message("user")], 5) == []


@given(messages=conversations())
def test_providers_accept_a_closed_history(messages: list[Message]) -> None:
    """Every call is answered right after it and once, and there are no other results."""
    assert list(_faults(close_open_rounds(messages))) == []


@given(messages=conversations(damaged=False))
def test_sound_history_is_the_same_list(messages: list[Message]) -> None:
    """Nothing is copied where nothing is wrong."""
    assert list(_faults(messages)) == []
    assert close_open_rounds(messages) is messages


@given(messages=conversations(), data=st.data())
def test_sound_beginning_is_what_rounds_leave_alone(
    messages: list[Message], data: st.DataObject
) -> None:
    """The short way finds no more than the long one, and goes on from where it was."""
    length = count_sound(messages)
    start = data.draw(st.integers(0, len(messages)))
    earlier = count_sound(messages[:start])

    for end in {0, length, min(length, start)}:
        sound = messages[:end] if count_sound(messages[:end]) == end else []
        assert repair_rounds(split_rounds(sound)) == sound
    assert count_sound(messages, earlier) == length


@given(messages=conversations())
def test_closing_twice_is_closing_once(messages: list[Message]) -> None:
    """What was closed is sound."""
    closed = close_open_rounds(messages)

    assert close_open_rounds(closed) is closed


@given(messages=conversations())
def test_closing_keeps_every_answering_result(messages: list[Message]) -> None:
    """The very objects, and no others but those that say that there is no result."""
    answering = [result for at in range(len(messages)) for result in _answering(messages, at)]

    kept = _real_results(close_open_rounds(messages))

    assert {id(result) for result in _real_results([Message("tool", tool_results=answering)])} == {
        id(result) for result in kept
    }


@given(messages=conversations())
def test_closing_keeps_everything_but_results(messages: list[Message]) -> None:
    """The other messages stay in order, the same objects, and the repaired ones keep their ids."""
    closed = close_open_rounds(messages)

    others = [message for message in messages if message.role != "tool"]
    kept = [message for message in closed if message.role != "tool"]
    assert list(map(id, kept)) == list(map(id, others))
    ids = {message.id for message in messages if message.role == "tool"}
    assert {message.id for message in closed if message.role == "tool"} <= ids | {None}


def _calling(*ids: str) -> Message:
    return Message("assistant", tool_calls=[ToolCall(call_id, "run") for call_id in ids])


def _answered(*ids: str) -> Message:
    return Message("tool", tool_results=[ToolResult(call_id, "run", "done") for call_id in ids])


def test_a_round_holds_several_assistant_messages() -> None:
    """Anthropic and Gemini take them as one turn, and a recording shows such a request served."""
    messages = [_calling("a"), _calling("b"), _answered("a", "b")]

    (found,) = split_rounds(messages)

    assert found.positions == (0, 1, 2)
    assert not found.orphaned
    assert not found.open_calls
    assert close_open_rounds(messages) is messages


def test_reply_between_calls_joins_their_round() -> None:
    """A result answers a call that a reply without calls stands behind, and nothing moves."""
    between = [_calling("a"), Message("assistant", "And b."), _calling("b"), _answered("b", "a")]
    behind = [_calling("a"), Message("assistant", "That is all."), _answered("a")]

    assert [found.positions for found in split_rounds(between)] == [(0, 1, 2, 3)]
    assert [found.positions for found in split_rounds(behind)] == [(0, 1, 2)]
    assert close_open_rounds(behind) is behind


def test_reply_after_open_calls_stays_apart() -> None:
    """Nothing answers the call, so that the reply is no part of a tool round."""
    messages = [_calling("a"), Message("assistant", "I was interrupted.")]

    assert [found.positions for found in split_rounds(messages)] == [(0,), (1,)]
    assert [message.role for message in close_open_rounds(messages)] == [
        "assistant",
        "tool",
        "assistant",
    ]


def test_repeated_id_is_answered_in_order() -> None:
    """Two calls of one id in one run need two results, and a third answers nothing."""
    messages = [_calling("a"), _calling("a"), _answered("a"), _answered("a"), _answered("a")]

    rounds = split_rounds(messages)

    assert [found.positions for found in rounds] == [(0, 1, 2, 3), (4,)]
    assert [found.orphaned for found in rounds] == [False, True]


_TEXT = Message("assistant", "So far so good.")
_THOUGHT = Message("assistant", reasoning="What else?")


@pytest.mark.parametrize("between", [[_TEXT], [_THOUGHT], [_TEXT, _THOUGHT]])
@pytest.mark.parametrize("call", [_calling("a", "b"), _calling("a", "a")])
def test_reply_between_results_loses_none(call: Message, between: list[Message]) -> None:
    """It moves behind them: providers want all results right behind the calls."""
    first, second = (_answered(each.id) for each in call.tool_calls)
    messages = [call, first, *between, second]

    assert [found.positions for found in split_rounds(messages)] == [tuple(range(len(messages)))]
    assert close_open_rounds(messages) == [call, first, second, *between]


def test_reply_between_results_parts_several_calls() -> None:
    """Any number of them, also in several messages; what is still open is closed as ever."""
    calls = [_calling("a"), _calling("b", "c")]
    messages = [*calls, _answered("b"), _TEXT, _answered("a"), _THOUGHT, Message("user", "Stop.")]

    closed = close_open_rounds(messages)

    assert [*closed[:4], *closed[5:]] == [
        *calls,
        messages[2],
        messages[4],
        *messages[3:7:2],
        messages[6],
    ]
    assert [result.call_id for result in closed[4].tool_results] == ["c"]


@pytest.mark.parametrize("other", [Message("user", "And?"), _calling("c")])
def test_run_ends_with_new_calls_or_words(other: Message) -> None:
    """A reply behind them answers them: it is no part of the run, as a result of it is none."""
    messages = [_calling("a", "b"), _answered("a"), other, _TEXT, _answered("b")]

    assert [found.orphaned for found in split_rounds(messages)] == [False, False, False, True]


def test_results_answer_no_earlier_run() -> None:
    """Something else stands between the runs: the first call is answered by nobody."""
    messages = [_calling("a"), Message("user", "Go on."), _calling("b"), _answered("a", "b")]

    closed = close_open_rounds(messages)

    assert [r.call_id for m in closed for r in m.tool_results] == ["a", "b"]
    assert closed[1].tool_results[0].error is not None
    assert closed[4].tool_results == messages[3].tool_results[1:]


def test_orphan_between_calls_parts_no_run() -> None:
    """It is never sent, so that the calls of a reply stay together, and all are answered."""
    for orphan in (_answered("lost"), Message("tool")):
        messages = [_calling("a"), orphan, _calling("b"), _answered("a"), orphan, _answered("b")]

        rounds = split_rounds(messages)

        assert [found.positions for found in rounds] == [(0, 2, 3, 5), (1,), (4,)]
        assert close_open_rounds(messages) == [each for each in messages if each is not orphan]


def test_orphan_between_replies_keeps_the_first_unsettled() -> None:
    """Its call may still be answered, behind the later reply of the run."""
    messages = [_calling("a"), _answered("lost"), Message("assistant", "And so on.")]

    assert count_settled(messages, split_rounds(messages)) == 0
    assert split_rounds([*messages, _answered("a")])[0].positions == (0, 2, 3)


def test_pinned_round_loses_only_its_orphans() -> None:
    """A round that nobody pinned is left out whole, and a lone orphan is in no view at all."""
    call, mixed = _calling("a"), _answered("a", "z")
    pinned = Message("assistant", tool_calls=call.tool_calls, pinned=True)

    (plain,) = split_rounds([call, mixed])
    (kept,) = split_rounds([pinned, mixed])
    (lone,) = split_rounds([Message("tool", tool_results=mixed.tool_results, pinned=True)])

    assert plain.sound_messages == ()
    assert kept.sound_messages == (pinned, mixed.replace(tool_results=mixed.tool_results[:1]))
    assert kept.sound_messages[0] is pinned
    assert lone.sound_messages == ()


@given(messages=conversations(), data=st.data())
def test_leaving_rounds_out_joins_no_others(messages: list[Message], data: st.DataObject) -> None:
    """What a strategy keeps of a conversation has the same rounds as before."""
    sound = [found for found in split_rounds(messages) if not found.orphaned]
    kept = [found for found in sound if data.draw(st.booleans())]

    view = [messages[at] for at in sorted(at for found in kept for at in found.positions)]

    assert [found.messages for found in split_rounds(view)] == [found.messages for found in kept]


@given(messages=conversations())
def test_what_is_sendable_holds_no_orphan(messages: list[Message]) -> None:
    """A view may hold a sound round as it is."""
    for found in split_rounds(messages):
        if not found.orphaned:
            assert found.sound_messages is found.messages
        assert not any(again.orphaned for again in split_rounds(found.sound_messages))


def test_result_moves_back_to_its_call() -> None:
    """The user's interruption comes after it, where a provider accepts it."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "run")])
    interruption = Message("user", "Stop!")
    result = Message("tool", tool_results=[ToolResult("c1", "run", "done")])

    assert close_open_rounds([call, interruption, result]) == [call, result, interruption]


def test_only_edited_repairs_lose_native_payload() -> None:
    """An orphan is taken out of its message; the message that is whole is the same object."""
    calls = Message("assistant", tool_calls=[ToolCall("c1", "run"), ToolCall("c2", "run")])
    whole = Message("tool", tool_results=[ToolResult("c2", "run")])
    mixed = Message("tool", tool_results=[ToolResult("c1", "run"), ToolResult("c9", "run")], id="m")

    closed = close_open_rounds([calls, mixed, whole])

    assert closed[1] == mixed.replace(tool_results=mixed.tool_results[:1])
    assert closed[2] is whole


def test_unanswered_call_gets_unknown_outcome_result() -> None:
    """It has the call's id and name, and tells the model that the effect is unknown."""
    closed = close_open_rounds([Message("assistant", tool_calls=[ToolCall("c1", "run")])])

    (result,) = closed[1].tool_results
    assert (result.call_id, result.name, result.output) == ("c1", "run", "")
    assert result.error is not None
    assert result.error.kind == "interrupted"
    assert "look before you call again" in result.text


@given(messages=conversations())
def test_leading_count_ends_at_first_other(
    messages: list[Message],
) -> None:
    """All before it are system messages, and it is none."""
    count = leading_system_count(messages)

    assert all(message.role == "system" for message in messages[:count])
    assert count == len(messages) or messages[count].role != "system"


def test_one_pinned_message_pins_the_round() -> None:
    """So that a pinned result keeps its call."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "run")])
    result = Message("tool", tool_results=[ToolResult("c1", "run")], pinned=True)

    (found,) = split_rounds([call, result])

    assert found.pinned


def _item_of_two() -> list[Message]:
    """Build what a user's item is read as that holds results and words."""
    result = Message(
        "tool", tool_results=[ToolResult("c1", "run")], native=ProviderPayload("x", [1])
    )
    return [
        result,
        Message("user", "Go on.", native=ProviderPayload("x", [1], joins_previous=True)),
    ]


def test_words_beside_results_join_their_round() -> None:
    """The two come from one item of a provider, which nothing can cut in two."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "run")])

    rounds = split_rounds([Message("user", "Go."), call, *_item_of_two(), Message("user", "?")])

    assert [found.positions for found in rounds] == [(0,), (1, 2, 3), (4,)]


def test_words_beside_an_orphan_stay() -> None:
    """An orphan is never sent; what the user said beside it is."""
    rounds = split_rounds(_item_of_two())

    assert [(found.positions, found.orphaned) for found in rounds] == [((0,), True), ((1,), False)]
    assert close_open_rounds(_item_of_two()) == _item_of_two()[1:]


def _joined(messages: list[Message]) -> list[tuple[int, ...]]:
    """Return the positions of every round, with the words that join the results before them."""
    rounds = _naive_rounds(messages)
    for at in range(1, len(messages)):
        message, home = messages[at], next(each for each in rounds if at - 1 in each[0])
        if message.native and _answering(messages, at - 1) and not home[1]:
            rounds[rounds.index(home)] = (tuple(sorted((*home[0], at))), False)
            rounds.remove(((at,), False))
    return [positions for positions, _ in rounds]


@given(messages=conversations())
def test_joined_words_match_the_naive_rule(messages: list[Message]) -> None:
    """Also where a later result joins the round of the results with an earlier one."""
    joins = ProviderPayload("x", [1], joins_previous=True)
    messages = [attrs.evolve(m, native=joins if m.role == "user" else None) for m in messages]

    assert [found.positions for found in split_rounds(messages)] == _joined(messages)


def _steps_to_split(messages: list[Message]) -> int:
    """Count the instructions that Python executes."""
    steps = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        steps += event == "opcode"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        split_rounds(messages)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.no_cover
def test_joined_words_cost_linear_steps() -> None:
    """Each finds its round without a look at all of them."""
    turn = [Message("assistant", tool_calls=[ToolCall("c1", "run")]), *_item_of_two()]

    assert _steps_to_split(turn * 100) < 2.1 * _steps_to_split(turn * 50)


def test_made_up_results_precede_the_words() -> None:
    """All results of a round come before what the user says in the same item."""
    calls = Message("assistant", tool_calls=[ToolCall("c1", "run"), ToolCall("c2", "run")])

    closed = close_open_rounds([calls, *_item_of_two()])

    assert [message.role for message in closed] == ["assistant", "tool", "tool", "user"]
    assert closed[2].tool_results[0].call_id == "c2"


def test_later_results_precede_the_words() -> None:
    """What the user says in the item of one result stays behind those of the next items."""
    calls = Message("assistant", tool_calls=[ToolCall("c1", "run"), ToolCall("c2", "run")])
    (first, words), second = _item_of_two(), _answered("c2")

    assert close_open_rounds([calls, first, words, second]) == [calls, first, second, words]
