"""Finishing what must not be left half done, cancelled or not."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["uninterrupted"]

_T = TypeVar("_T")


async def uninterrupted(work: Coroutine[Any, Any, _T]) -> _T:
    """Finish `work` even if the caller is cancelled meanwhile; the cancellation passes after it."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # What the work itself raised matters less now; retrieving it keeps asyncio from logging.
        _ = task.cancelled() or task.exception()
        raise cancelled
    return task.result()
