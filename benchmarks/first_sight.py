"""What others wait while a proxy meets a long conversation for the first time.

    python benchmarks/first_sight.py [--messages 2000 8000] [--rounds 3]

The proxy and its provider are this process's event loop; nothing is sent through a socket. A
stranger sends one short request after the other, first while the proxy does nothing else, and then
while one long conversation arrives that it has never seen and has to cut. Milliseconds:

- `quiet`, `beside`: the median request of the stranger;
- `ratio`: `beside` by `quiet`; the goal is 5;
- `stands still`: by how much a timer of the loop was late at most; the goal is 50 ms;
- `collector`: how much of that was one collection of garbage, which stops all threads;
- `bare`: how late a timer is beside a thread that only counts, for a second, on this machine now;
- `first`: how long the long request itself took.

Each round is a new proxy. The figures are medians over the rounds.
"""

import argparse
import asyncio
import contextlib
import gc
import importlib.util
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

import attrs
import httpx
from first_fit import make_messages  # type: ignore[import-not-found]  # beside this script
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

# An earlier checkout has it among the bridges.
_ROOM = "app" if importlib.util.find_spec("agentic.app") else "bridges"
Proxy: Any = importlib.import_module(f"agentic.{_ROOM}.proxy").Proxy

WINDOW = 32_000
QUIET_SECONDS = 1.0
PAUSE_SECONDS = 0.002
TICK_SECONDS = 0.001


@attrs.frozen
class Waits:
    """Milliseconds of one round."""

    quiet: float
    beside: float
    stands_still: float
    collector: float
    bare: float
    first: float


async def _provide(_: Request) -> JSONResponse:
    message = {"role": "assistant", "content": "Fine."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return JSONResponse({"id": "r1", "choices": [choice], "usage": usage})


async def measure(count: int) -> Waits:
    """Return how long a stranger waits beside a conversation of so many messages."""
    provider = Starlette(routes=[Route("/{path:path}", _provide, methods=["POST"])])
    proxy = Proxy("http://provider/v1", WINDOW)
    # In place of sockets, whose waiting would be measured as well.
    proxy._upstream._client = httpx.AsyncClient(  # noqa: SLF001
        transport=httpx.ASGITransport(provider)
    )
    transport = httpx.ASGITransport(proxy)
    gc.collect()
    gc.freeze()  # as the command does
    body = json.dumps({"model": "bench", "messages": make_messages(count)}).encode()
    async with httpx.AsyncClient(transport=transport, base_url="http://proxy") as client:
        await _stranger(client, time.perf_counter() + QUIET_SECONDS / 4)
        quiet = await _stranger(client, time.perf_counter() + QUIET_SECONDS)
        long = asyncio.create_task(_ask(client, body))
        stranger = asyncio.create_task(_stranger(client, None, long))
        with _watched_collector() as pauses:
            still = await _lateness(long)
            beside = await stranger
        bare = await _lateness(asyncio.create_task(asyncio.to_thread(_count_for_a_second)))
        return Waits(
            quiet=_median(quiet),
            beside=_median(beside),
            stands_still=1000 * still,
            collector=1000 * max(pauses),
            bare=1000 * bare,
            first=1000 * await long,
        )


def _median(times: list[float]) -> float:
    return 1000 * statistics.median(times)


async def _ask(client: httpx.AsyncClient, body: bytes) -> float:
    begun = time.perf_counter()
    headers = {"Content-Type": "application/json", "Authorization": "Bearer bench"}
    reply = await client.post("/v1/chat/completions", content=body, headers=headers, timeout=600)
    reply.raise_for_status()
    return time.perf_counter() - begun


async def _stranger(
    client: httpx.AsyncClient, end: float | None, task: "asyncio.Task[float] | None" = None
) -> list[float]:
    """Ask until a moment, or until a task has ended."""
    messages = [{"role": "user", "content": "Hello."}]
    body = json.dumps({"model": "bench", "messages": messages}).encode()
    times: list[float] = []
    while not times or (not task.done() if task else time.perf_counter() < (end or 0.0)):
        times.append(await _ask(client, body))
        await asyncio.sleep(PAUSE_SECONDS)
    return times


async def _lateness(task: "asyncio.Task[Any]") -> float:
    """Return by how many seconds a timer was late at most, until a task has ended."""
    latest = 0.0
    while not task.done():
        before = time.perf_counter()
        await asyncio.sleep(TICK_SECONDS)
        latest = max(latest, time.perf_counter() - before - TICK_SECONDS)
    return latest


@contextlib.contextmanager
def _watched_collector() -> Iterator[list[float]]:
    """Yield a list of the seconds of each collection of garbage, with a 0.0 at first."""
    pauses, begun = [0.0], [0.0]

    def note(phase: str, _: object) -> None:
        if phase == "start":
            begun[0] = time.perf_counter()
        else:
            pauses.append(time.perf_counter() - begun[0])

    gc.callbacks.append(note)
    try:
        yield pauses
    finally:
        gc.callbacks.remove(note)


def _count_for_a_second() -> None:
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        pass


def main() -> None:
    """Print a line for each size."""
    parser = argparse.ArgumentParser(prog="python benchmarks/first_sight.py")
    parser.add_argument("--messages", type=int, nargs="+", default=[2_000, 8_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    names = [field.name.replace("_", " ") for field in attrs.fields(Waits)]
    print(f"{'messages':>8}" + "".join(f"{name:>14}" for name in names) + f"{'ratio':>8}")
    for count in options.messages:
        rounds = [asyncio.run(measure(count)) for _ in range(options.rounds)]
        columns = list(zip(*map(attrs.astuple, rounds), strict=True))
        medians = [statistics.median(column) for column in columns]
        cells = "".join(f"{value:14.1f}" for value in medians)
        print(f"{count:8,}{cells}{medians[1] / medians[0]:8.1f}", flush=True)


if __name__ == "__main__":
    main()
