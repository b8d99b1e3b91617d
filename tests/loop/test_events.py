import asyncio
import logging

import pytest

from agentic import events, truncate
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Runner
from agentic.messages import Message, ToolCall
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.usage import StopReason, Usage

_CALLS = Decision("I look.", [ToolCall("c1", "t"), ToolCall("c2", "t")], Usage(10, 5))
_LINES = "line\n" * 100


def _runner(*steps: Decision | str | Exception, store: MemoryStore | None = None) -> Runner:
    return Runner(
        ScriptedDecider(*steps),
        ScriptedExecutor({"t": _LINES}),
        store,
        truncation=truncate.Options(max_lines=10),
    )


def test_runs_events_come_in_order() -> None:
    """A run holds turns, a turn its messages and tools; a tool starts, is truncated, ends."""
    runner = _runner(_CALLS, "Done.")

    with EventRecorder(sender=runner) as recorder:
        runner.run_sync("hi")

    assert recorder.names == [
        "agent_start",
        *["message_start", "message_end"],
        "turn_start",
        *["message_start", "model_request_start", "model_request_end", "message_end"],
        *["tool_execution_start"] * 2,
        *["message_start", "message_end"],
        *["tool_output_truncated", "tool_execution_end"] * 2,
        "turn_end",
        "turn_start",
        *["message_start", "model_request_start", "model_request_end", "message_end"],
        "turn_end",
        "agent_end",
    ]


def test_events_name_run_and_their_runner() -> None:
    """All of one run have its id, and two runs have two."""
    runner = _runner(_CALLS, "Done.", "Again.")

    with EventRecorder() as first:
        runner.run_sync("hi")
    with EventRecorder() as second:
        runner.run_sync("hi")

    assert {id(sender) for sender in first.senders} == {id(runner)}
    assert len({event.run_id for event in first.events}) == 1
    assert first.events[0].run_id != second.events[0].run_id


def test_turns_tell_their_number_and_usage() -> None:
    """The sum is in the end of the run, each turn's own in the end of the turn."""
    with EventRecorder() as recorder:
        _runner(_CALLS, Decision("Done.", usage=Usage(20, 1))).run_sync("hi")

    assert [turn.turn for turn in recorder.of(events.TurnStart)] == [1, 2]
    assert [turn.usage for turn in recorder.of(events.TurnEnd)] == [
        Usage(10, 5, 15),
        Usage(20, 1, 21),
    ]
    (end,) = recorder.of(events.AgentEnd)
    assert (end.usage, end.reply, end.error) == (Usage(30, 6, 36), "Done.", None)


def test_cut_off_reply_is_told() -> None:
    """The end of the turn carries our reason and the provider's own word."""
    cut_off = Decision("It is", stop_reason=StopReason.MAX_TOKENS, stop_word="length")

    with EventRecorder("turn_end") as recorder:
        _runner(cut_off).run_sync("hi")

    (turn,) = recorder.of(events.TurnEnd)
    assert (turn.stop_reason, turn.stop_word) == (StopReason.MAX_TOKENS, "length")


def test_what_is_told_is_stored() -> None:
    """A receiver that reads the store finds the message, and with a tool's end its result."""
    store = MemoryStore()
    seen = []

    async def check(_: object, event: events.MessageEnd) -> None:
        seen.append((await store.full())[-1] is event.message)

    async def check_result(_: object, event: events.ToolExecutionEnd) -> None:
        seen.append(event.result in (await store.full())[-1].tool_results)

    runner = _runner(_CALLS, "Done.", store=store)
    with (
        events.message_end.connected_to(check, runner),
        events.tool_execution_end.connected_to(check_result, runner),
    ):
        runner.run_sync("hi")

    assert seen == [True] * 6


