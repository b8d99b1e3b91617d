import asyncio
import contextlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic import events
from agentic.context.budget import Policy
from agentic.errors import CompactionRefused, NothingToRestore
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.session import Session
from agentic.testing import EventRecorder, ScriptedDecider
from agentic.tokens import CharCounter

TEXT = "a question with enough words that a summary of six messages pays for itself"
STEPS = st.one_of(
    st.tuples(st.just("say"), st.lists(st.integers(0, 100), min_size=1, max_size=8)),
    st.tuples(st.sampled_from(["due", "demand"]), st.sampled_from(["", "done", "long " * 200])),
    st.tuples(st.just("undo"), st.none()),
)


class _Short:
    """Summarizes in a few words, and counts how often."""

    def __init__(self, summary: str = "done") -> None:
        self.summary = summary
        self.asked = 0

    async def compact(self, messages: list[Message], /) -> str:
        self.asked += 1
        return self.summary


class _Moody:
    """Summarizes as it is told to, and fails where that is nothing."""

    def __init__(self, summary: str = "") -> None:
        self.summary = summary

    async def compact(self, messages: list[Message], /) -> str:
        if not self.summary:
            raise ConnectionError("the model is away")
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
def test_exchange_after_sign_ends_in_summary(policy: Policy, exchanges: int) -> None:
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


def test_next_message_makes_no_second_summary() -> None:
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


def test_due_summary_is_a_session_event() -> None:
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


def test_refused_summary_waits_for_growth() -> None:
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


def test_large_message_after_refusal_tries_again() -> None:
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


def test_successful_demanded_summary_ends_the_waiting() -> None:
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


def test_failed_demand_delays_triggers_and_sign() -> None:
    """After any failure the Manager waits for the context to grow by a twentieth."""
    session = _session(Policy(0, max_messages=10, min_recent_messages=4), _Moody())

    async def chat() -> tuple[bool, str | None]:
        for n in range(8):
            await session.append(Message("assistant" if n % 2 else "user", TEXT))
        await session.summarize()
        promised = (await session.status()).will_trigger
        for role in ("user", "assistant"):
            await session.append(Message(role, ""))
        return promised, (await session.compact_if_due()).reason

    assert asyncio.run(chat()) == (False, None)


def test_undo_frees_window_from_earlier_failure() -> None:
    """What failed was another history; this one is over the window, and nobody tried it yet."""
    compactor = _Moody("done")
    session = _session(Policy(1_500, min_recent_messages=3), compactor)

    async def chat() -> tuple[str | None, str | None]:
        for n in range(6):
            await session.append(Message("assistant" if n % 2 else "user", "Why?"))
        await session.summarize(allow_growth=True)
        compactor.summary = ""
        await session.append(Message("user", TEXT * 20))
        failed = await session.compact_if_due()
        await session.undo()
        return failed.reason, (await session.compact_if_due()).reason

    assert asyncio.run(chat()) == ("window", "window")


@given(
    steps=st.lists(STEPS, max_size=25),
    window=st.sampled_from([0, 1_500]),
    most=st.sampled_from([None, 7, 10]),
    tokens=st.sampled_from([None, 500, 1_400]),
)
@settings(max_examples=50)
def test_what_is_promised_always_happens(
    steps: list[tuple[str, Any]], window: int, most: int | None, tokens: int | None
) -> None:
    """After failures, refusals, low gains and undos, with an exchange as small as can be."""
    compactor = _Moody()
    policy = Policy(window, max_messages=most, max_tokens=tokens, min_recent_messages=3)
    session = _session(policy, compactor)

    async def chat() -> tuple[bool, str | None]:
        for do, what in [("say", [60] * 6), *steps]:
            await _do(session, compactor, do, what)
        promised = (await session.status()).will_trigger
        for role in ("user", "assistant"):
            await session.append(Message(role, ""))
        return promised, (await session.compact_if_due()).reason

    promised, reason = asyncio.run(chat())

    assert promised == (reason is not None)


async def _do(session: Session, compactor: _Moody, do: str, what: Any) -> None:
    if do == "say":
        for length in what:
            await session.append(Message("user", "x" * length))
    elif do == "undo":
        with contextlib.suppress(NothingToRestore):
            await session.undo()
    else:
        compactor.summary = what
        await (session.compact_if_due() if do == "due" else session.summarize())
