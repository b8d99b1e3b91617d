"""A run that ends each of its workers is given up, and the others of those workers are not."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import pytest

from agentic.durable.dbos import RunOutcome

PARTS = runpy.run_path(str(Path(__file__).with_name("fleet.py")))


@pytest.mark.parametrize(
    ("attempts", "others"),
    [
        pytest.param(1, 1, id="1", marks=pytest.mark.slow),
        pytest.param(10, 8, id="10", marks=pytest.mark.long),
    ],
)
def test_run_that_ends_workers_fails(
    agent: dict[str, Any], tmp_path: Path, attempts: int, others: int
) -> None:
    """The outcome says why; its session keeps the request, and goes on with the next."""
    url, store = f"sqlite:///{tmp_path}/runs.db", str(tmp_path / "sessions.db")
    fleet = PARTS["Fleet"](agent, url, store, tmp_path, 2, 1.0)

    async def talk() -> list[RunOutcome]:
        async with fleet.service() as service:
            runs = [await service.submit("s0", "die"), await service.submit("s0", "first")]
            runs += [await service.submit(f"s{n}", "first") for n in range(1, others + 1)]
            for _ in range(1 + attempts):
                worker = fleet.start(max_attempts=attempts)
                assert await asyncio.to_thread(worker.wait, 60) == -9
            await fleet.start_ready(max_attempts=attempts)
            return [await service.result(run, timeout_seconds=60) for run in runs]

    try:
        failed, *rest = asyncio.run(talk())
        (history,) = asyncio.run(fleet.histories(["s0"]))
    finally:
        fleet.end()

    assert failed.state == "failed"
    assert f"{attempts} attempts in a row ended" in failed.problem
    assert [outcome.state for outcome in rest] == ["done"] * (1 + others)
    assert [message.content for message in history if message.role == "user"] == ["die", "first"]
