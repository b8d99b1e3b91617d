"""What happens to a worker that is only slow, and to one whose clock is wrong."""

import asyncio
import os
import runpy
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

PARTS = runpy.run_path(str(Path(__file__).with_name("test_kill.py")))
pytestmark = pytest.mark.long


async def _until(process: Any) -> None:
    await asyncio.to_thread(process.stdout.readline)  # says that it is ready


def test_stopped_worker_loses_its_runs(
    postgres: Any, agent: dict[str, Any], tmp_path: Path
) -> None:
    """Another one finishes them; once it is continued, it writes nothing and gives up."""
    fleet = PARTS["_fleet"](postgres, agent, tmp_path, turns=8)
    names = [f"s{n}" for n in range(4)]

    async def disturb() -> tuple[list[str], int]:
        async with PARTS["_service"](fleet, agent) as service:
            first = fleet.start()
            await _until(first)
            runs = await PARTS["_submit"](service, names)
            await asyncio.sleep(0.5)
            first.send_signal(signal.SIGSTOP)
            fleet.start()
            states = [(await service.result(run, timeout_seconds=60)).state for run in runs]
            first.send_signal(signal.SIGCONT)
            return states, await asyncio.to_thread(first.wait, 30)

    try:
        states, status = asyncio.run(disturb())
        histories = asyncio.run(PARTS["_histories"](agent, fleet, names))
    finally:
        fleet.end()

    assert states == ["done"] * 8
    assert status == 1
    roles = ["user", *["assistant", "tool"] * 7, "assistant"] * 2
    assert [[m.role for m in history] for history in histories] == [roles] * 4
    paid, sent = PARTS["_effects"](fleet)
    assert set(paid.values()) == set(sent.values()) == {1}


@pytest.mark.parametrize("appends", [1, 5], ids=["first", "later"])
def test_turn_is_stored_despite_stopped_writer(
    postgres: Any, agent: dict[str, Any], tmp_path: Path, appends: int
) -> None:
    """A worker that is stopped while it stores does not keep the session from the new owner."""
    fleet = PARTS["_fleet"](postgres, agent, tmp_path, turns=4)

    async def disturb() -> tuple[list[str], int]:
        async with PARTS["_service"](fleet, agent) as service:
            first = fleet.start(stop_after=appends)
            await _until(first)
            runs = await PARTS["_submit"](service, ["s0"])
            await asyncio.to_thread(os.waitpid, first.pid, os.WUNTRACED)
            fleet.start()
            states = [(await service.result(run, timeout_seconds=60)).state for run in runs]
            first.send_signal(signal.SIGCONT)
            return states, await asyncio.to_thread(first.wait, 30)

    try:
        states, status = asyncio.run(disturb())
        (history,) = asyncio.run(PARTS["_histories"](agent, fleet, ["s0"]))
    finally:
        fleet.end()

    assert (states, status) == (["done"] * 2, 1)
    roles = ["user", *["assistant", "tool"] * 3, "assistant"]
    assert [message.role for message in history] == roles * 2


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_wrong_clock_takes_nothing_over(
    postgres: Any, agent: dict[str, Any], tmp_path: Path
) -> None:
    """Leases go by the database's time. SIGTERM drains both workers."""
    fleet = PARTS["_fleet"](postgres, agent, tmp_path, turns=8)
    names = [f"s{n}" for n in range(4)]

    async def work() -> tuple[list[str], list[int]]:
        async with PARTS["_service"](fleet, agent) as service:
            workers = [fleet.start(), fleet.start(clock_offset=3600)]
            for worker in workers:
                await _until(worker)
            runs = await PARTS["_submit"](service, names)
            states = [(await service.result(run, timeout_seconds=60)).state for run in runs]
            await asyncio.sleep(2 * PARTS["LEASE_SECONDS"])
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
            return states, [await asyncio.to_thread(worker.wait, 60) for worker in workers]

    try:
        states, statuses = asyncio.run(work())
    finally:
        fleet.end()

    assert (states, statuses) == (["done"] * 8, [0, 0])
    paid, sent = PARTS["_effects"](fleet)
    assert (len(paid), len(sent)) == (56, 56)
    assert set(sent.values()) == {1}
