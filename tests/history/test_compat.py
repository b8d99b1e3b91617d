"""Sessions that earlier versions wrote are read by this one, and by every later one."""

import asyncio
import contextlib
import runpy
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import HistoryNotWritten
from agentic.history import JsonlSessions, Sessions
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message

COMPAT = Path(__file__).with_name("compat")
VERSIONS = sorted(path for path in COMPAT.iterdir() if (path / "expected.json").exists())
PARTS = runpy.run_path(str(COMPAT / "check.py"))


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def version(request: pytest.FixtureRequest) -> Path:
    """Return the folder of a version."""
    return Path(request.param)


@pytest.fixture(params=["jsonl", "sessions.db"])
def place(version: Path, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sessions]:
    """Yield a copy of what that version wrote."""
    source, copy = version / request.param, tmp_path / request.param
    if source.is_dir():
        yield JsonlSessions(shutil.copytree(source, copy))
    else:
        yield SqliteSessions(shutil.copy(source, copy))


def test_sessions_of_earlier_versions_are_read(place: Sessions, version: Path) -> None:
    """Messages, views, diffs, undos, outputs and titles are as they were written."""
    asyncio.run(PARTS["check"](place, PARTS["read_expected"](version)))


def test_keys_of_earlier_versions_are_known(place: Sessions, version: Path) -> None:
    """What is appended again with its key is stored once, also where it was redacted."""
    asyncio.run(PARTS["check_keys"](place, PARTS["read_expected"](version)))


def test_sessions_of_earlier_versions_are_moved(
    place: Sessions, version: Path, tmp_path: Path
) -> None:
    """An export of what an earlier version wrote is a session like any other."""
    other: list[Any] = [JsonlSessions(tmp_path / "copy"), SqliteSessions(tmp_path / "copy.db")]
    expected = PARTS["read_expected"](version)

    async def move(target: Any) -> None:
        for session_id in expected:
            await target.import_(session_id, place.export(session_id))
        await PARTS["check"](target, expected)

    for target in other:
        asyncio.run(move(target))


def test_held_database_of_earlier_version_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must be migrated even to be read, and another program does not let go of it."""
    monkeypatch.setattr("agentic.history.sqlite._database.BUSY_SECONDS", 0.05)
    place = SqliteSessions(shutil.copy(VERSIONS[0] / "sessions.db", tmp_path))

    async def use() -> None:
        with pytest.raises(OSError, match="another program holds the database"):
            await place.list()
        with pytest.raises(HistoryNotWritten, match="another program holds the database"):
            await place.rename("compacted", "A title")
        with pytest.raises(HistoryNotWritten, match="another program holds the database"):
            await place.open("compacted").append(Message("user", "hello"))

    with contextlib.closing(sqlite3.connect(place.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        asyncio.run(use())
