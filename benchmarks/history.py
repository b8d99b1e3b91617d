"""What a session in a file costs: to load it, to append to it, to have it survive a power cut.

    python benchmarks/history.py [folder]

Every ratio is taken within one run. The folder decides which disk is measured; without one it is
the folder for temporary files.
"""

import asyncio
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agentic.history import JsonlStore
from agentic.history._entries import encode_message
from agentic.messages import Message, ToolCall, ToolResult

LONG, SHORT = 100_000, 100
COMPACT_EVERY, KEPT = 1_000, 20
APPENDS, DURABLE_APPENDS, REPEATS = 5_000, 300, 5


def make_message(number: int) -> Message:
    """Make a message of some 250 characters: a request, a call, a result."""
    text = f"message {number} " + "of a session " * 20
    match number % 3:
        case 0:
            return Message("user", text)
        case 1:
            return Message("assistant", tool_calls=[ToolCall(f"c{number}", "run", f'"{text}"')])
        case _:
            return Message("tool", tool_results=[ToolResult(f"c{number - 1}", "run", text)])


async def write_session(path: Path, length: int) -> None:
    """Write a session that is compacted now and then, the last time `SHORT` messages ago."""
    async with JsonlStore(path) as store:
        for number in range(length):
            await store.append(make_message(number))
            if (number + SHORT) % COMPACT_EVERY == COMPACT_EVERY - 1:
                summary = Message("system", f"{number} messages " * 50)
                await store.replace([summary, *(await store.load())[-KEPT:]])


def measure(action: Callable[[], object]) -> float:
    """Give the median time of an action, in seconds."""
    times: list[float] = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def load_in(path: Path) -> float:
    """Measure a load, in seconds, without the cost of a new event loop."""
    with asyncio.Runner() as runner:
        return measure(lambda: runner.run(JsonlStore(path).load()))


def report_loading(folder: Path) -> None:
    """Compare the load of a long session with that of a short one."""
    paths = {length: folder / f"{length}.jsonl" for length in (SHORT, LONG)}
    for length, path in paths.items():
        asyncio.run(write_session(path, length))
    seconds = {length: load_in(path) for length, path in paths.items()}
    for length, path in paths.items():
        size = path.stat().st_size / 1e6
        view = len(asyncio.run(JsonlStore(path).load()))
        print(f"load {length:7,} messages: {seconds[length] * 1e3:7.2f} ms", end="")
        print(f"   (a view of {view}, a file of {size:.2f} MB)")
    print(f"  ratio of long to short: {seconds[LONG] / seconds[SHORT]:.2f}")
    whole = measure(lambda: asyncio.run(JsonlStore(paths[LONG]).full()))
    print(f"full() of {LONG:,} messages: {whole:.2f} s, {whole / seconds[LONG]:.0f} times the load")


def write_bare(path: Path, lines: list[bytes], *, fsync: bool) -> float:
    """Measure os.write of the same lines, in seconds."""
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
    """Measure the same messages through the store, in seconds."""
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
    for turn in range(REPEATS):  # in turn, and the best of each: a disk has its moods
        path = folder / f"{turn}-{fsync}"
        seconds = asyncio.run(append_all(path.with_suffix(".store"), messages, fsync=fsync))
        stored = min(stored, seconds)
        bare = min(bare, write_bare(path.with_suffix(".bare"), lines, fsync=fsync))
    what = "with fsync" if fsync else "no fsync  "
    print(f"append, {what}: {count / stored:9,.0f} a second, {stored / count * 1e6:7.1f} us each")
    print(f"  bare os.write:    {count / bare:9,.0f} a second, ratio {stored / bare:.2f}", end="")
    print(f"; making the line is {encoding / stored:.0%} of an append")


def main() -> None:
    """Report everything."""
    parent = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        report_loading(Path(folder))
        report_appending(Path(folder), APPENDS, fsync=False)
        report_appending(Path(folder), DURABLE_APPENDS, fsync=True)


if __name__ == "__main__":
    main()
