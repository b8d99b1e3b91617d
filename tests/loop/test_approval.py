"""A run that waits for a person: the wait costs it nothing, and cancelling it is safe."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.history import MemoryStore
from agentic.loop import Decision, Result, RunLimit, RunLimits, Runner
from agentic.messages import Message, ToolCall, close_open_rounds
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.tools import Approval, Registry, RequireApproval, ToolDefinition, tool

_IDLE = pytest.mark.usefixtures("idle_clock")
_CALLS = [ToolCall("c0", "act"), ToolCall("c1", "look")]


@attrs.define
class Slow:
    """Approves after a while."""

    seconds: float = 0.15
    asked: asyncio.Event = attrs.field(factory=asyncio.Event)

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Wait, then allow."""
        self.asked.set()
        await asyncio.sleep(self.seconds)
        return Approval(allowed=True)


def _runner(answers: dict[str, Any], approver: Any, *, store: Any = None, **options: Any) -> Runner:
    decider = ScriptedDecider(Decision("", [c for c in _CALLS if c.name in answers]), "Done.")
    executor = RequireApproval(ScriptedExecutor(answers), approver, needs=["act"])
    return Runner(decider, executor, store, **options)


async def _pause(_: ToolCall) -> str:
    await asyncio.sleep(0.02)
    return "done"


async def _hang(_: ToolCall) -> str:
    await asyncio.Event().wait()
    raise NotImplementedError


@_IDLE
@pytest.mark.parametrize(
    "options",
    [{"tool_timeout_seconds": 0.1}, {"limits": RunLimits(seconds=0.1)}],
    ids=["timeout", "limit"],
)
def test_waiting_counts_towards_no_limit(options: dict[str, Any]) -> None:
    """Neither towards the timeout of the tools nor towards the seconds of the run."""
    result = _runner({"act": _pause}, Slow(), **options).run_sync("hi")

    assert result.tool_results[0].output == "done"
    assert not result.exhausted


@_IDLE
def test_tool_is_timed_after_its_approval() -> None:
    """The clock goes on where it stopped."""
    runner = _runner({"act": _hang}, Slow(0.05), tool_timeout_seconds=0.05)

    error = runner.run_sync("hi").tool_results[0].error

    assert error is not None
    assert error.kind == "timeout"


@_IDLE
def test_other_calls_go_on_meanwhile() -> None:
    """They keep their own timeout, and the waiting call runs afterwards."""
    order: list[str] = []
    answers = {"act": lambda _: order.append("act") or "acted", "look": _hang}
    runner = _runner(answers, Slow(0.15), tool_timeout_seconds=0.05)

    acted, looked = runner.run_sync("hi").tool_results

    assert (acted.output, order) == ("acted", ["act"])
    assert looked.error is not None
    assert looked.error.kind == "timeout"


@_IDLE
def test_limit_of_seconds_ends_waiting_call() -> None:
    """While another call uses up the seconds; the waiting call was never run."""
    runner = _runner({"act": _pause, "look": _hang}, Slow(3600), limits=RunLimits(seconds=0.05))

    result = runner.run_sync("hi")

    kinds = [each.error.kind for each in result.tool_results if each.error]
    assert kinds == ["not_run", "timeout"]
    assert result.limit is RunLimit.SECONDS


async def _cancel(store: MemoryStore) -> None:
    approver = Slow(3600)
    run = asyncio.create_task(
        _runner({"act": _pause, "look": _pause}, approver, store=store).run("hi")
    )
    await approver.asked.wait()
    run.cancel()
    await asyncio.wait({run})
    assert run.cancelled()


def test_cancelled_waiting_run_leaves_valid_history() -> None:
    """The call that was never approved reads as not run; the other one's effect is unknown."""
    store = MemoryStore()

    asyncio.run(_cancel(store))

    history = asyncio.run(store.load())
    assert close_open_rounds(history) is history
    kinds = [result.error.kind for result in history[-1].tool_results if result.error]
    assert kinds == ["not_run", "interrupted"]


@_IDLE
def test_inner_agents_waiting_exhausts_no_limit() -> None:
    """A tool that runs an agent waits as long as that agent waits for a person."""

    @tool
    async def delegate() -> str:
        """Let another agent do it."""
        return (await _runner({"act": _pause}, Slow()).run("hi")).reply

    decider = ScriptedDecider(Decision("", [ToolCall("d", "delegate")]), "Done.")
    runner = Runner(
        decider, Registry(delegate), tool_timeout_seconds=0.1, limits=RunLimits(seconds=0.1)
    )

    assert runner.run_sync("hi").tool_results[0].output == "Done."


@pytest.mark.slow
def test_threaded_agents_waiting_exhausts_no_limit() -> None:
    """A sync tool has an event loop of its own."""

    @tool
    def delegate() -> str:
        """Let another agent do it."""
        return _runner({"act": _pause}, Slow(1.5)).run_sync("hi").reply

    decider = ScriptedDecider(Decision("", [ToolCall("d", "delegate")]), "Done.")
    # A second is enough for what is no waiting, on a busy machine too.
    result: Result = Runner(decider, Registry(delegate), tool_timeout_seconds=1).run_sync("hi")

    assert result.tool_results[0].output == "Done."


def test_results_are_stored_during_the_wait() -> None:
    """Whoever approves after days finds the other results of the turn in the store."""
    stored = asyncio.Event()
    seen: list[list[str]] = []

    class NotingStore(MemoryStore):
        async def append(self, *messages: Message, **options: Any) -> None:
            await super().append(*messages, **options)
            if any(each.tool_results for each in messages):
                stored.set()

    store = NotingStore()

    class Reading(Slow):
        async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
            await asyncio.wait_for(stored.wait(), 60)
            history = await store.full()
            seen.append([each.output for m in history for each in m.tool_results])
            return Approval(allowed=True)

    result = _runner({"act": _pause, "look": "seen"}, Reading(), store=store).run_sync("hi")

    assert seen == [["seen"]]
    assert [each.output for each in result.tool_results] == ["done", "seen"]


async def _ask_inside(_: ToolCall) -> str:
    running = events.current_call()
    assert running is not None
    with running.pause():
        await asyncio.sleep(0.15)
    return "answered"


@_IDLE
def test_tool_itself_may_wait_for_person() -> None:
    """In the middle of its work, it stops the clocks."""
    runner = _runner({"look": _ask_inside}, Slow(), tool_timeout_seconds=0.1)

    assert runner.run_sync("hi").tool_results[0].output == "answered"


def test_tool_asking_itself_may_have_begun() -> None:
    """If the run is cancelled then, nobody knows what it did before."""
    store = MemoryStore()

    begun = asyncio.Event()

    async def ask(_: ToolCall) -> str:
        running = events.current_call()
        assert running is not None
        with running.pause():
            begun.set()
            await asyncio.Event().wait()
        raise NotImplementedError

    async def cancel() -> None:
        run = asyncio.create_task(_runner({"look": ask}, Slow(), store=store).run("hi"))
        await begun.wait()
        run.cancel()
        await asyncio.wait({run})

    asyncio.run(cancel())

    [result] = asyncio.run(store.load())[-1].tool_results
    assert result.error is not None
    assert result.error.kind == "interrupted"
