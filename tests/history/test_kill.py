import asyncio
import random
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentic.history import JsonlStore, MemoryStore
from agentic.messages import Message, close_open_rounds

WRITER = Path(__file__).with_name("writer.py")
_take_step = runpy.run_path(str(WRITER))["take_step"]
KILLS_A_SESSION = 5


def _kill_a_writer(path: Path, first: int, seconds: float) -> int:
    """Let a writer go on for a while, kill it, and give the step after the last acknowledged."""
    command = [sys.executable, str(WRITER), str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout
        acknowledged = writer.stdout.readline()
        time.sleep(seconds)
        writer.kill()
        acknowledged += writer.stdout.read()
    return int(acknowledged.split()[-1]) + 1


async def _look(store: JsonlStore | MemoryStore) -> tuple[list[Message], list[Message]]:
    return await store.full(), await store.load()


async def _agree(path: Path, expected: MemoryStore, number: int) -> int:
    """Find in the file what was acknowledged, and at most the step that was under way."""
    full, history = await _look(JsonlStore(path))
    assert close_open_rounds(history) is history, "a provider would refuse it"
    if (full, history) == await _look(expected):
        return number
    await _take_step(expected, number)
    assert (full, history) == await _look(expected)
    return number + 1


async def _kill_and_compare(path: Path, chance: random.Random) -> None:
    """Kill one writer after the other on one session."""
    expected, done = MemoryStore(), 0
    for _ in range(KILLS_A_SESSION):
        acknowledged = _kill_a_writer(path, done, chance.uniform(0, 0.08))
        for number in range(done, acknowledged):
            await _take_step(expected, number)
        done = await _agree(path, expected, acknowledged)


@pytest.mark.parametrize(
    "sessions", [2, pytest.param(40, marks=pytest.mark.long)], ids=["10 kills", "200 kills"]
)
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, sessions: int) -> None:
    """All that was acknowledged is there, in order, and at most the step that was under way."""
    chance = random.Random(20261121)  # noqa: S311  chance, not secrecy

    for _ in range(sessions // 2):
        for path in (tmp_path / "plain.jsonl", tmp_path / "fsync.jsonl"):
            asyncio.run(_kill_and_compare(path, chance))
            path.unlink()
