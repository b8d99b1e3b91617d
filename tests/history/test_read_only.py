"""What can be read where nothing may be written.

A superuser may write everywhere, so a child process that is one becomes somebody else first.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.history import JsonlStore
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message

pytestmark = pytest.mark.slow

READER = """
import asyncio, json, logging, os, sys
import urllib.parse  # while it may: pathlib needs it, and the library may be readable by us alone
from agentic.errors import AgenticError
from agentic.history import JsonlSessions
from agentic.history.sqlite import SqliteSessions

logging.basicConfig(format="%(message)s")
kind, path, *steps = sys.argv[1:]

async def read():
    sessions = {"sqlite": SqliteSessions, "jsonl": JsonlSessions}[kind](path)
    listed = [[info.id, info.messages] for info in await sessions.list()]
    if steps:
        return listed
    store = sessions.open("monday")
    loaded = [message.content for message in await store.load()]
    lines = [line async for line in sessions.export("monday")]
    return [listed, loaded, len(lines), await store.has_key("k1")]

asyncio.run(asyncio.to_thread(str))  # whatever it imports, now
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    print(json.dumps(asyncio.run(read())))
except (AgenticError, OSError) as problem:
    print(json.dumps(str(problem)))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others may look into, as those of pytest are not."""
    path = Path(tempfile.mkdtemp(prefix="agentic-read-only-"))
    path.chmod(0o755)
    yield path
    for each in (path, *path.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            each.chmod(0o755)
    shutil.rmtree(path)


def _read(kind: str, path: Path, *steps: str) -> tuple[Any, str]:
    command = [sys.executable, "-c", READER, kind, str(path), *steps]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


async def _write(store: Any) -> None:
    async with store:
        await store.append(Message("user", "Why is the build red?"))
        await store.append(Message("assistant", "A test fails."))


@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o555), (0o444, 0o777)])
def test_reading_needs_no_write_permission(folder: Path, file_mode: int, folder_mode: int) -> None:
    """A list, a history and an export need none, neither to the file nor to its folder."""
    path = folder / "sessions.db"
    asyncio.run(_write(SqliteStore(path, "monday")))
    path.chmod(file_mode)
    folder.chmod(folder_mode)

    found, _ = _read("sqlite", path)

    assert found == [[["monday", 2]], ["Why is the build red?", "A test fails."], 2, False]


def test_reading_older_database_needs_no_permission(folder: Path) -> None:
    """It cannot be migrated there, and everything in it can be read all the same."""
    path = folder / "sessions.db"
    store = SqliteStore(path, "monday")
    asyncio.run(_write(store))
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "DROP TABLE leases; DROP INDEX entries_key; ALTER TABLE entries DROP COLUMN key;"
            "PRAGMA user_version = 1"
        )
    path.chmod(0o444)
    folder.chmod(0o555)

    found, _ = _read("sqlite", path)

    assert found == [[["monday", 2]], ["Why is the build red?", "A test fails."], 2, False]


def test_database_being_written_explains_being_unreadable(folder: Path) -> None:
    """What was committed last is in a file beside it, which takes write permission to read."""
    path = folder / "sessions.db"

    def read() -> Any:
        for each in folder.glob("sessions.db*"):
            each.chmod(0o555 if each.is_dir() else 0o444)
        Path(f"{path}-shm").chmod(0o000)
        folder.chmod(0o555)
        return _read("sqlite", path)

    async def read_meanwhile() -> Any:
        async with SqliteStore(path, "monday") as store:
            await store.append(Message("user", "Why is the build red?"))
            return await asyncio.to_thread(read)

    found, _ = asyncio.run(read_meanwhile())

    assert "sessions.db cannot be read: its latest entries are in" in found
    assert "sessions.db-wal" in found


def test_an_unreadable_database_is_said(folder: Path) -> None:
    """Without any permission there is nothing to fall back on."""
    path = folder / "sessions.db"
    asyncio.run(_write(SqliteStore(path, "monday")))
    path.chmod(0o000)

    found, _ = _read("sqlite", path)

    assert "sessions.db cannot be read" in found
    assert "check the path and the permissions" in found


def test_unreadable_folder_is_not_empty(folder: Path) -> None:
    """A list of its sessions says what is missing."""
    asyncio.run(_write(JsonlStore(folder / "inner" / "monday.jsonl")))
    (folder / "inner").chmod(0o000)

    found, _ = _read("jsonl", folder / "inner", "list")

    assert found.startswith(f"[Errno 13] Permission denied: '{folder / 'inner'}")


def test_unreadable_session_fails_no_list(folder: Path) -> None:
    """It is left out, and the log names it."""
    for name in ("monday", "tuesday"):
        asyncio.run(_write(JsonlStore(folder / f"{name}.jsonl")))
    (folder / "monday.jsonl").chmod(0o444)
    (folder / "tuesday.jsonl").chmod(0o000)

    found, logged = _read("jsonl", folder, "list")

    assert found == [["monday", 2]]
    assert f"{folder / 'tuesday.jsonl'} is not listed: permission denied" in logged


def test_the_reader_is_nobody_special() -> None:
    """Or these tests could not fail."""
    dropped = READER.partition("try:")[0] + "print(os.geteuid())"
    done = subprocess.run(
        [sys.executable, "-c", dropped, "jsonl", "x"], capture_output=True, text=True, check=True
    )

    assert int(done.stdout) == (os.geteuid() or 65534)
