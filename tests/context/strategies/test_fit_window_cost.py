"""What a view costs: each text is counted once, each round folded once."""

from collections.abc import Callable
from typing import Any

from agentic.context.budget import Manager
from agentic.context.strategies import FitContextWindow
from agentic.messages import Message, ToolCall, ToolResult


def turn(number: int) -> list[Message]:
    """Make one turn, all its texts different from those of others."""
    return [
        Message("assistant", f"say {number}", tool_calls=[ToolCall(f"c{number}", f"t{number}")]),
        Message("tool", tool_results=[ToolResult(f"c{number}", "", f"out {number}")]),
    ]


def test_each_text_is_counted_once(counter: Any) -> None:
    """However often it is cut, a text is given to the counter a single time."""
    strategy = FitContextWindow(300, counter)
    messages = [Message("user", "Go.")]

    for number in range(100):
        messages += turn(number)
        assert len(strategy.compact(messages)) < 50

    assert set(counter.asked.values()) == {1}


def test_a_manager_shares_the_counts(counter: Any) -> None:
    """The budget and the view share what is known of a text."""
    messages = [message for number in range(20) for message in turn(number)]
    manager, strategy = Manager(counter), FitContextWindow(300, counter)

    assert manager._token_cache is not None
    manager._token_cache.sizes(messages)
    strategy.compact(messages)

    assert set(counter.asked.values()) == {1}


def test_settled_rounds_are_not_folded_again() -> None:
    """Only a call without its result keeps the rounds after it open."""
    strategy = FitContextWindow(1_000)
    open_call = turn(0)[:1]
    messages = [*turn(0), *[Message("user", "still there?")] * 50]

    strategy.compact(messages)
    strategy.compact([*open_call, *messages[2:]])

    settled = [fold.messages for fold in strategy._recent._known]
    assert settled == [messages]


def test_unsettled_talks_push_nothing_out() -> None:
    """Empty conversations, and those of a single open call, are not kept."""
    strategy = FitContextWindow(1_000)
    messages = turn(0)
    strategy.compact(messages)

    for _ in range(20):
        strategy.compact([])
        strategy.compact(turn(1)[:1])

    assert strategy._recent.find(messages) is not None


def test_rules_at_the_start_cost_their_number(
    count_calls: Callable[[Callable[[], object]], int],
) -> None:
    """Though all of them are kept by each of the cuts, and none of it fits."""

    def calls(rules: int) -> int:
        messages = [Message("system", f"rule {number}") for number in range(rules)]
        messages += [Message("user", "Go."), *turn(0)]
        return count_calls(lambda: FitContextWindow(300).fit(messages))

    assert calls(2_000) < 6 * calls(500)


def test_pinned_requests_cost_their_number(
    count_calls: Callable[[Callable[[], object]], int],
) -> None:
    """Each of them is the task for a while."""

    def calls(pins: int) -> int:
        messages = [Message("user", f"rule {number}", pinned=True) for number in range(pins)]
        return count_calls(lambda: FitContextWindow(300).fit([*messages, *turn(0)]))

    assert calls(2_000) < 6 * calls(500)
