"""A run that is limited to some seconds has them once, over all its attempts."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from agentic.durable import Durable, Steps
from agentic.loop import Decision, Input, Result, RunLimit, RunLimits, Runner
from agentic.messages import ToolCall, ToolResult
from agentic.tools import Approval, RequireApproval, ToolDefinition

pytestmark = pytest.mark.usefixtures("idle_clock")

_STARTED = datetime(2026, 11, 23, 12, tzinfo=UTC)


@attrs.define
class Slow:
    """A model that calls a tool for ever, and takes its time for it."""

    seconds: float
    decided: int = 0

    async def decide(self, request: Input, /) -> Decision:
        """Decide after a while."""
        await asyncio.sleep(self.seconds)
        self.decided += 1
        return Decision("", [ToolCall("", "look", "{}")])


@attrs.define
class Tools:
    """One tool, which may take its time, too."""

    seconds: float = 0.0

    async def list_tools(self) -> list[ToolDefinition]:
        """List it."""
        return [ToolDefinition("look")]

    async def execute(self, _: ToolCall, /) -> ToolResult:
        """Answer after a while."""
        await asyncio.sleep(self.seconds)
        return ToolResult(output="found")


@attrs.define
class Person:
    """Somebody who takes longer than the limit to answer."""

    seconds: float = 0.4

    async def approve(self, _: ToolCall, __: ToolDefinition, /) -> Approval:
        """Allow it."""
        await asyncio.sleep(self.seconds)
        return Approval(allowed=True)


def _run(steps: Steps, decider: Any, executor: Any, seconds: float, turns: int = 9) -> Result:
    durable = Durable(steps, _STARTED)
    if isinstance(executor, RequireApproval):
        executor = attrs.evolve(executor, approver=durable.approver(executor.approver))
    runner = Runner(
        durable.decider(decider),
        durable.executor(executor),
        limits=RunLimits(seconds=seconds),
        max_turns=turns,
        tool_timeout_seconds=None,
    )

    async def attempt() -> Result:
        with durable.clock():
            return await runner.run("Look.", run_id="run-1")

    return asyncio.run(attempt())


def test_seconds_span_all_attempts(engine: Callable[..., Any]) -> None:
    """What an attempt has recorded is gone for the next one, which ends in the second decision."""
    whole, model = engine(dies_at=2), Slow(0.2)

    with contextlib.suppress(BaseException):
        _run(whole.attempt(), model, Tools(), 0.3)
    whole.dies_at = None
    result = _run(whole.attempt(), model, Tools(), 0.3)

    assert (result.limit, model.decided) == (RunLimit.SECONDS, 1)


def test_replay_ends_at_the_same_limit(engine: Callable[..., Any]) -> None:
    """In a decision or in a call: the end is on record, so nothing is asked or run again."""
    for model, tools in ((Slow(0.2), Tools()), (Slow(0.0), Tools(1.0))):
        whole = engine()
        first = _run(whole.attempt(), model, tools, 0.3)
        done, decided = list(whole.names), model.decided

        again = _run(whole.attempt(), model, tools, 0.3)

        assert first.limit == again.limit == RunLimit.SECONDS
        assert first.history == again.history
        assert (whole.names, model.decided) == (done, decided)


def test_waiting_for_a_person_is_free(engine: Callable[..., Any]) -> None:
    """In the attempt that waited, and in the replay of the answer."""
    whole, asking = engine(dies_at=3), RequireApproval(Tools(), Person(), needs=["look"])

    with contextlib.suppress(BaseException):
        _run(whole.attempt(), Slow(0.0), asking, 0.3, turns=2)
    whole.dies_at = None
    result = _run(whole.attempt(), Slow(0.0), asking, 0.3, turns=2)

    assert "tool look" in whole.names
    assert result.limit == RunLimit.TURNS


def test_run_within_call_has_own_clock(engine: Callable[..., Any]) -> None:
    """A tool that runs an agent is one step, so the limit of that agent is kept in it."""

    class Agent(Tools):
        async def execute(self, _: ToolCall, /) -> ToolResult:
            inner = Runner(Slow(5.0), limits=RunLimits(seconds=0.05))
            result = await inner.run("Look.")
            return ToolResult(output=str(result.limit))

    result = _run(engine().attempt(), Slow(0.0), Agent(), 60, turns=2)

    assert result.tool_results[0].output == "seconds"
