"""A lock for objects that outlive an event loop, such as a View in a script."""

from typing import TYPE_CHECKING

import attrs

from agentic._lazy import asyncio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Lock

__all__ = ["LoopLock"]


@attrs.define(eq=False)
class LoopLock:
    """An asyncio.Lock that serves one event loop after another.

    An asyncio.Lock belongs to the loop in which a task first had to wait for it, and raises
    RuntimeError if one has to wait in any other, such as that of a second `asyncio.run`.
    """

    # Made when it is needed: creating one imports asyncio.
    _lock: "Lock | None" = attrs.field(default=None, init=False)
    _loop: "AbstractEventLoop | None" = attrs.field(default=None, init=False)

    def locked(self) -> bool:
        """Return whether a task holds it."""
        return self._lock is not None and self._lock.locked()

    async def __aenter__(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a coroutine that is driven by hand
            loop = None
        # While it is held in another loop, which runs in another thread, that RuntimeError is due.
        if self._lock is None or not (loop is self._loop or self._lock.locked()):
            self._lock, self._loop = asyncio.Lock(), loop
        await self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()
