"""Every invariant, for every compactor there is, over damaged conversations."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic import history
from agentic.context import compactors
from agentic.context.budget import Compaction, Compactor, Manager, Policy
from agentic.context.budget._compaction import CompactionTarget
from agentic.context.view import View
from agentic.messages import (
    Message,
    ToolResult,
    close_open_rounds,
    leading_system_count,
    split_rounds,
)
from agentic.messages._landmarks import find_task
from agentic.testing import conversations
from agentic.tokens import CharCounter, count_tokens

pytestmark = pytest.mark.slow

LETTERS = CharCounter(1.0)


def _with_an_orphan(message: Message) -> Message:
    """Pin the results of a message, beside one that answers no call."""
    if not message.tool_results:
        return attrs.evolve(message)
    orphan = ToolResult("stray", "read", "text")
    return attrs.evolve(message, pinned=True, tool_results=[*message.tool_results, orphan])


MANY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CONVERSATIONS = conversations(max_rounds=12).map(lambda found: [attrs.evolve(m) for m in found])
"""Damaged ones too; no object stands in one twice, so that each can be told from the others."""
PINNED = st.tuples(
    conversations(damaged=False, max_rounds=16) | CONVERSATIONS, st.integers(2, 7)
).map(
    lambda drawn: [
        _with_an_orphan(message) if at % drawn[1] == 0 else attrs.evolve(message)
        for at, message in enumerate(drawn[0])
    ]
)
"""The same, where pinned results have an orphan beside them."""
POLICIES = st.builds(
    Policy,
    st.sampled_from([0, 60, 300, 1_000, 4_000]),
    keep_last=st.integers(0, 4),
    max_tokens=st.none() | st.integers(1, 1_000),
    max_messages=st.none() | st.integers(5, 12),
    min_recent_messages=st.integers(1, 4),
    timeout_seconds=st.just(0.02),
)


@attrs.frozen
class _Acting:
    """A compactor that does as it is told."""

    act: Callable[[], Awaitable[Any]]

    async def compact(self, messages: list[Message], /) -> Any:
        messages.clear()  # it may do as it likes with its list
        return await self.act()


async def _sum_up() -> str:
    return "done"


async def _fail() -> str:
    raise ConnectionError("the model is away")


async def _hang() -> str:
    await asyncio.sleep(60)
    return "too late"


async def _nothing() -> str:
    return " \n"


async def _inflate() -> str:
    return "and then " * 2_000


async def _no_text() -> Any:
    return {"summary": "done"}


async def _ask(prompt: str) -> str:
    return f"## Done\nRead {len(prompt)} characters."


async def _refuse(_: str) -> str:
    return "I'm sorry, but I can't help with that."


DIGEST = compactors.Digest(max_tokens=200, counter=LETTERS)
MODEL = compactors.Model(_ask, max_tokens=100, window=1_500, counter=LETTERS)
EACH: dict[str, Compactor] = {
    "digest": DIGEST,
    "model": MODEL,
    "with_digest": compactors.with_digest(MODEL, DIGEST),
    "first_of": compactors.first_of(_Acting(_fail), compactors.Model(_refuse), DIGEST),
    "fails": _Acting(_fail),
    "hangs": _Acting(_hang),
    "answers_nothing": _Acting(_nothing),
    "inflates": _Acting(_inflate),
    "answers_no_text": _Acting(_no_text),
}
EVERY = pytest.mark.parametrize("name", EACH)

Turns: TypeAlias = list[tuple[list[Message], Compaction]]


def live(
    name: str, messages: list[Message], policy: Policy, turns: int, *, force: bool
) -> tuple[Turns, history.MemoryStore]:
    """Send a conversation to a Manager in so many parts, and keep what it makes of each."""
    manager, store = Manager(LETTERS, EACH[name], policy), history.MemoryStore()
    seen: Turns = []

    async def replace(_: list[Message], messages: list[Message]) -> list[Message]:
        await store.replace(messages)
        return messages

    async def main() -> None:
        host, now = CompactionTarget(manager, "run", replace), list[Message]()
        for turn in range(turns):
            part = messages[len(messages) * turn // turns : len(messages) * (turn + 1) // turns]
            for message in part:
                await store.append(message)
            now = [*now, *part]
            done = await manager.compact_if_needed(now, force=force, target=host)
            seen.append((now, done))
            now = done.messages

    asyncio.run(main())
    return seen, store


LIVES: dict[str, st.SearchStrategy[Any]] = {
    "messages": CONVERSATIONS,
    "policy": POLICIES,
    "turns": st.integers(1, 4),
    "force": st.booleans(),
}


def own(messages: Sequence[Message], given_: Sequence[Message] = ()) -> list[int]:
    """Name the objects that are no summaries; one without its orphaned results by the whole one."""
    known = {id(message) for message in given_}
    edited = [
        (sound, id(whole))
        for found in split_rounds(given_)
        if found.orphaned and found.pinned
        for whole, sound in zip(found.messages, found.sound_messages, strict=False)
    ]
    return [
        next((whole for sound, whole in edited if sound == message), id(message))
        if edited and id(message) not in known
        else id(message)
        for message in messages
        if message.summary is None
    ]


@EVERY
@given(**LIVES)
@MANY
def test_pairing(name: str, **life: Any) -> None:
    """No output has an orphan; a round that stays has every message it had."""
    for given_, done in live(name, **life)[0]:
        if done.changed:
            whole = [own(found.messages) for found in split_rounds(given_)]
            for found in split_rounds(done.messages):
                assert not found.orphaned
                assert found.messages[0].summary or own(found.messages, given_) in whole


@EVERY
@given(**LIVES)
@MANY
def test_identity(name: str, **life: Any) -> None:
    """A subsequence of the input's own objects, and one summary; else the very same list."""
    for given_, done in live(name, **life)[0]:
        if not done.changed:
            assert done.messages is given_
            continue
        kept = set(own(done.messages, given_))
        assert own(done.messages, given_) == [at for at in own(given_) if at in kept]
        assert own(done.dropped) == [at for at in own(given_) if at not in kept]
        assert [m.summary for m in done.messages if m.summary] == [done.summary]


