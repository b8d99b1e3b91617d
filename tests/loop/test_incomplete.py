"""What a caller sees of a run that ended without a complete answer."""

import asyncio

import attrs
import pytest

from agentic import events
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Request, Result, RunLimit, RunLimits, Runner
from agentic.messages import Media, Message, ProviderPayload, ToolCall
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.usage import StopReason, Usage


def _run(*steps: Decision, max_turns: int = 9) -> tuple[Result, events.AgentEnd]:
    runner = Runner(ScriptedDecider(*steps), ScriptedExecutor({"look": "x"}), max_turns=max_turns)
    with EventRecorder(sender=runner) as recorder:
        result = runner.run_sync("Is it green?")
    (end,) = recorder.of(events.AgentEnd)
    return result, end


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision(" \n"), "the model said nothing"),
        (
            Decision("It is", stop_reason=StopReason.MAX_TOKENS),
            "the reply was cut off at the limit of tokens",
        ),
        (
            Decision("", stop_reason=StopReason.MAX_TOKENS, reasoning="Hm."),
            "the reply was cut off at the limit of tokens",
        ),
        (Decision("", stop_reason=StopReason.CONTENT_FILTER), "the reply was withheld or refused"),
        (
            Decision("It", stop_reason=StopReason.ERROR),
            "the provider failed in the middle of the reply",
        ),
        (Decision("It", stop_reason=StopReason.ABORT), "the reply was broken off"),
    ],
)
def test_result_tells_why_reply_is_incomplete(decision: Decision, told: str) -> None:
    """The event at the end of the run says the same."""
    result, end = _run(decision)

    assert (result.incomplete, end.incomplete) == (told, told)


_THOUGHT = Decision(
    "",
    reasoning="Hm.",
    usage=Usage(10, 5),
    native=ProviderPayload("acme", {"content": [{"type": "thinking"}]}),
)


def test_reply_of_reasoning_alone_is_asked_for_again() -> None:
    """Once, with the same request; it is paid for and leaves no message."""
    with EventRecorder("model_request_start") as recorder:
        result, _ = _run(_THOUGHT, Decision("It is.", usage=Usage(10, 2)))

    assert (result.reply, result.stop_reason, result.incomplete) == ("It is.", StopReason.STOP, "")
    assert result.usage == Usage(20, 7, 27)
    assert [message.role for message in result.history] == ["user", "assistant"]
    first, second = recorder.of(events.ModelRequestStart)
    assert (first.attempt, second.attempt) == (1, 2)
    assert first.request == second.request


def test_reply_of_reasoning_alone_ends_the_second_time(caplog: pytest.LogCaptureFixture) -> None:
    """Not as a normal stop, and not with items that the provider refuses at the end of a reply."""
    hidden = attrs.evolve(_THOUGHT, reasoning="", usage=Usage(10, 5, reasoning=5))

    result, end = _run(hidden, _THOUGHT)

    assert (result.reply, result.stop_reason) == ("", StopReason.OTHER)
    note = "the model said nothing but reasoned, also when it was asked again"
    assert (result.incomplete, end.incomplete) == (note, note)
    assert (result.history[-1].reasoning, result.history[-1].native) == ("Hm.", None)
    assert "the model reasoned and said nothing" in caplog.text


@pytest.mark.parametrize(
    "decision",
    [
        attrs.evolve(_THOUGHT, stop_reason=StopReason.MAX_TOKENS),
        attrs.evolve(_THOUGHT, stop_reason=StopReason.CONTENT_FILTER),
        attrs.evolve(_THOUGHT, media=[Media("image/png", b"\x89")]),
        attrs.evolve(_THOUGHT, reasoning=""),
    ],
)
def test_other_silent_replies_are_not_asked_for_again(decision: Decision) -> None:
    """A limit, a refusal, an image, and nothing at all are what they are."""
    result, _ = _run(decision)

    assert result.stop_reason is decision.stop_reason


def test_reply_of_reasoning_alone_counts_for_the_limit_of_dollars() -> None:
    """Each request has its price."""
    limits = RunLimits(dollars=0.3, price=lambda _: 0.2)
    call = Decision("", [ToolCall("c1", "look")])
    runner = Runner(ScriptedDecider(_THOUGHT, call), ScriptedExecutor({"look": "x"}), limits=limits)

    assert runner.run_sync("Is it green?").limit is RunLimit.DOLLARS


def test_turn_limit_is_told_as_incomplete() -> None:
    """The model was about to go on."""
    result, end = _run(Decision("I look.", [ToolCall("c1", "look")]), max_turns=1)

    assert result.incomplete == "the limit of turns was reached before the model was done"
    assert end.incomplete == result.incomplete


def test_complete_reply_is_not_incomplete() -> None:
    """Nothing is told, also where turns before it were cut off or said nothing."""
    cut_off = Decision("", [ToolCall("c1", "look")], stop_reason=StopReason.MAX_TOKENS)

    result, end = _run(cut_off, Decision("", [ToolCall("c2", "look")]), Decision("It is."))

    assert (result.reply, result.incomplete, end.incomplete) == ("It is.", "", "")


def test_failed_run_leaves_it_to_error() -> None:
    """An error says more than this could."""
    runner = Runner(ScriptedDecider(OSError("offline")))

    with EventRecorder(sender=runner) as recorder, pytest.raises(OSError, match="offline"):
        runner.run_sync("Is it green?")

    (end,) = recorder.of(events.AgentEnd)
    assert (end.incomplete, str(end.error)) == ("", "offline")


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_empty_request_is_refused(text: str) -> None:
    """Before anything is stored: providers refuse such a message, again at every later turn."""
    store, decider = MemoryStore(), ScriptedDecider("Hello.")

    with pytest.raises(ConfigError, match=r"Request\.user_message"):
        Runner(decider, store=store).run_sync(text)

    assert asyncio.run(store.full()) == []
    assert not decider.requests


def test_history_alone_is_no_request() -> None:
    """Its last user message belongs into `user_message`, and the error says so."""
    with pytest.raises(ConfigError, match="last user message"):
        Request("", history=[Message("user", "Is it green?")])
