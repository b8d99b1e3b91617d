"""What is said where nothing may be written: the reason and the remedy, whatever the step."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import HistoryNotWritten
from agentic.history import JsonlSessions, JsonlStore
from agentic.history.sqlite import SqliteSessions, SqliteStore
from agentic.messages import Message

HELLO = Message("user", "hello")
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that others may look into, as those of pytest are not."""
    path = Path(tempfile.mkdtemp(prefix="agentic-unwritable-"))
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


@contextlib.contextmanager
def _unwritable(folder: Path) -> Iterator[None]:
    """Take the right to write there away, from a superuser by being somebody else meanwhile."""
    for each in (*folder.iterdir(), folder):
        each.chmod(0o555 if each.is_dir() else 0o444)
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def _steps(kind: str, folder: Path) -> dict[str, Any]:
    if kind == "file":
        here: Any = JsonlStore(folder / "s.jsonl")
        other: Any = JsonlStore(folder / "new" / "n.jsonl")
        place: Any = JsonlSessions(folder)
    else:
        here, other = SqliteStore(folder / "s.db", "s"), SqliteStore(folder / "new" / "n.db")
        place = SqliteSessions(folder / "s.db")
    return {
        "append": here.append(HELLO),
        "append of several": here.append(HELLO, HELLO),
        "replace": here.replace([HELLO]),
        "restore": here.restore(),
        "put": here.put("1 passed"),
        "redact": here.redact(0, "gone"),
        "first append": other.append(HELLO),
        "rename": place.rename("s", "red"),
        "delete": place.delete("s"),
    }


@pytest.mark.parametrize("kind", ["file", "database"])
def test_refusal_names_the_place_and_a_remedy(folder: Path, kind: str) -> None:
    """Each step that writes raises HistoryNotWritten; what is stored can be read."""
    store: Any = JsonlStore(folder / "s.jsonl")
    if kind == "database":
        store = SqliteStore(folder / "s.db", "s")

    with asyncio.Runner() as runner:
        for step in (store.append(HELLO), store.put("red"), store.replace([HELLO])):
            runner.run(step)
        runner.run(store.aclose())
        with _unwritable(folder):
            for name, step in _steps(kind, folder).items():
                with pytest.raises(HistoryNotWritten, match="write access is missing") as refusal:
                    runner.run(step)
                assert str(folder) in str(refusal.value), name
            assert runner.run(store.load()) == [HELLO]
