"""The events of a run, for watchers in any process."""

import contextlib
import functools
import logging
import os
from collections.abc import Callable
from typing import Any

import attrs

from agentic import events
from agentic._base._lazy import asyncio
from agentic.durable.dbos._tables import Tables

_log = logging.getLogger(__name__)
_PAUSE_SECONDS = 0.1
_MOST_CHARS = 2_000
"""Of a tool's output. The whole is in the session."""


@attrs.define(eq=False)
class Feed:
    """Stores the events of one attempt, a few times a second.

    An event has a key in its run, which is the same in every attempt, so that a replay adds
    nothing. Pieces of a reply are numbered by attempt: a decision that is made again is streamed
    again.
    """

    tables: Tables
    run_id: str
    _waiting: list[tuple[str, dict[str, Any]]] = attrs.field(init=False, factory=list)
    _numbers: dict[str, int] = attrs.field(init=False, factory=dict)
    _attempt: str = attrs.field(init=False, factory=lambda: os.urandom(4).hex())
    _receivers: list[tuple[Any, Any]] = attrs.field(init=False, factory=list)
    _is_over: "asyncio.Event" = attrs.field(init=False, factory=asyncio.Event)

    def connect(self, runner: object) -> None:
        """Listen to a Runner."""
        for signal, describe in _EVENTS.items():
            receiver = functools.partial(self._receive, describe)
            events_signal = getattr(events, signal)
            events_signal.connect(receiver, sender=runner, weak=False)
            self._receivers.append((events_signal, receiver))

    def disconnect(self) -> None:
        """Stop listening; what has arrived is still written."""
        for signal, receiver in self._receivers:
            signal.disconnect(receiver)
        self._is_over.set()

    def add(self, body: dict[str, Any]) -> None:
        """Add one event."""
        delta = body["type"] == "message_update"
        # Not one count for all: calls that run side by side end in another order in a replay.
        kind = self._attempt if delta else f"{body['type']}/{body.get('call_id', '')}"
        if delta and self._waiting and self._waiting[-1][1]["type"] == "message_update":
            self._waiting[-1][1]["delta"] += body["delta"]  # one row for all of a moment
            return
        number = self._numbers.get(kind, 0)
        self._numbers[kind] = number + 1
        self._waiting.append((f"{kind}/{number}", body))

    async def write(self) -> None:
        """Store events until `disconnect`, and then the latest ones."""
        # By one task: two could store their rows in the wrong order, and whoever watches asks for
        # what follows the latest row.
        while not self._is_over.is_set():
            await self.flush()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._is_over.wait(), _PAUSE_SECONDS)
        await self.flush()

    async def flush(self) -> None:
        """Store what has arrived. A failure costs watchers some events, and the run nothing."""
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        try:
            await asyncio.to_thread(self.tables.add_events, self.run_id, batch)
        except Exception as problem:  # noqa: BLE001  the run goes on
            _log.warning("%d events of run %s are lost: %s", len(batch), self.run_id, problem)

    def _receive(self, describe: Callable[[Any], dict[str, Any]], _: object, *, event: Any) -> None:
        if event.run_id == self.run_id:
            self.add(describe(event))


def _describe_end(event: Any) -> dict[str, Any]:
    result = event.result
    return {
        "type": "tool_execution_end",
        "call_id": event.call.id,
        "name": event.call.name,
        "output": result.output[:_MOST_CHARS],
        "error": result.error.message if result.error else "",
    }


def _describe_start(event: Any) -> dict[str, Any]:
    call = event.call
    return {
        "type": "tool_execution_start",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments[:_MOST_CHARS],
    }


def _describe_message(event: Any) -> dict[str, Any]:
    message = event.message
    return {"type": "message_end", "role": message.role, "content": message.content}


def _describe_compaction(event: Any) -> dict[str, Any]:
    return {
        "type": "context_compaction_end",
        "reason": event.reason,
        "tokens_before": event.tokens_before,
        "tokens_after": event.tokens_after,
        "dropped": len(event.dropped),
        "problem": str(event.error or event.declined)[:_MOST_CHARS],
    }


def _describe_epoch(event: Any) -> dict[str, Any]:
    return {
        "type": "epoch_start",
        "changes": list(event.changes),
        "reused_tokens": event.reused_tokens,
        "tokens": event.tokens,
    }


_EVENTS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "turn_start": lambda event: {"type": "turn_start", "turn": event.turn},
    "message_update": lambda event: {"type": "message_update", "delta": event.delta},
    "message_end": _describe_message,
    "tool_execution_start": _describe_start,
    "tool_execution_end": _describe_end,
    "context_compaction_end": _describe_compaction,
    "epoch_start": _describe_epoch,
}
