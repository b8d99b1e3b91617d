"""The open stores of a worker, without an engine."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic.durable.dbos._stores import OpenStores
from agentic.history.sqlite import SqliteSessions
from agentic.messages import Message


async def _append(stores: OpenStores, lease: Any, text: str) -> int:
    async def append(store: Any) -> int:
        await store.append(Message("user", text))
        return id(store)

    return await stores.write(lease, append)


def test_store_stays_open_while_room_lasts(tmp_path: Path) -> None:
    """The one that was idle for longest makes room for another session; a new lease opens anew."""

    async def write() -> list[int]:
        stores = OpenStores(SqliteSessions(tmp_path / "s.db"), 2)
        leases = {name: await stores.acquire(name, "w", 60) for name in ("a", "b", "c")}
        used = [await _append(stores, leases[name], "hi") for name in ("a", "b", "a", "c", "a")]
        renewed = await stores.acquire("a", "w", 60)
        used.append(await _append(stores, renewed, "hi"))
        await stores.aclose()
        return used

    first, _, again, _, kept, renewed = asyncio.run(write())

    assert first == again == kept
    assert renewed != first


def test_failed_steps_store_is_closed(tmp_path: Path) -> None:
    """Nobody goes on with what it knew, and its session can be leased by others."""

    async def fail(_: Any) -> None:
        raise KeyError("step")

    async def write() -> int:
        sessions = SqliteSessions(tmp_path / "s.db")
        stores = OpenStores(sessions, 1)
        lease = await stores.acquire("a", "w", 60)
        await _append(stores, lease, "hi")
        with pytest.raises(KeyError):
            await stores.write(lease, fail)
        await stores.release(lease)
        await stores.release(await sessions.acquire("a", "other", 60))
        return len(await stores.read("a", lambda store: store.load()))

    assert asyncio.run(write()) == 1


def test_many_sessions_take_turns(tmp_path: Path) -> None:
    """More than there are places, side by side."""

    async def write() -> list[int]:
        stores = OpenStores(SqliteSessions(tmp_path / "s.db"), 2)
        names = [f"s{number}" for number in range(6)]
        leases = [await stores.acquire(name, "w", 60) for name in names]
        await asyncio.gather(*(_append(stores, lease, "x") for lease in leases * 3))
        await stores.aclose()
        sessions = SqliteSessions(tmp_path / "s.db")
        return [len(await sessions.open(name).load()) for name in names]

    assert asyncio.run(write()) == [3] * 6
