"""Workers are killed at random moments: every run ends, and as if nobody had been killed."""

import asyncio
import functools
import random
import runpy
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

PARTS = runpy.run_path(str(Path(__file__).with_name("fleet.py")))


@attrs.frozen
class Size:
    """How much is done, and how often it is disturbed."""

    workers: int
    sessions: int
    turns: int
    kills: int
    latency: float
    side_by_side: int
    lease_seconds: float


ON_POSTGRES = [
    pytest.param(Size(2, 6, 4, 5, 0.3, 2, 2.0), id="small", marks=pytest.mark.slow),
    pytest.param(Size(4, 40, 10, 40, 1.0, 4, 5.0), id="middle", marks=pytest.mark.long),
    pytest.param(Size(4, 200, 10, 200, 1.0, 4, 5.0), id="large", marks=pytest.mark.long),
]
ON_SQLITE = [
    pytest.param(Size(1, 4, 4, 2, 0.3, 4, 2.0), id="small", marks=pytest.mark.slow),
    pytest.param(Size(1, 40, 10, 40, 0.5, 10, 2.0), id="middle", marks=pytest.mark.long),
]


@pytest.mark.parametrize("size", ON_POSTGRES)
def test_killed_workers_lose_nothing(
    postgres: Any, agent: dict[str, Any], tmp_path: Path, size: Size
) -> None:
    """Sessions stay in order; keyed effects happen once, and forbidden ones never twice."""

    def make(folder: Path, *more: Any) -> Any:
        url = PARTS["as_url"](postgres.make_database())
        return PARTS["Fleet"](agent, url, url, folder, size.turns, *more)

    _kill_and_compare(make, tmp_path, size)


@pytest.mark.parametrize("size", ON_SQLITE)
def test_killed_worker_with_sqlite_loses_nothing(
    agent: dict[str, Any], tmp_path: Path, size: Size
) -> None:
    """Its one worker is killed and started again."""

    def make(folder: Path, *more: Any) -> Any:
        url, store = f"sqlite:///{folder}/runs.db", str(folder / "sessions.db")
        return PARTS["Fleet"](agent, url, store, folder, size.turns, *more)

    _kill_and_compare(make, tmp_path, size)


def _kill_and_compare(make: Callable[..., Any], tmp_path: Path, size: Size) -> None:
    fleet = make(tmp_path / "disturbed", size.latency, size.side_by_side, size.lease_seconds)
    calm = make(tmp_path / "calm")
    names = [f"s{n}" for n in range(size.sessions)]
    try:
        runs, states = asyncio.run(_disturb(fleet, names, size))
        histories = asyncio.run(fleet.histories(names))
        assert Counter(states) == {"done": 2 * size.sessions}
        figures = PARTS["check_order"](fleet.traces, runs)
        lost = PARTS["check_effects"](fleet, histories)
    finally:
        fleet.end()
    figures |= {"unknown outcomes": lost, "lost leases": fleet.restarts}
    print(f"{size}: {dict(figures)}")  # noqa: T201  for the record
    assert figures["cut"] >= size.kills / 4, "the kills came too late to disturb anything"
    expected = asyncio.run(_undisturbed(calm, names))
    calm.end()

    for found, wanted in zip(histories, expected, strict=True):
        lost_too = PARTS["lose_calls"](wanted, found)
        assert PARTS["to_bytes"](found) == PARTS["to_bytes"](lost_too)


async def _stop_in_a_step(fleet: Any, chance: random.Random, work: asyncio.Task[Any]) -> Any:
    """Stop a worker that has begun a step and not ended it; return None if all work is done."""
    while not work.done():
        for worker in chance.sample(fleet.processes, len(fleet.processes)):
            if fleet.stop(worker):
                if fleet.traces.is_going(worker.pid):
                    return worker
                worker.send_signal(signal.SIGCONT)
        await asyncio.sleep(0.02)
    return None


async def _disturb(
    fleet: Any, names: list[str], size: Size
) -> tuple[dict[str, list[str]], list[str]]:
    """Kill workers, each in the middle of a step of one run: for its other runs, at any moment."""
    chance = random.Random(7)  # noqa: S311  a seed, not a secret
    # No run is to blame for the kills: on a busy machine, 10 of 200 met the same step of one.
    start = functools.partial(fleet.start_ready, max_attempts=size.kills + 1)
    async with fleet.service() as service:
        runs = {
            name: [await service.submit(name, text) for text in PARTS["TEXTS"]] for name in names
        }

        async def ends() -> list[Any]:
            every = [run for pair in runs.values() for run in pair]
            return [await service.result(run, timeout_seconds=600) for run in every]

        begun = time.monotonic()
        await asyncio.gather(*(start() for _ in range(size.workers)))
        supervisor = asyncio.create_task(fleet.supervise(**start.keywords))
        work = asyncio.create_task(ends())
        for _ in range(size.kills):
            await asyncio.sleep(chance.uniform(0, 1))
            if (worker := await _stop_in_a_step(fleet, chance, work)) is None:
                break
            fleet.kill(worker)
            await start()
        found = await work
        supervisor.cancel()
        print(f"{size}: {time.monotonic() - begun:.0f} s")  # noqa: T201
    return runs, [each.problem or each.state for each in found]


async def _undisturbed(fleet: Any, names: list[str]) -> list[list[Any]]:
    async with fleet.service() as service, service.worker():
        for text in PARTS["TEXTS"]:
            runs = [await service.submit(name, text) for name in names]
            for run in runs:
                await service.result(run, timeout_seconds=600)
    return list(await fleet.histories(names))
