import asyncio
import time
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message

SUMMARY = Message("system", "They greeted.")
LENGTH = 5_000
ADD_MANY = """
    INSERT INTO agentic.entries
        (session, seq, view, standing, messages, summarized, kind, text, writer)
    SELECT 1, n, 0, 0, n, 0, 'message', %s, 0 FROM generate_series(1, %s) AS n
"""
OTHERS = """
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
COMMITS = """
    SELECT xact_commit, (SELECT count(*) FROM pg_stat_activity AS process
        WHERE process.datname = stat.datname AND backend_type = 'client backend')
    FROM pg_stat_database AS stat WHERE datname = %s
"""
COUNTS = """
    SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'entries'
"""


async def _make_long(dsn: str) -> PostgresStore:
    """Make a session of many messages, compacted but for the last three entries."""
    store = PostgresStore(dsn)
    await store.put("what makes the session")
    line = b'{"v":1,"type":"message","message":{"v":1,"role":"user","content":"hello"}}'
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.execute(ADD_MANY, [line, LENGTH])
    await store.aclose()
    await store.replace([SUMMARY])
    await store.append(Message("user", "hello"))
    await store.append(Message("assistant", "there"))
    await store.aclose()
    return store


def _count_reads(dsn: str) -> dict[str, Any]:
    """Ask the server how many rows of entries have ever been read, and how."""
    with psycopg.connect(dsn, row_factory=dict_row, autocommit=True) as connection:
        while connection.execute(OTHERS).fetchone():  # each reports at its end
            time.sleep(0.005)
        found = connection.execute(COUNTS).fetchone()
    assert found
    return found


def _read_between(dsn: str, step: Any) -> tuple[int, int]:
    before = _count_reads(dsn)
    asyncio.run(step)
    after = _count_reads(dsn)
    return (
        after["seq_tup_read"] - before["seq_tup_read"],
        after["idx_tup_fetch"] - before["idx_tup_fetch"],
    )


def test_loading_reads_only_the_views_rows(dsn: str) -> None:
    """Of thousands of rows, a view of three costs a handful, all of them by the index."""
    store = asyncio.run(_make_long(dsn))

    scanned, fetched = _read_between(dsn, store.load())

    assert scanned == 0
    assert 3 <= fetched <= 6


def test_list_reads_one_row_per_session(dsn: str) -> None:
    """However long the sessions are."""
    asyncio.run(_make_long(dsn))

    scanned, fetched = _read_between(dsn, PostgresSessions(dsn).list())

    assert scanned == 0
    assert 1 <= fetched <= 2


def test_the_first_append_reads_one_row(dsn: str) -> None:
    """Who begins to write asks where the session stands, and reads nothing else of it."""
    store = asyncio.run(_make_long(dsn))

    async def write() -> None:
        async with store:
            for _ in range(5):
                await store.append(SUMMARY)

    scanned, fetched = _read_between(dsn, write())

    assert scanned == 0
    assert 1 <= fetched <= 3


def _count_commits(dsn: str) -> int:
    """Ask the server from another database, since each question is a transaction of its own."""
    name, elsewhere = conninfo_to_dict(dsn)["dbname"], make_conninfo(dsn, dbname="postgres")
    with psycopg.connect(elsewhere, autocommit=True) as connection:
        while True:  # each connection reports at its end
            commits, connections = connection.execute(COMMITS, [name]).fetchone() or (0, 1)
            if not connections:
                return int(commits)
            time.sleep(0.005)


def test_keyed_turn_takes_two_transactions(dsn: str) -> None:
    """One finds that neither key is known, the other adds both messages under the lease."""
    sessions = PostgresSessions(dsn)

    async def store_turns(session_id: str, count: int) -> None:
        lease = await sessions.acquire(session_id, "worker", 60)
        async with sessions.open(session_id, lease=lease) as store:
            await store.put("what makes the session")
            for turn in range(count):
                await store.append(SUMMARY, SUMMARY, key=[f"{turn}/0", f"{turn}/1"])

    asyncio.run(store_turns("before", 1))
    start = _count_commits(dsn)
    asyncio.run(store_turns("short", 10))  # by then, psycopg has prepared what it repeats
    middle = _count_commits(dsn)
    asyncio.run(store_turns("long", 15))

    assert _count_commits(dsn) - middle == middle - start + 5 * 2


def test_load_plan_uses_the_index(dsn: str) -> None:
    """PostgreSQL itself says that it looks the view up by the primary key."""
    asyncio.run(_make_long(dsn))
    plan = "EXPLAIN SELECT seq, text FROM agentic.entries WHERE session = 1"
    plan += f" AND seq BETWEEN {LENGTH + 1} AND {LENGTH + 3} ORDER BY seq"

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("ANALYZE agentic.entries")
        found = "\n".join(line for (line,) in connection.execute(plan.encode()))

    assert "Index Scan using entries_pkey" in found
    assert "Seq Scan" not in found
