"""When a conversation is compacted. Every character is a token, a message four more."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic.context.budget import Compaction, Manager, Policy
from agentic.errors import CompactionRefused, ConfigError
from agentic.messages import Message
from agentic.testing import EventRecorder
from agentic.tokens import CharCounter, count_tokens

LETTERS = CharCounter(1.0)


@attrs.define
class _Clerk:
    """Writes summaries of one letter, and keeps what it was given."""

    given: list[list[Message]] = attrs.field(factory=list)

    async def compact(self, messages: list[Message], /) -> str:
        self.given.append(messages)
        return "S"


def say(*sizes: int) -> list[Message]:
    """Make a talk whose messages have these sizes, in tokens."""
    return [
        Message("assistant" if i % 2 else "user", "x" * (size - 4)) for i, size in enumerate(sizes)
    ]


def check(messages: list[Message], policy: Policy, **options: Any) -> Compaction:
    """Let a Manager of its own look at a conversation."""
    return asyncio.run(Manager(LETTERS, _Clerk(), policy).compact_if_needed(messages, **options))


@pytest.mark.parametrize(("size", "reason"), [(900, None), (901, "window")])
def test_the_window_triggers_above_the_reserve(size: int, reason: str | None) -> None:
    """A context that takes exactly the window less the reserve is left alone."""
    policy = Policy(1_000, reserve_tokens=100, keep_recent_tokens=100)

    done = check(say(size - 400, 300, 100), policy)

    assert (done.reason, done.changed) == (reason, reason is not None)
    assert done.tokens_before == size


def test_window_of_zero_is_no_window() -> None:
    """Without a window, a K or an N nothing is ever too long, and everything fits."""
    messages = say(*[1_000] * 50)

    done = check(messages, Policy(0))

    assert done.messages is messages
    assert (done.changed, done.fits, done.tokens_after) == (False, True, 50_000)


@pytest.mark.parametrize(("most", "reason"), [(1_001, None), (1_000, "tokens"), (999, "tokens")])
def test_k_is_reached_exactly(most: int, reason: str | None) -> None:
    """A context of K tokens is compacted, whatever the window."""
    done = check(say(*[100] * 10), Policy(0, max_tokens=most))

    assert done.reason == reason


@pytest.mark.parametrize(("most", "reason"), [(13, None), (12, "messages"), (11, "messages")])
def test_n_is_reached_exactly(most: int, reason: str | None) -> None:
    """N messages since the start are a reason, N - 1 are none."""
    done = check(say(*[100] * 12), Policy(0, max_messages=most))

    assert done.reason == reason


@pytest.mark.parametrize("limit", [{"max_tokens": 1}, {"max_messages": 7}])
@pytest.mark.parametrize(("length", "changed"), [(9, False), (10, True)])
def test_k_and_n_spare_short_conversation(
    limit: dict[str, int], length: int, *, changed: bool
) -> None:
    """Below `min_recent_messages + 4` messages nothing happens; system messages do not count."""
    prompts = [Message("system", "a" * 50), Message("system", "b" * 50)]

    done = check([*prompts, *say(*[50] * length)], Policy(0, **limit))

    assert done.changed == changed


def test_the_window_needs_no_message_count() -> None:
    """Three large messages are compacted if the window is over."""
    done = check(say(500, 500, 100), Policy(1_000, keep_recent_tokens=100))

    assert (done.reason, len(done.dropped)) == ("window", 2)


def test_force_needs_no_reason() -> None:
    """A small conversation is compacted down to the recent messages."""
    messages = say(*[50] * 8)

    done = check(messages, Policy(100_000), force=True)

    assert done.reason == "force"
    assert done.dropped == tuple(messages[:1] + messages[1:2])


def test_futile_force_says_so() -> None:
    """Where everything is recent there is nothing to summarize; nobody hears of an attempt."""
    messages = say(50, 50)
    with EventRecorder() as recorder:
        done = check(messages, Policy(100_000), force=True)

    assert done.messages is messages
    assert isinstance(done.error, CompactionRefused)
    assert recorder.events == []


def test_force_on_kept_messages_causes_no_backoff() -> None:
    """The next trigger does not wait for the context to grow by a share."""
    manager = Manager(LETTERS, _Clerk(), Policy(0, max_messages=10))
    messages = say(*[1_000] * 6)

    first = asyncio.run(manager.compact_if_needed(messages, force=True))
    second = asyncio.run(manager.compact_if_needed([*messages, *say(*[10] * 4)]))

    assert (first.changed, second.changed) == (False, True)


def test_n_counts_from_the_last_summary() -> None:
    """What stayed beside the summary is not counted again."""
    policy = Policy(0, max_messages=12)
    first = check(say(*[50] * 12), policy)

    later = check([*first.messages, *say(*[50] * 11)], policy)
    latest = check([*first.messages, *say(*[50] * 12)], policy)

    assert (later.reason, latest.reason) == (None, "messages")


def test_n_counts_kept_system_messages() -> None:
    """A note in the middle of the talk is part of the talk, also where it comes first."""
    policy = Policy(0, max_messages=12, min_recent_messages=6)
    talk = [*say(*[50] * 7), Message("system", "note"), *say(*[50] * 5)]
    first = check(talk, policy)
    assert first.messages[1].content == "note"

    done = check([*first.messages, *say(*[50] * 12)], policy)

    assert done.reason == "messages"


def test_one_compaction_triggers_no_other() -> None:
    """Where K and the window are passed at once, both have had enough afterwards."""
    policy = Policy(1_000, keep_last=2, max_tokens=1, min_recent_messages=4)
    manager = Manager(LETTERS, _Clerk(), policy)

    first = asyncio.run(manager.compact_if_needed(say(*[220] * 12)))

    assert (first.changed, first.fits) == (True, True)
    assert manager.due(first.messages) is None


@pytest.mark.parametrize("summary", ["S", "S" * 900])
def test_k_counts_only_with_new_message(summary: str) -> None:
    """A summary larger than what was left to it is no reason to summarize what has just stayed."""

    class Verbose:
        async def compact(self, messages: list[Message], /) -> str:
            return summary

    manager = Manager(LETTERS, Verbose(), Policy(0, max_tokens=1_000, min_recent_messages=6))
    pinned = [attrs.evolve(message, pinned=True) for message in say(*[20] * 6)]

    first = asyncio.run(manager.compact_if_needed([*pinned, *say(*[300] * 12)]))

    assert first.changed
    assert manager.due(first.messages) is None


def test_k_does_not_fire_for_ever() -> None:
    """Recent messages that alone exceed K are not compacted at every turn."""
    clerk = _Clerk()
    manager = Manager(LETTERS, clerk, Policy(0, max_tokens=1_000))
    messages = say(*[300] * 20)

    for _ in range(200):
        messages = [*asyncio.run(manager.compact_if_needed(messages)).messages, *say(300)]

    assert len(clerk.given) < 80


def test_small_messages_rarely_compact_over_k() -> None:
    """Where pinned messages fill K, compactions that free little become rare."""
    clerk = _Clerk()
    manager = Manager(LETTERS, clerk, Policy(0, max_tokens=5_000))
    messages = [Message("user", "x" * 5_000, pinned=True), *say(*[10] * 20)]

    for _ in range(300):
        messages = [*asyncio.run(manager.compact_if_needed(messages)).messages, *say(10)]

    assert len(clerk.given) <= 2 + 300 * 10 // 500 + 1


def test_overhead_is_part_of_the_context() -> None:
    """A system prompt and tools that are sent beside the messages fill the window too."""
    policy = Policy(1_000, reserve_tokens=100, keep_recent_tokens=100)

    done = check(say(500, 300, 100), policy, overhead_tokens=1)

    assert (done.reason, done.tokens_before) == ("window", 901)
    assert done.tokens_after == 1 + count_tokens(done.messages, LETTERS)


def test_a_measured_size_replaces_the_count() -> None:
    """What the provider reported decides, not the counter."""
    policy = Policy(1_000, reserve_tokens=100, keep_recent_tokens=100)

    smaller = check(say(500, 500, 100), policy, size=900)
    larger = check(say(300, 100, 100), policy, size=901)

    assert (smaller.reason, smaller.tokens_before) == (None, 900)
    assert (larger.reason, larger.tokens_before) == ("window", 901)


def test_missing_parts_make_it_a_no_op() -> None:
    """The same list object comes back, whatever the policy and even when forced."""
    messages = say(*[5_000] * 12)
    policy = Policy(1_000, max_tokens=1, max_messages=7)

    for manager in (Manager(None, _Clerk(), policy), Manager(LETTERS, None, policy), Manager()):
        done = asyncio.run(manager.compact_if_needed(messages, force=True))
        assert done.messages is messages
        assert (done.changed, done.summary, done.error) == (False, None, None)


def test_without_compactor_the_overflow_is_told() -> None:
    """A counter, or a measured size, is enough to know that a context is over the window."""
    messages = say(*[500] * 4)
    counted = Manager(LETTERS, None, Policy(1_000))
    measured = Manager(None, None, Policy(1_000))

    assert not asyncio.run(counted.compact_if_needed(messages)).fits
    assert not asyncio.run(measured.compact_if_needed(messages, size=2_000)).fits
    assert asyncio.run(measured.compact_if_needed(messages)).fits


def test_empty_history_is_left_alone() -> None:
    """An empty history is no error, not even under force."""
    messages: list[Message] = []

    for options in ({}, {"force": True}, {"overhead_tokens": 2_000}):
        done = check(messages, Policy(1_000, max_tokens=1), **options)
        assert done.messages is messages
        assert not done.changed


@pytest.mark.parametrize("name", ["size", "overhead_tokens"])
@pytest.mark.parametrize("given", [-1, 1.5, "many", True])
def test_sizes_must_be_whole_numbers(name: str, given: Any) -> None:
    """The error names the argument and what it may be."""
    with pytest.raises(ConfigError, match=f"{name} must be a whole number >= 0.*, got {given!r}"):
        check(say(50), Policy(1_000), **{name: given})


def test_the_lower_limit_says_what_stays() -> None:
    """K below the window keeps what K keeps, so that the next check finds nothing to do."""
    manager = Manager(LETTERS, _Clerk(), Policy(10_000, max_tokens=1_000))
    long = say(*[200] * 60)

    first = asyncio.run(manager.compact_if_needed(long))
    second = asyncio.run(manager.compact_if_needed(first.messages))

    assert (first.reason, second.reason) == ("tokens", None)
    assert second.messages is first.messages


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"counter": len}, "counter"),
        ({"compactor": _Clerk}, "compactor"),
        ({"policy": 8_000}, "policy"),
    ],
)
def test_manager_refuses_unworkable_parts(parts: dict[str, Any], told: str) -> None:
    """A class for an object, a function for a counter: found at construction."""
    with pytest.raises(ConfigError, match=f"{told} must be .*, got .*"):
        Manager(**parts)
