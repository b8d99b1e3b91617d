import asyncio

import pytest

from agentic import events, testing
from agentic.errors import ConfigError
from agentic.events._sending import send


def _send_start(sender: object, text: str = "hi") -> None:
    asyncio.run(
        send(events.agent_start, sender, events.AgentStart, run_id="run-1", user_message=text)
    )


def _send_change(sender: object) -> None:
    asyncio.run(
        send(
            events.context_changed,
            sender,
            events.ContextChanged,
            run_id="run-1",
            messages_before=2,
            messages_after=1,
        )
    )


def test_everything_is_recorded_in_order() -> None:
    """Without a choice every signal is recorded, with its name and its sender."""
    sender = object()

    with testing.EventRecorder() as recorder:
        _send_start(sender)
        _send_change(sender)

    assert recorder.names == ["agent_start", "context_changed"]
    assert recorder.senders == [sender, sender]
    assert recorder.of(events.AgentStart) == [recorder.events[0]]


@pytest.mark.parametrize("chosen", ["context_changed", events.context_changed])
def test_only_what_is_named_is_recorded(chosen: str) -> None:
    """A signal can be chosen by its name or as itself."""
    with testing.EventRecorder(chosen) as recorder:
        _send_start(None)
        _send_change(None)

    assert recorder.names == ["context_changed"]


def test_a_sender_can_be_chosen() -> None:
    """Events of other senders are left out."""
    mine, other = object(), object()

    with testing.EventRecorder(sender=mine) as recorder:
        _send_start(other, "not this")
        _send_start(mine, "this")

    assert [event.user_message for event in recorder.of(events.AgentStart)] == ["this"]


def test_recording_ends_with_the_block() -> None:
    """After the block nothing is recorded, and what was recorded stays."""
    before = dict(events.agent_start.receivers)
    with testing.EventRecorder() as recorder:
        _send_start(None)
    _send_start(None)

    assert len(recorder.events) == 1
    assert events.agent_start.receivers == before


def test_an_unknown_signal_is_refused() -> None:
    """A misspelt name is an error that lists the names there are."""
    with pytest.raises(ConfigError, match=r"one of agent_start.*, got 'agent_begin'"):
        testing.EventRecorder("agent_begin")
