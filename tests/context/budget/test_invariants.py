"""What holds of every compaction, whatever the conversation, the policy and the compactor."""

import asyncio
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic import tokens as counting
from agentic.context.budget import Compaction, Manager, Policy
from agentic.messages import Message, Round, split_rounds
from agentic.testing import conversations
from agentic.tokens import CharCounter

LETTERS = CharCounter(1.0)
count_tokens = partial(counting.count_tokens, tokens_per_media=None)
# Generated conversations are large: two rooms share half a minute.
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@attrs.frozen
class _Clerk:
    """Answers with one text, or fails."""

    answer: str | None

    async def compact(self, messages: list[Message], /) -> str:
        if self.answer is None:
            raise OSError("no connection")
        return self.answer


def _fresh_objects(messages: list[Message]) -> list[Message]:
    """Make sure that no object stands in a conversation twice."""
    return [attrs.evolve(message) for message in messages]


CONVERSATIONS = conversations(max_rounds=14).map(_fresh_objects)
WINDOWS = st.builds(
    Policy,
    st.integers(1, 400) | st.integers(400, 4_000),
    keep_recent_tokens=st.integers(0, 300).map(lambda given: None if given > 60 else 0),
    keep_last=st.integers(0, 6),
)
COUNTS = st.builds(
    Policy,
    st.just(0),
    max_tokens=st.none() | st.integers(1, 1_000),
    max_messages=st.none() | st.integers(4, 12),
    min_recent_messages=st.integers(1, 3),
)
MIXED = st.builds(
    Policy,
    st.integers(100, 4_000),
    keep_last=st.integers(0, 6),
    max_tokens=st.none() | st.integers(1, 1_000),
    max_messages=st.none() | st.integers(6, 20),
    min_recent_messages=st.integers(1, 5),
)
POLICIES = WINDOWS | COUNTS | MIXED
CLERKS = st.sampled_from(["S", "S" * 400, "", None, "S"]).map(_Clerk)
OPTIONS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"force": st.booleans(), "overhead_tokens": st.sampled_from([0, 0, 50, 400])},
    optional={"size": st.integers(0, 6_000)},
)


def compact(
    messages: list[Message], policy: Policy, clerk: _Clerk, options: dict[str, Any]
) -> Compaction:
    """Compact by a Manager of its own."""
    return asyncio.run(Manager(LETTERS, clerk, policy).compact_if_needed(messages, **options))


