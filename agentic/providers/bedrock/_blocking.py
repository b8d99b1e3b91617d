"""Wait for a blocking client in daemon threads, so that the event loop is not blocked.

`asyncio.to_thread` is not used: `asyncio.run` waits for its threads at the end, so a cancelled run
would hang until the provider answers or boto3's read timeout expires (60 s). An abandoned daemon
thread ends when its call returns, and closes the response.
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
    """Call a method of the client, which may block or return a coroutine."""
    answer = await _in_thread(function)
    return await answer if inspect.isawaitable(answer) else answer


async def _in_thread(function: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    handed = _Handed()

    def settle(error: BaseException | None) -> None:
        # Cancelled while the thread was waiting.
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def work() -> None:
        problem: BaseException | None = None
        try:
            handed.over(function())
        except StopIteration as error:  # no future takes one; a coroutine raises this instead
            problem = RuntimeError("the client's method raised StopIteration")
            problem.__cause__ = error
        except BaseException as error:  # noqa: BLE001  it is raised where it is waited for
            problem = error
        try:
            loop.call_soon_threadsafe(settle, problem)
        except RuntimeError:  # the loop is closed
            handed.refuse()

    _start(work)
    try:
        await future
    # A cancellation as well: the answer will not be taken any more.
    except BaseException:
        handed.refuse()
        raise
    return handed.take()


@attrs.define(eq=False)
class _Handed:
    """Holds a thread's answer until it is taken, or discards it if it is refused.

    The answer may arrive before or after the refusal; the later of the two discards it. A callback
    on the loop could not do that, since a loop that is closing runs no more callbacks.
    """

    _lock: threading.Lock = attrs.field(factory=threading.Lock)
    _answer: Any = None
    _refused: bool = False

    def over(self, answer: Any) -> None:
        """Store the answer; discard it if it was refused."""
        with self._lock:
            self._answer = answer
        if self._refused:
            self.refuse()

    def take(self) -> Any:
        """Return the answer and forget it."""
        with self._lock:
            answer, self._answer = self._answer, None
        return answer

    def refuse(self) -> None:
        """Refuse later answers, and discard the one that has arrived, if any."""
        with self._lock:
            self._refused = True
        _discard(self.take())


def _start(work: Callable[[], None]) -> None:
    # As `asyncio.to_thread` does.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name=_NAME, daemon=True).start()


def _discard(answer: Any) -> None:
    """Close an answer that arrived too late."""
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
    """The last item that a reading thread puts into the queue."""

    error: BaseException | None = None


@attrs.define(eq=False)
class _Reader:
    """One thread that reads a blocking stream into a queue."""

    stream: Any
    loop: asyncio.AbstractEventLoop
    queue: asyncio.Queue[Any] = attrs.field(init=False, factory=asyncio.Queue)
    left: bool = attrs.field(init=False, default=False)
    """Whether the queue is no longer read."""

    async def read(self) -> AsyncGenerator[Any, None]:
        """Yield events as they arrive; stop the thread when the caller stops reading."""
        _start(self._work)
        try:
            while not isinstance(item := await self.queue.get(), _End):
                yield item
            if item.error is not None:
                raise item.error
        finally:
            self._leave()

    def _leave(self) -> None:
        """Stop the thread, even if it is waiting for the next event."""
        self.left = True
        # `close` would wait until the thread's pending read returns; urllib3's `shutdown` does not:
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
