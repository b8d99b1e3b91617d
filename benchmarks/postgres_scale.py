"""What many sessions cost a PostgreSQL server, with plain tables and with tables in partitions.

    python benchmarks/postgres_scale.py [sessions] [partitions]

It starts its own server, fills it with sessions of 200 entries (by default 10,000 sessions), and
prints what a turn reads and writes, what the tables and indexes take, and what a deletion leaves
for VACUUM. With 2,000,000 entries it takes about ten minutes and 5 GB of disk. The server does not
wait for its disk (fsync is off), so that times compare the two layouts and not two disks.

The entries of a session are spread over the table, because sessions grow side by side.
"""

import asyncio
import random
import re
import runpy
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.messages import Message, ToolCall, ToolResult

SERVER = Path(__file__).parents[1] / "tests" / "history" / "postgres" / "server.py"
ENTRIES = 200
"""Entries of a session."""
TEXT_BYTES = 600
"""What an entry holds: an answer, or a tool's output cut to a screen."""
VIEW = 40
"""Messages since the latest summary, which is what a load reads."""
WRITERS, TURNS, ROUNDS = 4, 250, 5
DELETED = 0.01
"""The share of the sessions that retention deletes in one go."""
PARTITION = """
    ALTER TABLE agentic.entries RENAME TO plain;
    CREATE TABLE agentic.entries (LIKE agentic.plain INCLUDING DEFAULTS,
        PRIMARY KEY (session, seq),
        FOREIGN KEY (session) REFERENCES agentic.sessions ON DELETE CASCADE
    ) PARTITION BY HASH (session);
    CREATE INDEX ON agentic.entries (session, key) WHERE key IS NOT NULL;
    DROP TABLE agentic.plain;
"""
FILL = """
    INSERT INTO agentic.entries
        (session, seq, view, standing, messages, summarized, kind, text, writer, key)
    SELECT session, seq, seq / %(view)s * %(view)s, seq / %(view)s * %(view)s, seq, 0,
        CASE WHEN seq %% %(view)s = 0 THEN 'replace' ELSE 'message' END,
        CASE WHEN seq %% %(view)s = 0
            THEN '{"v":1,"type":"replace","messages":[{"v":1,"role":"system","content":"so far"}]}'
            ELSE '{"v":1,"type":"message","message":{"v":1,"role":"user","content":"'
                || rpad(md5(random()::text), %(bytes)s::int, md5(random()::text)) || '"}}'
            END::bytea,
        0, hashint8extended(seq::bigint, session::bigint)
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS seq,
        generate_series(1::bigint, %(sessions)s::bigint) AS session
    ORDER BY seq, random()
"""
QUERIES = {
    "state": "SELECT * FROM agentic.entries WHERE session = %s ORDER BY seq DESC LIMIT 1",
    "view of 40 messages": "SELECT seq, text FROM agentic.entries "
    "WHERE session = %s AND seq BETWEEN 160 AND 200 ORDER BY seq",
    "key": "SELECT seq, text FROM agentic.entries WHERE session = %s AND key = 1",
}
SIZES = """
    SELECT sum(pg_relation_size(relid)), sum(pg_total_relation_size(relid)) FROM
        pg_stat_user_tables WHERE relname LIKE 'entries%'
"""
INDEX_SIZES = """
    SELECT CASE WHEN indexdef LIKE '%UNIQUE%' THEN 'primary key' ELSE 'index of keys' END,
        sum(pg_relation_size(indexrelid))
    FROM pg_stat_user_indexes JOIN pg_indexes
        ON pg_indexes.indexname = indexrelname AND pg_indexes.schemaname = 'agentic'
    WHERE relname LIKE 'entries%' GROUP BY 1 ORDER BY 1
"""


