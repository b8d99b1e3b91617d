import asyncio

import psycopg
import pytest

from agentic.errors import HistoryTooNew
from agentic.history.postgres import PostgresSessions
from agentic.messages import Message


def test_no_reader_misses_unknown_kinds(dsn: str) -> None:
    """A row of a later kind is in no view that is read, and yet `full()` does not leave it out."""
    place = PostgresSessions(dsn)

    async def write() -> None:
        async with place.open("monday") as store:
            await store.append(Message("user", "hello"))
            await store.replace([])

    asyncio.run(write())
    newer = b'{"v":1,"type":"batch","messages":[]}'
    with psycopg.connect(dsn) as connection:
        change = "UPDATE agentic.entries SET kind = 'batch', text = %b WHERE kind = 'message'"
        connection.execute(change, [newer])

    assert asyncio.run(place.open("monday").load()) == []
    with pytest.raises(HistoryTooNew):
        asyncio.run(place.open("monday").full())
