"""Waiting for a coroutine where nobody awaits."""

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any

from agentic.context.budget import Compaction

__all__ = ["run", "run_elsewhere"]


def run(work: Coroutine[Any, Any, Compaction]) -> Compaction:
    """Run a coroutine to its end in an event loop of its own."""
    done: list[Compaction] = []

    async def keep() -> None:
        # Not returned: asyncio.run writes the repr of its task's result, whatever its size, when
        # it puts the signal handler back (CPython 3.11, signal._int_to_enum).
        done.append(await work)

    asyncio.run(keep())
    return done[0]


def run_elsewhere(work: Coroutine[Any, Any, Compaction]) -> Compaction:
    """Run a coroutine to its end in a thread of its own, where no event loop is running."""
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        return thread.submit(run, work).result()
