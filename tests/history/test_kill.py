import asyncio
import random
import runpy
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentic.history import MemoryStore
from agentic.messages import Message, close_open_rounds

pytestmark = pytest.mark.slow

WRITER = Path(__file__).with_name("writer.py")
_writer = runpy.run_path(str(WRITER))
KILLS_A_SESSION = 5


def _kill_a_writer(path: Path, first: int, mode: str, seconds: float) -> int:
    """Let a writer go on for a while, kill it, and give the step after the last acknowledged."""
    command = [sys.executable, str(WRITER), str(path), str(first), mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        acknowledged = writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
        acknowledged += writer.stdout.read()
    return int(acknowledged.split()[-1]) + 1


async def _look(store: Any) -> tuple[list[Message], list[Message]]:
    return await store.full(), await store.load()


async def _agree(path: Path, expected: MemoryStore, number: int, mode: str) -> int:
    """Find what was acknowledged, and at most the step that was under way."""
    full, history = await _look(_writer["open_store"](str(path)))
    assert close_open_rounds(history) is history, "a provider would refuse it"
    if (full, history) == await _look(expected):
        return number
    await _writer["take_step"](expected, number, mode)
    assert (full, history) == await _look(expected)
    return number + 1


async def _find_outputs(path: Path, first: int, end: int, mode: str) -> None:
    """Read back every output that was kept in these steps."""
    store = _writer["open_store"](str(path))
    for number in range(first, end):
        if _writer["is_keep"](number, mode):
            output = _writer["make_output"](number)
            ref = await MemoryStore().put(output)  # of equal outputs, equal in every store
            assert await store.get(ref) == output


async def _kill_and_compare(path: Path, mode: str, chance: random.Random) -> None:
    """Kill one writer after the other on one session."""
    expected, done = MemoryStore(), 0
    for _ in range(KILLS_A_SESSION):
        acknowledged = _kill_a_writer(path, done, mode, chance.uniform(0, 0.08))
        for number in range(done, acknowledged):
            await _writer["take_step"](expected, number, mode)
        await _find_outputs(path, done, acknowledged, mode)
        done = await _agree(path, expected, acknowledged, mode)


@pytest.mark.parametrize(
    "sessions", [1, pytest.param(40, marks=pytest.mark.long)], ids=["5 kills", "200 kills"]
)
@pytest.mark.parametrize("mode", ["append", "replace", "keep"])
@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_what_was_acknowledged_survives_kill_9(
    tmp_path: Path, kind: str, mode: str, sessions: int
) -> None:
    """All that was acknowledged is there, in order, and at most the step that was under way."""
    chance = random.Random(20261121)  # noqa: S311  chance, not secrecy

    for number in range(sessions):
        folder = tmp_path / str(number)
        path = folder / f"{'fsync' if number % 2 else 'plain'}.{kind}"
        asyncio.run(_kill_and_compare(path, mode, chance))
        shutil.rmtree(folder)


async def _kill_and_repeat(path: Path, chance: random.Random) -> None:
    """Kill writers that all begin again at step 0."""
    for _ in range(KILLS_A_SESSION):
        acknowledged = _kill_a_writer(path, 0, "keyed", chance.uniform(0, 0.08))
        full = await _writer["open_store"](str(path)).full()
        steps = acknowledged
        while _writer["count_messages"](steps) < len(full):
            steps += 1
        assert len(full) == _writer["count_messages"](steps), "lost, or a part of a batch"
        assert full == [_writer["make_message"](number) for number in range(len(full))]


@pytest.mark.parametrize("sessions", [1, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["jsonl", "db"])
def test_repeated_appends_are_stored_once(tmp_path: Path, kind: str, sessions: int) -> None:
    """Of what a killed writer had stored, a replay with keys adds nothing; batches are whole."""
    chance = random.Random(20261123)  # noqa: S311  chance, not secrecy

    for number in range(sessions):
        asyncio.run(_kill_and_repeat(tmp_path / str(number) / f"session.{kind}", chance))
