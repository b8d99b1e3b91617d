import asyncio
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from agentic import events, truncate
from agentic.loop import Decision, Result, Runner
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.testing import EventRecorder, ScriptedDecider, ScriptedExecutor
from agentic.tools import Registry, tool
from agentic.tools._function import FunctionTool


def _run_one(answer: object, **options: Any) -> ToolResult:
    """Return the result of the one call of a run."""
    return _run({"t": answer}, ["t"], **options).tool_results[0]


def _run(answers: dict[str, Any], names: list[str], **options: Any) -> Result:
    calls = [ToolCall(f"c{number}", name) for number, name in enumerate(names)]
    decider = ScriptedDecider(Decision("", calls), "Done.")
    return Runner(decider, ScriptedExecutor(answers), **options).run_sync("hi")


class _Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words for it")


class _Outside(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such file"), "ValueError: no such file"),
        (ValueError("x" * 100_000), "ValueError: xxx"),
        (asyncio.CancelledError(), "cancelled from within"),
        (_Unprintable(), "_Unprintable"),
        (_Outside("skipped"), "_Outside: skipped"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_raising_tool_becomes_a_result(error: BaseException, text: str) -> None:
    """Whatever it raises, the model reads what it was, in a few words, and the run goes on."""
    result = _run_one(error)

    assert result.error is not None
    assert result.error.kind == "raised"
    assert text in result.error.message
    said, _, _ = result.error.message.partition("\n[The first 2,000 of 100,012 characters.]")
    assert len(said) <= 2_000


@pytest.mark.parametrize("given", [None, "text", 3, {"output": "text"}])
def test_an_executor_must_give_a_result(given: object) -> None:
    """Anything else is an error that the model reads; the round is closed."""
    result = _run_one(lambda _: [given] if isinstance(given, str) else given)

    assert "instead of a ToolResult" in result.text


def test_result_answers_the_call_made() -> None:
    """An executor cannot confuse the pairing."""
    result = _run_one(ToolResult("other", "another", "text"))

    assert (result.call_id, result.name, result.output) == ("c0", "t", "text")


async def _hang(_: ToolCall) -> str:
    await asyncio.Event().wait()
    raise NotImplementedError


async def _ignore_cancellation(_: ToolCall) -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0.05)
    return "too late"


@pytest.mark.parametrize("answer", [_hang, _ignore_cancellation])
def test_a_tool_that_hangs_is_stopped(answer: Callable[[ToolCall], Any]) -> None:
    """After the timeout the model reads that it took too long, even if it would not stop."""
    result = _run_one(answer, tool_timeout_seconds=0.02)

    assert result.error is not None
    assert result.error.kind == "timeout"
    assert "longer than 0.02 s" in result.text


def test_slow_tool_is_cancelled() -> None:
    """It is cancelled, so that it can let go of what it holds, and the run does not wait."""

    async def hang(_: ToolCall) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        raise NotImplementedError

    async def main() -> None:
        decider = ScriptedDecider(Decision("", [ToolCall("c1", "hang")]), "Done.")
        executor = ScriptedExecutor({"hang": hang})
        await Runner(decider, executor, tool_timeout_seconds=0.02).run("hi")
        async with asyncio.timeout(60):
            await stopped.wait()

    stopped = asyncio.Event()
    asyncio.run(main())

    assert stopped.is_set()


@pytest.mark.usefixtures("idle_clock")
def test_the_timeout_leaves_finished_tools_alone() -> None:
    """Only what has not ended is stopped; the others keep their results, in call order."""
    results = _run({"hang": _hang, "t": "text"}, ["hang", "t"], tool_timeout_seconds=0.05)

    assert [result.error is None for result in results.tool_results] == [False, True]


def test_tool_without_timeout_takes_its_time() -> None:
    """None waits until the tool has ended."""

    async def slow(_: ToolCall) -> str:
        await asyncio.sleep(0.05)
        return "at last"

    assert _run_one(slow, tool_timeout_seconds=None).output == "at last"


def test_stopped_tool_reports_its_seconds() -> None:
    """The event's seconds are those that the tool ran."""
    with EventRecorder("tool_execution_end") as recorder:
        _run_one(_hang, tool_timeout_seconds=0.05)

    (event,) = recorder.of(events.ToolExecutionEnd)
    assert event.seconds >= 0.04


def test_tools_of_a_turn_run_concurrently() -> None:
    """Three tools that wait for each other all end; results stand in the order of the calls."""

    async def meet(call: ToolCall) -> str:
        await barrier.wait()
        return call.id

    barrier = asyncio.Barrier(3)

    results = _run({"meet": meet}, ["meet"] * 3, tool_timeout_seconds=60).tool_results

    assert [result.output for result in results] == ["c0", "c1", "c2"]


def test_results_keep_the_call_order() -> None:
    """The first call ends last, and its result stays the first."""

    async def after_the_other(_: ToolCall) -> str:
        await ended.wait()
        return "slow"

    def at_once(_: ToolCall) -> str:
        ended.set()
        return "fast"

    ended = asyncio.Event()

    results = _run({"slow": after_the_other, "fast": at_once}, ["slow", "fast"]).tool_results

    assert [result.output for result in results] == ["slow", "fast"]


def test_raising_tool_leaves_others_alone() -> None:
    """Each call has its own outcome."""
    results = _run({"bad": ValueError("no"), "t": "text"}, ["bad", "t", "gone"]).tool_results

    assert [result.error.kind if result.error else "" for result in results] == [
        "raised",
        "",
        "not_found",
    ]


def test_huge_output_is_cut_before_storing() -> None:
    """The run is quick, the history small, the notice tells."""
    started = time.perf_counter()
    huge = "0123456789abcdef\n" * (100_000_000 // 17)

    result = _run_one(huge, truncation=truncate.Options(max_bytes=1_000))

    assert len(result.output) <= 1_000
    assert "5882352 lines are missing" in result.notice
    assert time.perf_counter() - started < 60


def test_failure_is_cut_like_output() -> None:
    """A tool that answers with an endless error message does not fill the context either."""
    result = _run_one(
        ToolError("line\n" * 10_000, "raised"), truncation=truncate.Options(max_bytes=1_000)
    )

    assert result.error is not None
    assert len(result.error.message) <= 1_000
    assert result.error.kind == "raised"
    assert "missing" in result.notice


@tool
def _add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@tool
async def _fail(reason: str) -> str:
    """Fail for a reason."""
    raise RuntimeError(reason)


@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (_add, '{"a": 2, "b": 3}', "5"),
        (_add, '{"a": 2', "Error: "),
        (_add, '{"a": "two", "b": 3}', "Error: "),
        (_fail, '{"reason": "just so"}', "just so"),
    ],
)
def test_a_real_registry_is_an_executor(
    function: FunctionTool[..., Any], arguments: str, text: str
) -> None:
    """Good arguments run the function; whatever is wrong becomes a result."""
    name = function.definition.name
    decider = ScriptedDecider(Decision("", [ToolCall("c1", name, arguments)]), "Done.")

    result = Runner(decider, Registry(function)).run_sync("hi")

    assert text in result.tool_results[0].text
    assert result.reply == "Done."


def test_unknown_tool_becomes_a_result() -> None:
    """The model reads which tools there are."""
    decider = ScriptedDecider(Decision("", [ToolCall("c1", "sub")]), "Done.")

    Runner(decider, Registry(_add)).run_sync("hi")

    assert "_add" in decider.requests[1].tool_results[0].text


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_exiting_tool_does_not_end_the_run() -> None:
    """`sys.exit` in one tool is that tool's failure."""
    results = _run({"exit": SystemExit, "t": "text"}, ["exit", "t"]).tool_results

    assert [result.output for result in results] == ["", "text"]
