from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic import events, truncate
from agentic.loop import Decision, Result, Runner, truncate_result
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor

_LINES = "".join(f"line {number}\n" for number in range(100))


def _run(*outputs: object, **options: Any) -> Result:
    calls = [ToolCall(f"c{number}", f"t{number}") for number in range(len(outputs))]
    answers = {call.name: output for call, output in zip(calls, outputs, strict=True)}
    decider = ScriptedDecider(Decision("", calls), "Done.")
    return Runner(decider, ScriptedExecutor(answers), **options).run_sync("hi")


@pytest.mark.parametrize("mode", ["head", "tail", "middle"])
def test_result_and_history_hold_truncated_output(mode: Any) -> None:
    """Both hold what `truncate` gives; the notice stands beside the output, not in it."""
    options = truncate.Options(mode=mode, max_lines=10)
    expected = options.apply(_LINES)

    result = _run(_LINES, truncation=options)

    (cut,) = result.history[-2].tool_results
    assert result.tool_results == (cut,)
    assert (cut.output, cut.notice) == (expected.content, expected.notice())


@pytest.mark.parametrize(
    ("options", "unit"), [({"max_lines": 10}, "lines"), ({"max_bytes": 50}, "bytes")]
)
def test_event_holds_the_truncations_record(options: Any, unit: str) -> None:
    """The call, the limit that decided and the sizes, as `truncate` measured them."""
    with EventRecorder("tool_output_truncated") as recorder:
        _run(_LINES, "short", truncation=truncate.Options(**options))

    (event,) = recorder.of(events.ToolOutputTruncated)
    assert event.call.id == "c0"
    assert event.truncation == truncate.Options(**options).apply(_LINES)
    assert event.truncation.truncated_by == unit


def test_output_is_whole_without_options() -> None:
    """Truncation is asked for, or does not happen."""
    assert _run(_LINES * 1_000).tool_results[0].output == _LINES * 1_000


def test_tools_own_notice_is_kept() -> None:
    """What the tool itself left out is still told, and the output's own reference is named."""
    given = ToolResult("", "", _LINES, notice="A part is missing.", ref="full.log")

    (cut,) = _run(given, truncation=truncate.Options(max_lines=1)).tool_results

    assert cut.notice.startswith("A part is missing.\n")
    assert "the full text is in full.log" in cut.notice


def test_outputs_of_turn_share_budget() -> None:
    """The small ones stay whole, the large ones get equal parts of what is left."""
    results = _run("a" * 50, "b" * 500, "c" * 900, turn_output_bytes=450).tool_results

    assert [len(result.output) for result in results] == [50, 200, 200]
    assert [bool(result.notice) for result in results] == [False, True, True]


def test_within_the_budget_nothing_is_cut() -> None:
    """A budget that suffices, to the byte, changes nothing."""
    results = _run("a" * 50, "b" * 400, turn_output_bytes=450).tool_results

    assert [len(result.output) for result in results] == [50, 400]


def test_output_over_both_limits_truncates_once() -> None:
    """The notice and the event tell of the whole output, not of one that was cut before."""
    options = truncate.Options(max_bytes=400)

    with EventRecorder("tool_output_truncated") as recorder:
        results = _run("a" * 900, "b" * 900, truncation=options, turn_output_bytes=500).tool_results

    assert [event.truncation.total_bytes for event in recorder.of(events.ToolOutputTruncated)] == [
        900,
        900,
    ]
    assert all(result.notice.count("missing") == 1 for result in results)
    assert [len(result.output) for result in results] == [250, 250]


def test_turn_budget_defaults_to_four_outputs() -> None:
    """Five outputs of the greatest length share the room of four."""
    results = _run(*["a" * 200] * 5, truncation=truncate.Options(max_bytes=100)).tool_results

    assert [len(result.output) for result in results] == [80] * 5


def test_a_runner_tells_its_budget() -> None:
    """What was given, four times the longest output, or none."""
    decider = ScriptedDecider()

    assert Runner(decider).output_budget is None
    assert Runner(decider, turn_output_bytes=7).output_budget == 7
    assert Runner(decider, truncation=truncate.Options(max_bytes=100)).output_budget == 400
    assert Runner(decider, truncation=truncate.Options(max_bytes=None)).output_budget is None


_RESULTS = st.builds(
    ToolResult,
    st.just("c1"),
    output=st.text(max_size=60) | st.sampled_from(["\ud83d" * 9, "\u8bb0\n" * 20]),
    error=st.none() | st.text(max_size=30).map(ToolError),
)


@given(results=st.lists(_RESULTS, min_size=1, max_size=8), budget=st.integers(16, 400))
def test_a_turn_never_exceeds_its_budget(results: list[ToolResult], budget: int) -> None:
    """Outputs and failures together are within it; who asked for less than a part is left whole."""
    shortened = _run(*results, turn_output_bytes=budget).tool_results

    sizes = [_size(result) for result in shortened]
    assert sum(sizes) <= budget
    for before, after in zip(results, shortened, strict=True):
        same = (after.output, after.error, after.notice) == (before.output, before.error, "")
        assert same or _size(before) > budget // len(results)


def _size(result: ToolResult) -> int:
    text = result.output + (result.error.message if result.error else "")
    return len(text.encode("utf-8", "surrogatepass"))


@given(result=_RESULTS, options=st.builds(truncate.Options, max_bytes=st.integers(2, 80)))
def test_result_within_limits_is_same_object(result: ToolResult, options: truncate.Options) -> None:
    """What is not over the limit is not touched; what is, is within it and keeps its id."""
    got = truncate_result(result, options)

    assert options.max_bytes is not None
    assert (got is result) == (_size(result) <= options.max_bytes)
    assert got.call_id == result.call_id
    assert _size(got) <= options.max_bytes