def test_told_compaction_is_already_stored() -> None:
    """The Manager's events come from the Runner, and its end after the store was rewritten."""
    store = MemoryStore()
    seen = []

    async def check(sender: object, event: events.ContextCompactionEnd) -> None:
        loaded = await store.load()
        seen.append((sender is runner, loaded[0].summary == event.summary is not None))

    for _ in range(10):
        asyncio.run(store.append(Message("user", "word " * 200)))
    budget = Manager(CharCounter(), Digest(), Policy(1_000))
    runner = Runner(ScriptedDecider("Done."), store=store, budget=budget)
    with EventRecorder() as recorder, events.context_compaction_end.connected_to(check):
        result = runner.run_sync("hi")

    assert seen == [(True, True)]
    assert len({event.run_id for event in recorder.events}) == 1
    assert result.summary == recorder.of(events.ContextCompactionEnd)[0].summary
    compaction = ["context_compaction_start", "context_compaction_end"]
    assert [name for name in recorder.names[3:7] if name != "context_changed"][:2] == compaction


def test_a_receiver_that_raises_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged; the run goes on and the other receivers are told."""

    def raise_(_: object, event: events.Event) -> None:
        raise RuntimeError(f"a bug in a listener of {event.run_id}")

    runner = _runner("Done.")
    with (
        caplog.at_level(logging.ERROR),
        events.message_end.connected_to(raise_, runner),
        EventRecorder("message_end") as recorder,
    ):
        result = runner.run_sync("hi")

    assert result.reply == "Done."
    assert len(recorder.events) == 2
    assert "a bug in a listener" in caplog.text


def test_a_failed_run_says_with_what() -> None:
    """`agent_end` carries the decider's error and ends the run as an error."""
    error = ConnectionResetError("gone")

    with EventRecorder("agent_end") as recorder, pytest.raises(ConnectionResetError):
        _runner(_CALLS, error).run_sync("hi")

    (end,) = recorder.of(events.AgentEnd)
    assert (end.error, end.stop_reason) == (error, StopReason.ERROR)
    assert end.usage == Usage(10, 5, 15)


def test_turn_without_reply_has_no_end() -> None:
    """There is nothing that `message_end` and `turn_end` could report as stored."""
    with EventRecorder() as recorder, pytest.raises(ConnectionResetError):
        _runner(ConnectionResetError("gone")).run_sync("hi")

    assert recorder.names[3:] == [
        *["turn_start", "message_start", "model_request_start", "model_request_end"],
        "agent_end",
    ]


def test_unreadable_store_ends_a_begun_run() -> None:
    """Whoever heard of the start hears of the end."""

    class Unreadable(MemoryStore):
        async def load(self) -> list[Message]:
            raise OSError("the disk is gone")

    with EventRecorder() as recorder, pytest.raises(OSError, match="the disk is gone"):
        _runner("never", store=Unreadable()).run_sync("hi")

    assert recorder.names == ["agent_start", "agent_end"]


def test_unstartable_resume_sends_nothing() -> None:
    """There is no end without a start, and a start needs the request in the history."""
    runner = _runner("never", store=MemoryStore())

    with EventRecorder() as recorder, pytest.raises(ConfigError, match="nothing to resume"):
        asyncio.run(runner.resume())

    assert recorder.names == []


def test_an_exhausted_run_says_so() -> None:
    """The turn limit is no error, and is told."""
    runner = Runner(ScriptedDecider(_CALLS), ScriptedExecutor({"t": ""}), max_turns=1)

    with EventRecorder() as recorder:
        runner.run_sync("hi")

    (end,) = recorder.of(events.AgentEnd)
    assert (end.exhausted, end.error) == (True, None)
    assert "tool_execution_start" not in recorder.names
    assert "tool_execution_end" not in recorder.names


def test_sent_size_is_told_when_counted() -> None:
    """Without a counter there is no number, with one it is the view's."""
    budget = Manager(CharCounter())

    with EventRecorder("turn_start") as recorder:
        Runner(ScriptedDecider("Done.")).run_sync("12345678")
        Runner(ScriptedDecider("Done."), budget=budget).run_sync("12345678")

    assert [turn.context_tokens for turn in recorder.of(events.TurnStart)] == [None, 6]
