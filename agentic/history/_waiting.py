"""Waiting for steps that must not stop midway: a cancellation is raised after they are done."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from agentic._lazy import asyncio

__all__ = ["finish", "in_thread", "threaded"]

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a step to its end in a thread, where waiting blocks nothing else, cancelled or not."""
    return await finish(asyncio.ensure_future(asyncio.to_thread(step, *args, **kwargs)))


def threaded(step: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Decorate a step that is to be awaited, and runs like `in_thread`."""

    @functools.wraps(step)
    async def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return await in_thread(step, *args, **kwargs)

    return run


async def finish(work: "asyncio.Future[T]", *, grace_seconds: float | None = None) -> T:
    """Wait for work that must not stop midway. A cancellation is raised only when it is done.

    With a limit, the work may go on for that long after the cancellation, and is then cancelled.
    """
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            # Unlike `await work`, wait() leaves the work alone when the waiting task is cancelled.
            await asyncio.wait([work], timeout=grace_seconds if cancelled else None)
        except asyncio.CancelledError as error:
            cancelled = error
        else:
            if not work.done():
                work.cancel()
                # The loop goes on: a cancelled task still has its `finally` blocks to run.
                grace_seconds = None
    if cancelled is None:
        return work.result()
    if not work.cancelled():
        work.exception()  # otherwise asyncio would log that it was never retrieved
    raise cancelled
