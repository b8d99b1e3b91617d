"""Waiting for steps that cannot be stopped midway: a cancellation passes when they are done."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from agentic._lazy import asyncio

__all__ = ["finish", "in_thread"]

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a step where its waiting blocks nobody, and to its end, cancelled or not."""
    return await finish(asyncio.ensure_future(asyncio.to_thread(step, *args, **kwargs)))


async def finish(work: "asyncio.Future[T]", *, grace_seconds: float | None = None) -> T:
    """Wait for what is not to be stopped midway. A cancellation passes only when it is done.

    With a limit it is given that long from the cancellation on, and then stopped.
    """
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work], timeout=grace_seconds if cancelled else None)
        except asyncio.CancelledError as error:
            cancelled = error
        else:
            if not work.done():
                work.cancel()
                grace_seconds = None
    if cancelled is None:
        return work.result()
    if not work.cancelled():
        work.exception()  # nobody else asks, and asyncio would log it
    raise cancelled
