"""Waiting for a client that blocks, in threads of its own, so that nobody else waits with it.

The threads are not those of `asyncio.to_thread`: `asyncio.run` waits for them at its end, and a
cancelled run would hang until the provider answers or boto3's read timeout is over (60 s). These
are daemons. One that is left behind ends when its call does, and closes what it brought.
"""

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import attrs

__all__ = ["call", "events"]

_NAME = "agentic-bedrock"


async def call(function: Callable[[], Any]) -> Any:
    """Call a method of the client, which may block or give a coroutine."""
    answer = await _in_thread(function)
    return await answer if inspect.isawaitable(answer) else answer


async def _in_thread(function: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    handed = _Handed()

    def settle(error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def work() -> None:
        problem = None
        try:
            handed.over(function())
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            problem = error
        try:
            loop.call_soon_threadsafe(settle, problem)
        except RuntimeError:  # the loop is closed
            handed.refuse()

    _start(work)
    try:
        await future
    except BaseException:
        handed.refuse()
        raise
    return handed.take()


@attrs.define(eq=False)
class _Handed:
    """What a thread brings. Whoever comes second, it or a refusal, lets go of it.

    To leave that to the loop is not enough: a loop that ends runs no callback any more.
    """

    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _answer: Any = None
    _refused: bool = False

    def over(self, answer: Any) -> None:
        """Hand an answer over."""
        with self._lock:
            self._answer = answer
        if self._refused:
            self.refuse()

    def take(self) -> Any:
        """Take the answer."""
        with self._lock:
            answer, self._answer = self._answer, None
        return answer

    def refuse(self) -> None:
        """Take no answer any more, and let go of the one that is there."""
        with self._lock:
            self._refused = True
        _discard(self.take())


def _start(work: Callable[[], None]) -> None:
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name=_NAME, daemon=True).start()


def _discard(answer: Any) -> None:
    """Let go of an answer that came too late."""
    if inspect.iscoroutine(answer):
        answer.close()
    stream = answer.get("stream") if isinstance(answer, dict) else None
    close = getattr(stream, "close", None)
    if close is not None and not inspect.iscoroutinefunction(close):
        close()


async def events(stream: Any) -> AsyncGenerator[Any, None]:
    """Yield the events of a stream, which may block or be asynchronous, and close it at the end."""
    if not hasattr(stream, "__aiter__"):
        reader = _Reader(stream, asyncio.get_running_loop())
        async with contextlib.aclosing(reader.read()) as items:
            async for event in items:
                yield event
        return
    try:
        async for event in stream:
            yield event
    finally:
        closing = stream.close() if hasattr(stream, "close") else None
        if inspect.isawaitable(closing):
            await closing


@attrs.frozen
class _End:
    """What a reading thread says last."""

    error: BaseException | None = None


@attrs.define(eq=False)
class _Reader:
    """One thread that reads a blocking stream into a queue."""

    stream: Any
    loop: asyncio.AbstractEventLoop
    queue: asyncio.Queue[Any] = attrs.field(init=False, factory=asyncio.Queue)
    left: bool = attrs.field(init=False, default=False)
    """Nobody reads the queue any more."""

    async def read(self) -> AsyncGenerator[Any, None]:
        """Yield the events as they come, and leave the thread when nobody takes them any more."""
        _start(self._work)
        try:
            while not isinstance(item := await self.queue.get(), _End):
                yield item
            if item.error is not None:
                raise item.error
        finally:
            self._leave()

    def _leave(self) -> None:
        """Make the thread end, though it may wait for the next event."""
        self.left = True
        # A close would itself wait until the thread has read on; urllib3 has this for that:
        # https://urllib3.readthedocs.io/en/stable/reference/urllib3.response.html
        shutdown = getattr(getattr(self.stream, "_raw_stream", None), "shutdown", None)
        if shutdown is not None:
            with contextlib.suppress(Exception):
                shutdown()

    def _work(self) -> None:
        end = _End()
        try:
            for event in self.stream:
                if self.left:
                    break
                self._put(event)
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            end = _End(error)
        finally:
            with contextlib.suppress(Exception):
                self.stream.close()
        self._put(end)

    def _put(self, item: Any) -> None:
        try:
            self.loop.call_soon_threadsafe(self.queue.put_nowait, item)
        except RuntimeError:  # the loop is closed
            self.left = True
