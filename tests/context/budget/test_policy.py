from typing import Any

import pytest

from agentic.context.budget import Policy
from agentic.errors import ConfigError


@pytest.mark.parametrize(
    ("window", "reserve", "keep_recent"),
    [
        (200_000, 16_384, 20_000),
        (65_536, 16_384, 20_000),
        (65_535, 16_383, 20_000),
        (59_999, 14_999, 19_999),
        (8_000, 2_000, 2_666),
        (1, 0, 0),
        (0, 0, 0),
    ],
)
def test_omitted_numbers_depend_on_window(window: int, reserve: int, keep_recent: int) -> None:
    """The reserve is 16,384 or a quarter of the window, the recent part 20,000 or a third."""
    policy = Policy(window)

    assert (policy.reserve_tokens, policy.keep_recent_tokens) == (reserve, keep_recent)
    assert policy.available_tokens == window - reserve


def test_none_is_the_default() -> None:
    """None for an optional number means what leaving it out means."""
    policy = Policy(
        8_000, reserve_tokens=None, keep_recent_tokens=None, max_tokens=None, max_messages=None
    )

    assert policy == Policy(8_000)


def test_zero_is_its_own_number() -> None:
    """A reserve and a recent part of nothing are not taken for left out."""
    policy = Policy(8_000, reserve_tokens=0, keep_recent_tokens=0)

    assert (policy.reserve_tokens, policy.keep_recent_tokens) == (0, 0)


def test_numbers_can_be_given_in_order() -> None:
    """Window, reserve, recent tokens, last messages, K, N and the recent messages."""
    policy = Policy(1_000, 100, 200, 3, 400, 50, 7)

    assert policy.keep_last == 3
    assert (policy.max_tokens, policy.max_messages, policy.min_recent_messages) == (400, 50, 7)


@pytest.mark.parametrize("given", [-1, 1.5, "8q", True, [], float("nan")])
@pytest.mark.parametrize(
    "name",
    [
        "context_window",
        "reserve_tokens",
        "keep_recent_tokens",
        "keep_last",
        "max_tokens",
        "max_messages",
        "min_recent_messages",
    ],
)
def test_only_whole_numbers_are_accepted(name: str, given: Any) -> None:
    """The error names the number, what was given and what is allowed."""
    with pytest.raises(ConfigError) as caught:
        Policy(**{"context_window": 8_000, name: given})

    assert (caught.value.name, caught.value.given) == (name, given)
    assert "a whole number >= " in caught.value.allowed


@pytest.mark.parametrize("name", ["context_window", "keep_last", "min_recent_messages"])
def test_none_is_refused_for_required_numbers(name: str) -> None:
    """A window, and counts that have a number as their default, cannot be None."""
    with pytest.raises(ConfigError, match=f"{name} must be .*, got None"):
        Policy(**{"context_window": 8_000, name: None})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["max_tokens", "max_messages", "min_recent_messages"])
def test_zero_that_would_never_end_is_refused(name: str) -> None:
    """K, N and the recent messages start at 1."""
    with pytest.raises(ConfigError, match=f"{name} must be a whole number >= 1.*, got 0"):
        Policy(8_000, **{name: 0})


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), "soon", True])
def test_timeout_without_time_is_refused(seconds: Any) -> None:
    """A compactor must have some time, or all of it."""
    with pytest.raises(
        ConfigError, match=r"timeout_seconds must be .*, got .*None to wait forever"
    ):
        Policy(8_000, timeout_seconds=seconds)


@pytest.mark.parametrize("seconds", [1, 0.25, float("inf"), None])
def test_any_positive_time_is_a_timeout(seconds: float | None) -> None:
    """Whole seconds, parts of one, and for ever."""
    assert Policy(8_000, timeout_seconds=seconds).timeout_seconds == seconds


@pytest.mark.parametrize(
    ("numbers", "name", "allowed", "remedy"),
    [
        ({"reserve_tokens": 100}, "reserve_tokens", "less than context_window (100)", ""),
        ({"keep_recent_tokens": 75}, "keep_recent_tokens", "(75)", "room for a summary"),
        ({"reserve_tokens": 80}, "keep_recent_tokens", "(20)", "room for a summary"),
        (
            {"keep_recent_tokens": 20, "max_tokens": 20},
            "keep_recent_tokens",
            "max_tokens (20)",
            "compacted again",
        ),
        ({"max_messages": 6}, "max_messages", "min_recent_messages (6)", "always stay"),
    ],
)
def test_contradicting_numbers_are_refused(
    numbers: dict[str, int], name: str, allowed: str, remedy: str
) -> None:
    """A policy under which a compaction would never happen or never help cannot be made."""
    with pytest.raises(ConfigError) as caught:
        Policy(100, **numbers)

    assert caught.value.name == name
    assert allowed in caught.value.allowed
    assert remedy in caught.value.remedy


def test_nothing_contradicts_an_absent_window() -> None:
    """With the window trigger off, a reserve and a recent part are mere numbers."""
    assert Policy(0, reserve_tokens=100, keep_recent_tokens=100).keep_recent_tokens == 100


def test_default_recent_part_yields_to_k() -> None:
    """Only numbers that somebody gave can contradict each other."""
    assert Policy(200_000, max_tokens=10_000).keep_recent_tokens == 20_000
