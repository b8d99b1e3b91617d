import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic import events
from agentic.context.budget import Compaction, Manager, Policy
from agentic.history import MemoryStore
from agentic.loop import Runner
from agentic.messages import ContextSummary, Message, ToolCall, ToolResult
from agentic.session import Session, Status, render_context
from agentic.testing import EventRecorder, ScriptedDecider
from agentic.tokens import CharCounter
from agentic.tools import Registry, ToolDefinition, tool
from agentic.usage import Usage

SUMMARY = ContextSummary(
    "done", 25, 0, 24, datetime(2024, 1, 15, 10, 30, tzinfo=UTC), token_count=850
)
EACH = CharCounter(1)
"""Counts each character."""


class _Short:
    async def compact(self, messages: list[Message], /) -> str:
        return "done"


def _status(**fields: Any) -> Status:
    usual = {"summary": None, "messages": 8, "max_messages": 30, "tokens": 45_000}
    return Status(**{**usual, "max_tokens": 128_000, "will_trigger": False, **fields})


def _talk(length: int, text: str = "hello") -> list[Message]:
    return [Message("assistant" if n % 2 else "user", f"{text} {n}") for n in range(length)]


def _session(messages: Sequence[Message], policy: Policy, **options: Any) -> Session:
    options = {"counter": CharCounter(), "compactor": _Short(), **options}
    session = Session("s", MemoryStore(), policy=policy, **options)

    async def fill() -> None:
        for message in messages:
            await session.append(message)

    asyncio.run(fill())
    return session


def test_screen_under_triggers_cell_for_cell() -> None:
    """The source's third scenario."""
    screen = render_context(_status(summary=SUMMARY))

    assert screen == (
        "Context Status\n"
        "  Last summary: 25 messages → 850 tokens\n"
        "  Created: 2024-01-15 10:30\n"
        "\n"
        "Summarization Triggers (N messages OR K tokens)\n"
        "  Messages: 8 / 30 (27%)\n"
        "           [█████░░░░░░░░░░░░░░░]\n"
        "  Tokens:   45,000 / 128,000 (35%)\n"
        "           [███████░░░░░░░░░░░░░]"
    )


def test_screen_near_trigger_cell_for_cell() -> None:
    """The source's fourth scenario, and no summary yet."""
    screen = render_context(_status(messages=28, tokens=95_000, will_trigger=True))

    assert screen == (
        "Context Status\n"
        "  No summary yet\n"
        "\n"
        "Summarization Triggers (N messages OR K tokens)\n"
        "  Messages: 28 / 30 (93%)\n"
        "           [██████████████████░░]\n"
        "  Tokens:   95,000 / 128,000 (74%)\n"
        "           [██████████████░░░░░░]\n"
        "\n"
        "  ⚡ Summarization will trigger on next message"
    )


@given(value=st.integers(0, 500_000), limit=st.integers(1, 200_000))
def test_bar_always_has_twenty_cells(value: int, limit: int) -> None:
    """Filled are floor(percent / 5), and never more than there are; the percent may be over 100."""
    lines = render_context(_status(tokens=value, max_tokens=limit)).split("\n")

    bar = lines[-1].strip()
    assert bar == f"[{'█' * min(20, 20 * value // limit)}".ljust(21, "░") + "]"
    assert lines[-2].endswith(f"({100 * value / limit:.0f}%)")


def test_disabled_trigger_shows_bare_amount() -> None:
    """Without N or K there is no share to show."""
    lines = render_context(_status(max_messages=None)).split("\n")

    assert "  Messages: 8 / no limit" in lines
    assert lines[lines.index("  Messages: 8 / no limit") + 1].strip() == f"[{'░' * 20}]"