def main(sessions: int, partitions: int) -> None:
    """Measure both layouts, each in a database of its own on one server."""
    with runpy.run_path(str(SERVER))["Server"]() as server, ExitStack() as stack:
        places = {}
        for count in (0, partitions):
            print(f"\n## {f'{count} partitions by hash' if count else 'plain tables'}")
            dsn = server.make_database()
            asyncio.run(PostgresStore(dsn, "none").append(Message("user")))
            connection = stack.enter_context(psycopg.connect(dsn, autocommit=True))
            measure(connection, sessions, count)
            places[count] = dsn, connection
        for _ in range(ROUNDS):  # in turn, since other programs disturb the times
            for count, (dsn, connection) in places.items():
                print(f"\n## turns with {count} partitions")
                asyncio.run(print_turns(connection, dsn, sessions))
        print("\n## locks")
        asyncio.run(print_leases(connection, dsn))
        for count, (_, connection) in places.items():
            print(f"\n## a deletion with {count} partitions")
            print_deletion(connection, sessions)


def measure(connection: Any, sessions: int, partitions: int) -> None:
    """Fill the tables, and print what they take and what reading takes."""
    connection.execute("SET client_min_messages = error")
    connection.execute("DELETE FROM agentic.sessions")
    connection.execute("ALTER TABLE agentic.sessions ALTER number RESTART WITH 1")
    if partitions:
        connection.execute(PARTITION)
        for number in range(partitions):
            connection.execute(
                f"CREATE TABLE agentic.entries_{number} PARTITION OF agentic.entries "
                f"FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number})"
            )
    with timed(f"fill with {sessions * ENTRIES:,} entries"):
        fill(connection, sessions)
    with timed("ANALYZE and VACUUM of new tables"):
        connection.execute("VACUUM (ANALYZE) agentic.entries")
    print_sizes(connection, sessions * ENTRIES)
    print_reads(connection, sessions)


def fill(connection: Any, sessions: int) -> None:
    """Make the sessions, all growing side by side."""
    connection.execute("SET session_replication_role = replica")  # no checks of foreign keys
    connection.execute(
        "INSERT INTO agentic.sessions (id) SELECT 's' || n FROM generate_series(1, %s::int) AS n",
        [sessions],
    )
    values = {"view": VIEW, "bytes": TEXT_BYTES, "sessions": sessions}
    for first in range(1, ENTRIES + 1, 10):
        connection.execute(FILL, {**values, "first": first, "last": first + 9})
    connection.execute("SET session_replication_role = origin")


def print_sizes(connection: Any, entries: int) -> None:
    """Print what an entry takes on the disk."""
    heap, total = connection.execute(SIZES).fetchone()
    print(f"  an entry: {total / entries:.0f} bytes, of them {heap / entries:.0f} in the table")
    for name, size in connection.execute(INDEX_SIZES):
        print(f"    {name}: {size / entries:.1f} bytes per entry")


def print_reads(connection: Any, sessions: int) -> None:
    """Print what a load reads."""
    for name, query in QUERIES.items():
        pages: list[int] = []
        planning: list[float] = []
        running: list[float] = []
        for session in random.Random(1).sample(range(1, sessions + 1), 50):
            plan = connection.execute(f"EXPLAIN (ANALYZE, BUFFERS) {query}", [session]).fetchall()
            text = "\n".join(line for (line,) in plan).split("Planning:")[0]
            found = re.search(r"Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?", text)
            pages.append(sum(int(each or 0) for each in found.groups()) if found else 0)
            times = [re.search(r"([\d.]+) ms", line) for (line,) in plan[-2:]]
            for times_of, match in zip((planning, running), times, strict=True):
                times_of.append(float(match[1]) if match else 0.0)
        print(
            f"  {name}: {statistics.median(pages):.0f} pages of 8 KB, planned in "
            f"{statistics.median(planning):.2f} ms, read in {statistics.median(running):.2f} ms"
        )


