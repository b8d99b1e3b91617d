"""Tools that report how far they are, in the run that called them."""

import asyncio

from agentic import events, loop, tools
from agentic.events import ToolExecutionProgress
from agentic.messages import ToolCall
from agentic.testing import ScriptedDecider


@tools.tool
async def count(limit: int) -> str:
    """Count to a limit, and report each number."""
    call = events.current_call()
    assert call is not None
    for number in range(1, limit + 1):
        await call.report_progress(number, limit, f"at {number}")
    return "counted"


def test_progress_is_a_run_event() -> None:
    """With the call, so that parallel calls can be told apart."""
    calls = [ToolCall("c1", "count", '{"limit": 1}'), ToolCall("c2", "count", '{"limit": 2}')]
    runner = loop.Runner(ScriptedDecider(loop.Decision("", calls), "Done."), tools.Registry(count))
    seen: list[ToolExecutionProgress] = []

    def note(_: object, event: ToolExecutionProgress) -> None:
        seen.append(event)

    with events.tool_execution_progress.connected_to(note, sender=runner):
        runner.run_sync("Count.")

    told = [(each.call.id, each.progress, each.total, each.message) for each in seen]
    assert sorted(told) == [("c1", 1, 1, "at 1"), ("c2", 1, 2, "at 1"), ("c2", 2, 2, "at 2")]
    assert len({each.run_id for each in seen}) == 1


def test_no_call_outside_a_run() -> None:
    """A tool that is called by hand has nobody to report to."""

    async def ask() -> object:
        return events.current_call()

    assert asyncio.run(ask()) is None
