"""Sending a record to whoever listens, so that no listener can harm the sender."""

import inspect
import logging
from collections.abc import Awaitable, Coroutine
from typing import Any

from blinker import Signal

from agentic._lazy import asyncio
from agentic.events._signals import Event

__all__ = ["send", "send_sync"]

_log = logging.getLogger(__name__)


async def send(signal: Signal, sender: object, record: type[Event], **fields: Any) -> None:
    """Build the record if somebody listens, and hand it to each in turn.

    A receiver that raises is logged; the others still hear of it. A cancellation of the sender
    passes.
    """
    if signal.is_muted:
        return
    event: Event | None = None
    for receiver in signal.receivers_for(sender):
        if event is None:
            event = record(**fields)
        try:
            answer = receiver(sender, event=event)
            if inspect.isawaitable(answer):
                await answer
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            _log.exception("a receiver of %s raised; the run goes on", record.__name__)


def send_sync(signal: Signal, sender: object, record: type[Event], **fields: Any) -> None:
    """Do what `send` does, where nobody awaits.

    What an async receiver has to do is done before this returns, or, where an event loop is
    running, in a task of that loop.
    """
    if signal.is_muted:
        return
    event: Event | None = None
    waiting: list[Awaitable[Any]] = []
    for receiver in signal.receivers_for(sender):
        if event is None:
            event = record(**fields)
        try:
            answer = receiver(sender, event=event)
        except Exception:  # noqa: BLE001  a receiver is anybody's code
            _log.exception("a receiver of %s raised; the run goes on", record.__name__)
        else:
            waiting += [answer] if inspect.isawaitable(answer) else []
    if waiting:
        _run(_wait_for(waiting, record.__name__))


async def _wait_for(waiting: list[Awaitable[Any]], name: str) -> None:
    for answer in waiting:
        try:
            await answer
        except Exception:  # noqa: BLE001  a receiver is anybody's code
            _log.exception("a receiver of %s raised; the run goes on", name)


_sending: "set[asyncio.Task[None]]" = set()
"""The loop holds its tasks only weakly: https://docs.python.org/3/library/asyncio-task.html."""


def _run(work: Coroutine[Any, Any, None]) -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    task = loop.create_task(work)
    _sending.add(task)
    task.add_done_callback(_sending.discard)
