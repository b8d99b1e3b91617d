"""Whatever goes wrong changes nothing, and is not tried again at every turn."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from typing import Any

import attrs
import pytest

from agentic.context.budget import Compaction, Manager, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.errors import CompactionRefused
from agentic.events import ContextCompactionEnd, context_compaction_end
from agentic.messages import Message, from_plain, to_plain
from agentic.testing import EventRecorder
from agentic.tokens import CharCounter, count_tokens

# Nothing here takes time but waiting: a limit of 0.05 seconds is not exceeded by a busy machine.
pytestmark = pytest.mark.usefixtures("idle_clock")
LETTERS = CharCounter(1.0)
K = Policy(0, max_tokens=1_000, timeout_seconds=0.05)


@attrs.define
class _Compactor:
    """Does what it is told to, and counts how often."""

    act: Callable[[], Awaitable[Any]]
    calls: int = 0

    async def compact(self, messages: list[Message], /) -> Any:
        self.calls += 1
        return await self.act()


async def _fail() -> str:
    raise OSError("no connection")


async def _hang() -> str:
    await asyncio.sleep(60)
    return "too late"


async def _hang_on() -> str:
    """Be told to stop, and stop a little later."""
    try:
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(0.01)
    return "too late"


async def _cancel_itself() -> str:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)
    return "unreachable"


async def _raise_cancelled() -> str:
    raise asyncio.CancelledError


def answer(content: object) -> Callable[[], Awaitable[Any]]:
    """Make an act that answers with this."""

    async def act() -> Any:
        return content

    return act


def talk(*sizes: int) -> list[Message]:
    """Make replies of these sizes, in tokens."""
    return [Message("assistant", "x" * (size - 4)) for size in sizes]


def compact(compactor: Any, messages: list[Message], **options: Any) -> Compaction:
    """Check a conversation with a Manager of its own."""
    return asyncio.run(Manager(LETTERS, compactor, K).compact_if_needed(messages, **options))


@pytest.mark.parametrize(
    ("act", "error", "text"),
    [
        (_fail, OSError, "no connection"),
        (_hang, TimeoutError, "took longer than 0.05 s"),
        (_hang_on, TimeoutError, "took longer than 0.05 s"),
        (_cancel_itself, CompactionRefused, "the compactor was cancelled"),
        (_raise_cancelled, CompactionRefused, "the compactor was cancelled"),
        (answer(""), CompactionRefused, "which is not a summary"),
        (answer(" \n\t"), CompactionRefused, "which is not a summary"),
        (answer(None), CompactionRefused, "which is not a summary"),
        (answer(b"bytes"), CompactionRefused, "which is not a summary"),
    ],
)
def test_bad_summary_changes_nothing(
    act: Callable[[], Awaitable[Any]], error: type[Exception], text: str
) -> None:
    """The same list object comes back, with the reason and the error."""
    messages = talk(*[100] * 12)
    before = list(messages)

    done = compact(_Compactor(act), messages)

    assert done.messages is messages
    assert messages == before
    assert (done.changed, done.summary, done.dropped) == (False, None, ())
    assert (done.reason, done.tokens_before, done.tokens_after) == ("tokens", 1_200, 1_200)
    assert isinstance(done.error, error)
    assert text in str(done.error)


def test_synchronous_compactor_is_reported() -> None:
    """Where only the call shows that it is not async, that is an error of the compactor."""

    class Plain:
        def compact(self, messages: list[Message], /) -> Any:
            return "not awaitable"

    class Raising:
        def compact(self, messages: list[Message], /) -> Any:
            raise KeyError("at once")

    assert isinstance(compact(Plain(), talk(*[100] * 12)).error, TypeError)
    assert isinstance(compact(Raising(), talk(*[100] * 12)).error, KeyError)


def test_a_compactor_may_edit_its_list() -> None:
    """What the compactor gets is a list of its own."""

    class Emptying:
        async def compact(self, messages: list[Message], /) -> str:
            messages.clear()
            return "S"

    messages = talk(*[100] * 12)

    assert compact(Emptying(), messages).dropped == tuple(messages[:6])


def test_a_summary_is_stripped() -> None:
    """White space around it is not worth tokens."""
    done = compact(_Compactor(answer("\n\n  done \n")), talk(*[100] * 12))

    assert done.summary is not None
    assert done.summary.content == "done"


def test_a_declined_summary_is_no_failure() -> None:
    """Nothing changes, the reason is told, and it is not tried again before the context grew."""
    compactor, messages = _Compactor(answer("x" * 1_000)), talk(*[100] * 12)
    manager = Manager(LETTERS, compactor, K)

    with EventRecorder() as recorder:
        done, later = (asyncio.run(manager.compact_if_needed(messages)) for _ in range(2))

    assert done.messages is messages
    assert (done.changed, done.summary, done.error, done.reason) == (False, None, None, "tokens")
    assert re.fullmatch(r"the summary would be larger .* \(1,\d+ > 600 tokens\)", done.declined)
    assert (later.reason, later.declined, compactor.calls) == (None, "", 1)
    end = recorder.of(ContextCompactionEnd)[0]
    assert (end.summary, end.error, end.declined) == (None, None, done.declined)


def test_force_without_growth_refuses_larger_summaries() -> None:
    """With both sizes, as an error: whoever asked for it has to know that there is none."""
    messages = talk(*[10] * 12)

    done = compact(_Compactor(answer("x" * 1_000)), messages, force=True, allow_growth=False)

    assert done.messages is messages
    assert isinstance(done.error, CompactionRefused)
    assert re.search(r"larger than what it replaces \(1,\d+ > 60 tokens\)", str(done.error))


@pytest.mark.parametrize("length", [1_000, 100_000])
def test_force_takes_an_inflated_summary(length: int) -> None:
    """Whoever forces a compaction gets it, even if the context grows."""
    messages = talk(*[10] * 12)

    done = compact(_Compactor(answer("x" * length)), messages, force=True)

    assert (done.changed, done.error) == (True, None)
    assert done.tokens_after > done.tokens_before
    assert done.tokens_after == count_tokens(done.messages, LETTERS)


@pytest.mark.parametrize("content", ["", None])
def test_force_takes_no_empty_summary(content: str | None) -> None:
    """Dropping messages for nothing is refused under force too."""
    messages = talk(*[10] * 12)

    done = compact(_Compactor(answer(content)), messages, force=True)

    assert done.messages is messages
    assert isinstance(done.error, CompactionRefused)


def test_compaction_must_free_a_token() -> None:
    """A summary exactly as large as what it replaces is refused, one token less is taken."""
    messages = talk(*[100] * 12)
    heading = count_tokens(compact(_Compactor(answer("S")), messages).messages[:1], LETTERS) - 1

    same = compact(_Compactor(answer("x" * (600 - heading))), messages)
    less = compact(_Compactor(answer("x" * (599 - heading))), messages)

    assert (same.changed, less.changed) == (False, True)
    assert less.tokens_after == 1_199


@pytest.mark.parametrize("act", [_hang, _hang_on])
def test_cancelling_passes_and_changes_nothing(
    act: Callable[[], Awaitable[str]],
) -> None:
    """The compactor is told to stop, the end is told as an event, CancelledError passes."""
    messages = talk(*[100] * 12)
    before = list(messages)
    stored: list[list[Message]] = []

    async def store(_: list[Message], history: list[Message]) -> list[Message]:
        stored.append(history)
        return history

    async def main() -> None:
        manager = Manager(LETTERS, _Compactor(act), Policy(0, max_tokens=1_000))
        host = CompactionTarget(manager, "run", store)
        call = asyncio.create_task(manager.compact_if_needed(messages, target=host))
        await asyncio.sleep(0.01)
        call.cancel()
        await call

    with EventRecorder() as recorder, pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert recorder.names == ["context_compaction_start", "context_compaction_end"]
    assert isinstance(recorder.events[-1].error, asyncio.CancelledError)  # type: ignore[attr-defined]
    assert (messages, stored) == (before, [])


def test_a_dropped_call_is_told_as_ended() -> None:
    """An owner that closes its event loop closes the coroutine, which is no cancellation.

    A coroutine that is closed may not wait: receivers that do are called in a task of their own.
    """
    heard: list[BaseException | None] = []

    async def hear(_: object, event: ContextCompactionEnd) -> None:
        await asyncio.sleep(0)
        heard.append(event.error)

    async def main() -> None:
        manager = Manager(LETTERS, _Compactor(_hang), Policy(0, max_tokens=1_000))
        call = manager.compact_if_needed(talk(*[100] * 12))
        call.send(None)
        call.close()
        await asyncio.sleep(0.01)

    with EventRecorder() as recorder, context_compaction_end.connected_to(hear):
        asyncio.run(main())
    assert [type(error) for error in heard] == [GeneratorExit]
    assert recorder.names == ["context_compaction_start", "context_compaction_end"]
    assert isinstance(recorder.of(ContextCompactionEnd)[0].error, GeneratorExit)


def test_a_cancelled_call_causes_no_backoff() -> None:
    """The next check tries again at once."""
    compactor = _Compactor(_hang)
    manager = Manager(LETTERS, compactor, Policy(0, max_tokens=1_000, timeout_seconds=None))
    messages = talk(*[100] * 12)

    async def main() -> Compaction:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await manager.compact_if_needed(messages)
        compactor.act = answer("S")
        return await manager.compact_if_needed(messages)

    assert asyncio.run(main()).changed


def test_a_failure_waits_for_growth() -> None:
    """At 5 % more the next attempt comes, and every failure moves the mark."""
    compactor = _Compactor(_fail)
    manager = Manager(LETTERS, compactor, K)
    messages = talk(*[100] * 20)
    seen = []

    for _ in range(12):
        done = asyncio.run(manager.compact_if_needed(messages))
        seen.append((done.tokens_before, done.reason))
        messages = [*messages, *talk(25)]

    assert [tokens for tokens, reason in seen if reason] == [2_000, 2_100, 2_225]
    assert compactor.calls == 3


def test_force_does_not_wait() -> None:
    """A forced compaction is tried whatever happened before."""
    compactor = _Compactor(_fail)
    manager = Manager(LETTERS, compactor, K)
    messages = talk(*[100] * 20)
    asyncio.run(manager.compact_if_needed(messages))
    compactor.act = answer("S")

    assert not asyncio.run(manager.compact_if_needed(messages)).changed
    assert asyncio.run(manager.compact_if_needed(messages, force=True)).changed


def test_waiting_does_not_hide_the_overflow() -> None:
    """A context over the window is never passed off as one that fits."""
    manager = Manager(LETTERS, _Compactor(_fail), Policy(1_000))
    messages = talk(*[100] * 20)

    first, second = (asyncio.run(manager.compact_if_needed(messages)) for _ in range(2))

    assert (first.reason, first.fits) == ("window", False)
    assert (second.reason, second.fits, second.error) == (None, False, None)


def test_each_conversation_waits_for_itself() -> None:
    """However often one of them fails, what is known of the other is not forgotten."""
    compactor = _Compactor(_fail)
    manager = Manager(LETTERS, compactor, K)
    calm, busy = talk(*[100] * 20), [Message("user", "?"), *talk(*[100] * 20)]
    asyncio.run(manager.compact_if_needed(calm))

    for _ in range(6):
        busy = [*busy, *talk(200)]
        asyncio.run(manager.compact_if_needed(busy))

    assert compactor.calls == 7
    assert asyncio.run(manager.compact_if_needed(calm)).reason is None


def test_two_low_gains_wait_for_growth() -> None:
    """The state rides on the summary: it holds for another Manager, after a resume."""
    messages = [Message("user", "x" * 20_000, pinned=True), *talk(*[100] * 12)]
    attempts: list[Compaction] = []

    while len(attempts) < 3:
        # A new Manager, and messages that come from a store.
        done = compact(_Compactor(answer("S")), [from_plain(to_plain(m)) for m in messages])
        attempts += [done] if done.reason else []
        messages = [*done.messages, *talk(100)]

    first, second, third = attempts
    assert second.tokens_before < 1.1 * first.tokens_after
    assert 0 <= third.tokens_before - 1.1 * second.tokens_after < 100


def test_a_gain_ends_the_waiting() -> None:
    """After a compaction that freed enough the next one comes when it is due."""
    pinned = Message("user", "x" * 20_000, pinned=True)
    compactor = _Compactor(answer("S"))
    messages = [pinned, *talk(*[100] * 12)]
    for _ in range(2):
        messages = [*compact(compactor, messages).messages, *talk(*[100] * 6)]
    messages = compact(compactor, [*messages, *talk(*[5_000] * 12)]).messages

    assert compact(compactor, [*messages, *talk(*[100] * 4)]).changed


def test_a_fork_does_not_disturb_the_wait() -> None:
    """Two that share their start, as a fork does, are compacted each by its own size."""
    shared = talk(*[100] * 12)
    long = talk(*[10_000] * 3)

    async def main() -> Compaction:
        arrived, go_on = asyncio.Event(), asyncio.Event()

        async def wait() -> str:
            arrived.set()
            await go_on.wait()
            return "x" * 2_000

        manager = Manager(LETTERS, _Compactor(wait), Policy(0, max_tokens=1_200))
        call = asyncio.create_task(manager.compact_if_needed(shared))
        await arrived.wait()
        manager._token_cache.sizes([*shared, *long])  # type: ignore[union-attr]
        go_on.set()
        return await call

    done = asyncio.run(main())

    assert "larger than what it replaces" in done.declined
    assert (done.tokens_before, done.tokens_after) == (1_200, 1_200)
