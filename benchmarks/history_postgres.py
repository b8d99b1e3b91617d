"""The cost of a session in PostgreSQL, compared with the same inserts by the bare driver.

    python benchmarks/history_postgres.py [dsn]

Both sides of every ratio are measured in the same run. Without a dsn, the script starts its own
server, which waits for its disk at every commit. With a dsn, it creates the sessions `bench-*`
there and deletes them afterwards.
"""

import asyncio
import contextlib
import itertools
import multiprocessing
import runpy
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg

from agentic.history._entries import encode_message
from agentic.history.postgres import PostgresSessions, PostgresStore
from agentic.history.postgres._rows import PostgresRows
from agentic.messages import Message

HERE = Path(__file__).parent
HISTORY = runpy.run_path(str(HERE / "history.py"))
SERVER = HERE.parent / "tests" / "history" / "postgres" / "server.py"
LONG, SHORT = 100_000, 100
APPENDS, REPEATS = 1_000, 3
PROCESSES, APPENDS_EACH = 16, 100

INSERT = """
    INSERT INTO agentic.entries
        (session, seq, view, standing, messages, summarized, kind, text, writer)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
"""


def make_messages(count: int) -> list[Message]:
    """Return messages of about 250 characters."""
    return [HISTORY["make_message"](number) for number in range(count)]


async def time_appends(dsn: str, session_id: str, messages: list[Message], start: Any) -> Any:
    """Measure the store: return the times between the appends."""
    async with PostgresStore(dsn, session_id) as store:
        await store.put("what makes the session")
        start.wait()
        return await time_each(store.append, messages)


async def time_inserts(dsn: str, session_id: str, messages: list[Message], start: Any) -> Any:
    """Measure the bare driver: the same rows into the same table, given the lines."""
    lines = list(map(make_line, messages))
    return await time_rows(dsn, session_id, lines, start, lambda line: line)


async def time_encoded_inserts(
    dsn: str, session_id: str, messages: list[Message], start: Any
) -> Any:
    """Measure the bare driver, including the creation of the lines."""
    return await time_rows(dsn, session_id, messages, start, make_line)


def make_line(message: Message) -> bytes:
    """Return the content of a row."""
    return encode_message(message).removesuffix(b"\n")


async def time_rows(
    dsn: str, session_id: str, given: list[Any], start: Any, make: Callable[[Any], bytes]
) -> Any:
    """Insert a row for each item."""
    await make_session(dsn, session_id)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        rows = await PostgresRows.find(connection, session_id, "bare")
        assert rows  # noqa: S101  it was just made
        seq = itertools.count(1)

        async def insert(each: Any) -> None:
            number = next(seq)
            values = (rows.session, number, 0, 0, number, 0, "message", make(each), 0)
            await connection.execute(INSERT, values)

        start.wait()
        return await time_each(insert, given)


async def make_session(dsn: str, session_id: str) -> None:
    """Create a session that has an output but no entry."""
    async with PostgresStore(dsn, session_id) as store:
        await store.put("what makes the session")


async def time_each(step: Callable[[Any], Awaitable[None]], given: list[Any]) -> list[float]:
    """Return the times before the first step and after each step."""
    times = [time.perf_counter()]
    for each in given:
        await step(each)
        times.append(time.perf_counter())
    return times


TIMINGS = {
    "the store": time_appends,
    "bare psycopg": time_inserts,
    "bare, lines made": time_encoded_inserts,
}


def run_in_process(name: str, dsn: str, session_id: str, count: int, talk: Any) -> None:
    """Measure in a separate process."""
    messages = make_messages(count)
    start, found = talk
    found.put(asyncio.run(TIMINGS[name](dsn, session_id, messages, start)))


def run_processes(name: str, dsn: str, processes: int, count: int) -> tuple[float, float]:
    """Return the total time of all processes, and the 99th percentile of a step, in seconds."""
    spawn = multiprocessing.get_context("spawn")
    start, found = spawn.Barrier(processes), spawn.Queue()
    running = [
        spawn.Process(
            target=run_in_process, args=(name, dsn, f"bench-{number}", count, (start, found))
        )
        for number in range(processes)
    ]
    for process in running:
        process.start()
    moments = [found.get() for _ in running]
    for process in running:
        process.join()
    asyncio.run(delete_all(dsn))
    steps = [later - sooner for each in moments for sooner, later in itertools.pairwise(each)]
    lasted = max(each[-1] for each in moments) - min(each[0] for each in moments)
    return lasted, statistics.quantiles(steps, n=100)[98]


async def delete_all(dsn: str) -> None:
    """Remove what this script created."""
    sessions = PostgresSessions(dsn)
    for info in await sessions.list():
        if info.id.startswith("bench-"):
            await sessions.delete(info.id)


def report_appending(dsn: str, processes: int, count: int) -> None:
    """Compare the store with the bare driver, for processes that append to one database."""
    best: dict[str, tuple[float, float]] = {}
    for _, name in itertools.product(range(REPEATS), TIMINGS):  # alternate: disks vary over time
        found = run_processes(name, dsn, processes, count)
        best[name] = min(best.get(name, found), found)
    stored = best["the store"][0]
    print(f"{processes} at once, each to a session of its own:")
    for name, (seconds, p99) in best.items():
        print(f"  {name:17} {processes * count / seconds:7,.0f} a second", end="")
        print(f", p99 {p99 * 1e3:6.2f} ms; the store takes {stored / seconds:.2f} times as long")


def report_loading(dsn: str) -> None:
    """Compare loading a long session with loading a short one."""
    seconds: dict[int, float] = {}
    for length in (SHORT, LONG):
        store = PostgresStore(dsn, f"bench-{length}", fsync=False)
        asyncio.run(HISTORY["write_session"](store, length))
        seconds[length] = asyncio.run(time_loads(store))
        print(f"load {length:7,} messages: {seconds[length] * 1e3:7.2f} ms")
    print(f"  ratio of long to short: {seconds[LONG] / seconds[SHORT]:.2f}")
    asyncio.run(delete_all(dsn))


async def time_loads(store: PostgresStore) -> float:
    """Return the median time of a load over an existing connection, in seconds."""
    async with store:
        await store.load()
        moments = await time_each(lambda _: store.load(), [None] * 50)  # type: ignore[arg-type,return-value]
    return statistics.median(later - sooner for sooner, later in itertools.pairwise(moments))


@contextlib.contextmanager
def some_server() -> Iterator[str]:
    """Yield the address of the server on the command line, or of a new one."""
    if len(sys.argv) > 1:
        yield sys.argv[1]
        return
    with runpy.run_path(str(SERVER))["Server"](fsync=True) as server:
        yield server.make_database()


def main() -> None:
    """Report everything."""
    with some_server() as dsn:
        report_appending(dsn, 1, APPENDS)
        report_appending(dsn, PROCESSES, APPENDS_EACH)
        report_loading(dsn)


if __name__ == "__main__":
    main()
