"""What the tests of every adapter need: the loop's message, recorded traffic, a local server."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from aiohttp import web

from agentic.loop import Decision
from agentic.messages import Message

Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


@pytest.fixture(scope="session")
def as_message() -> Callable[[Decision], Message]:
    """Return what makes the message that the loop makes of a decision."""

    def make(decision: Decision) -> Message:
        return Message(
            "assistant",
            decision.reply,
            reasoning=decision.reasoning,
            tool_calls=decision.tool_calls,
            native=decision.native,
        )

    return make


@pytest.fixture(scope="session")
def traffic(
    recorded_path: Callable[[str], Path], read_lines: Callable[[Path], list[Any]]
) -> Callable[..., list[dict[str, Any]]]:
    """Return what reads the recorded exchanges of these files, or of all files."""

    def read(*names: str) -> list[dict[str, Any]]:
        folder = recorded_path("provider_responses")
        paths = [folder / name for name in names] or sorted(folder.glob("*.jsonl"))
        return [line for path in paths for line in read_lines(path)]

    return read


@pytest.fixture(scope="session")
def serving() -> Callable[[Handler], AbstractAsyncContextManager[str]]:
    """Return what serves on 127.0.0.1, in the event loop of its caller, and yields the address."""
    return _serving


@pytest.fixture(scope="session")
def serving_apart() -> Callable[[Handler], AbstractContextManager[str]]:
    """Return the same in a thread, so that a test may run event loops as it likes."""
    return _serving_apart


@asynccontextmanager
async def _serving(handler: Handler) -> AsyncIterator[str]:
    application = web.Application(client_max_size=2**26)
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@contextmanager
def _serving_apart(handler: Handler) -> Iterator[str]:
    loop, started, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    address = ""

    async def serve() -> None:
        nonlocal address
        async with _serving(handler) as address:
            started.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()
