"""The events of a request to the model: one pair for each, with the names of who was asked."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.errors import ContextOverflow, IncompleteReply
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, InputTransformation, Request, Runner
from agentic.messages import Message
from agentic.session import Session
from agentic.testing import EventRecorder, ScriptedDecider, StreamingScriptedDecider
from agentic.tokens import CharCounter
from agentic.usage import Usage

_PAIR = ("model_request_start", "model_request_end")
_LONG = tuple(Message("assistant", "word " * 200) for _ in range(10))


class _Named(ScriptedDecider):
    name = "acme:acme-1"


def test_refused_request_and_retry_are_two() -> None:
    """The first ends with the overflow, the second is smaller and has the decision."""
    decider = _Named(ContextOverflow("acme-1", 9_000, 8_000), "Done.")
    budget = Manager(CharCounter(), Digest(), Policy(8_000))

    with EventRecorder(*_PAIR) as recorder:
        Runner(decider, budget=budget).run_sync(Request("hi", history=_LONG))

    starts = recorder.of(events.ModelRequestStart)
    ends = recorder.of(events.ModelRequestEnd)
    assert recorder.names == [*_PAIR, *_PAIR]
    assert [start.attempt for start in starts] == [end.attempt for end in ends] == [1, 2]
    assert len(starts[1].request.history) < len(starts[0].request.history)
    assert isinstance(ends[0].error, ContextOverflow)
    assert ends[0].decision is None
    assert ends[1].error is None
    assert ends[1].decision == Decision("Done.")


def test_start_names_provider_model_and_conversation() -> None:
    """All three are known before anything is sent."""
    with EventRecorder("agent_start", *_PAIR) as recorder:
        Runner(_Named("Done."), conversation_id="s1").run_sync("hi")

    (start,) = recorder.of(events.ModelRequestStart)
    assert (start.provider, start.request_model) == ("acme", "acme-1")
    assert start.conversation_id == "s1"
    assert recorder.of(events.AgentStart)[0].conversation_id == "s1"


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [("acme:a:b", "acme", "a:b"), ("acme-1", "", "acme-1"), ("", "", ""), (7, "", "")],
)
def test_name_without_colon_is_model(name: object, provider: str, model: str) -> None:
    """A decider need not have a name, and what has no colon names no provider."""

    class Odd(ScriptedDecider):
        pass

    Odd.name = name  # type: ignore[attr-defined]
    with EventRecorder(*_PAIR) as recorder:
        Runner(Odd("Done.")).run_sync("hi")

    (start,) = recorder.of(events.ModelRequestStart)
    assert (start.provider, start.request_model) == (provider, model)


def test_end_carries_what_provider_said() -> None:
    """The reply's own id and model, with its usage."""
    told = Decision("Done.", usage=Usage(7, 3), response_id="r-1", response_model="acme-1-2026")

    with EventRecorder(*_PAIR) as recorder:
        Runner(_Named(told)).run_sync("hi")

    (end,) = recorder.of(events.ModelRequestEnd)
    assert end.decision is told
    assert end.seconds >= 0


def test_what_was_removed_from_the_input_is_an_event() -> None:
    """After the end of the request; a decision without it has no such event."""
    change = InputTransformation(kind="reasoning_removed", place="rs_1", reason="prefix_mismatch")
    decider = _Named(Decision("Done.", input_transformations=[change]), "Yes.")

    with EventRecorder(*_PAIR, "input_transformed") as recorder:
        runner = Runner(decider)
        runner.run_sync("hi")
        runner.run_sync("hi")

    assert recorder.names == [*_PAIR, "input_transformed", *_PAIR]
    (event,) = recorder.of(events.InputTransformed)
    assert (event.transformations, event.attempt) == ((change,), 1)
    assert change.removed
    assert not InputTransformation(kind="thinking_mismatch_allowed").removed


def test_broken_stream_ends_with_its_error() -> None:
    """A reply without a decision is none."""

    class Broken:
        async def decide(self, request: Input, /) -> Decision:
            raise NotImplementedError

        async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            yield "It is"

    with EventRecorder(*_PAIR) as recorder, pytest.raises(IncompleteReply):
        Runner(Broken()).run_sync("hi")

    (start,), (end,) = recorder.of(events.ModelRequestStart), recorder.of(events.ModelRequestEnd)
    assert start.streamed
    assert isinstance(end.error, IncompleteReply)


def test_a_cancelled_request_ends() -> None:
    """With the cancellation as its error."""

    class Slow(StreamingScriptedDecider):
        async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            yield "It"
            await asyncio.sleep(60)

    recorder = EventRecorder(*_PAIR)

    async def cancel() -> None:
        running = asyncio.create_task(Runner(Slow("never")).run("hi"))
        while not recorder.events:  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0.001)
        running.cancel()
        await running

    with recorder, pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())

    (end,) = recorder.of(events.ModelRequestEnd)
    assert isinstance(end.error, asyncio.CancelledError)


def test_a_session_names_its_runners() -> None:
    """Unless they are given another name."""
    session = Session(
        "s7", MemoryStore(), counter=CharCounter(), policy=Policy(8_000), compactor=Digest()
    )

    assert session.runner(ScriptedDecider()).conversation_id == "s7"
    assert session.runner(ScriptedDecider(), conversation_id="other").conversation_id == "other"
