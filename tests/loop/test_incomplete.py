"""What a caller sees of a run that ended without a complete answer."""

import asyncio

import pytest

from agentic import events
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Request, Result, Runner
from agentic.messages import Message, ToolCall
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.usage import StopReason


def _run(*steps: Decision, max_turns: int = 9) -> tuple[Result, events.AgentEnd]:
    runner = Runner(ScriptedDecider(*steps), ScriptedExecutor({"look": "x"}), max_turns=max_turns)
    with EventRecorder(sender=runner) as recorder:
        result = runner.run_sync("Is it green?")
    (end,) = recorder.of(events.AgentEnd)
    return result, end


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision("", reasoning="Hm."), "the model said nothing"),
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
