"""A store that is open does not read what nobody has changed, and reads whatever anybody has."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from agentic.history import JsonlStore
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message, ToolCall, ToolResult

HELLO = Message("user", "hello")
THERE = Message("assistant", "there")
CALL = Message("assistant", tool_calls=[ToolCall("c1", "run")])
RESULT = Message("tool", tool_results=[ToolResult("c1", "run", "1 passed")])
_Open: TypeAlias = Callable[[], Any]


@pytest.fixture(params=[JsonlStore, SqliteStore])
def open_store(request: pytest.FixtureRequest, path: Path) -> _Open:
    """Return what opens one session, again and again."""
    return lambda: request.param(path)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that every read of a stored history adds an item to."""
    found: list[object] = []
    for kind in (JsonlStore, SqliteStore):
        load = kind._load

        async def count(store: Any, load: Any = load) -> Any:
            found.append(store)
            return await load(store)

        monkeypatch.setattr(kind, "_load", count)
    return found


def test_what_only_this_store_writes_is_read_once(open_store: _Open, reads: list[object]) -> None:
    """It returns the messages themselves, in a list of the caller's own."""

    async def talk() -> None:
        async with open_store() as store:
            await store.append(HELLO)
            (first,) = loaded = await store.load()
            loaded.clear()
            for message in (THERE, CALL):
                await store.append(message)
            again = await store.load()
            assert again[0] is first
            assert again[1] is THERE
            assert again[3].tool_results[0].error
            await store.append(RESULT)
            assert await store.load() == [HELLO, THERE, CALL, RESULT] == await open_store().load()
            assert reads.count(store) == 1

    asyncio.run(talk())


def test_what_another_store_writes_is_read(open_store: _Open) -> None:
    """Before a load, and between two appends of the store that loads."""

    async def talk() -> None:
        reader, writer = open_store(), open_store()
        async with writer:
            await writer.append(HELLO)
            assert await reader.load() == await reader.load() == [HELLO]
            await writer.append(THERE)
            assert await reader.load() == [HELLO, THERE]
        async with reader:
            await reader.append(HELLO)
            assert await reader.load() == [HELLO, THERE, HELLO]
        async with writer:
            await writer.append(THERE)
            assert await writer.load() == [HELLO, THERE, HELLO, THERE]
            assert await writer.load() == await open_store().load()

    asyncio.run(talk())


@pytest.mark.parametrize("change", ["replace", "restore", "redact"])
def test_changed_history_is_read(open_store: _Open, change: str) -> None:
    """What this store itself has replaced, restored or redacted."""

    async def talk() -> None:
        async with open_store() as store:
            for message in (HELLO, THERE):
                await store.append(message)
            await store.replace([THERE])
            before = await store.load()
            if change == "replace":
                await store.replace([HELLO, HELLO])
            elif change == "restore":
                await store.restore()
            else:
                await store.redact(1, "gone")
            after = await store.load()
            assert after == await open_store().load() != before

    asyncio.run(talk())


def test_file_that_is_edited_or_exchanged_is_read(path: Path) -> None:
    """Even if it is as large as before."""
    store, other = JsonlStore(path), path.with_name("other")

    with asyncio.Runner() as runner:
        runner.run(_append_and_close(store, HELLO))
        assert runner.run(store.load()) == [HELLO]
        path.write_bytes(path.read_bytes().replace(b"hello", b"hallo"))
        os.utime(path, ns=(0, 1))
        assert [message.content for message in runner.run(store.load())] == ["hallo"]
        other.write_bytes(path.read_bytes().replace(b"hallo", b"hullo"))
        os.utime(other, ns=(0, 1))
        other.replace(path)
        assert [message.content for message in runner.run(store.load())] == ["hullo"]
        path.unlink()
        assert runner.run(store.load()) == []


def test_database_that_is_removed_is_empty(path: Path) -> None:
    """Also to the store that is its writer."""
    store = SqliteStore(path)

    with asyncio.Runner() as runner:
        runner.run(store.append(HELLO))
        assert runner.run(store.load()) == runner.run(store.load()) == [HELLO]
        path.unlink()
        assert runner.run(store.load()) == []
        runner.run(store.aclose())


async def _append_and_close(store: JsonlStore, message: Message) -> None:
    async with store:
        await store.append(message)
