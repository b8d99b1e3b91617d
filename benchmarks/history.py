"""The cost of a session in a file or a database: loading, appending, and surviving a power cut.

    python benchmarks/history.py [folder]

Both sides of every ratio are measured in the same run. The folder determines which disk is
measured; by default it is the folder for temporary files.
"""

import asyncio
import contextlib
import itertools
import math
import multiprocessing
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from agentic.history import Archive, JsonlStore
from agentic.history._entries import encode_message
from agentic.history.sqlite import SqliteStore
from agentic.messages import Message, ToolCall, ToolResult

LONG, SHORT = 100_000, 100
COMPACT_EVERY, KEPT = 1_000, 20
APPENDS, DURABLE_APPENDS, REPEATS = 5_000, 300, 5
PROCESSES, APPENDS_EACH = 16, 500


def make_message(number: int) -> Message:
    """Return a message of about 250 characters: a request, a call, or a result."""
    text = f"message {number} " + "of a session " * 20
    match number % 3:
        case 0:
            return Message("user", text)
        case 1:
            return Message("assistant", tool_calls=[ToolCall(f"c{number}", "run", f'"{text}"')])
        case _:
            return Message("tool", tool_results=[ToolResult(f"c{number - 1}", "run", text)])


async def write_session(store: Any, length: int) -> None:
    """Write a session that is compacted several times, the last time `SHORT` messages ago."""
    async with store:
        for number in range(length):
            await store.append(make_message(number))
            if (number + SHORT) % COMPACT_EVERY == COMPACT_EVERY - 1:
                summary = Message("system", f"{number} messages " * 50)
                await store.replace([summary, *(await store.load())[-KEPT:]])


def measure(action: Callable[[], object]) -> float:
    """Return the median time of an action, in seconds."""
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def load_in(store: Archive) -> float:
    """Return the time of a load, in seconds, without the cost of a new event loop."""
    with asyncio.Runner() as runner:
        return measure(lambda: runner.run(store.load()))


def report_loading(kind: str, open_store: Callable[[int], Archive]) -> None:
    """Compare loading a long session with loading a short one."""
    for length in (SHORT, LONG):
        asyncio.run(write_session(open_store(length), length))
    seconds = {length: load_in(open_store(length)) for length in (SHORT, LONG)}
    for length in (SHORT, LONG):
        view = len(asyncio.run(open_store(length).load()))
        print(f"{kind}: load {length:7,} messages: {seconds[length] * 1e3:7.2f} ms", end="")
        print(f"   (a view of {view})")
    print(f"  ratio of long to short: {seconds[LONG] / seconds[SHORT]:.2f}")
    whole = measure(lambda: asyncio.run(open_store(LONG).full()))
    print(f"  full() of {LONG:,}: {whole:.2f} s, {whole / seconds[LONG]:.0f} times the load")


def write_bare(path: Path, lines: list[bytes], *, fsync: bool) -> float:
    """Return the time of os.write for the same lines, in seconds."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    start = time.perf_counter()
    for line in lines:
        os.write(file, line)
        if fsync:
            os.fsync(file)
    seconds = time.perf_counter() - start
    os.close(file)
    return seconds


async def append_all(path: Path, messages: list[Message], *, fsync: bool) -> float:
    """Return the time of appending the same messages to the store, in seconds."""
    async with JsonlStore(path, fsync=fsync) as store:
        start = time.perf_counter()
        for message in messages:
            await store.append(message)
        return time.perf_counter() - start


def report_appending(folder: Path, count: int, *, fsync: bool) -> None:
    """Compare appends with bare writes."""
    messages = [make_message(number) for number in range(count)]
    lines = [encode_message(message) for message in messages]
    encoding = measure(lambda: [encode_message(message) for message in messages])
    stored = bare = math.inf
    for turn in range(REPEATS):  # alternate, best of each: disks vary over time
        path = folder / f"{turn}-{fsync}"
        seconds = asyncio.run(append_all(path.with_suffix(".store"), messages, fsync=fsync))
        stored = min(stored, seconds)
        bare = min(bare, write_bare(path.with_suffix(".bare"), lines, fsync=fsync))
    what = "append, with fsync" if fsync else "append, no fsync"
    print(f"file, {what}: {count / stored:9,.0f} a second, {stored / count * 1e6:7.1f} us each")
    print(f"  bare os.write: {count / bare:9,.0f} a second, ratio {stored / bare:.2f}", end="")
    print(f"; making the line is {encoding / stored:.0%} of an append")


def open_bare(path: Path, *, fsync: bool = False) -> sqlite3.Connection:
    """Open a database with a minimal table for the lines."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
    connection.execute(
        "CREATE TABLE IF NOT EXISTS entries"
        " (session INTEGER, seq INTEGER, text BLOB, PRIMARY KEY (session, seq))"
    )
    return connection


