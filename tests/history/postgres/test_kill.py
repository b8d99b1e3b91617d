import asyncio
import random
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentic.history import MemoryStore
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message, close_open_rounds

WRITER = Path(__file__).with_name("writer.py")
STEPS = runpy.run_path(str(WRITER))["STEPS"]
KILLS_A_SESSION = 5
FREE_SECONDS = 60
"""Within which the server must have noticed that a killed writer is gone."""


def _kill_a_writer(dsn: str, first: int, mode: str, seconds: float) -> int:
    """Let a writer go on for a while, kill it, and give the step after the last acknowledged."""
    command = [sys.executable, str(WRITER), dsn, str(first), mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        acknowledged = writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
        acknowledged += writer.stdout.read()
    return int(acknowledged.split()[-1]) + 1


def _wait_until_free(dsn: str) -> None:
    """Wait until the server has done what the killed writer had sent last, and freed its lock."""
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = ("
    held += "SELECT oid FROM pg_database WHERE datname = current_database())"
    deadline = time.monotonic() + FREE_SECONDS
    with psycopg.connect(dsn, autocommit=True) as connection:
        while connection.execute(held.encode()).fetchone() != (0,):
            assert time.monotonic() < deadline, "the lock of a killed writer is still held"
            time.sleep(0.005)


async def _look(store: Any) -> tuple[list[Message], list[Message]]:
    return await store.full(), await store.load()


async def _agree(store: PostgresStore, expected: MemoryStore, number: int, mode: str) -> int:
    """Find what was acknowledged, and at most the step that was under way."""
    full, history = await _look(store)
    assert close_open_rounds(history) is history, "a provider would refuse it"
    if (full, history) == await _look(expected):
        return number
    await STEPS["take_step"](expected, number, mode)
    assert (full, history) == await _look(expected)
    return number + 1


async def _find_outputs(store: PostgresStore, first: int, end: int, mode: str) -> None:
    """Read back every output that was kept in these steps."""
    for number in range(first, end):
        if STEPS["is_keep"](number, mode):
            output = STEPS["make_output"](number)
            ref = await MemoryStore().put(output)  # of equal outputs, equal in every store
            assert await store.get(ref) == output


async def _kill_and_compare(dsn: str, mode: str, chance: random.Random) -> None:
    """Kill one writer after the other on one session."""
    expected, done = MemoryStore(), 0
    for _ in range(KILLS_A_SESSION):
        acknowledged = _kill_a_writer(dsn, done, mode, chance.uniform(0, 0.15))
        _wait_until_free(dsn)
        for number in range(done, acknowledged):
            await STEPS["take_step"](expected, number, mode)
        async with PostgresStore(dsn, mode) as store:
            await _find_outputs(store, done, acknowledged, mode)
            done = await _agree(store, expected, acknowledged, mode)
    await PostgresSessions(dsn).delete(mode)


@pytest.mark.parametrize(
    "sessions", [1, pytest.param(40, marks=pytest.mark.long)], ids=["5 kills", "200 kills"]
)
@pytest.mark.parametrize("mode", ["append", "replace", "keep"])
def test_what_was_acknowledged_survives_kill_9(dsn: str, mode: str, sessions: int) -> None:
    """All that was acknowledged is there, in order, and at most the step that was under way."""
    chance = random.Random(20261122)  # noqa: S311  chance, not secrecy

    for _ in range(sessions):
        asyncio.run(_kill_and_compare(dsn, mode, chance))


async def _kill_and_repeat(dsn: str, chance: random.Random) -> None:
    """Kill writers that all begin again at step 0."""
    for _ in range(KILLS_A_SESSION):
        acknowledged = _kill_a_writer(dsn, 0, "keyed", chance.uniform(0, 0.15))
        _wait_until_free(dsn)
        full = await PostgresStore(dsn, "keyed").full()
        steps = acknowledged
        while STEPS["count_messages"](steps) < len(full):
            steps += 1
        assert len(full) == STEPS["count_messages"](steps), "lost, or a part of a batch"
        assert full == [STEPS["make_message"](number) for number in range(len(full))]
    await PostgresSessions(dsn).delete("keyed")


@pytest.mark.parametrize("sessions", [1, pytest.param(40, marks=pytest.mark.long)])
def test_repeated_appends_are_stored_once(dsn: str, sessions: int) -> None:
    """Of what a killed writer had stored, a replay with keys adds nothing; batches are whole."""
    chance = random.Random(20261123)  # noqa: S311  chance, not secrecy

    for _ in range(sessions):
        asyncio.run(_kill_and_repeat(dsn, chance))


@pytest.mark.parametrize("writers", [4, pytest.param(16, marks=pytest.mark.long)])
def test_simultaneous_processes_write_their_own_sessions(dsn: str, writers: int) -> None:
    """On an empty database, at the same moment: every session holds its own messages, in order."""
    names = [f"s{number}" for number in range(writers)]
    commands = [[sys.executable, str(WRITER), dsn, name, "50"] for name in names]

    ends = [process.wait() for process in [subprocess.Popen(command) for command in commands]]

    assert ends == [0] * writers
    for name in names:
        found = asyncio.run(PostgresStore(dsn, name).full())
        assert [message.content for message in found] == [f"{name} {n}" for n in range(50)]
