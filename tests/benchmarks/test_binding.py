"""The benchmark against the server that binds reasoning: what it drives, and what it counts."""

import asyncio

import pytest

from benchmarks.binding import _case, dicts


def _run(entry: str, case: _case.Case) -> _case.Case:
    asyncio.run(dicts.ENTRIES[entry](case))  # type: ignore[arg-type]
    return case


@pytest.mark.parametrize(
    "entry",
    [
        "dicts, fit_request (Anthropic)",
        pytest.param("dicts, fit_request (Responses)", marks=pytest.mark.long),
        pytest.param("dicts, fit_request (Chat Completions)", marks=pytest.mark.long),
        pytest.param("dicts, fit_request (Bedrock)", marks=pytest.mark.long),
    ],
)
def test_window_that_is_never_full_changes_nothing(entry: str) -> None:
    """Then every entry point only appends: the harness itself adds no change."""
    case = _run(entry, _case.Case.make("1x100", 1_000_000, "default", counted=False))

    report = case.server.report
    assert report.requests == 101
    assert (report.refused, report.changes) == ({}, 0)
    assert (report.reasoning_lost, report.reasoning_stale) == (0, 0)


def test_small_window_is_full_several_times() -> None:
    """So that a row says something about several compactions."""
    case = _run(
        "dicts, fit_request (Chat Completions)",
        _case.Case.make("1x100", 16_000, "default", counted=True),
    )

    assert case.server.report.requests == 101
    assert case.server.report.changes >= 4


def test_refusal_in_earnest_ends_the_turn() -> None:
    """The harness goes on with the next turn, so that it always ends."""
    case = _case.Case.make("60x2", 16_000, "default", counted=False)
    served = iter(_case.requests(case))

    first, second = next(served), next(served)

    assert (first[:10], second[:10]) == ("Request 0:", "Request 1:")
    assert case.script.answered == 3
