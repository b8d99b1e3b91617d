"""Who is told, who stores, who is asked."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic.context.budget import Manager, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.events import (
    ContextCompactionEnd,
    ContextCompactionStart,
    context_compaction_end,
    context_compaction_start,
)
from agentic.messages import Message
from agentic.testing import EventRecorder
from agentic.tokens import approx_token_counter

N = Policy(0, max_messages=10)


class _Clerk:
    async def compact(self, messages: list[Message], /) -> str:
        return "S"


@attrs.define
class _GuidedClerk(_Clerk):
    """Keeps the instructions that it was given."""

    instructions: list[str] = attrs.field(factory=list)

    async def compact_with(self, messages: list[Message], instructions: str, /) -> str:
        self.instructions.append(instructions)
        return "guided"


def talk(length: int) -> list[Message]:
    """Make messages that are worth a summary."""
    return [Message("assistant", "word " * 100) for _ in range(length)]


async def keep_nowhere(messages: list[Message]) -> None:
    """Store nothing."""


def test_compaction_is_told_before_and_after() -> None:
    """The events say why, how large, what went and what came; the Manager is the sender."""
    manager = Manager(approx_token_counter, _Clerk(), N)
    messages = talk(12)

    with EventRecorder() as recorder:
        done = asyncio.run(manager.compact_if_needed(messages))

    assert recorder.events == [
        ContextCompactionStart(
            run_id="", reason="messages", tokens_before=done.tokens_before, messages=6
        ),
        ContextCompactionEnd(
            run_id="",
            summary=done.summary,
            tokens_before=done.tokens_before,
            tokens_after=done.tokens_after,
            dropped=tuple(messages[:6]),
            reason="messages",
            error=None,
        ),
    ]
    assert recorder.senders == [manager, manager]


def test_failure_is_told_with_its_error() -> None:
    """The end event carries the error and no summary; the sizes are the same."""

    class Failing:
        async def compact(self, messages: list[Message], /) -> str:
            raise OSError("no connection")

    with EventRecorder(context_compaction_end) as recorder:
        asyncio.run(Manager(approx_token_counter, Failing(), N).compact_if_needed(talk(12)))

    (event,) = recorder.of(ContextCompactionEnd)
    assert (event.summary, event.dropped) == (None, ())
    assert isinstance(event.error, OSError)
    assert event.tokens_before == event.tokens_after


def test_nothing_tried_means_nothing_told() -> None:
    """A check that finds nothing to do, or that waits, is no event."""

    class Failing:
        async def compact(self, messages: list[Message], /) -> str:
            raise OSError("no connection")

    manager = Manager(approx_token_counter, Failing(), N)
    messages = talk(12)
    asyncio.run(manager.compact_if_needed(messages))

    with EventRecorder() as recorder:
        asyncio.run(manager.compact_if_needed(talk(5)))
        asyncio.run(manager.compact_if_needed(messages))

    assert recorder.events == []


def test_a_host_gives_sender_and_run() -> None:
    """A Manager that works for a Runner speaks in its name."""
    sender = object()
    host = CompactionTarget(sender, "run 1", keep_nowhere)

    with EventRecorder(sender=sender) as recorder:
        manager = Manager(approx_token_counter, _Clerk(), N)
        asyncio.run(manager.compact_if_needed(talk(12), target=host))

    assert recorder.names == ["context_compaction_start", "context_compaction_end"]
    assert {event.run_id for event in recorder.events} == {"run 1"}


def test_the_host_stores_before_the_end() -> None:
    """The end event reports a state that is stored: exactly what comes back."""
    log: list[Any] = []

    async def store(_: list[Message], history: list[Message]) -> list[Message]:
        log.append(("stored", history))
        return history

    def tell(_: object, event: object) -> None:
        log.append(type(event))

    with (
        context_compaction_start.connected_to(tell),
        context_compaction_end.connected_to(tell),
    ):
        manager = Manager(approx_token_counter, _Clerk(), N)
        done = asyncio.run(
            manager.compact_if_needed(talk(12), target=CompactionTarget("host", "", store))
        )

    assert log == [ContextCompactionStart, ("stored", done.messages), ContextCompactionEnd]


def test_failing_store_means_no_compaction() -> None:
    """What could not be made to last has not happened; it is not tried again at once."""
    manager = Manager(approx_token_counter, _Clerk(), N)
    messages = talk(12)

    async def store(*_: list[Message]) -> list[Message]:
        raise OSError("disk full")

    done = asyncio.run(
        manager.compact_if_needed(messages, target=CompactionTarget("host", "", store))
    )
    again = asyncio.run(
        manager.compact_if_needed(messages, target=CompactionTarget("host", "", store))
    )

    assert done.messages is messages
    assert (done.changed, done.summary, str(done.error)) == (False, None, "disk full")
    assert again.reason is None


def test_cancelling_while_it_is_stored_passes() -> None:
    """Whether the store had finished is the store's word; the end is told with the cancellation."""

    async def store(*_: list[Message]) -> list[Message]:
        await asyncio.sleep(60)
        return []

    async def main() -> None:
        manager = Manager(approx_token_counter, _Clerk(), N)
        async with asyncio.timeout(0.02):
            await manager.compact_if_needed(talk(12), target=CompactionTarget("host", "", store))

    with EventRecorder(context_compaction_end) as recorder, pytest.raises(TimeoutError):
        asyncio.run(main())
    (event,) = recorder.of(ContextCompactionEnd)
    assert isinstance(event.error, asyncio.CancelledError)
    assert event.summary is None


def test_cancelling_at_the_start_still_ends() -> None:
    """A start event is never left without its end event."""
    messages = talk(12)

    async def listen(_: object, **__: object) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        async with asyncio.timeout(0.02):
            await Manager(approx_token_counter, _Clerk(), N).compact_if_needed(messages)

    with (
        EventRecorder(context_compaction_end) as recorder,
        context_compaction_start.connected_to(listen),
        pytest.raises(TimeoutError),
    ):
        asyncio.run(main())
    assert recorder.names == ["context_compaction_end"]


def test_a_guided_compactor_gets_the_instructions() -> None:
    """Instructions reach `compact_with` as they are."""
    clerk = _GuidedClerk()
    manager = Manager(approx_token_counter, clerk, N)

    done = asyncio.run(manager.compact_if_needed(talk(12), instructions="Keep the paths."))

    assert clerk.instructions == ["Keep the paths."]
    assert done.summary is not None
    assert done.summary.content == "guided"


@pytest.mark.parametrize("instructions", [None, ""])
def test_uninstructed_guided_compactor_is_asked_plainly(
    instructions: str | None,
) -> None:
    """No instructions, or empty ones, are none."""
    clerk = _GuidedClerk()
    manager = Manager(approx_token_counter, clerk, N)

    done = asyncio.run(manager.compact_if_needed(talk(12), instructions=instructions))

    assert clerk.instructions == []
    assert done.changed


def test_instructions_do_not_stop_plain_compactor() -> None:
    """A compactor that cannot be guided summarizes as it always does."""
    manager = Manager(approx_token_counter, _Clerk(), N)

    assert asyncio.run(manager.compact_if_needed(talk(12), instructions="Keep paths.")).changed
