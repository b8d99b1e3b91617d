"""A forked child has connections of its own: two processes would read from one socket."""

import asyncio
import multiprocessing
from typing import Any

import pytest

from agentic.errors import HistoryConflict
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def _use(store: PostgresStore, answers: Any) -> None:
    async def use() -> list[Any]:
        read = [message.content for message in await store.load()]
        try:
            await store.append(Message("user", "from the child"))
        except HistoryConflict as refusal:
            return [read, str(refusal)]
        return [read, "written"]

    answers.put(asyncio.run(use()))


def _in_child(store: PostgresStore) -> Any:
    """Use a store in a forked child, and return what it answers."""
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_use, args=(store, answers))
    child.start()
    answer = answers.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0
    return answer


def test_child_neither_uses_nor_ends_the_connection(dsn: str) -> None:
    """The parent stays the writer, whatever the child does, and however it ends."""

    async def write() -> list[Any]:
        async with PostgresStore(dsn, "a") as store:
            await store.append(Message("user", "one"))
            answer = _in_child(store)
            await store.append(Message("user", "two"))
            return [answer, [message.content for message in await store.load()]]

    (read, refusal), history = asyncio.run(write())

    assert read == ["one"]
    assert "is in use by another writer" in refusal
    assert history == ["one", "two"]


def test_child_shares_no_kept_connection(dsn: str) -> None:
    """Those that wait for their next user belong to the parent, too."""

    async def write() -> list[Any]:
        sessions = PostgresSessions(dsn).keeping(2)
        async with sessions.open("a") as store:
            await store.load()
            lease = await sessions.acquire("a", "w", 30)
        async with sessions.open("a", lease=lease) as store:
            await store.append(Message("user", "one"))
        answer = _in_child(sessions.open("a"))
        async with sessions.open("a", lease=lease) as store:
            await store.append(Message("user", "two"))
            history = [message.content for message in await store.load()]
        await sessions.aclose()
        return [answer, history]

    (read, refusal), history = asyncio.run(write())

    assert (read, "is leased by" in refusal) == (["one"], True)
    assert history == ["one", "two"]
