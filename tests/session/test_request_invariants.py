import asyncio
from collections import Counter

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import Prepared
from agentic.history import MemoryStore
from agentic.messages import Message, close_open_rounds, split_rounds
from agentic.messages._landmarks import find_task, prefix_length
from agentic.session import Session
from agentic.testing import conversations
from agentic.tokens import CharCounter, count_tokens

COUNTER = CharCounter(1.0)
PROMPT = "Be brief."
WINDOWS = st.integers(40, 3_000)


class _Short:
    """Summarizes in one word."""

    async def compact(self, messages: list[Message], /) -> str:
        return "done"


def _session(window: int, least: int, *, auto: bool = False) -> Session:
    policy = Policy(window, window // 4, window // 4, max_messages=12, min_recent_messages=least)
    return Session(
        "s",
        MemoryStore(),
        counter=COUNTER,
        policy=policy,
        compactor=_Short(),
        auto_summarize=auto,
    )


TALKS = conversations().map(lambda talk: [attrs.evolve(message, usage=None) for message in talk])
"""What a made-up usage says of a size is not what the counter counts."""


def _count(sent: list[Message]) -> int:
    """Count a request; the system prompt that the session adds is no message of the history."""
    return COUNTER.count(PROMPT) + count_tokens(sent[1:], COUNTER, tokens_per_media=None)


async def _talk(session: Session, messages: list[Message]) -> list[Prepared]:
    for message in messages:
        await session.append(message)
    return [await session.prepare(PROMPT), await session.prepare(PROMPT)]


def _ids(messages: list[Message]) -> Counter[int]:
    return Counter(map(id, messages))


@given(messages=TALKS, window=WINDOWS, least=st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_request_keeps_essentials_or_says_so(
    messages: list[Message], window: int, least: int
) -> None:
    """Pairs are whole, fixed messages are there, and it is within the window or says it is not."""
    session = _session(window, least)

    made, again = asyncio.run(_talk(session, messages))

    sent, told = made.messages, {note.kind for note in made.notes}
    assert close_open_rounds(sent) is sent
    assert made.tokens == _count(sent)
    assert made.fits == (made.tokens <= session.policy.available_tokens)
    assert made.fits == ("over_window" not in told)
    assert again.messages == sent
    assert asyncio.run(session.store.full()) == messages
    closed = close_open_rounds(asyncio.run(session._archive.load()))
    must = [closed[at] for at in find_task(closed)[-1:]]
    must += [m for m in closed[: prefix_length(closed)] if m.summary is None]
    must += [m for r in split_rounds(closed) if r.pinned for m in r.messages]
    assert {_said(message) for message in must} <= {_said(message) for message in sent}


@given(messages=conversations(damaged=False), window=WINDOWS, least=st.integers(1, 7))
@settings(max_examples=50, deadline=None)
def test_missing_recent_messages_are_always_told(
    messages: list[Message], window: int, least: int
) -> None:
    """Never fewer than the policy's recent messages, in whole rounds, or a note tells of it."""
    made, _ = asyncio.run(_talk(_session(window, least), messages))

    told = {note.kind for note in made.notes}
    rest = messages[prefix_length(messages) :]
    recent = [said for said in map(_said, rest[-least:]) if "messages_left_out" not in told]
    assert set(recent) <= set(map(_said, made.messages))
    if "outputs_truncated" not in told and not told & {"summary_shortened"}:
        known = _ids(messages)
        edited = [m for m in made.messages if not known[id(m)] and m.content != PROMPT]
        assert edited == []


@given(messages=TALKS, window=st.integers(400, 3_000))
@settings(max_examples=50, deadline=None)
def test_summarizing_session_stays_whole_and_valid(messages: list[Message], window: int) -> None:
    """Whatever is summarized, the archive is whole and the request is one a provider accepts."""
    session = _session(window, 3, auto=True)

    made, _ = asyncio.run(_talk(session, messages))

    assert close_open_rounds(made.messages) is made.messages
    assert asyncio.run(session.store.full()) == messages
    assert made.fits == (_count(made.messages) <= session.policy.available_tokens)


def _said(message: Message) -> tuple[object, ...]:
    calls = tuple(call.id for call in message.tool_calls)
    results = tuple(result.call_id for result in message.tool_results)
    return (message.role, message.content if message.summary is None else "", calls, results)


@pytest.mark.parametrize("window", [0, 100_000])
def test_roomy_request_is_prompt_and_history(window: int) -> None:
    """Nothing is left out that need not be."""
    policy = Policy(window)
    session = Session("s", MemoryStore(), counter=COUNTER, policy=policy, compactor=Digest())
    talk = [Message("user", "Why?"), Message("assistant", "Because.")]

    made, _ = asyncio.run(_talk(session, talk))

    assert made.messages == [Message("system", PROMPT), *talk]
    assert made.notes == ()
