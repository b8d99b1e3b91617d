"""FitContextWindow by example. Every character is a token, a message four more."""

from itertools import pairwise
from typing import Any

import pytest

from agentic.context.strategies import FitContextWindow
from agentic.errors import ConfigError
from agentic.messages import ContextSummary, Media, Message, ToolCall, ToolResult
from agentic.tokens import CharCounter, approx_token_counter

LETTERS = CharCounter(1.0)
USER = Message("user", "x" * 6)


def fit_window(max_tokens: int, **options: Any) -> FitContextWindow:
    """Make one that counts characters and keeps as much as fits."""
    return FitContextWindow(max_tokens, LETTERS, **{"low_watermark": 1.0, **options})


def say(*sizes: int) -> list[Message]:
    """Make replies of these sizes, in tokens."""
    return [Message("assistant", "x" * (size - 4)) for size in sizes]


def call(name: str, size: int) -> list[Message]:
    """Make a tool round of this size, in tokens."""
    return [
        Message("assistant", tool_calls=[ToolCall(name, "r", "{}")]),
        Message("tool", tool_results=[ToolResult(name, "r", "x" * (size - 11))]),
    ]


def kept(strategy: FitContextWindow, messages: list[Message]) -> list[int]:
    """Return where the messages of the view stood."""
    where = {id(message): position for position, message in enumerate(messages)}
    return [where[id(message)] for message in strategy.compact(messages)]


def test_only_the_window_must_be_given() -> None:
    """Counter, reserve, overhead, media and low water have defaults."""
    strategy = FitContextWindow(1_000)

    assert strategy.counter is approx_token_counter
    assert (strategy.reserve_tokens, strategy.low_watermark) == (0, 0.75)
    assert (strategy.per_message_overhead, strategy.tokens_per_media) == (4, 600)
    assert strategy.budget == 1_000


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *(("max_tokens", given) for given in (0, -1, 1.5, "8k", None, True)),
        *(("reserve_tokens", given) for given in (-1, 100, 101, 0.5, "8", None, True)),
        *(("per_message_overhead", given) for given in (-1, 0.5, "4", None, True)),
        *(("tokens_per_media", given) for given in (-1, 0.5, "600", True)),
        *(("low_watermark", given) for given in (0, -0.5, 1.01, float("nan"), "half", None, True)),
    ],
)
def test_senseless_numbers_are_refused(name: str, given: Any) -> None:
    """The error names the option, what was given, what is allowed and what to do."""
    with pytest.raises(ConfigError) as caught:
        FitContextWindow(**{"max_tokens": 100, name: given})

    assert (caught.value.name, caught.value.given) == (name, given)
    assert caught.value.allowed


def test_fitting_list_comes_back_itself() -> None:
    """A conversation of exactly the budget is left alone."""
    messages = [USER, *say(40, 50)]

    fit = fit_window(100).fit(messages)

    assert fit.messages is messages
    assert (fit.tokens, fit.fits) == (100, True)


def test_nothing_fits_in_any_budget() -> None:
    """No messages are no tokens."""
    messages: list[Message] = []

    fit = fit_window(1).fit(messages)

    assert fit.messages is messages
    assert (fit.tokens, fit.fits) == (0, True)


@pytest.mark.parametrize(
    ("budget", "positions"),
    [
        (109, [0, 2, 3, 4]),
        (100, [0, 2, 3, 4]),
        (99, [0, 3, 4]),
        (70, [0, 3, 4]),
        (69, [0, 4]),
        (30, [0, 4]),
        (1, [0, 4]),
    ],
)
def test_the_newest_rounds_that_fit_stay(budget: int, positions: list[int]) -> None:
    """At a low water of 1.0, as many of the newest as there is room for beside the task."""
    assert kept(fit_window(budget), [USER, *say(10, 30, 40, 20)]) == positions


def test_a_small_round_passes_no_large_one() -> None:
    """There are no holes: an older round stays only if all newer ones do."""
    assert kept(fit_window(60), [USER, *say(10, 60, 20, 20)]) == [0, 3, 4]


def test_tool_round_stays_or_goes_whole() -> None:
    """Its result is not kept without the call, even if the result alone would fit."""
    messages = [USER, *call("a", 50), *call("b", 50)]

    assert kept(fit_window(109), messages) == [0, 3, 4]
    assert kept(fit_window(110), messages) == [0, 1, 2, 3, 4]


def test_prompt_latest_request_and_pinned_stay() -> None:
    """They stay where they stood, whatever the budget; so does the newest round."""
    messages = [
        Message("system", "prompt"),
        ContextSummary("S", 1).to_message(),
        Message("user", "first"),
        Message("user", "second"),
        Message("assistant", "pinned", pinned=True),
        Message("user", "latest"),
        *say(20, 20),
    ]

    assert kept(fit_window(1), messages) == [0, 1, 4, 5, 7]


def test_a_summary_is_never_the_task() -> None:
    """A summary that was stored as a user message takes no request's place."""
    summary = Message("user", "old record", summary=ContextSummary("A", 3))
    messages = [summary, Message("user", "first"), summary, *say(20, 20)]

    assert kept(fit_window(1), messages) == [1, 4]


