import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

OTHER_WRITER = """
import asyncio, sys
from agentic.errors import HistoryConflict
from agentic.messages import Message
from {room} import {kind}

async def write():
    async with {kind}(*sys.argv[1:]) as store:
        await store.append(Message("user", "from elsewhere"))

try:
    asyncio.run(write())
except HistoryConflict as conflict:
    print(conflict)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a session may be kept; nothing is there yet."""
    return tmp_path / "session.jsonl"


@pytest.fixture
def write_elsewhere() -> Callable[..., str]:
    """Return what appends a message in another process, and returns what that had to say."""

    def write(kind: type[object], *place: object, first: str = "") -> str:
        program = first + OTHER_WRITER.format(room=kind.__module__, kind=kind.__name__)
        command = [sys.executable, "-c", program, *map(str, place)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        return done.stdout + done.stderr

    return write
