import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.history import MemoryStore
from agentic.loop import Decision, Request, Runner
from agentic.messages import Message, ToolCall, close_open_rounds
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.usage import StopReason

_CALLS = Decision("I look.", [ToolCall("c1", "t"), ToolCall("c2", "t")])


class _Place:
    """A place in a run that tells when it is reached, and waits there."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()

    async def wait(self, *_: object, **__: object) -> str:
        self.reached.set()
        await self.go_on.wait()
        return "went on"


def _cancel_at(
    place: _Place, runner: Runner, request: Request | str = "hi", *, go_on: bool = False
) -> None:
    """Run, cancel when the place is reached, and expect the cancellation to pass."""

    async def main() -> None:
        run = asyncio.create_task(runner.run(request))
        await place.reached.wait()
        run.cancel()
        await asyncio.sleep(0)
        if go_on:
            place.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(main())


def _stored(store: MemoryStore) -> list[Message]:
    """Return what is stored, and expect it to be whole as it stands."""
    stored = asyncio.run(store.full())
    assert close_open_rounds(stored) is stored
    return stored


def test_cancelled_decision_leaves_request_stored() -> None:
    """There is no reply, and nothing is half done."""
    place, store = _Place(), MemoryStore()

    _cancel_at(place, Runner(ScriptedDecider(place.wait), store=store))

    assert [message.role for message in _stored(store)] == ["user"]


def test_cancelled_tools_all_get_results() -> None:
    """What had ended keeps its result, what had not is told so, and the tools are stopped."""
    place, store = _Place(), MemoryStore()
    executor = ScriptedExecutor(
        {"t": lambda call: "text" if call.id == "c1" else place.wait(), "u": ""}
    )

    _cancel_at(place, Runner(ScriptedDecider(_CALLS), executor, store))

    first, second = _stored(store)[-1].tool_results
    assert first.output == "text"
    assert "cancelled before this call ended" in second.text
    assert second.error is not None
    assert second.error.kind == "interrupted"


class _SlowStore(MemoryStore):
    """Appends and replaces only after it was let."""

    def __init__(self, place: _Place, role: str) -> None:
        super().__init__()
        self.place, self.role = place, role

    async def append(self, message: Message) -> None:
        if message.role == self.role:
            await self.place.wait()
        await super().append(message)


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_cancelled_storing_finishes_the_message(role: str) -> None:
    """The cancellation waits for the store and the results of open calls, and all is told."""
    place = _Place()
    store = _SlowStore(place, role)
    runner = Runner(ScriptedDecider(_CALLS), ScriptedExecutor({"t": "text"}), store)

    with EventRecorder() as recorder:
        _cancel_at(place, runner, go_on=True)

    roles = [message.role for message in _stored(store)]
    assert roles == (["user"] if role == "user" else ["user", "assistant", "tool"])
    assert [end.message for end in recorder.of(events.MessageEnd)] == _stored(store)
    assert recorder.names.count("tool_execution_start") == recorder.names.count(
        "tool_execution_end"
    )


class _SlowForSteered(MemoryStore):
    """Appends the message to the running run only after it was let."""

    def __init__(self, place: _Place) -> None:
        super().__init__()
        self.place = place

    async def append(self, message: Message) -> None:
        if message.content == "And why?":
            await self.place.wait()
        await super().append(message)


def test_cancellation_stores_steered_message_once() -> None:
    """Unlike one whose append failed, it is not stored again as the run ends."""
    place = _Place()

    def decide(_: object) -> Decision:
        runner.steer("And why?")
        return Decision("It is a tree.")

    store = _SlowForSteered(place)
    runner = Runner(ScriptedDecider(decide), store=store)

    _cancel_at(place, runner, go_on=True)

    assert [m.content for m in _stored(store)] == ["hi", "It is a tree.", "And why?"]


def test_second_cancellation_does_not_hide_end() -> None:
    """It arrives while a message that nobody has read is stored."""
    asked, place = _Place(), _Place()
    runner = Runner(ScriptedDecider(asked.wait), store=_SlowForSteered(place))

    async def main() -> None:
        run = asyncio.create_task(runner.run("hi"))
        await asked.reached.wait()
        runner.steer("And why?")
        run.cancel()
        await place.reached.wait()
        run.cancel()
        await asyncio.sleep(0)
        place.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await run

    with EventRecorder("agent_end") as recorder:
        asyncio.run(main())

    assert recorder.names == ["agent_end"]


def test_cancellation_outranks_a_failing_store() -> None:
    """Nothing is stored and nothing told; the failure matters less than being cancelled."""
    place = _Place()

    class Failing(_SlowStore):
        async def append(self, message: Message) -> None:
            await self.place.wait()
            raise OSError("the disk is full")

    store = Failing(place, "user")

    with EventRecorder("message_end") as recorder:
        _cancel_at(place, Runner(ScriptedDecider("never"), store=store), go_on=True)

    assert (recorder.events, _stored(store)) == ([], [])


def test_cancelled_beginning_stores_whole_past() -> None:
    """The history of a request is stored to its end: half of it would be another past."""
    place = _Place()
    store = _SlowStore(place, "user")
    past = [Message("user", "Hello."), Message("assistant", "Hello."), Message("user", "Well?")]

    _cancel_at(
        place,
        Runner(ScriptedDecider("never"), store=store),
        Request("hi", history=past),
        go_on=True,
    )

    assert _stored(store) == past


def test_calls_cancelled_before_running_are_told() -> None:
    """No tool has run, so their effect is not unknown."""
    place = _Place()
    store = _SlowStore(place, "assistant")
    executor = ScriptedExecutor({"t": "text"})

    _cancel_at(place, Runner(ScriptedDecider(_CALLS), executor, store), go_on=True)

    assert executor.calls == []
    assert {result.text for result in _stored(store)[-1].tool_results} == {
        "Error: the run was cancelled, so this call was not run"
    }


def test_second_cancellation_still_stores_results() -> None:
    """The second cancellation, while the results are being stored, waits as the first did."""
    place, store = _Place(), MemoryStore()
    runner = Runner(ScriptedDecider(_CALLS), ScriptedExecutor({"t": place.wait}), store)
    told = _Place()

    async def slowly(_: object, event: events.MessageStart) -> None:
        if event.role == "tool":
            await told.wait()

    async def main() -> None:
        run = asyncio.create_task(runner.run("hi"))
        await place.reached.wait()
        run.cancel()
        await told.reached.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    with events.message_start.connected_to(slowly, runner):
        asyncio.run(main())

    assert [message.role for message in _stored(store)] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("signal", ["tool_execution_start", "message_end", "message_start"])
def test_cancelled_during_event_closes_every_call(signal: str) -> None:
    """A slow listener is no reason for an open round."""
    place, store = _Place(), MemoryStore()
    runner = Runner(ScriptedDecider(_CALLS), ScriptedExecutor({"t": "text"}), store)

    with events.signals[signal].connected_to(place.wait, runner):
        _cancel_at(place, runner)

    _stored(store)


def test_every_announced_tool_is_told_ended() -> None:
    """A display that shows a call as running never waits for its end."""
    place = _Place()
    runner = Runner(ScriptedDecider(_CALLS), ScriptedExecutor({"t": "text"}))

    with (
        EventRecorder("tool_execution_start", "tool_execution_end") as recorder,
        events.tool_execution_start.connected_to(place.wait, runner),
    ):
        _cancel_at(place, runner)

    starts = [event.call for event in recorder.of(events.ToolExecutionStart)]
    ends = [event.call for event in recorder.of(events.ToolExecutionEnd)]
    assert starts
    assert ends == starts


@pytest.mark.parametrize("signal", ["agent_start", "turn_start", "message_start"])
def test_cancelled_run_says_it_is_over(signal: str) -> None:
    """`agent_end` comes whenever `agent_start` came, with the cancellation."""
    place = _Place()
    runner = Runner(ScriptedDecider("Done."))

    with (
        EventRecorder("agent_end") as recorder,
        events.signals[signal].connected_to(place.wait, runner),
    ):
        _cancel_at(place, runner)

    (end,) = recorder.of(events.AgentEnd)
    assert end.stop_reason is StopReason.ABORT
    assert isinstance(end.error, asyncio.CancelledError)


class _SlowRewriter(MemoryStore):
    """Replaces only after it was let."""

    def __init__(self, place: _Place) -> None:
        super().__init__()
        self.place = place

    async def replace(self, messages: Sequence[Message]) -> None:
        await self.place.wait()
        await super().replace(messages)


class _Brief:
    async def compact(self, messages: list[Message], /) -> str:
        return "all of it"


def _long_session(store: MemoryStore) -> None:
    for _ in range(10):
        asyncio.run(store.append(Message("user", "word " * 200)))


def test_cancelled_compaction_tells_what_was_stored() -> None:
    """The compaction happened, so that is what its end says; then the cancellation passes."""
    place = _Place()
    store = _SlowRewriter(place)
    _long_session(store)
    budget = Manager(CharCounter(), _Brief(), Policy(1_000))
    runner = Runner(ScriptedDecider("never"), store=store, budget=budget)

    with EventRecorder("context_compaction_end") as recorder:
        _cancel_at(place, runner, go_on=True)

    (end,) = recorder.of(events.ContextCompactionEnd)
    assert (end.summary is not None, end.error) == (True, None)
    assert asyncio.run(store.load())[0].summary == end.summary


def test_cancelled_compactor_changes_nothing() -> None:
    """The history is as it was, and the event carries the cancellation."""
    place, store = _Place(), MemoryStore()
    _long_session(store)

    class Slow:
        def compact(self, messages: list[Message], /) -> Any:
            return place.wait()

    budget = Manager(CharCounter(), Slow(), Policy(1_000))

    with EventRecorder("context_compaction_end") as recorder:
        _cancel_at(place, Runner(ScriptedDecider("never"), store=store, budget=budget))

    (end,) = recorder.of(events.ContextCompactionEnd)
    assert isinstance(end.error, asyncio.CancelledError)
    assert asyncio.run(store.load()) == asyncio.run(store.full())


def test_next_run_follows_a_cancellation() -> None:
    """The same Runner takes the next request, on a sound history."""
    place, store = _Place(), MemoryStore()
    decider = ScriptedDecider(_CALLS, "Done.")
    runner = Runner(decider, ScriptedExecutor({"t": place.wait}), store)
    _cancel_at(place, runner)

    result = runner.run_sync("and now?")

    assert result.reply == "Done."
    assert [message.role for message in result.history] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
    ]


@pytest.mark.parametrize("answer", ["text", ValueError("no")])
def test_timeout_around_run_stays_timeout(answer: object) -> None:
    """`asyncio.timeout` around a run sees its own cancellation come back."""

    async def main(pause: Callable[[], Any]) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await runner.run("hi")
        await pause()

    place = _Place()
    executor = ScriptedExecutor({"t": lambda call: answer if call.id == "c1" else place.wait()})
    runner = Runner(ScriptedDecider(_CALLS), executor, MemoryStore())

    asyncio.run(main(lambda: asyncio.sleep(0)))