@pytest.mark.parametrize(
    ("policy", "limit"),
    [
        (Policy(16_000, max_tokens=128_000), 12_000),
        (Policy(200_000, max_tokens=128_000), 128_000),
        (Policy(16_000), 12_000),
        (Policy(0, max_tokens=128_000), 128_000),
        (Policy(0), None),
    ],
)
def test_tokens_shown_follow_first_trigger(policy: Policy, limit: int | None) -> None:
    """A window of 16,000 keeps 4,000 for the reply: K of 128,000 is never reached there."""
    status = asyncio.run(_session(_talk(2), policy).status())

    assert status.max_tokens == limit


def test_shown_limit_is_the_triggering_one() -> None:
    """One token below it nothing is due; the exchange that passes it summarizes."""
    policy = Policy(4_000, max_tokens=128_000, min_recent_messages=2)
    session = _session(_talk(30, "w" * 280), policy)
    before = asyncio.run(session.status())

    asyncio.run(session.append(Message("user", "w" * 4 * (3_000 - before.tokens))))
    after = asyncio.run(session.status())

    assert before.tokens < (before.max_tokens or 0) == 3_000 < after.tokens
    assert (before.will_trigger, after.will_trigger) == (False, True)


def test_barless_screen_has_only_numbers() -> None:
    """A screen reader would spell out every cell."""
    screen = render_context(_status(summary=SUMMARY, will_trigger=True), bars=False)

    assert screen.isascii()
    assert "  Tokens:   45,000 / 128,000 (35%)" in screen


@pytest.mark.parametrize(("length", "soon"), [(27, False), (28, True), (29, True), (31, True)])
def test_28_of_30_messages_announce_trigger(length: int, *, soon: bool) -> None:
    """A user's message and a reply are two messages."""
    session = _session(_talk(length), Policy(0, max_messages=30, max_tokens=128_000))

    status = asyncio.run(session.status())

    assert (status.messages, status.will_trigger) == (length, soon)
    assert status.messages_percent == pytest.approx(100 * length / 30)


@pytest.mark.parametrize(("length", "soon"), [(7, False), (8, True)])
def test_short_large_conversation_triggers_nothing(length: int, *, soon: bool) -> None:
    """With six recent messages, fewer than ten are left alone; the next exchange is counted in."""
    session = _session(_talk(length, "long " * 900), Policy(0, max_tokens=5_000))

    status = asyncio.run(session.status())

    assert status.tokens_percent > 100
    assert status.will_trigger is soon


@given(
    length=st.integers(0, 40),
    chars=st.integers(1, 60),
    most=st.integers(7, 36) | st.none(),
    tokens=st.integers(1, 800) | st.none(),
    window=st.sampled_from([0, 200, 600]),
)
@settings(max_examples=50, deadline=None)
def test_manager_does_what_is_announced(
    length: int, chars: int, most: int | None, tokens: int | None, window: int
) -> None:
    """The status speaks of the Manager's triggers, not of some of its own."""
    policy = Policy(window, max_messages=most, max_tokens=tokens)
    session = _session(_talk(length, "x" * chars), policy)

    status = asyncio.run(session.status())

    async def next_exchange(text: str) -> Compaction:
        history = await session.store.load()
        later = [*history, Message("user", text), Message("assistant", text)]
        return await Manager(CharCounter(), _Short(), policy).compact_if_needed(later)

    assert status.will_trigger == (asyncio.run(next_exchange("")).reason is not None)


def test_without_automatic_summaries_nothing_is_announced() -> None:
    """Numbers stay, the warning does not; what stands in its place says why."""
    policy = Policy(0, max_messages=30)

    status = asyncio.run(_session(_talk(40), policy, auto_summarize=False).status())

    assert status.messages_percent > 100
    assert (status.will_trigger, status.auto_summarize) == (False, False)
    assert render_context(status).endswith(
        "]\n\n  Automatic summaries are off: /summarize makes one"
    )


@tool
def look(path: str) -> str:
    """Look at a file."""
    return path


def _sizes(session: Session, runner: Runner, text: str) -> tuple[int, int]:
    """Return the size that the session tells, and the one that the Runner sends next."""

    async def ask() -> int:
        told = (await session.status()).tokens
        await runner.run(text)
        return told

    with EventRecorder(sender=runner) as recorder:
        told = asyncio.run(ask())
    return told, recorder.of(events.TurnStart)[0].context_tokens or 0