@EVERY
@given(**LIVES)
@MANY
def test_what_always_stays(name: str, **life: Any) -> None:
    """Leading system messages, pinned messages and the latest user request."""
    for given_, done in live(name, **life)[0]:
        there = set(map(id, done.messages))
        leading = [m for m in given_[: leading_system_count(given_)] if not m.summary]
        after = next((at for at, m in enumerate(given_) if m.summary), len(given_))
        request = [given_[at] for at in find_task(given_)[-1:]]
        pinned = [
            message
            for found in split_rounds(given_)
            if found.pinned and not found.orphaned and not found.messages[0].summary
            for message in found.messages
        ]
        always = [*leading[:after], *request, *pinned]
        assert all(id(message) in there for message in always)


@given(messages=PINNED, policy=POLICIES)
@settings(MANY, max_examples=40)
def test_pinned_results_stay_in_a_view(messages: list[Message], policy: Policy) -> None:
    """Also where the owner only appends, and the View remembers what each compaction did."""
    view = View(policy, counter=LETTERS, compactor=_Acting(_sum_up))
    pinned = [
        result
        for found in split_rounds(messages)
        if found.pinned
        for message in found.sound_messages
        for result in message.tool_results
    ]

    for talk in (messages, messages + [Message("user", "Go on.")] * 9):
        prepared = view.prepare_sync(talk)

        stored = {id(result) for message in prepared.history for result in message.tool_results}
        sent = [(r.call_id, r.error) for m in prepared.messages for r in m.tool_results]
        assert stored.issuperset(map(id, pinned))
        assert all((result.call_id, result.error) in sent for result in pinned)


@EVERY
@given(**LIVES)
@MANY
def test_fit(name: str, **life: Any) -> None:
    """The sizes are those of an independent count; over the budget says so, and what it is."""
    available = life["policy"].available_tokens
    for _, done in live(name, **life)[0]:
        size = count_tokens(done.messages, LETTERS, tokens_per_media=None)
        assert done.tokens_after == size
        assert done.fits == (not life["policy"].context_window or size <= available)
        assert bool(done.too_large) != done.fits


@EVERY
@given(**LIVES)
@MANY
def test_nothing_lost(name: str, **life: Any) -> None:
    """The archive has every message, in order; its view is what the Manager gave last."""
    seen, store = live(name, **life)

    assert list(map(id, asyncio.run(store.full()))) == list(map(id, life["messages"]))
    assert asyncio.run(store.load()) == close_open_rounds(seen[-1][1].messages)


@EVERY
@given(**LIVES)
@MANY
def test_failure_is_told_and_changes_nothing(name: str, **life: Any) -> None:
    """What cannot summarize never compacts; what can always does, where there is enough to."""
    for given_, done in live(name, **life)[0]:
        if done.error is not None:
            assert (done.changed, done.messages is given_, done.dropped) == (False, True, ())
            assert done.reason is not None
        if name in {"fails", "hangs", "answers_nothing", "answers_no_text"}:
            assert not done.changed


@EVERY
@given(messages=CONVERSATIONS, policy=POLICIES)
@MANY
def test_idempotence(name: str, messages: list[Message], policy: Policy) -> None:
    """What was just compacted comes back as it is, to another Manager too."""
    first = live(name, messages, policy, 1, force=False)[0][-1][1]

    again = live(name, first.messages, policy, 1, force=False)[0][-1][1]

    assert not (first.changed and again.changed)
