"""Approvals in a durable run: an answer is a record, and a wait may last longer than a process."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.durable import Durable
from agentic.errors import ConfigError
from agentic.loop import Decision, Input, Result, Runner
from agentic.messages import ToolCall, ToolResult, to_plain
from agentic.tools import Approval, RequireApproval, ToolDefinition

_STARTED = datetime(2026, 11, 23, 12, tzinfo=UTC)
_NAMES = ("push", "look", "charge", "push")


@attrs.define
class Desk:
    """Answers questions after as many moments as it is told, in whatever order."""

    moments: list[int]
    asked: list[str] = attrs.field(factory=list)

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Allow all but a forced push."""
        self.asked.append(call.id)
        for _ in range(self.moments[(len(self.asked) - 1) % len(self.moments)]):
            await asyncio.sleep(0)
        forced = bool(call.parse().get("force"))
        return Approval(not forced, "do not force it" if forced else "")


@attrs.define
class Tools:
    """Two tools that act and one that looks."""

    ran: list[str] = attrs.field(factory=list)

    async def list_tools(self) -> list[ToolDefinition]:
        """List them."""
        look = ToolDefinition("look", annotations={"readOnlyHint": True})
        return [ToolDefinition("push"), look, ToolDefinition("charge", retry="never")]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Note the call."""
        self.ran.append(call.id)
        return ToolResult(output=f"{call.name} {call.id}")


class Model:
    """Asks for four calls in each of two turns; the last of them is refused."""

    async def decide(self, request: Input, /) -> Decision:
        """Decide by the turn alone."""
        if request.turn == 3:
            return Decision("Done.")
        forced = json.dumps({"force": True})
        turn = request.turn
        calls = [ToolCall(f"c{turn}{at}", name) for at, name in enumerate(_NAMES)]
        return Decision("", [*calls[:3], attrs.evolve(calls[3], arguments=forced)])


def _run(steps: Any, desk: Desk, tools: Tools | None = None, **options: Any) -> Result:
    durable = Durable(steps, _STARTED, **options)
    executor = RequireApproval(tools or Tools(), durable.approver(desk))
    runner = Runner(durable.decider(Model()), durable.executor(executor), tool_timeout_seconds=None)

    async def attempt() -> Result:
        with durable.clock():
            return await runner.run("Do it.", run_id="run-1")

    return asyncio.run(attempt())


_MOMENTS = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@given(dies_at=st.integers(0, 22), before_work=st.booleans(), first=_MOMENTS, second=_MOMENTS)
def test_order_of_answers_changes_nothing(
    engine: Callable[..., Any],
    dies_at: int,
    before_work: bool,
    first: list[int],
    second: list[int],
) -> None:
    """Steps are told apart by their order: a later answer must not get an earlier one's record."""
    killed = engine(dies_at=dies_at, before_work=before_work)

    with contextlib.suppress(BaseException):
        _run(killed.attempt(), Desk(first))
    killed.dies_at = None
    result = _run(killed.attempt(), Desk(second))

    for answer in result.tool_results:
        if answer.call_id.endswith("3"):
            assert answer.error is not None
            assert answer.error.message.endswith("do not force it")
        else:
            lost = answer.error is not None and answer.name == "charge"
            assert lost or answer.output == f"{answer.name} {answer.call_id}"


def test_answer_is_asked_for_once(engine: Callable[..., Any]) -> None:
    """A replay reads the record, with a refusal's reason."""
    whole, desk, again = engine(), Desk([0, 5, 2]), Desk([0])
    first = _run(whole.attempt(), desk)

    second = _run(whole.attempt(), again)

    assert (len(desk.asked), again.asked) == (6, [])
    assert [to_plain(m) for m in second.history] == [to_plain(m) for m in first.history]
    assert whole.names.count("approve push") == 4


def test_open_question_is_put_again(engine: Callable[..., Any]) -> None:
    """The process ended while somebody was thinking: nothing ran, and nothing is lost."""
    whole, tools = engine(dies_at=2), Tools()
    with contextlib.suppress(BaseException):
        _run(whole.attempt(), Desk([0]), tools)
    whole.dies_at = None

    result = _run(whole.attempt(), desk := Desk([0]), tools)

    assert "c10" in desk.asked
    assert tools.ran.count("c10") == 1
    assert result.tool_results[0].output == "push c10"


@pytest.mark.usefixtures("idle_clock")
def test_wait_is_outside_the_timeout(engine: Callable[..., Any]) -> None:
    """A tool has its own time, however long the approval took."""

    class Slow(Desk):
        async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
            await asyncio.sleep(0.1)
            return Approval(allowed=True)

    result = _run(engine().attempt(), Slow([0]), tool_timeout_seconds=0.05)

    assert [each.error for each in result.tool_results] == [None] * 8


def test_intent_waits_for_the_answer(engine: Callable[..., Any]) -> None:
    """A process that dies while somebody thinks has not begun: the call is not given up."""
    whole = engine()

    class Never(Desk):
        async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
            await asyncio.Event().wait()
            raise NotImplementedError

    async def wait() -> None:
        durable = Durable(whole.attempt(), _STARTED)
        approval = RequireApproval(Tools(), durable.approver(Never([0])))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.02):
                await durable.executor(approval).execute(ToolCall("c1", "charge"))

    async def answer() -> ToolResult:
        durable = Durable(whole.attempt(), _STARTED)
        approval = RequireApproval(Tools(), durable.approver(Desk([0])))
        return await durable.executor(approval).execute(ToolCall("c1", "charge"))

    asyncio.run(wait())

    assert asyncio.run(answer()).output == "charge c1"


def test_approval_cannot_be_dropped_midway(engine: Callable[..., Any]) -> None:
    """A run that was started with approvals does not go on without them."""
    whole = engine()
    _run(whole.attempt(), Desk([0]))

    async def resume() -> None:
        await Durable(whole.attempt(), _STARTED).executor(Tools()).list_tools()

    with pytest.raises(ConfigError, match="must not run without approval"):
        asyncio.run(resume())
