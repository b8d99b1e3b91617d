"""Finishing what must not be left half done, cancelled or not."""

from collections.abc import Coroutine
from typing import Any

from agentic._lazy import asyncio

__all__ = ["shield"]

_GRACE_SECONDS = 10.0
"""How long work goes on after a cancellation: enough for all but a store that is stalled."""


async def shield(work: Coroutine[Any, Any, None]) -> "asyncio.CancelledError | None":
    """Finish `work` even if the caller is cancelled meanwhile, unless it then takes too long.

    Gives the cancellation, for the caller to raise once it has told of what was done. Work that
    fails raises: its own error, or the cancellation if there was one.
    """
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task}, timeout=_GRACE_SECONDS if cancelled else None)
        except asyncio.CancelledError as error:
            cancelled = error
        else:
            if not task.done():
                task.cancel()
    if cancelled is not None and (task.cancelled() or task.exception()):
        raise cancelled
    task.result()
    return cancelled
