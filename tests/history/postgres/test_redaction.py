"""What a redaction leaves in the files of the server's tables: nothing."""

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest

from agentic.errors import HistoryConflict
from agentic.history.postgres import PostgresSessions
from agentic.messages import ContextSummary, Message

SECRET = "sk-live-4f9c1a77"  # noqa: S105  nobody's


def _leaks(server: Any, dsn: str) -> list[str]:
    """Name the files of tables that hold the secret, once all is on the disk."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    base: Path = server._folder / "data" / "base"
    wanted = SECRET.encode()
    return [str(path) for path in base.rglob("*") if path.is_file() and _has(path, wanted)]


def _has(path: Path, wanted: bytes) -> bool:
    try:
        return wanted in path.read_bytes()
    except FileNotFoundError:  # removed meanwhile
        return False


def test_tables_keep_no_byte_of_secret(server: Any, dsn: str) -> None:
    """Neither in rows, former or present, nor in what the planner sampled of them."""
    place = PostgresSessions(dsn)

    async def write() -> None:
        async with place.open("monday") as store:
            for number in range(30):
                await store.append(Message("user", f"{number} {SECRET}"))
            await store.append(Message("user", f"use {SECRET}", id="leak"))
            await store.put(f"KEY={SECRET}\n")
            text = f"It was built with `{SECRET}`."
            summary = ContextSummary(text, 20, notes={"keys": {SECRET: [SECRET]}})
            await store.replace([summary.to_message()])
        await place.rename("monday", f"about {SECRET}")

    asyncio.run(write())
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ANALYZE")
    assert _leaks(server, dsn)

    asyncio.run(place.redact("monday", "leak", "[gone]", secret=SECRET))
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("VACUUM FULL pg_catalog.pg_statistic")  # the administrator's part

    assert _leaks(server, dsn) == []


def test_session_being_written_is_not_redacted(dsn: str) -> None:
    """A writer who knows the secret would write it again."""
    place = PostgresSessions(dsn)

    async def write() -> None:
        async with place.open("monday") as store:
            await store.append(Message("user", SECRET, id="leak"))
            with pytest.raises(HistoryConflict):
                await place.redact("monday", "leak", "[gone]")

    asyncio.run(write())


def test_another_stores_load_becomes_outdated(dsn: str) -> None:
    """It still says what was removed, and a replace would write it again."""
    place = PostgresSessions(dsn)

    async def write() -> None:
        async with place.open("monday") as first:
            for number in range(3):
                await first.append(Message("user", f"{number} {SECRET}", id=f"m{number}"))
            loaded = await first.load()
        await place.redact("monday", "m1", "[gone]")
        async with first:
            for given in ({"replaces": 2}, {"replaces": 3}, {}):
                with pytest.raises(HistoryConflict, match="load again"):
                    await first.replace(loaded[1:], **given)
            loaded = await first.load()
            await first.replace(loaded[1:], replaces=2)

    asyncio.run(write())
