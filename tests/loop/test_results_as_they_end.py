"""Each result is stored as its call ends, so that a kill loses no call that is done."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import events, truncate
from agentic._base._clock import use_clock
from agentic.history import Archive, JsonlStore, MemoryStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Result, Runner
from agentic.loop._calls import OutputLimits, ToolBatch, TurnResults
from agentic.loop._conversation import EventSender, StoredHistory
from agentic.loop._records import LimitWatch, RunLimits
from agentic.messages import Message, ToolCall, ToolResult, close_open_rounds
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor

pytestmark = pytest.mark.usefixtures("idle_clock")
_NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
_CALLS = [ToolCall("c0", "slow"), ToolCall("c1", "fast")]


async def _slow(_: ToolCall) -> str:
    await asyncio.sleep(0.25)
    return "late"


def _runner(store: Any) -> Runner:
    decider = ScriptedDecider(Decision("", _CALLS), "Done.")
    return Runner(decider, ScriptedExecutor({"slow": _slow, "fast": "early"}), store)


def _stored(history: Any) -> list[list[str]]:
    return [[each.output for each in m.tool_results] for m in history if m.tool_results]


def test_early_result_is_stored_first() -> None:
    """The model still reads them in the order of the calls."""
    runner = _runner(MemoryStore())

    with EventRecorder() as recorder:
        result = runner.run_sync("hi")

    assert _stored(result.history) == [["early"], ["late"]]
    assert [each.output for each in result.tool_results] == ["late", "early"]
    decider: Any = runner.decider
    assert decider.requests[1].tool_results == result.tool_results
    ends = [each for each in recorder.events if isinstance(each, events.ToolExecutionEnd)]
    assert [end.call.id for end in ends] == ["c1", "c0"]


def test_turn_without_store_has_one_message() -> None:
    """A kill loses all of it anyway."""
    assert _stored(_runner(None).run_sync("hi").history) == [["late", "early"]]


def test_replayable_run_stores_in_call_order() -> None:
    """Its engine has each result, and a replay must store the same, whichever call ends first."""
    store = MemoryStore()

    with use_clock(lambda: _NOON):
        _runner(store).run_sync("hi")

    assert _stored(asyncio.run(store.load())) == [["late", "early"]]


def test_cancelled_run_keeps_what_was_stored() -> None:
    """Only the call that had not ended reads as interrupted."""
    store, stored = MemoryStore(), asyncio.Event()

    @events.tool_execution_end.connect
    def note(_: object, **_event: object) -> None:
        stored.set()

    async def cancel() -> None:
        run = asyncio.create_task(_runner(store).run("hi"))
        await stored.wait()
        run.cancel()
        await asyncio.wait({run})

    asyncio.run(cancel())

    first, second = [m.tool_results for m in asyncio.run(store.load()) if m.tool_results]
    assert [each.output for each in first] == ["early"]
    assert [each.error and each.error.kind for each in second] == ["interrupted"]


_PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from agentic.history import JsonlStore
from agentic.history.sqlite import SqliteStore
from agentic.loop import Decision, Runner
from agentic.messages import ToolCall
from agentic.testing import ScriptedDecider, ScriptedExecutor

async def main():
    kind, path = sys.argv[1:]
    async with (JsonlStore if kind == "jsonl" else SqliteStore)(Path(path)) as store:
        async def die(_):
            while not any(m.tool_results for m in await store.full()):
                await asyncio.sleep(0.01)
            os._exit(9)

        calls = [ToolCall("c0", "die"), ToolCall("c1", "fast"), ToolCall("c2", "fast")]
        executor = ScriptedExecutor({"die": die, "fast": "early"})
        await Runner(ScriptedDecider(Decision("", calls)), executor, store).run("hi")

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "make"), [("jsonl", JsonlStore), ("sqlite", SqliteStore)])
def test_killed_process_keeps_finished_calls(tmp_path: Path, kind: str, make: Any) -> None:
    """A resumed run reads their results, and only the others as interrupted."""
    path = tmp_path / "session"
    command = [sys.executable, "-c", _PROGRAM, kind, str(path)]
    assert subprocess.run(command, check=False, timeout=60).returncode == 9

    async def resume() -> Result:
        store: Archive
        async with make(path) as store:
            return await Runner(decider, store=store).resume()

    decider = ScriptedDecider("Done.")
    assert asyncio.run(resume()).reply == "Done."

    read = [each for m in decider.requests[0].history for each in m.tool_results]
    assert {each.call_id: each.output for each in read} == {"c0": "", "c1": "early", "c2": "early"}
    assert [each.error.kind for each in read if each.error] == ["interrupted"]


class Snapshots(MemoryStore):
    """Notes what a kill would leave after each append."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[list[Message]] = []

    async def append(self, message: Message, /, **options: Any) -> None:
        """Store, and note."""
        await super().append(message, **options)
        self.left.append(await self.full())


async def _settle(moments: list[int], sizes: list[int], most: int) -> list[list[Message]]:
    """Run calls that take so many moments, and return what each kill would have left."""
    calls = [ToolCall(f"c{at}", "t") for at in range(len(moments))]

    async def work(call: ToolCall) -> str:
        at = int(call.id[1:])
        for _ in range(moments[at]):
            await asyncio.sleep(0)
        return "x" * sizes[at]

    store, sender = Snapshots(), EventSender(None, "run-1")
    history = StoredHistory(store, sender)
    await history.append(Message("assistant", tool_calls=calls))
    batch = ToolBatch(
        calls, [call.id for call in calls], sender, LimitWatch(RunLimits(), 1, "", "")
    )
    limits = OutputLimits(truncation=truncate.Options(max_bytes=60), turn_bytes=most, put=None)
    results = TurnResults(history, limits, calls)
    batch.start(ScriptedExecutor({"t": work}), ["t"])
    while ended := await batch.wait(None, 0):
        await results.store(ended)
    assert [each.call for each in results.outcomes] == calls
    return store.left


@given(
    calls=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 90)), min_size=1, max_size=6),
    most=st.integers(6, 400),
)
def test_kill_loses_only_open_calls(calls: list[tuple[int, int]], most: int) -> None:
    """Whatever ends first: each call has one result, and all of them fit the turn's budget."""
    moments, sizes = [list(each) for each in zip(*calls, strict=True)]

    for left in asyncio.run(_settle(moments, sizes, most)):
        done = [each for m in left for each in m.tool_results]
        closed = close_open_rounds(left)
        answers = [each for m in closed for each in m.tool_results]
        assert sorted(each.call_id for each in answers) == [f"c{at}" for at in range(len(calls))]
        assert [each for each in answers if not each.error] == done
        assert sum(len(each.output) for each in done) <= max(most, len(calls))
        fair: list[ToolResult] = [each for each in done if len(each.output) < 60]
        cut = [each for each in fair if each.notice]
        assert all(len(each.output) >= min(60, most // len(calls)) for each in cut)
