"""What happens to a slow worker, to one whose clock is wrong, and while there is no database."""

import asyncio
import contextlib
import os
import runpy
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

PARTS = runpy.run_path(str(Path(__file__).with_name("fleet.py")))
NAMES = [f"s{n}" for n in range(4)]
pytestmark = pytest.mark.long


def _make_fleet(postgres: Any, agent: dict[str, Any], folder: Path, turns: int) -> Any:
    url = PARTS["as_url"](postgres.make_database())
    return PARTS["Fleet"](agent, url, url, folder / "fleet", turns)


async def _submit(service: Any, names: list[str]) -> dict[str, list[str]]:
    return {name: [await service.submit(name, text) for text in PARTS["TEXTS"]] for name in names}


async def _wait(service: Any, runs: dict[str, list[str]]) -> Counter[str]:
    ends = [await service.result(run, timeout_seconds=90) for pair in runs.values() for run in pair]
    return Counter(each.problem or each.state for each in ends)


def _roles(turns: int) -> list[str]:
    return ["user", *["assistant", "tool"] * (turns - 1), "assistant"] * 2


def test_stopped_worker_loses_its_runs(
    postgres: Any, agent: dict[str, Any], tmp_path: Path
) -> None:
    """Another one finishes them; once it is continued, it writes nothing and gives up."""
    fleet = _make_fleet(postgres, agent, tmp_path, turns=8)

    async def disturb() -> tuple[Counter[str], int]:
        async with fleet.service() as service:
            first = await fleet.start_ready()
            runs = await _submit(service, NAMES)
            await asyncio.sleep(0.5)
            first.send_signal(signal.SIGSTOP)
            fleet.start()
            states = await _wait(service, runs)
            first.send_signal(signal.SIGCONT)
            return states, await asyncio.to_thread(first.wait, 30)

    try:
        states, status = asyncio.run(disturb())
        histories = asyncio.run(fleet.histories(NAMES))
        PARTS["check_effects"](fleet, histories)
    finally:
        fleet.end()

    assert (states, status) == ({"done": 8}, 1)
    assert [[m.role for m in history] for history in histories] == [_roles(8)] * 4


@pytest.mark.parametrize("appends", [1, 5], ids=["first", "later"])
def test_turn_is_stored_despite_stopped_writer(
    postgres: Any, agent: dict[str, Any], tmp_path: Path, appends: int
) -> None:
    """A worker that is stopped while it stores does not keep the session from the new owner."""
    fleet = _make_fleet(postgres, agent, tmp_path, turns=4)

    async def disturb() -> tuple[Counter[str], int]:
        async with fleet.service() as service:
            first = await fleet.start_ready(stop_after=appends)
            runs = await _submit(service, ["s0"])
            await asyncio.to_thread(os.waitpid, first.pid, os.WUNTRACED)
            fleet.start()
            states = await _wait(service, runs)
            first.send_signal(signal.SIGCONT)
            return states, await asyncio.to_thread(first.wait, 30)

    try:
        states, status = asyncio.run(disturb())
        (history,) = asyncio.run(fleet.histories(["s0"]))
    finally:
        fleet.end()

    assert (states, status) == ({"done": 2}, 1)
    assert [message.role for message in history] == _roles(4)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM")
def test_wrong_clock_takes_nothing_over(
    postgres: Any, agent: dict[str, Any], tmp_path: Path
) -> None:
    """Leases go by the database's time. SIGTERM drains both workers."""
    fleet = _make_fleet(postgres, agent, tmp_path, turns=8)

    async def work() -> tuple[Counter[str], list[int]]:
        async with fleet.service() as service:
            workers = [await fleet.start_ready(), await fleet.start_ready(clock_offset=3600)]
            runs = await _submit(service, NAMES)
            states = await _wait(service, runs)
            await asyncio.sleep(2 * PARTS["LEASE_SECONDS"])
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
            return states, [await asyncio.to_thread(worker.wait, 60) for worker in workers]

    try:
        states, statuses = asyncio.run(work())
        histories = asyncio.run(fleet.histories(NAMES))
        lost = PARTS["check_effects"](fleet, histories)
    finally:
        fleet.end()

    assert (states, statuses, lost) == ({"done": 8}, [0, 0], 0)


@pytest.mark.parametrize("leases", [0, 2], ids=["crash", "outage"])
def test_runs_outlive_restart_of_database(
    own_postgres: Any, agent: dict[str, Any], tmp_path: Path, leases: int
) -> None:
    """No run fails, no call is lost, and no worker has to be started again."""
    fleet = _make_fleet(own_postgres, agent, tmp_path, turns=30)
    fleet.lease_seconds = 4.0  # a busy machine delays a worker for two seconds
    seconds = leases * fleet.lease_seconds

    async def disturb() -> tuple[dict[str, list[str]], Counter[str]]:
        async with fleet.service() as service:
            for _ in range(3):
                await fleet.start_ready()
            runs = await _submit(service, NAMES)
            for _ in range(3):
                await asyncio.sleep(1)
                await asyncio.to_thread(own_postgres.restart, seconds)
            return runs, await _wait(service, runs)

    try:
        runs, states = asyncio.run(disturb())
        histories = asyncio.run(fleet.histories(NAMES))
        PARTS["check_order"](fleet.traces, runs)
        lost = PARTS["check_effects"](fleet, histories)
        ended = [process.poll() for process in fleet.processes]
    finally:
        fleet.end()

    assert (states, lost, ended) == ({"done": 8}, 0, [None] * 3)
    assert [[m.role for m in history] for history in histories] == [_roles(30)] * 4


@contextlib.contextmanager
def _stalled(dsn: str) -> Iterator[None]:
    """Let the server go silent on every connection that there is now; new ones are answered."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        found = connection.execute(
            "SELECT pid FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
        try:
            _signal_all(found, signal.SIGSTOP)
            yield
        finally:
            _signal_all(found, signal.SIGCONT)


def _signal_all(processes: list[tuple[int]], number: int) -> None:
    for (process,) in processes:
        with contextlib.suppress(ProcessLookupError):  # its client has closed the connection
            os.kill(process, number)


def test_runs_outlive_stalled_connections(
    own_postgres: Any, agent: dict[str, Any], tmp_path: Path
) -> None:
    """Whoever is cut off for too long gives up, and is started again."""
    fleet = _make_fleet(own_postgres, agent, tmp_path, turns=20)

    async def disturb() -> Counter[str]:
        async with fleet.service() as service:
            for _ in range(3):
                await fleet.start_ready()
            supervisor = asyncio.create_task(fleet.supervise())
            runs = await _submit(service, NAMES)
            for _ in range(2):
                await asyncio.sleep(1)
                with _stalled(fleet.url):
                    await asyncio.sleep(2.5 * PARTS["LEASE_SECONDS"])
            states = await _wait(service, runs)
            supervisor.cancel()
            return states

    try:
        states = asyncio.run(disturb())
        histories = asyncio.run(fleet.histories(NAMES))
        PARTS["check_effects"](fleet, histories)
    finally:
        fleet.end()

    assert states == {"done": 8}
    assert [[m.role for m in history] for history in histories] == [_roles(20)] * 4