def answers(messages: Sequence[Message]) -> dict[int, Counter[str]]:
    """Count, the plain way, the results that each assistant message gets; 0 for orphans."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    run: list[Message] = []
    before: Message | None = None
    for message in messages:
        if message.role == "assistant":
            run = (
                [*run, message] if before is not None and before.role == "assistant" else [message]
            )
        for result in message.tool_results:
            waiting = [
                id(caller)
                for caller in run
                for calls in [[call.id for call in caller.tool_calls]]
                if found[id(caller)][result.call_id] < calls.count(result.call_id)
            ]
            found[waiting[-1] if waiting else 0][result.call_id] += 1
        before = message
    return found


def without_summaries(messages: Sequence[Message]) -> list[Message]:
    """Leave out what stands for others."""
    return [message for message in messages if not message.summary]


@given(CONVERSATIONS, POLICIES, CLERKS, OPTIONS)
@MANY
def test_calls_and_results_stay_paired(
    messages: list[Message], policy: Policy, clerk: _Clerk, options: dict[str, Any]
) -> None:
    """Pairing: a compacted history has no orphan, and every call that had a result still does."""
    done = compact(messages, policy, clerk, options)

    if done.changed:
        before, after = answers(messages), answers(done.messages)
        assert not after[0]
        assert not any(m.role == "tool" and not m.tool_results for m in done.messages)
        for message in without_summaries(done.messages):
            assert after[id(message)] == before[id(message)]


@given(CONVERSATIONS, POLICIES, CLERKS, OPTIONS)
@MANY
def test_kept_messages_are_the_same_objects(
    messages: list[Message], policy: Policy, clerk: _Clerk, options: dict[str, Any]
) -> None:
    """Identity: a subsequence and one summary; what is not there was dropped, in order."""
    before = list(messages)

    done = compact(messages, policy, clerk, options)

    assert all(a is b for a, b in zip(messages, before, strict=True))
    assert done.changed or done.messages is messages
    assert done.changed == (done.summary is not None) == bool(done.dropped)
    if done.changed:
        assert [m.summary for m in done.messages if m.summary] == [done.summary]
        kept = set(map(id, done.messages))
        gone = set(map(id, done.dropped))
        rest = without_summaries(messages)
        assert list(map(id, without_summaries(done.messages))) == [
            id(m) for m in rest if id(m) in kept
        ]
        assert list(map(id, done.dropped)) == [id(m) for m in rest if id(m) not in kept]
        assert len(kept) + len(gone) == len(rest) + 1


@given(CONVERSATIONS, POLICIES, CLERKS, OPTIONS)
@MANY
def test_prompt_pins_and_request_always_stay(
    messages: list[Message], policy: Policy, clerk: _Clerk, options: dict[str, Any]
) -> None:
    """What must stay does; only an orphan goes even if pinned, since pairing wins."""
    done = compact(messages, policy, clerk, options)

    there = set(map(id, done.messages))
    users = [m for m in without_summaries(messages) if m.role == "user"]
    assert not users or id(users[-1]) in there
    for found in split_rounds(messages):
        if found.pinned and not found.orphaned and not found.messages[0].summary:
            assert there.issuperset(map(id, found.messages))
    for place, message in enumerate(messages):
        if message.role != "system" or message.summary:
            break
        assert done.messages[place] is message


@given(CONVERSATIONS, POLICIES, CLERKS, OPTIONS)
@MANY
def test_what_claims_to_fit_fits(
    messages: list[Message], policy: Policy, clerk: _Clerk, options: dict[str, Any]
) -> None:
    """Fit: the sizes are those of an independent count, and `fits` says what they say."""
    options.pop("size", None)

    done = compact(messages, policy, clerk, options)

    overhead = options["overhead_tokens"]
    assert done.tokens_before == overhead + count_tokens(messages, LETTERS)
    assert done.tokens_after == overhead + count_tokens(done.messages, LETTERS)
    assert done.fits == (not policy.context_window or done.tokens_after <= policy.available_tokens)
    assert not done.changed or options["force"] or done.tokens_after < done.tokens_before


@given(CONVERSATIONS, POLICIES, OPTIONS)
@MANY
def test_window_is_kept_if_possible(
    messages: list[Message], policy: Policy, options: dict[str, Any]
) -> None:
    """Over the window, only what must stay and a summary are ever too much."""
    options.pop("size", None)
    done = compact(messages, policy, _Clerk("S"), options)

    if done.changed and not done.fits and policy.keep_recent_tokens < policy.available_tokens // 2:
        request = [m for m in messages if m.role == "user"][-1:]
        rounds = [found for found in split_rounds(done.messages) if not found.messages[0].summary]
        loose = [
            found
            for found in rounds[:-1]
            if not found.pinned
            and found.messages[0].role != "system"
            and found.messages[0] not in request
        ]
        spare = policy.available_tokens // 4
        own = count_tokens([m for m in done.messages if m.summary], LETTERS)
        assert not loose or own > spare


@given(CONVERSATIONS, POLICIES, CLERKS, st.sampled_from([0, 0, 50, 400]))
@MANY
def test_compacting_twice_is_compacting_once(
    messages: list[Message], policy: Policy, clerk: _Clerk, overhead: int
) -> None:
    """Idempotence: what was just compacted comes back as the same list object."""
    manager = Manager(LETTERS, clerk, policy)
    first = asyncio.run(manager.compact_if_needed(messages, overhead_tokens=overhead))

    second = asyncio.run(manager.compact_if_needed(first.messages, overhead_tokens=overhead))

    assert not second.changed
    assert second.messages is first.messages


@given(CONVERSATIONS, POLICIES, st.booleans())
@MANY
def test_no_compaction_triggers_the_next(
    messages: list[Message], policy: Policy, force: bool
) -> None:
    """Afterwards no trigger holds, if what must stay leaves room for a summary."""
    manager = Manager(LETTERS, _Clerk("S"), policy)
    first = asyncio.run(manager.compact_if_needed(messages, force=force))
    rounds = split_rounds(messages)
    request = [m for m in messages if m.role == "user"][-1:]
    must = [
        *(m for found in (*filter(_must_stay, rounds), *rounds[-3:]) for m in found.messages),
        *request,
        *(m for m in first.messages if m.summary for _ in range(3)),
    ]
    room = policy.available_tokens // 4 * 3 if policy.context_window else sys.maxsize
    if first.changed and count_tokens(must, LETTERS) <= room:
        assert manager.due(first.messages) is None


def _must_stay(found: Round) -> bool:
    return found.pinned or found.messages[0].role == "system"


@given(CONVERSATIONS, POLICIES, st.lists(st.integers(0, 40), max_size=4))
@MANY
def test_a_shared_manager_decides_alike(
    messages: list[Message], policy: Policy, cuts: list[int]
) -> None:
    """Caches only: what was seen before, of this conversation or others, changes no outcome."""
    shared = Manager(LETTERS, _Clerk("S"), policy)
    for cut in cuts:
        asyncio.run(shared.compact_if_needed(messages[:cut]))
        asyncio.run(shared.compact_if_needed(messages[cut:]))

    done = asyncio.run(shared.compact_if_needed(messages, force=True))

    alone = compact(messages, policy, _Clerk("S"), {"force": True})
    assert done.dropped == alone.dropped
    assert (done.tokens_before, done.tokens_after) == (alone.tokens_before, alone.tokens_after)
    assert (done.changed, done.fits) == (alone.changed, alone.fits)