@pytest.mark.parametrize("with_tools", [False, True])
def test_status_measures_what_runner_sends(*, with_tools: bool) -> None:
    """System prompt and tools included; only the next message itself is not there yet."""
    session = _session(_talk(6), Policy(0), counter=EACH, system_prompt="Be brief. " * 300)
    runner = session.runner(ScriptedDecider("Yes."), Registry([look]) if with_tools else None)

    told, sent = _sizes(session, runner, "Why?")

    assert told > 3_000
    assert sent - told == len("Why?") + 4
    assert runner.system_prompt == session.system_prompt


def test_runners_other_prompt_is_measured() -> None:
    """The session remembers what its latest Runner sends."""
    session = _session(_talk(6), Policy(0), counter=EACH, system_prompt="Be brief.")
    runner = session.runner(ScriptedDecider("Yes."), system_prompt="Take your time. " * 9)

    told, sent = _sizes(session, runner, "Why?")

    assert sent - told == len("Why?") + 4


def test_system_prompt_may_fill_window() -> None:
    """Then the sign is there, since the next exchange cannot fit."""
    policy = Policy(1_000, reserve_tokens=100, keep_recent_tokens=100)
    talk = _talk(20, "some words")

    without, with_prompt = (
        asyncio.run(_session(talk, policy, counter=EACH, system_prompt=prompt).status())
        for prompt in ("", "Be brief. " * 60)
    )

    assert (without.will_trigger, with_prompt.will_trigger) == (False, True)


def test_request_defaults_to_session_prompt() -> None:
    """A loop of one's own need not name it again."""
    session = _session(_talk(1), Policy(0), system_prompt="Be brief.")

    own, other = (
        asyncio.run(session.build_messages_for_llm(*given)) for given in ((), ("Be long.",))
    )

    assert [messages[0].content for messages in (own, other)] == ["Be brief.", "Be long."]


class _Away:
    """An executor whose tools cannot be listed."""

    async def list_tools(self) -> list[ToolDefinition]:
        raise ConnectionError("the server is away")

    async def execute(self, call: ToolCall, /) -> ToolResult:
        raise NotImplementedError


def test_unlistable_tools_are_not_counted(caplog: pytest.LogCaptureFixture) -> None:
    """A status fails for nothing of the kind; the log says so."""
    session = _session(_talk(2), Policy(0), counter=EACH, executor=_Away())

    status = asyncio.run(session.status())

    assert status.tokens == sum(len(message.content) + 4 for message in _talk(2))
    assert "the server is away" in caplog.text


def test_a_second_status_counts_nothing(counter: Any) -> None:
    """A long session is counted once."""
    session = _session(_talk(2_000), Policy(0, max_tokens=10**6), counter=counter)
    first = asyncio.run(session.status())
    counted = counter.asked.copy()

    asyncio.run(session.append(Message("user", "one more")))
    second = asyncio.run(session.status())

    assert counted.total() == 2_000
    assert counter.asked - counted == {"one more": 1}
    assert second.tokens == first.tokens + len("one more") + 4


def test_size_is_the_providers_count() -> None:
    """The system prompt and the tools are in the provider's count, and so in the status."""
    reply = Message("assistant", "It is red.", usage=Usage(input=9_000, output=100))
    session = _session([Message("user", "Why?"), reply], Policy(0, max_tokens=10_000))

    assert asyncio.run(session.status()).tokens == 9_100


def test_report_before_summary_counts_no_more() -> None:
    """What was reported of a large context says nothing of the small one it became."""
    talk = [message.replace(content="word " * 400) for message in _talk(20)]
    talk[-1] = talk[-1].replace(usage=Usage(input=9_000, output=500))
    session = _session(talk, Policy(0, max_tokens=10_000, min_recent_messages=1))

    asyncio.run(session.summarize())

    assert asyncio.run(session.status()).tokens < 1_000
