"""The events of a run as watchers get them, whatever interrupts the worker that stores them."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentic import events
from agentic.durable.dbos._feed import Feed
from agentic.durable.dbos._tables import Tables
from agentic.events._sending import send


class SlowTables(Tables):
    """A database that takes its time for the first events, until it is let go on."""

    def add_events(self, run: str, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Store events, the very first ones late."""
        if events[0][1]["turn"] == 1:
            _begun.set()
            _go_on.wait(60)
        super().add_events(run, events)


_begun, _go_on = threading.Event(), threading.Event()


def _end(call_id: str) -> dict[str, Any]:
    return {"type": "tool_execution_end", "call_id": call_id}


def test_replay_loses_no_end_of_a_call(tmp_path: Path) -> None:
    """Calls that ran side by side may end in another order: here, the kill came between two."""
    tables = Tables(f"sqlite:///{tmp_path}/runs.db")
    tables.create()

    async def attempt(*calls: str) -> None:
        feed = Feed(tables, "run")
        for call_id in calls:
            feed.add(_end(call_id))
        await feed.flush()

    asyncio.run(attempt("fast"))
    asyncio.run(attempt("slow", "fast"))

    assert [body["call_id"] for _, body in tables.events("run", 0)] == ["fast", "slow"]
    tables.close()


def test_latest_events_follow_the_others(tmp_path: Path) -> None:
    """The run ends while a thread still stores what came before: watchers would miss that."""
    tables = SlowTables(f"sqlite:///{tmp_path}/runs.db")
    tables.create()

    async def run() -> None:
        feed = Feed(tables, "run")
        writing = asyncio.create_task(feed.write())
        feed.add({"type": "turn_start", "turn": 1})
        await asyncio.to_thread(_begun.wait, 10)
        feed.add({"type": "turn_start", "turn": 2})
        asyncio.get_running_loop().call_later(0.1, _go_on.set)
        feed.disconnect()
        await writing

    asyncio.run(run())

    assert [body["turn"] for _, body in tables.events("run", 0)] == [1, 2]
    tables.close()


def test_compactions_and_epochs_are_reported(tmp_path: Path) -> None:
    """Whoever watches sees why a request was new to the cache; other runs are not mixed in."""
    tables, runner = Tables(f"sqlite:///{tmp_path}/runs.db"), object()
    tables.create()
    epoch = {"changes": ("compaction",), "reused_tokens": 3, "tokens": 9, "stale_replies": 0}
    sizes = {"tokens_before": 90, "tokens_after": 9, "dropped": (), "reason": "window"}
    end = {"summary": None, "error": None, "declined": "it was larger", **sizes}

    async def attempt() -> None:
        feed = Feed(tables, "run")
        feed.connect(runner)
        for run in ("run", "other"):
            beside: Any = {"sender": runner, "run_id": run}
            await send(
                events.context_compaction_end, record=events.ContextCompactionEnd, **beside, **end
            )
            await send(events.epoch_start, record=events.EpochStart, **beside, **epoch)
        feed.disconnect()
        await feed.flush()

    asyncio.run(attempt())

    compaction, started = [body for _, body in tables.events("run", 0)]
    assert compaction["problem"] == "it was larger"
    assert compaction["tokens_before"] == 90
    assert started == {
        "type": "epoch_start",
        "changes": ["compaction"],
        "reused_tokens": 3,
        "tokens": 9,
    }
    tables.close()
