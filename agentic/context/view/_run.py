"""Running a coroutine to its end, for code that does not await."""

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["is_loop_running", "run", "run_elsewhere"]

_T = TypeVar("_T")


def is_loop_running() -> bool:
    """Return whether this thread is inside an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in an event loop of its own."""
    done: list[_T] = []

    async def keep() -> None:
        # Not returned: asyncio.run writes the repr of its task's result, whatever its size, when
        # it puts the signal handler back (CPython 3.11, signal._int_to_enum).
        done.append(await work)

    asyncio.run(keep())
    return done[0]


def run_elsewhere(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end in a thread of its own, where no event loop is running."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(run, work).result()
