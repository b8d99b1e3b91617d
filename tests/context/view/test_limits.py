"""How far a request is cut: as far as a limit asks, and hardly further."""

import asyncio

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.messages import Message, ToolCall, ToolResult
from agentic.tokens import CharCounter, count_tokens

COUNTER = CharCounter()


def _talk(number: int) -> list[Message]:
    roles = ("user", "assistant")
    return [Message(roles[at % 2], f"m{at} " + "word " * 30) for at in range(number)]  # type: ignore[arg-type]


def _size(messages: list[Message]) -> int:
    return count_tokens(messages, COUNTER)


def test_refused_request_is_cut_by_quarter() -> None:
    """Further would lose what the provider would have taken."""
    view = View(Policy(100_000), counter=COUNTER)
    talk = _talk(80)
    sent = view.prepare_sync(talk).messages

    smaller = view.shrink_sync(sent)

    assert smaller is not None
    assert 0.7 * _size(sent) < _size(smaller.messages) <= 0.75 * _size(sent)


def test_certain_messages_fill_most_of_window() -> None:
    """They are in every request, whatever cut it keeps; little else is in the strictest one."""
    view = View(Policy(4_000, reserve_tokens=0), counter=COUNTER)
    talk = _talk(200)

    certain = view.certain(talk)

    assert 0.5 * 4_000 < _size(certain) <= 0.6 * 4_000
    assert certain == talk[-len(certain) :]
    assert set(map(id, certain)) <= set(map(id, view.prepare_sync(talk).messages))


def test_far_from_limit_everything_is_certain() -> None:
    """With a window or without one."""
    talk = _talk(4)

    for window in (0, 4_000):
        assert View(Policy(window), counter=COUNTER).certain(talk) == talk


def test_unfitting_newest_messages_are_noted() -> None:
    """The note says how many did not fit, and how many are sent."""
    view = View(Policy(200, reserve_tokens=0, min_recent_messages=6), counter=COUNTER)

    prepared = view.prepare_sync(_talk(40))

    (note,) = [each for each in prepared.notes if each.kind == "messages_left_out"]
    sent = len(prepared.messages)
    assert note.text == f"not even the 6 newest messages fit; {sent} in all are sent"


def test_shortened_outputs_note_their_limit() -> None:
    """And the mark in an output names the tool that reads the whole."""
    call = ToolCall("c1", "read")
    talk = [
        Message("user", "Read it."),
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("c1", "read", "line of text\n" * 2_000)]),
    ]
    view = View(Policy(2_000, reserve_tokens=0), counter=COUNTER, recall="look_back")

    prepared = view.prepare_sync(talk)

    (note,) = [each for each in prepared.notes if each.kind == "outputs_truncated"]
    output = prepared.messages[-1].tool_results[0]
    assert note.text.endswith("are shown up to 4,096 characters each")
    assert "look_back" in output.text


def test_an_oversized_request_names_its_largest_part() -> None:
    """What is too large may be what is not in the history at all."""
    view = View(Policy(500, reserve_tokens=0), counter=COUNTER)

    prepared = view.prepare_sync([Message("user", "Hi.")], system_prompt="rule " * 1_000)

    (note,) = [each for each in prepared.notes if each.kind == "over_window"]
    assert not prepared.fits
    assert note.text.endswith("most is what is sent besides the messages")


def test_nothing_due_compacts_nothing() -> None:
    """Unless it is forced."""
    view = View(Policy(100_000), counter=COUNTER, compactor=Digest(max_tokens=100))
    talk = _talk(20)

    async def compact(*, force: bool) -> tuple[bool, int]:
        done = await view.compact(talk, force=force)
        return done.changed, done.tokens_before - done.tokens_after

    assert asyncio.run(compact(force=False)) == (False, 0)
    assert asyncio.run(compact(force=True))[0]


def test_nothing_done_hides_no_overflow() -> None:
    """Without a compactor nothing is due, and the history is too large all the same."""
    view = View(Policy(300), counter=COUNTER)

    done = asyncio.run(view.compact(_talk(200), force=False))

    assert not done.fits
    assert done.too_large
