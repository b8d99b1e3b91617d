"""How much more the hot paths do in a longer conversation, in calls of functions."""

from collections.abc import Callable

import pytest

from benchmarks.growth import PATHS, Path

_Calls = Callable[[Callable[[], object]], int]
SHORT, LONG = 64, 256
_SLACK = 150
"""Calls by which two turns may differ: another kind of message, a thread that ends earlier."""
_EACH = {"Importance": 2.0}
"""Calls for each message of a history that is still read at every turn: what `Importance` leaves
out depends on every later message, so that it weighs all rounds anew, which it has read before."""
_TURNS = [path for path in PATHS if path.kind == "turn"]
_WHOLES = [path for path in PATHS if path.kind == "whole"]


def _calls(path: Path, length: int, count_calls: _Calls) -> int:
    run = path.prepare(length)
    run()  # what is loaded at the first call is not counted
    return count_calls(run)


@pytest.mark.parametrize("path", _TURNS, ids=lambda path: path.name)
def test_a_turn_does_not_grow_with_the_history(path: Path, count_calls: _Calls) -> None:
    """Comparing two lists takes no call of a function for each message."""
    more = _calls(path, LONG, count_calls) - _calls(path, SHORT, count_calls)

    assert more <= _SLACK + _EACH.get(path.name, 0.0) * (LONG - SHORT)


@pytest.mark.parametrize("path", _WHOLES, ids=lambda path: path.name)
def test_reading_a_whole_is_linear(path: Path, count_calls: _Calls) -> None:
    """Four times as many messages or deltas take at most five times the calls."""
    short, long = (_calls(path, length, count_calls) for length in (SHORT, LONG))

    assert long <= 5 * short
