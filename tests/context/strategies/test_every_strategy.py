"""What every strategy promises, over generated conversations, damaged ones included."""

from collections.abc import Callable
from typing import TypeAlias

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.context.strategies import (
    Chain,
    ClearSuperseded,
    ClearToolOutputs,
    ContextStrategy,
    FitContextWindow,
    Importance,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.messages import (
    Message,
    Round,
    ToolCall,
    ToolResult,
    leading_system_count,
    split_rounds,
)
from agentic.messages._landmarks import find_task
from agentic.testing import conversations
from agentic.tokens import CharCounter, count_tokens

LETTERS = CharCounter(1.0)
MANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _fresh_objects(messages: list[Message]) -> list[Message]:
    """Make sure that no object stands in a conversation twice."""
    return [attrs.evolve(message) for message in messages]


CONVERSATIONS = conversations(max_rounds=14).map(_fresh_objects)


@attrs.frozen
class _ImportanceTo:
    """`Importance.compact_to`, as a strategy."""

    strategy: Importance
    max_tokens: int

    def compact(self, messages: list[Message], /) -> list[Message]:
        return self.strategy.compact_to(messages, self.max_tokens, LETTERS).messages


Make: TypeAlias = Callable[[int], ContextStrategy]
EACH: dict[str, Make] = {
    "keep_last": KeepLast,
    "clear_superseded": lambda _: ClearSuperseded(),
    "keep_last_without_chains": lambda n: KeepLast(n, preserve_tool_chains=False),
    "trim_rounds": lambda n: TrimRounds(n + 1),
    "truncate": lambda n: TruncateToolOutputs(n * 5 + 1),
    "clear": lambda n: ClearToolOutputs(n * 40 + 1, LETTERS, keep_rounds=n % 3),
    "clear_all": lambda n: ClearToolOutputs(n * 40 + 1, LETTERS, keep_rounds=0, min_tokens=0),
    "importance": lambda n: Importance(n % 5, min_score_threshold=n % 11 / 10),
    "importance_of_calls": lambda n: Importance(n % 5, tool_use_score=0.1),
    "importance_to_a_size": lambda n: _ImportanceTo(Importance(n % 3), n * 40 + 1),
    "chain": lambda n: Chain(
        [
            TruncateToolOutputs(n * 5 + 1),
            ClearToolOutputs(n * 60 + 1, LETTERS),
            FitContextWindow(n * 40 + 1, LETTERS),
        ]
    ),
    "chain_of_drops": lambda n: Chain([KeepLast(n + 3), TrimRounds(n + 1)]),
}
EDITING = {"truncate", "clear", "clear_all", "chain"}
EVERY = pytest.mark.parametrize("name", EACH)


SIZES = st.integers(0, 40)


def shape(found: Round) -> tuple[object, ...]:
    """Return what a round is apart from the outputs that a strategy may shorten."""
    return tuple(
        (each.role, each.content, each.tool_calls, [result.call_id for result in each.tool_results])
        for each in found.sound_messages
    )


@EVERY
@given(messages=CONVERSATIONS, n=SIZES)
@MANY
def test_views_have_whole_rounds_only(name: str, messages: list[Message], n: int) -> None:
    """Pairing: each round of the view is one of the input's, with all of its results."""
    view = EACH[name](n).compact(messages)

    whole = [shape(found) for found in split_rounds(messages)]
    for found in split_rounds(view):
        assert not found.orphaned
        assert shape(found) in whole


@EVERY
@given(messages=CONVERSATIONS, n=SIZES)
@MANY
def test_view_is_an_input_subsequence(name: str, messages: list[Message], n: int) -> None:
    """Identity: the caller's own objects in their order; only tool outputs are ever edited."""
    before = list(messages)

    view = EACH[name](n).compact(messages)

    rest = iter(messages)
    for shown in view:
        assert any(shown is each or (name in EDITING and same_ids(shown, each)) for each in rest)
    assert list(map(id, before)) == list(map(id, messages))


def same_ids(edited: Message, original: Message) -> bool:
    """Return whether one is the other with its outputs edited."""
    ids = [[result.call_id for result in each.tool_results] for each in (edited, original)]
    return edited.role == original.role == "tool" and ids[0] == ids[1] and edited.native is None


@EVERY
@given(messages=CONVERSATIONS, n=SIZES)
@MANY
def test_prompt_request_and_pinned_always_stay(name: str, messages: list[Message], n: int) -> None:
    """What must stay does, whatever the limit; only an orphan goes even if pinned."""
    shown = {id(message) for message in EACH[name](n).compact(messages)}

    must = [*messages[: leading_system_count(messages)]]
    must += [messages[position] for position in find_task(messages)[-1:]]
    sound = [found for found in split_rounds(messages) if not found.orphaned]
    pinned = [message for found in sound if found.pinned for message in found.messages]
    must += [each for each in pinned if name not in {"truncate", "chain"}]
    assert shown.issuperset(map(id, must))


@EVERY
@given(messages=CONVERSATIONS, n=SIZES, pins=st.sets(st.integers(0, 30)))
@MANY
def test_pinned_round_loses_only_its_orphans(
    name: str, messages: list[Message], n: int, pins: set[int]
) -> None:
    """Pinning: the view is the one of a conversation whose pinned rounds never had orphans."""
    pinned = [attrs.evolve(m, pinned=m.pinned or at in pins) for at, m in enumerate(messages)]
    sound = pinned.copy()
    for found in split_rounds(pinned):
        for at, message in zip(found.positions, found.sound_messages, strict=False):
            sound[at] = message

    view = EACH[name](n).compact(pinned)

    assert view == EACH[name](n).compact(sound)


@EVERY
@given(messages=CONVERSATIONS, n=SIZES, cold=st.booleans())
@MANY
def test_twice_is_once(name: str, messages: list[Message], n: int, cold: bool) -> None:
    """Idempotence: a view comes back as the same list, from a strategy new to it or not."""
    strategy = EACH[name](n)
    view = strategy.compact(messages)

    again = (EACH[name](n) if cold else strategy).compact(view)

    assert again is view


@EVERY
@given(messages=CONVERSATIONS, n=SIZES, lengths=st.lists(st.integers(0, 60), max_size=8))
@MANY
def test_turn_by_turn_is_at_once(
    name: str, messages: list[Message], n: int, lengths: list[int]
) -> None:
    """Fold: whatever was seen on the way, the view is that of a cold start."""
    strategy = EACH[name](n)

    for length in [*sorted(lengths), len(messages)]:
        assert strategy.compact(messages[:length]) == EACH[name](n).compact(messages[:length])


@EVERY
@given(messages=conversations(damaged=False, max_rounds=14), n=st.just(10_000))
@MANY
def test_within_the_limit_nothing_changes(name: str, messages: list[Message], n: int) -> None:
    """Nothing to do is nothing done."""
    strategy = EACH[name](n)
    if name.startswith("importance"):
        strategy = Importance(min_score_threshold=0.0)
    if name == "clear_superseded":  # it has no limit
        return

    assert strategy.compact(messages) is messages


@given(messages=CONVERSATIONS, n=SIZES, keep=st.integers(0, 3), least=st.integers(0, 50))
@MANY
def test_clearing_says_the_views_size(
    messages: list[Message], n: int, keep: int, least: int
) -> None:
    """Fit: an independent count agrees, and what is over the budget says so."""
    strategy = ClearToolOutputs(n * 40 + 1, LETTERS, keep_rounds=keep, min_tokens=least)

    fit = strategy.fit(messages)

    assert fit.tokens == count_tokens(fit.messages, LETTERS, tokens_per_media=None)
    assert fit.fits == (fit.tokens <= strategy.max_tokens)


def test_an_orphan_refers_to_nothing() -> None:
    """What is in no view keeps nothing else in it."""
    call = ToolCall("c1", "read", '{"path": "src/parser.py"}')
    surplus = [ToolResult("c1", "read", "text"), ToolResult("c9", "read", "text")]
    messages = [
        Message("assistant", "See src/parser.py."),
        Message("user", "Go on."),
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=surplus),
    ]

    view = Importance(0, assistant_message_score=0.1).compact(messages)

    assert view == [messages[1]]
    assert Importance(0, assistant_message_score=0.1).compact(view) is view


def test_pinned_orphans_leave_outputs_short() -> None:
    """What is left of such a round is shortened like any other."""
    call = Message("assistant", tool_calls=[ToolCall("c1", "read")], pinned=True)
    results = [ToolResult("c1", "read", "x" * 50), ToolResult("c1", "read", "of no call")]

    view = TruncateToolOutputs(10).compact([call, Message("tool", tool_results=results)])

    assert [each.output for m in view for each in m.tool_results] == ["x" * 10]
