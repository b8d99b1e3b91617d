"""FitContextWindow over generated conversations, and against a naive oracle."""

from collections.abc import Sequence
from itertools import chain

import attrs
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from agentic.context.strategies import Fit, FitContextWindow
from agentic.messages import (
    Message,
    Round,
    ToolCall,
    close_open_rounds,
    leading_system_count,
    split_rounds,
)
from agentic.messages._landmarks import find_task
from agentic.testing import conversations
from agentic.tokens import CharCounter, count_tokens

LETTERS = CharCounter(1.0)
MANY = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _fresh_objects(messages: list[Message]) -> list[Message]:
    """Make sure that no object stands in a conversation twice."""
    return [attrs.evolve(message) for message in messages]


CONVERSATIONS = conversations(max_rounds=14).map(_fresh_objects)
BUDGETS = st.integers(1, 300) | st.integers(300, 3_000)
LOW_WATERS = st.sampled_from([1.0, 1.0, 0.9, 0.75, 0.5, 0.1])
LENGTHS = st.lists(st.integers(0, 60), max_size=8)


def fit_window(budget: int, low_watermark: float) -> FitContextWindow:
    """Make a strategy that has seen nothing."""
    return FitContextWindow(budget, LETTERS, low_watermark=low_watermark, tokens_per_media=30)


def count(messages: Sequence[Message]) -> int:
    """Count a view independently."""
    return count_tokens(messages, LETTERS, tokens_per_media=30)


def same(first: Fit, second: Fit) -> bool:
    """Return whether two views hold the same messages, and are of the same size."""
    return first == second


@attrs.frozen
class _Oracle:
    """The fold by the book: after every round, the whole view from scratch."""

    messages: list[Message]
    budget: int
    target: int

    def view(self) -> list[Message]:
        """Return the view of the whole conversation."""
        rounds = [found for found in split_rounds(self.messages) if not found.orphaned]
        shown: list[Round] = []
        cut = False
        for length in range(1, len(rounds) + 1):
            shown.append(rounds[length - 1])
            if self.size(shown) > self.budget or (cut and self.target == self.budget):
                shown, cut = self.newest(rounds[:length]), True
        return [self.messages[p] for p in sorted(p for found in shown for p in found.positions)]

    def newest(self, rounds: list[Round]) -> list[Round]:
        """Leave out as few of the oldest as will do; the newest one stays in any case."""
        last = max(place for found in rounds for place in found.positions)
        seen = self.messages[: last + 1]
        openers = [found.messages[0] for found in rounds]
        leading = set(map(id, openers[: leading_system_count(openers)]))
        task = [id(seen[place]) for place in find_task(seen)]
        for least in (task, task[-1:]):
            for start in range(len(rounds)):
                shown = [
                    found
                    for place, found in enumerate(rounds)
                    if place >= start
                    or found.pinned
                    or id(found.messages[0]) in leading.union(least)
                ]
                if self.size(shown) <= self.target:
                    return shown
            if self.size(shown) <= self.budget:
                return shown
        return shown

    def size(self, rounds: list[Round]) -> int:
        """Count some rounds."""
        return sum(count(found.messages) for found in rounds)


