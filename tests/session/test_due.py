import asyncio
from typing import Any

import pytest

from agentic import events
from agentic.context.budget import Policy
from agentic.errors import CompactionRefused
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.session import Session
from agentic.testing import EventRecorder, ScriptedDecider
from agentic.tokens import CharCounter

TEXT = "a question with enough words that a summary of six messages pays for itself"


class _Short:
    """Summarizes in a few words, and counts how often."""

    def __init__(self, summary: str = "done") -> None:
        self.summary = summary
        self.asked = 0

    async def compact(self, messages: list[Message], /) -> str:
        self.asked += 1
        return self.summary


def _session(policy: Policy, compactor: Any = None, **options: Any) -> Session:
    options = {"counter": CharCounter(1), "compactor": compactor or _Short(), **options}
    return Session("abc123", MemoryStore(), policy=policy, **options)


@pytest.mark.parametrize(
    ("policy", "exchanges"),
    [
        (Policy(0, max_messages=10, min_recent_messages=4), 5),
        (Policy(0, max_messages=30), 15),
        (Policy(0, max_tokens=795, min_recent_messages=4), 6),
    ],
)
def test_the_exchange_after_the_sign_ends_with_a_summary(policy: Policy, exchanges: int) -> None:
    """What `will_trigger` promises of the next message holds when that has its reply."""
    session = _session(policy)

    async def chat() -> list[tuple[bool, bool]]:
        runner = session.runner(ScriptedDecider(*[TEXT] * exchanges))
        seen = []
        for _ in range(exchanges):
            promised = (await session.status()).will_trigger
            await runner.run(TEXT)
            await session.compact_if_due()
            seen.append((promised, (await session.status()).summary is not None))
        return seen

    assert asyncio.run(chat()) == [(False, False)] * (exchanges - 1) + [(True, True)]


def test_the_next_message_after_a_summary_at_the_end_of_an_exchange_makes_no_other() -> None:
    """And it sees the summary, and what was kept."""
    session = _session(Policy(0, max_messages=10, min_recent_messages=4))
    decider = ScriptedDecider(*[TEXT] * 6)

    async def chat() -> None:
        runner = session.runner(decider)
        for _ in range(6):
            await runner.run(TEXT)
            await session.compact_if_due()

    asyncio.run(chat())

    assert [len(request.history) for request in decider.requests] == [1, 3, 5, 7, 9, 6]
    assert decider.requests[5].history[0].summary is not None


def test_a_summary_that_is_due_is_told_as_an_event_of_the_session() -> None:
    """The sender is the session, since no run is going on."""
    session = _session(Policy(0, max_messages=10, min_recent_messages=4))

    async def fill() -> None:
        for n in range(10):
            await session.append(Message("assistant" if n % 2 else "user", TEXT))
        await session.compact_if_due()

    with EventRecorder(sender=session) as recorder:
        asyncio.run(fill())

    [end] = recorder.of(events.ContextCompactionEnd)
    assert (end.reason, len(end.dropped)) == ("messages", 6)


def test_nothing_is_due_without_automatic_summaries() -> None:
    """Only somebody who asks gets one."""
    session = _session(Policy(0, max_messages=10), auto_summarize=False)

    async def fill() -> bool:
        for n in range(20):
            await session.append(Message("assistant" if n % 2 else "user", TEXT))
        return (await session.compact_if_due()).changed

    assert not asyncio.run(fill())


def test_a_summary_that_was_refused_is_not_announced_nor_tried_at_every_turn() -> None:
    """Until the context has grown by a quarter; then once more."""
    compactor = _Short("a summary that is far longer than what it stands for " * 9)
    session = _session(Policy(0, max_messages=10, min_recent_messages=4), compactor)

    async def chat(exchanges: int) -> list[tuple[bool, bool]]:
        runner = session.runner(ScriptedDecider(*["Yes."] * exchanges))
        seen = []
        for n in range(exchanges):
            promised, asked = (await session.status()).will_trigger, compactor.asked
            await runner.run(f"Why {n}?")
            done = await session.compact_if_due()
            assert done.error is None or isinstance(done.error, CompactionRefused)
            seen.append((promised, compactor.asked > asked))
        return seen

    seen = asyncio.run(chat(12))

    assert [attempted for _, attempted in seen[:7]] == [False] * 4 + [True, False, True]
    assert sum(attempted for _, attempted in seen) <= 5
    assert not any(promised and not attempted for promised, attempted in seen)


def test_a_large_message_after_a_refusal_is_a_reason_to_try_again() -> None:
    """What counts is how much the context has grown, not for how long."""
    compactor = _Short("a summary that is far longer than what it stands for " * 9)
    session = _session(Policy(0, max_messages=10, min_recent_messages=4), compactor)

    async def chat(*texts: str) -> int:
        for text in texts:
            await session.append(Message("user", text))
            await session.compact_if_due()
        return compactor.asked

    assert asyncio.run(chat(*["Why?"] * 11)) == 1
    assert asyncio.run(chat(TEXT)) == 2


def test_a_summary_that_succeeds_by_demand_ends_the_waiting() -> None:
    """From then on the triggers count as ever."""
    compactor = _Short("a summary that is far longer than what it stands for " * 9)
    session = _session(Policy(0, max_messages=10, min_recent_messages=4), compactor)

    async def chat() -> list[bool]:
        seen = []
        for n in range(22):
            await session.append(Message("assistant" if n % 2 else "user", "Why?"))
            if n == 9:
                await session.compact_if_due()
                compactor.summary = "d"
                await session.summarize()
            seen.append((await session.status()).will_trigger)
        return seen

    assert asyncio.run(chat())[17]
