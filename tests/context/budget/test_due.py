"""What a Manager answers to who asks whether it would compact, and what asking costs."""

import asyncio
from typing import Any

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic.context.budget import Compaction, Manager, Policy
from agentic.errors import ConfigError
from agentic.messages import Message
from agentic.testing import EventRecorder
from agentic.tokens import CharCounter

LETTERS = CharCounter(1.0)
K = Policy(0, max_tokens=1_000)
STEPS = st.lists(
    st.tuples(st.integers(4, 400), st.sampled_from(["S", "", "x" * 900]), st.booleans()),
    max_size=25,
)


@attrs.define
class _Moody:
    """Writes the summary that it is given, fails where that is none, and counts how often."""

    summary: str = "S"
    calls: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        self.calls += 1
        if not self.summary:
            raise ConnectionError("the model is away")
        return self.summary


def talk(*sizes: int) -> list[Message]:
    """Make replies of these sizes, in tokens."""
    return [Message("assistant", "x" * (size - 4)) for size in sizes]


def compact(manager: Manager, messages: list[Message], **options: Any) -> Compaction:
    """Check a conversation, and compact it when due."""
    return asyncio.run(manager.compact_if_needed(messages, **options))


@pytest.mark.parametrize(
    ("policy", "sizes", "reason"),
    [
        (Policy(1_000, 100, 100), [600, 301], "window"),
        (Policy(1_000, 100, 100), [600, 300], None),
        (Policy(0, max_tokens=1_000), [100] * 10, "tokens"),
        (Policy(0, max_messages=12), [100] * 12, "messages"),
        (Policy(0, max_messages=12), [100] * 11, None),
        (Policy(0), [100_000] * 50, None),
    ],
)
def test_answer_is_the_limit_reached(policy: Policy, sizes: list[int], reason: str | None) -> None:
    """By the names that a Compaction has for it."""
    assert Manager(LETTERS, _Moody(), policy).due(talk(*sizes)) == reason


def test_overhead_beside_messages_counts() -> None:
    """Unless somebody measured the whole."""
    manager = Manager(LETTERS, _Moody(), Policy(1_000, 100, 100))

    assert manager.due(talk(600, 300), overhead_tokens=1) == "window"
    assert manager.due(talk(600, 300), size=900, overhead_tokens=1) is None


@pytest.mark.parametrize("parts", [{}, {"counter": LETTERS}, {"compactor": _Moody()}])
def test_a_no_op_manager_has_nothing_due(parts: dict[str, Any]) -> None:
    """Without a counter or a compactor there will be no summary, whatever the size."""
    manager = Manager(**parts, policy=Policy(1_000, max_tokens=1))

    assert manager.due(talk(*[500] * 20), size=10_000) is None


@pytest.mark.parametrize("name", ["size", "overhead_tokens"])
def test_sizes_must_be_whole_numbers(name: str) -> None:
    """As it is where a compaction is asked for."""
    with pytest.raises(ConfigError, match=f"{name} must be a whole number >= 0.*, got -1"):
        Manager().due([], **{name: -1})


def test_asking_disturbs_no_receiver_or_compactor() -> None:
    """The same question has the same answer, until somebody compacts."""
    clerk = _Moody()
    manager, messages = Manager(LETTERS, clerk, K), talk(*[100] * 12)

    with EventRecorder() as recorder:
        answers = {manager.due(messages) for _ in range(5)}

    assert answers == {"tokens"}
    assert (recorder.events, clerk.calls) == ([], 0)
    assert messages == talk(*[100] * 12)
    assert manager.due(compact(manager, messages).messages) is None


def test_nothing_is_due_after_a_failure() -> None:
    """By a twentieth, as the next attempt comes; a forced one may have been what failed."""
    for options in ({}, {"force": True}):
        manager, messages = Manager(LETTERS, _Moody(""), K), talk(*[100] * 20)
        compact(manager, messages, **options)

        sizes = (2_000, 2_099, 2_100)
        assert [manager.due(messages, size=size) for size in sizes] == [None, None, "tokens"]


def test_nothing_is_due_after_low_gains() -> None:
    """By a tenth; the summary itself says so, to another Manager as well."""
    messages = [Message("user", "x" * 20_000, pinned=True), *talk(*[100] * 12)]
    for _ in range(2):
        messages = [*compact(Manager(LETTERS, _Moody(), K), messages).messages, *talk(*[100] * 6)]
    summary = messages[0].summary
    assert summary is not None
    assert summary.low_gains == 2

    sizes = (int(1.1 * summary.tokens_after), int(1.1 * summary.tokens_after) + 1)
    manager = Manager(LETTERS, _Moody(), K)
    assert [manager.due(messages, size=size) for size in sizes] == [None, "tokens"]


def test_asking_costs_what_new_messages_cost(counter: Any) -> None:
    """Each text is counted once, whoever asks; where the size is known nothing is counted."""
    manager = Manager(counter, _Moody(), Policy(0, max_messages=10**6))
    messages: list[Message] = []

    for number in range(200):
        messages.append(Message("user", f"message {number}"))
        assert manager.due(messages) is None
        assert sum(counter.asked.values()) == number + 1
        compact(manager, messages)
        manager.due([*messages, Message("assistant", f"reply {number}")], size=5_000)

    assert sum(counter.asked.values()) == 200


@given(
    steps=STEPS,
    window=st.sampled_from([0, 1_500]),
    most=st.sampled_from([None, 7, 10]),
    tokens=st.sampled_from([None, 500, 1_400]),
)
@settings(max_examples=50)
def test_what_is_due_is_what_happens(
    steps: list[tuple[int, str, bool]], window: int, most: int | None, tokens: int | None
) -> None:
    """A Manager that is asked all the time does the same as one that nobody asks."""
    policy = Policy(window, max_messages=most, max_tokens=tokens, min_recent_messages=3)
    clerk = _Moody()
    asked, alone = (Manager(LETTERS, clerk, policy) for _ in range(2))
    ours: list[Message] = talk(*[50] * 6)
    theirs = ours

    for size, clerk.summary, force in steps:
        ours, theirs = [*ours, *talk(size)], [*theirs, *talk(size)]
        due = asked.due(ours)
        done, quiet = compact(asked, ours, force=force), compact(alone, theirs, force=force)
        assert done.reason == quiet.reason == ("force" if force else due)
        ours, theirs = done.messages, quiet.messages

    assert [message.content for message in ours] == [message.content for message in theirs]
