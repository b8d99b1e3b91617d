"""Finishing what must not be left half done, cancelled or not."""

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["uninterrupted"]


async def uninterrupted(work: Coroutine[Any, Any, None]) -> asyncio.CancelledError | None:
    """Finish `work` even if the caller is cancelled meanwhile.

    Gives the cancellation, for the caller to raise once it has told of what was done. Work that
    fails raises: its own error, or the cancellation if there was one.
    """
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None and (task.cancelled() or task.exception()):
        raise cancelled
    task.result()
    return cancelled
