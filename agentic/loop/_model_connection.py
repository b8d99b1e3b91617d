"""The model that a run asks: one request at a time, reported together with how it ended."""

import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import attrs

from agentic._lazy import events
from agentic._protocols import Decision, Input
from agentic.errors import ConfigError, IncompleteReply
from agentic.loop._conversation import EventSender

__all__ = ["ModelConnection"]


@attrs.frozen(kw_only=True)
class ModelConnection:
    """A decider, and what events say of it."""

    decide: Callable[[Input], Awaitable[Decision]]
    stream: Callable[[Input], AsyncIterator[str | Decision]] | None
    """Used instead of `decide` if it is present."""
    provider: str
    name: str
    """The model that is asked for; empty if the decider does not say."""
    conversation_id: str

    async def ask(self, request: Input, attempt: int, event_sender: EventSender) -> Decision:
        """Ask the model, and report the request and how it ended."""
        started, decision, error = time.monotonic(), None, None
        try:
            await event_sender.send(
                events.model_request_start,
                events.ModelRequestStart,
                request=request,
                attempt=attempt,
                streamed=self.stream is not None,
                provider=self.provider,
                request_model=self.name,
                conversation_id=self.conversation_id,
            )
            decision = await self._decide(request, event_sender)
        # A cancellation, too, is an error that the end event reports.
        except BaseException as raised:
            error = raised
            raise
        finally:
            await event_sender.send(
                events.model_request_end,
                events.ModelRequestEnd,
                decision=decision,
                attempt=attempt,
                seconds=time.monotonic() - started,
                error=error,
            )
        return decision

    async def _decide(self, request: Input, event_sender: EventSender) -> Decision:
        if self.stream is not None:
            return await _watch(self.stream(request), event_sender)
        deciding = self.decide(request)
        if not inspect.isawaitable(deciding):
            raise ConfigError(
                "the decider", deciding, "a decider whose decide is async", "write async def decide"
            )
        return _decision(await deciding)


async def _watch(stream: AsyncIterator[str | Decision], event_sender: EventSender) -> Decision:
    """Report the pieces of a reply as they arrive, and return the Decision."""
    received = []
    async with contextlib.AsyncExitStack() as stack:
        # A stream that is left in the middle would keep its connection until it is collected.
        if hasattr(stream, "aclose"):
            stack.push_async_callback(stream.aclose)
        async for item in stream:
            if not isinstance(item, str):
                return _decision(item)
            received.append(item)
            await event_sender.send(events.message_update, events.MessageUpdate, delta=item)
    # A stream that ends without a Decision was cut off: what came is not a reply to be stored.
    raise IncompleteReply("".join(received))


def _decision(given: object) -> Decision:
    if not isinstance(given, Decision):
        raise ConfigError(
            "the decider's answer", given, "a loop.Decision", "return Decision(reply=...)"
        )
    return given
