import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.errors import HistoryConflict
from agentic.history import JsonlStore
from agentic.messages import Message
from agentic.session import Session
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from agentic.loop import Runner

_WRITER = Path(__file__).with_name("writer.py")


def _session(path: Path) -> Session:
    return Session(
        "s", JsonlStore(path), counter=CharCounter(), policy=Policy(0), compactor=Digest()
    )


def test_second_process_reads_but_cannot_write(tmp_path: Path) -> None:
    """A clear conflict, never an interleaved history; when the first is gone it may write."""
    path = tmp_path / "s.jsonl"
    command = [sys.executable, str(_WRITER), str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "writing\n"

        asyncio.run(_meanwhile(_session(path)))
        first.stdin.write("stop\n")

    assert first.returncode == 0
    assert asyncio.run(_afterwards(_session(path))) == ["Mine.", "No, mine.", "Yes."]


async def _meanwhile(session: Session) -> None:
    async with session:
        assert (await session.status()).messages == 1
        assert "1 message in history" in await session.greeting()
        with pytest.raises(HistoryConflict, match="by another writer"):
            await session.append(Message("user", "No, mine."))
        with pytest.raises(HistoryConflict):
            await session.runner(ScriptedDecider()).run("No, mine.")


async def _afterwards(session: Session) -> list[str]:
    async with session:
        runner: Runner = session.runner(ScriptedDecider("Yes."))
        return [message.content for message in (await runner.run("No, mine.")).history]
