"""What is damaged, foreign or no list is told in words, and costs no more than its size."""

import asyncio
import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from agentic.errors import ConfigError, HistoryCorrupt
from agentic.history import JsonlSessions, JsonlStore
from agentic.history.sqlite import SqliteSessions
from agentic.history.sqlite._database import lock_session, unlock
from agentic.messages import ContextSummary, Message


async def _keep(sessions: Any) -> str:
    async with sessions.open("monday") as store:
        await store.append(Message("user", "hello"))
        ref: str = await store.put("1 failed")
        return ref


async def _export(sessions: Any) -> list[bytes]:
    return [line async for line in sessions.export("monday")]


def test_folder_export_names_the_damaged_output(tmp_path: Path) -> None:
    """An export without it would be taken for the whole session."""
    sessions = JsonlSessions(tmp_path)
    ref = asyncio.run(_keep(sessions))
    (tmp_path / "monday.jsonl.outputs" / ref).write_bytes(b"2 failed")

    with pytest.raises(HistoryCorrupt, match=rf"{ref} of .*monday\.jsonl .*digest"):
        asyncio.run(_export(sessions))


def test_database_export_names_the_damaged_output(tmp_path: Path) -> None:
    """As in a folder."""
    sessions = SqliteSessions(tmp_path / "s.db")
    ref = asyncio.run(_keep(sessions))
    with sqlite3.connect(sessions.path) as connection:
        connection.execute("UPDATE outputs SET content = ?", (b"2 failed",))
    connection.close()

    with pytest.raises(HistoryCorrupt, match=rf"{ref} of session 'monday' in .*digest"):
        asyncio.run(_export(sessions))


def _foreign(number: int, **fields: Any) -> str:
    message = {"v": 1, "role": "user", "content": str(number), **fields}
    return json.dumps({"v": 1, "type": "message", "message": message}) + "\n"


@pytest.mark.slow
def test_foreign_lines_are_read_once(tmp_path: Path, growth: Any) -> None:
    """What it takes grows with their number, not with its square."""

    def list_them(count: int) -> None:
        (tmp_path / "a.jsonl").write_text("".join(map(_foreign, range(count))))
        (info,) = asyncio.run(JsonlSessions(tmp_path).list())
        assert info.messages == count

    assert growth(list_them, 5_000) < 10


def test_summary_among_foreign_lines_is_found(tmp_path: Path) -> None:
    """The latest one counts, however its line is spelled, until a view has none."""
    store = JsonlStore(tmp_path / "a.jsonl")
    summaries = [ContextSummary("past", count, 0, count - 1).to_message() for count in (4, 7)]

    async def counts() -> list[int]:
        found = []
        async with store:
            await store.append(summaries[0])
            found.append((await JsonlSessions(tmp_path).list())[0].summarized)
            await store.append(summaries[1])
        path, text = store.path, store.path.read_text()
        path.write_text("".join(json.dumps(json.loads(x)) + "\n" for x in text.splitlines()))
        with path.open("a") as file:
            file.write(_foreign(1))
        found.append((await JsonlSessions(tmp_path).list())[0].summarized)
        with path.open("a") as file:
            file.write(json.dumps({"v": 1, "type": "replace", "messages": []}) + "\n")
        found.append((await JsonlSessions(tmp_path).list())[0].summarized)
        return found

    assert asyncio.run(counts()) == [4, 7, 0]


def test_no_list_of_messages_is_told(tmp_path: Path) -> None:
    """As by the other stores."""
    store = JsonlStore(tmp_path / "a.jsonl")

    with pytest.raises(ConfigError, match="a list of Messages"):
        asyncio.run(store.replace(None))  # type: ignore[arg-type]


@pytest.mark.slow
def test_short_lived_locks_do_not_clash(tmp_path: Path) -> None:
    """The folder of the locks goes with its last lock, while others make it."""
    problems: list[BaseException] = []

    def come_and_go(session_id: str) -> None:
        try:
            for _ in range(500):
                unlock(lock_session(tmp_path / "s.db", session_id, session_id))
        except BaseException as problem:  # noqa: BLE001  whatever it is, it is wrong
            problems.append(problem)

    threads = [threading.Thread(target=come_and_go, args=(f"s{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert problems == []