@given(CONVERSATIONS, BUDGETS, LOW_WATERS)
@MANY
def test_view_is_that_of_naive_fold(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """Round by round: over the budget, keep the newest that the low water has room for."""
    view = fit_window(budget, low_watermark).compact(messages)

    expected = _Oracle(messages, budget, int(budget * low_watermark)).view()
    assert list(map(id, view)) == list(map(id, expected))


@given(CONVERSATIONS, BUDGETS)
@MANY
def test_a_watermark_of_one_fills_the_room(messages: list[Message], budget: int) -> None:
    """No history of earlier cuts shows: it is the largest view of its kind that fits."""
    view = fit_window(budget, 1.0).compact(messages)

    oracle = _Oracle(messages, budget, budget)
    rounds = [found for found in split_rounds(messages) if not found.orphaned]
    shown = oracle.newest(rounds) if oracle.size(rounds) > budget else rounds
    assert sorted(map(id, view)) == sorted(id(m) for found in shown for m in found.messages)


@given(CONVERSATIONS, BUDGETS, LOW_WATERS)
@MANY
def test_views_have_whole_rounds_only(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """Pairing: the view splits into rounds of the input, each complete, none orphaned."""
    view = fit_window(budget, low_watermark).compact(messages)

    whole = {tuple(map(id, found.messages)) for found in split_rounds(messages)}
    for found in split_rounds(view):
        assert tuple(map(id, found.messages)) in whole
        assert not found.orphaned


@given(CONVERSATIONS, BUDGETS, LOW_WATERS)
@MANY
def test_a_view_has_the_same_objects(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """Identity: nothing is copied, edited or moved; the history is untouched."""
    before = list(map(id, messages))

    view = fit_window(budget, low_watermark).compact(messages)

    shown = set(map(id, view))
    assert list(map(id, messages)) == before
    assert list(map(id, view)) == [each for each in before if each in shown]
    assert (view is messages) == (len(view) == len(messages))


_CROWDED_OUT = [
    Message("user", "9"),
    Message("user", "99999999"),
    Message("assistant", tool_calls=[ToolCall("c1", "read"), ToolCall("c1", "read")]),
    Message("user", ""),
]


@given(CONVERSATIONS, BUDGETS, LOW_WATERS)
@example(_CROWDED_OUT, 32, 0.9)
@MANY
def test_prompt_task_pinned_and_newest_stay(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """What must stay does, whatever the budget; only an orphan goes even if pinned.

    The opening request goes if a cut on the way found the rest of this over the budget with it; it
    does not come back between two cuts, which would change how the view begins.
    """
    shown = set(map(id, fit_window(budget, low_watermark).compact(messages)))

    must, opening = what_must_stay(messages)
    assert shown.issuperset(map(id, must))
    lengths = range(1, len(messages) + 1)
    least = [list(chain(*what_must_stay(messages[:each]))) for each in lengths]
    if all(count(each) <= budget for each in least):
        assert shown.issuperset(map(id, opening))


def what_must_stay(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """Return what stays whatever the budget, and the opening request if it is not among it."""
    sound = [found for found in split_rounds(messages) if not found.orphaned]
    must = messages[: leading_system_count(messages)]
    must += [message for found in sound if found.pinned for message in found.messages]
    must += sound[-1].messages if sound else ()
    task = [messages[position] for position in find_task(messages)]
    unique = {id(message): message for message in [*must, *task[-1:]]}
    return [*unique.values()], [each for each in task[:-1] if id(each) not in unique]


@given(CONVERSATIONS, BUDGETS, LOW_WATERS)
@MANY
def test_size_and_fits_are_true(messages: list[Message], budget: int, low_watermark: float) -> None:
    """Fit: an independent count agrees, and only the minimum is ever over the budget."""
    fit = fit_window(budget, low_watermark).fit(messages)

    assert fit.tokens == count(fit.messages)
    assert fit.fits == (fit.tokens <= budget)
    if not fit.fits:
        least = FitContextWindow(1, LETTERS, low_watermark=1.0, tokens_per_media=30).fit(messages)
        assert same(attrs.evolve(fit, fits=False), least)


@given(CONVERSATIONS, BUDGETS, LOW_WATERS, st.booleans())
@MANY
def test_fitting_twice_is_fitting_once(
    messages: list[Message],
    budget: int,
    low_watermark: float,
    cold: bool,
) -> None:
    """Idempotence: a view comes back as the same list object, from a strategy new to it or not."""
    strategy = fit_window(budget, low_watermark)
    view = strategy.compact(messages)

    again = (fit_window(budget, low_watermark) if cold else strategy).compact(view)

    assert again is view


@given(CONVERSATIONS, BUDGETS, LOW_WATERS, LENGTHS)
@MANY
def test_turn_by_turn_equals_at_once(
    messages: list[Message], budget: int, low_watermark: float, lengths: list[int]
) -> None:
    """Fold: whatever was seen on the way, at whatever lengths, the view is that of a cold start."""
    strategy = fit_window(budget, low_watermark)

    for length in [*sorted(lengths), len(messages)]:
        warm = strategy.fit(messages[:length])
        assert same(warm, fit_window(budget, low_watermark).fit(messages[:length]))


@given(CONVERSATIONS, CONVERSATIONS, BUDGETS, LOW_WATERS, LENGTHS)
@MANY
def test_alternating_conversations_do_not_mix(
    one: list[Message],
    other: list[Message],
    budget: int,
    low_watermark: float,
    lengths: list[int],
) -> None:
    """Three on one strategy, one of them a fork of another, in any order and any state."""
    strategy = fit_window(budget, low_watermark)

    for length in lengths:
        for messages in (one[:length], other[:length], [*one[:length], *other]):
            assert same(strategy.fit(messages), fit_window(budget, low_watermark).fit(messages))


@given(conversations(damaged=False, max_rounds=20), BUDGETS, LOW_WATERS)
@MANY
def test_between_cuts_only_the_end_grows(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """The provider's cache survives: as long as there is room, what was sent is sent again."""
    strategy = fit_window(budget, low_watermark)
    rounds = split_rounds(messages)
    ends = [found.positions[-1] + 1 for found in rounds]
    views = [strategy.fit(messages[:end]) for end in ends]

    for found, before, after in zip(rounds[1:], views, views[1:], strict=False):
        room = before.tokens + count(found.messages) <= budget
        if room and (low_watermark < 1 or len(before.messages) == found.positions[0]):
            assert list(map(id, after.messages)) == list(
                map(id, [*before.messages, *found.messages])
            )


@given(CONVERSATIONS, BUDGETS, LOW_WATERS)
@MANY
def test_repaired_history_stays_sound_in_view(
    messages: list[Message], budget: int, low_watermark: float
) -> None:
    """Of a history that a provider accepts, every view is one too."""
    repaired = close_open_rounds(messages)

    view = fit_window(budget, low_watermark).compact(repaired)

    assert close_open_rounds(view) is view
