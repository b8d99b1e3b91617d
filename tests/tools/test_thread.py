import asyncio
import subprocess
import sys
import threading
import time

from agentic import tools
from agentic.messages import ToolCall

PROGRAM = """
import threading
from agentic import loop, tools
from agentic.testing import ScriptedDecider
from agentic.messages import ToolCall

@tools.tool
def hang() -> str:
    'Never end.'
    threading.Event().wait()
    return ''

decider = ScriptedDecider(loop.Decision(tool_calls=[ToolCall('1', 'hang')]), 'Done.')
result = loop.Runner(decider, tools.Registry(hang), tool_timeout_seconds=0.1).run_sync('hi')
print(result.tool_results[0].error.kind)
"""


def test_hanging_sync_tool_delays_no_exit() -> None:
    """Its thread is left behind: neither the event loop nor Python waits for it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout == "timeout\n"


def test_sync_tools_share_few_threads() -> None:
    """However many a model calls at once."""
    running: set[int] = set()
    most = 0

    @tools.tool
    def work() -> str:
        nonlocal most
        running.add(threading.get_ident())
        most = max(most, len(running))
        time.sleep(0.05)
        running.discard(threading.get_ident())
        return "done"

    async def turn() -> list[str]:
        registry = tools.Registry(work)
        calls = [registry.execute(ToolCall(str(n), "work")) for n in range(200)]
        return [result.output for result in await asyncio.gather(*calls)]

    assert asyncio.run(turn()) == ["done"] * 200
    assert 2 <= most <= 32


def test_hanging_tools_leave_room_for_others() -> None:
    """A call that timed out no longer counts, and one that waited is never begun."""
    release, begun = threading.Event(), []

    @tools.tool
    def hang(number: int) -> None:
        begun.append(number)
        release.wait(60)

    @tools.tool
    def now() -> str:
        return "noon"

    async def turns() -> str:
        calls = [asyncio.create_task(hang.run({"number": n})) for n in range(50)]
        while len(begun) < 32:  # noqa: ASYNC110  threads fill it
            await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return str(await asyncio.wait_for(now.run({}), 60))

    try:
        assert asyncio.run(turns()) == "noon"
    finally:
        release.set()
    assert sorted(begun) == list(range(32))


def test_tool_may_run_agent_with_tools() -> None:
    """Also where every thread of its own loop is taken."""

    @tools.tool
    def inner() -> str:
        return "done"

    @tools.tool
    def outer() -> object:
        return asyncio.run(inner.run({}))

    async def turn() -> list[object]:
        return await asyncio.wait_for(asyncio.gather(*(outer.run({}) for _ in range(40))), 60)

    assert asyncio.run(turn()) == ["done"] * 40
