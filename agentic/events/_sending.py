"""How an event reaches its receivers: one after another, and none of them stops the others.

Neither blinker nor the records are loaded here: whoever sends has them.
"""

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from agentic._base._lazy import asyncio, logging

if TYPE_CHECKING:
    from blinker import Signal

    from agentic.events._signals import Event

_sending: "set[asyncio.Task[None]]" = set()
"""Keeps tasks alive: the loop holds only weak references to them
(https://docs.python.org/3/library/asyncio-task.html)."""


async def send(signal: "Signal", sender: object, record: "type[Event]", **fields: Any) -> None:
    """Create the record if there are receivers, and pass it to one after another.

    If a receiver raises, this is logged, and the others are still called. A cancellation of the
    sender is raised once all have been called.
    """
    # Not Signal.send_async(): there, the first receiver that raises silences the others.
    if signal.is_muted:
        return
    event: Event | None = None
    cancellation: asyncio.CancelledError | None = None
    # One by one: whoever disconnects while another is awaited hears nothing more.
    for receiver in signal.receivers_for(sender):
        if event is None:  # only now: where nobody listens, an event costs nothing
            event = record(**fields)
        # The others are called all the same: whoever heard of a start has to hear of its end, which
        # may be the last event of a run.
        cancellation = await _finish(_call(receiver, sender, event), event) or cancellation
    if cancellation is not None:
        raise cancellation


def send_sync(signal: "Signal", sender: object, record: "type[Event]", **fields: Any) -> None:
    """Do what `send` does, from sync code.

    The work of async receivers is done before this returns or, if an event loop is running, in a
    task of that loop.
    """
    if signal.is_muted:
        return
    event: Event | None = None
    waiting: list[Awaitable[Any]] = []
    for receiver in signal.receivers_for(sender):
        if event is None:
            event = record(**fields)
        answer = _call(receiver, sender, event)
        waiting += [answer] if inspect.isawaitable(answer) else []
    if event is not None and waiting:
        # Together: without a running loop, each asyncio.run would make a new one.
        _run(_finish_all(waiting, event))


def _call(receiver: Callable[..., Any], sender: object, event: "Event") -> object:
    """Call a receiver and return its answer; if it raises, log this and return None."""
    try:
        return receiver(sender, event=event)
    # A task is cancelled only where it waits, so a CancelledError is the receiver's own.
    except (Exception, asyncio.CancelledError):  # noqa: BLE001  anybody's code
        _log_error(event)
        return None


async def _finish(answer: object, event: "Event") -> "asyncio.CancelledError | None":
    """Wait for an async receiver; if it raises, log this. Return a cancellation of this task."""
    try:
        if inspect.isawaitable(answer):
            await answer
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001  anybody's code
        # A receiver may raise CancelledError by itself: only one for this task is passed on.
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
            return error
        _log_error(event)
    return None


async def _finish_all(waiting: list[Awaitable[Any]], event: "Event") -> None:
    cancellation: asyncio.CancelledError | None = None
    # To the end, even if cancelled: a coroutine that nobody awaits is a RuntimeWarning.
    for answer in waiting:
        cancellation = await _finish(answer, event) or cancellation
    if cancellation is not None:
        raise cancellation


def _log_error(event: "Event") -> None:
    log = logging.getLogger("agentic.events")
    # Called where the exception is caught.
    log.exception("a receiver of %s raised; the run goes on", type(event).__name__)  # noqa: LOG004


def _run(work: Coroutine[Any, Any, None]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    # The caller has this very loop, so it cannot wait here for what the loop does.
    task = loop.create_task(work)
    _sending.add(task)
    task.add_done_callback(_sending.discard)
