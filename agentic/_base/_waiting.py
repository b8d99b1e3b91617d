"""What waits in one event loop after another, and what a cancellation must not stop midway."""

import functools
import os
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import attrs

from agentic._base._lazy import asyncio, futures

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Lock

P = ParamSpec("P")
T = TypeVar("T")

MOST_IN_LOOP = 32
"""How many messages may be read, counted or summarized in the event loop. Each takes 0.1 to 0.3 ms
when it is seen for the first time, so that these take as long as the loop needs for one small
request; to go to a thread and back takes 0.1 ms."""
LONG = 4_096
"""From this number of messages on, a history is looked at in a thread even if all of it is known:
to compare it, or to begin a new epoch with it, takes up to 10 us for each."""


_COMPUTES_HERE: ContextVar[bool] = ContextVar("agentic_computes_here", default=False)


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


@attrs.define(eq=False)
class SerialThread:
    """A thread of one object, begun when it is first needed: its steps never overlap."""

    _pool: "futures.ThreadPoolExecutor | None" = attrs.field(default=None, init=False)
    _process: int = attrs.field(default=0, init=False)
    _latest: "futures.Future[Any] | None" = attrs.field(default=None, init=False)

    @property
    def is_idle(self) -> bool:
        """Return whether nobody waits for a step."""
        return self._latest is None or self._latest.done()

    async def run(self, step: Callable[[], T]) -> T:
        """Run a step to its end, after those before it, cancelled or not."""
        work = self.submit(step)
        self._latest = work
        return await finish(asyncio.wrap_future(work))

    def submit(self, step: Callable[[], T]) -> "futures.Future[T]":
        """Have a step run after those before it, whether or not anybody waits for it."""
        # A forked child has a copy of the pool but not its thread, and would wait for ever.
        if self._pool is None or self._process != os.getpid():
            self._pool = futures.ThreadPoolExecutor(1, "agentic-history")
            self._process = os.getpid()
        return self._pool.submit(step)

    def close(self) -> None:
        """End the thread; another is begun if there are more steps."""
        pool, self._pool = self._pool, None
        if pool:
            pool.shutdown()


async def in_thread(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a step to its end in a thread, where waiting blocks nothing else, cancelled or not."""
    return await finish(asyncio.ensure_future(asyncio.to_thread(step, *args, **kwargs)))


def is_loop_running() -> bool:
    """Return whether an event loop is running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def computing_here() -> Iterator[None]:
    """Run all steps that compute in the event loop: its owner has nothing else to do.

    A replay makes thousands of requests in a row, and would wait for a thread at each of them.
    """
    token = _COMPUTES_HERE.set(True)
    try:
        yield
    finally:
        _COMPUTES_HERE.reset(token)


def goes_off_loop(size: int) -> bool:
    """Return whether a step that computes for so many messages runs in a thread."""
    return size > MOST_IN_LOOP and not _COMPUTES_HERE.get() and is_loop_running()


async def off_loop(size: int, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a step that computes: for a few messages here, for more in a thread.

    Everybody else in the event loop would wait for it. Without a loop, as where a coroutine is
    driven by hand, it runs here.
    """
    if goes_off_loop(size):
        return await in_thread(step, *args, **kwargs)
    return step(*args, **kwargs)


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
    cancellation: asyncio.CancelledError | None = None
    while not work.done():
        try:
            # Unlike `await work`, wait() leaves the work alone when the waiting task is cancelled.
            await asyncio.wait([work], timeout=grace_seconds if cancellation else None)
        except asyncio.CancelledError as error:
            cancellation = error
        else:
            if not work.done():
                work.cancel()
                # The loop goes on: a cancelled task still has its `finally` blocks to run.
                grace_seconds = None
    if cancellation is None:
        return work.result()
    if not work.cancelled():
        work.exception()  # otherwise asyncio would log that it was never retrieved
    raise cancellation