def test_an_oversized_minimum_is_kept() -> None:
    """What is over the budget says so: it is sent at one's own risk."""
    messages = [USER, *say(100, 200)]

    fit = fit_window(150).fit(messages)

    assert fit.messages == [messages[0], messages[2]]
    assert (fit.tokens, fit.fits) == (210, False)


def test_a_minimum_of_all_is_unchanged() -> None:
    """Over the budget, but with nothing to leave out, nothing changes."""
    messages = [USER, *say(200)]

    fit = fit_window(150).fit(messages)

    assert fit.messages is messages
    assert not fit.fits


def test_a_former_large_request_makes_room() -> None:
    """At a low water of 1.0 the view is as large as it can be, whatever came before."""
    large = Message("user", "x" * 56)
    messages = [USER, *say(20), large, *say(20, 30), Message("user", "x" * 6)]

    strategy = fit_window(100)
    turns = [kept(strategy, messages[:length]) for length in range(1, 7)]

    assert turns[4] == [2, 4]
    assert turns[5] == [3, 4, 5]


def test_returning_rounds_keep_their_order() -> None:
    """A pinned message keeps its place when an older round finds room again."""
    large, pinned = Message("user", "x" * 56), Message("assistant", "x" * 6, pinned=True)
    messages = [USER, large, *say(20), pinned, *say(30), USER.replace()]

    strategy = fit_window(100)

    assert kept(strategy, messages[:5]) == [1, 3, 4]
    assert kept(strategy, messages) == [2, 3, 4, 5]


def test_an_answered_request_goes() -> None:
    """However large it was, it is not the task for ever; the request at work stays."""
    long_ago = [Message("user", "x" * 96), *say(20)]
    at_work = [USER, *call("a", 40), Message("user", "x" * 6), *call("b", 40), *call("c", 40)]
    messages = [*long_ago, *at_work]

    assert kept(fit_window(99), messages) == [2, 5, 8, 9]
    assert fit_window(99).fit(messages).fits


def test_a_large_opening_request_goes_first() -> None:
    """One message makes not every later view unfit; it comes back where there is room for it."""
    huge, more = Message("user", "x" * 196), Message("user", "x" * 6)
    messages = [huge, *call("a", 40), more, *call("b", 40)]

    assert kept(fit_window(260), messages) == [0, 3, 4, 5]
    assert kept(fit_window(80), messages) == [3, 4, 5]
    assert fit_window(80).fit(messages).fits
    assert not fit_window(10).fit(messages).fits


def test_the_opening_request_comes_back() -> None:
    """A request that was too large for one cut is there again at the next."""
    opening, large = Message("user", "x" * 26), Message("user", "x" * 76)
    messages = [opening, *call("a", 20), large, *call("b", 20), USER, *call("c", 20)]
    strategy = fit_window(100)

    assert kept(strategy, messages[:6]) == [3, 4, 5]
    assert kept(strategy, messages) == [0, 4, 5, 6, 7, 8]


def test_the_reserve_is_left_free() -> None:
    """The messages may take what the reserve leaves of the window."""
    messages = [USER, *say(40, 50)]

    assert kept(fit_window(120, reserve_tokens=20), messages) == [0, 1, 2]
    assert kept(fit_window(120, reserve_tokens=21), messages) == [0, 2]


def test_media_and_overhead_count() -> None:
    """A picture costs its flat estimate, a message its overhead."""
    messages = [USER, Message("user", media=[Media("image/png")] * 2), *say(14)]

    fit = fit_window(1_000, tokens_per_media=7, per_message_overhead=1).fit(messages)

    assert fit.tokens == (6 + 1) + (2 * 7 + 1) + (10 + 1)


def test_orphans_go_even_if_all_fits() -> None:
    """A result without its call is in no view, pinned or not."""
    orphan = Message("tool", tool_results=[ToolResult("gone")], pinned=True)
    messages = [orphan, USER, orphan, *say(20), orphan]

    fit = fit_window(1_000).fit(messages)

    assert fit.messages == [USER, messages[3]]
    assert (fit.tokens, fit.fits) == (30, True)


def test_after_a_deep_cut_the_start_stays() -> None:
    """Over the budget, the view is cut to the low water; between cuts it grows at its end."""
    strategy = FitContextWindow(200, LETTERS, low_watermark=0.5)
    messages = [USER, *say(*[10] * 60)]

    views = [strategy.compact(messages[:length]) for length in range(1, 62)]

    cuts = [
        length
        for length, (before, after) in enumerate(pairwise(views), 2)
        if after[: len(before)] != before or after[1:2] != before[1:2]
    ]
    assert cuts == [2, 21, 32, 43, 54]
    assert [len(views[length - 1]) for length in cuts[1:]] == [10] * 4


def test_a_tiny_watermark_leaves_the_minimum() -> None:
    """A cut never goes below what always stays."""
    strategy = FitContextWindow(50, LETTERS, low_watermark=0.01)

    assert kept(strategy, [USER, *say(20, 20, 20)]) == [0, 3]


def test_late_result_joins_its_round() -> None:
    """A view of an unfinished turn does not decide what the finished one looks like."""
    messages = [USER, *say(60), *call("a", 60)]
    strategy = fit_window(100)

    assert kept(strategy, messages[:3]) == [0, 1, 2]
    assert kept(strategy, messages) == [0, 2, 3]