def insert(connection: sqlite3.Connection, session: int, seq: int, line: bytes) -> None:
    """Insert one line and commit."""
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (session, seq, line))
    connection.execute("COMMIT")


def time_inserts(path: Path, messages: list[Message], session: int, start: Any) -> list[float]:
    """Measure the bare driver, given the lines."""
    lines = [encode_message(message) for message in messages]
    with contextlib.closing(open_bare(path)) as connection:
        start.wait()
        return _time_each(partial(insert, connection, session), lines)


def time_encoded_inserts(
    path: Path, messages: list[Message], session: int, start: Any
) -> list[float]:
    """Measure the bare driver, including the creation of the lines."""

    def encode_and_insert(seq: int, message: Message) -> None:
        insert(connection, session, seq, encode_message(message))

    with contextlib.closing(open_bare(path)) as connection:
        start.wait()
        return _time_each(encode_and_insert, messages)


def time_appends(path: Path, messages: list[Message], session: int, start: Any) -> list[float]:
    """Measure the store."""
    return asyncio.run(_time_appends(path, messages, session, start))


async def _time_appends(
    path: Path, messages: list[Message], session: int, start: Any
) -> list[float]:
    async with SqliteStore(path, f"s{session}") as store:
        await store.append(messages[0])
        start.wait()  # it may block the event loop, in which nothing else runs
        times = [time.perf_counter()]
        for message in messages:
            await store.append(message)
            times.append(time.perf_counter())
    return times


def _time_each(step: Callable[[int, Any], object], given: Iterable[Any]) -> list[float]:
    """Return the times before the first step and after each step."""
    times = [time.perf_counter()]
    for seq, each in enumerate(given):
        step(seq, each)
        times.append(time.perf_counter())
    return times


def _run_in_process(
    timing: Callable[..., list[float]], path: Path, session: int, start: Any, found: Any
) -> None:
    found.put(timing(path, [make_message(n) for n in range(APPENDS_EACH)], session, start))


def run_processes(timing: Callable[..., list[float]], path: Path) -> tuple[float, float]:
    """Return the total time of all processes, and the 99th percentile of a step, in seconds."""
    spawn = multiprocessing.get_context("spawn")
    start, found = spawn.Barrier(PROCESSES), spawn.Queue()
    processes = [
        spawn.Process(target=_run_in_process, args=(timing, path, session, start, found))
        for session in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    moments = [found.get() for _ in processes]
    for process in processes:
        process.join()
    steps = [later - sooner for each in moments for sooner, later in itertools.pairwise(each)]
    lasted = max(each[-1] for each in moments) - min(each[0] for each in moments)
    return lasted, statistics.quantiles(steps, n=100)[98]


def report_processes(folder: Path) -> None:
    """Compare the store with the bare driver, for processes that append to one database."""
    timings = {
        "the store": time_appends,
        "bare sqlite3": time_inserts,
        "bare, lines made": time_encoded_inserts,
    }
    best: dict[str, tuple[float, float]] = {}
    for turn in range(REPEATS):
        for name, timing in timings.items():
            found = run_processes(timing, folder / f"{name} {turn}.db")
            best[name] = min(best.get(name, found), found)
    stored = best["the store"][0]
    print(f"database, {PROCESSES} processes append to {PROCESSES} sessions:")
    for name, (seconds, p99) in best.items():
        print(f"  {name:17} {PROCESSES * APPENDS_EACH / seconds:7,.0f} a second", end="")
        print(f", p99 {p99 * 1e3:6.2f} ms; the store takes {stored / seconds:.2f} times as long")


def main() -> None:
    """Report everything."""
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = Path(name)
        report_loading("file", lambda length: JsonlStore(folder / f"{length}.jsonl"))
        report_loading("database", lambda length: SqliteStore(folder / "all.db", f"s{length}"))
        report_appending(folder, APPENDS, fsync=False)
        report_appending(folder, DURABLE_APPENDS, fsync=True)
        report_processes(folder)


if __name__ == "__main__":
    main()
