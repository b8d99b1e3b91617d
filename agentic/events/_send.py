"""Sending a record to whoever listens, so that no listener can harm the sender."""

import asyncio
import inspect
import logging
from typing import Any

from blinker import Signal

from agentic.events._signals import Event

__all__ = ["send"]

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