async def print_turns(connection: Any, dsn: str, sessions: int) -> None:
    """Print what turns write and how long they take, a few writers at once."""
    connection.execute("CHECKPOINT")
    before = connection.execute("SELECT pg_current_wal_lsn()").fetchone()[0]
    begun = time.perf_counter()
    chance = random.Random(2)
    mine = [chance.sample(range(1, sessions + 1), TURNS // 10) for _ in range(WRITERS)]
    each = await asyncio.gather(*(write_turns(dsn, ids) for ids in mine))
    seconds = time.perf_counter() - begun
    times = sorted(time for found in each for time in found)
    turns = len(times)
    ask = "SELECT pg_current_wal_lsn() - %s::pg_lsn"
    written = connection.execute(ask, [before]).fetchone()[0]
    print(
        f"  a turn (2 appends with keys): median {statistics.median(times) * 1000:.2f} ms, p99 "
        f"{times[int(turns * 0.99)] * 1000:.2f} ms, {turns / seconds:.0f} per second, "
        f"{written / turns:.0f} bytes of WAL right after a checkpoint"
    )
    before = connection.execute("SELECT pg_current_wal_lsn()").fetchone()[0]
    await asyncio.gather(*(write_turns(dsn, ids) for ids in mine))
    written = connection.execute(ask, [before]).fetchone()[0]
    print(f"    and {written / turns:.0f} when the same sessions go on")


async def write_turns(dsn: str, sessions: list[int]) -> list[float]:
    """Write ten turns in each of these sessions, and return their times."""
    place, times = PostgresSessions(dsn), []
    for number in sessions:
        async with place.open(f"s{number}") as store:
            await store.load()
            for turn in range(10):
                call = ToolCall(f"c{turn}", "run", '{"command": "make"}')
                result = ToolResult(f"c{turn}", "run", f"{random.random()} " * (TEXT_BYTES // 20))
                begun, key = time.perf_counter(), f"{random.random()}"
                await store.append(Message("assistant", tool_calls=[call]), key=f"{key}/call")
                await store.append(Message("tool", tool_results=[result]), key=f"{key}/result")
                times.append(time.perf_counter() - begun)
    return times


async def print_leases(connection: Any, dsn: str) -> None:
    """Print what an append costs by the lock of a connection and by a lease."""
    for name, pooled in (("a connection's lock", False), ("a lease", True)) * 3:
        begun = connection.execute("SELECT pg_current_wal_lsn()").fetchone()[0]
        times = []
        async with PostgresStore(dsn, f"by {pooled}".replace(" ", "-"), pooled=pooled) as store:
            for number in range(TURNS):
                before = time.perf_counter()
                await store.append(Message("user", f"{number} {'x' * TEXT_BYTES}"))
                times.append(time.perf_counter() - before)
        ask = "SELECT pg_current_wal_lsn() - %s::pg_lsn"
        written = connection.execute(ask, [begun]).fetchone()[0] / TURNS
        median = statistics.median(times) * 1000
        print(f"  an append by {name}: median {median:.2f} ms, {written:.0f} bytes of WAL")


def print_deletion(connection: Any, sessions: int) -> None:
    """Print what it takes to delete sessions, and what it leaves."""
    count = int(sessions * DELETED)
    numbers = random.Random(3).sample(range(1, sessions + 1), count)
    with timed(f"delete {count} sessions of {ENTRIES} entries"):
        connection.execute("DELETE FROM agentic.sessions WHERE number = ANY(%s)", [numbers])
    said: list[str] = []
    connection.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
    connection.execute("SET client_min_messages = info")
    with timed("VACUUM after it"):
        connection.execute("VACUUM (VERBOSE) agentic.entries")
    scanned = [re.search(r"pages: .* (\d+) scanned \(", text) for text in said]
    pages = sum(int(match[1]) for match in scanned if match)
    print(f"    it read {pages:,} pages of the table, and all of each index")


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long it took."""
    begun = time.perf_counter()
    yield
    print(f"  {what}: {time.perf_counter() - begun:.2f} s", flush=True)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*(given + [10_000, 64][len(given) :]))
