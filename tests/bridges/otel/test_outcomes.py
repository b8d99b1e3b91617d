"""However a run ends, no span stays open, and each says how it ended."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.trace import StatusCode

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.errors import ContextOverflow, IncompleteReply
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Request, RunLimits, Runner
from agentic.messages import Message, ToolCall, ToolResult
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter
from agentic.usage import StopReason

_CALL = Decision("", [ToolCall("c1", "t")])
_LONG = tuple(Message("assistant", "word " * 200) for _ in range(10))


async def _never(*_: object) -> str:
    await asyncio.sleep(60)
    return "too late"


class _Stubborn:
    """A compactor, a decider and a stream that wait for ever."""

    async def compact(self, messages: list[Message], /) -> str:
        return await _never()

    async def decide(self, request: Input, /) -> Decision:
        return Decision(await _never())


class _Streaming(_Stubborn):
    async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
        yield "It"
        await _never()


def _errors(recorded: Any) -> dict[str, str]:
    """Return what each kind of span says went wrong."""
    return {
        span.attributes["gen_ai.operation.name"]: span.attributes["error.type"]
        for span in recorded.spans
        if span.status.status_code is StatusCode.ERROR
    }


def _cancel_in(recorded: Any, runner: Runner, name: str, request: Request | str = "hi") -> None:
    """Cancel a run as soon as a span of this name is open."""

    async def main() -> None:
        running = asyncio.create_task(runner.run(request))
        while name not in recorded.still_open:  # noqa: ASYNC110  nobody is told
            await asyncio.sleep(0.001)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_raising_decider_ends_both_spans(recorded: Any) -> None:
    """With its name."""
    runner = Runner(ScriptedDecider(ConnectionResetError("gone")))
    recorded.instrument(runner)

    with pytest.raises(ConnectionResetError):
        runner.run_sync("hi")

    assert recorded.still_open == []
    assert _errors(recorded) == dict.fromkeys(("chat", "invoke_agent"), "ConnectionResetError")


def test_raising_tool_ends_only_its_span(recorded: Any) -> None:
    """The model reads the error, and the run goes on."""
    runner = Runner(ScriptedDecider(_CALL, "Done."), ScriptedExecutor({"t": OSError("no disk")}))
    recorded.instrument(runner)
    runner.run_sync("hi")

    assert recorded.still_open == []
    assert _errors(recorded) == {"execute_tool": "OSError"}


def test_reported_failure_ends_as_one(recorded: Any) -> None:
    """With the kind of the failure."""
    failed = ToolResult(error="there is no such file")
    runner = Runner(ScriptedDecider(_CALL, "Done."), ScriptedExecutor({"t": lambda _: failed}))
    recorded.instrument(runner)
    runner.run_sync("hi")

    assert _errors(recorded) == {"execute_tool": "raised"}


def test_missing_result_ends_as_a_failure(recorded: Any) -> None:
    """The loop makes it one, in the same words as without the bridge."""
    runner = Runner(ScriptedDecider(_CALL, "Done."), ScriptedExecutor({"t": lambda _: 7}))
    recorded.instrument(runner)
    result = runner.run_sync("hi")

    assert _errors(recorded) == {"execute_tool": "raised"}
    assert recorded.still_open == []
    assert "the executor returned a int instead of a ToolResult" in str(
        result.tool_results[0].error
    )


def test_slow_tool_ends_as_a_timeout(recorded: Any) -> None:
    """Not as a cancellation, which is only how it was stopped."""
    executor = ScriptedExecutor({"t": _never})
    runner = Runner(ScriptedDecider(_CALL, "Done."), executor, tool_timeout_seconds=0.02)
    recorded.instrument(runner)
    runner.run_sync("hi")

    assert recorded.still_open == []
    assert _errors(recorded) == {"execute_tool": "timeout"}


def test_stubborn_tool_ends_all_the_same(recorded: Any) -> None:
    """Its span ends with the call, not whenever the tool does."""
    released = asyncio.Event()

    async def deaf(_: ToolCall) -> str:
        while not released.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await released.wait()
        return "late"

    async def run() -> list[str]:
        executor = ScriptedExecutor({"t": deaf})
        runner = Runner(ScriptedDecider(_CALL, "Done."), executor, tool_timeout_seconds=0.02)
        recorded.instrument(runner)
        await runner.run("hi")
        still_open = list(recorded.still_open)
        released.set()
        await asyncio.sleep(0.01)
        return still_open

    assert asyncio.run(run()) == []
    assert _errors(recorded) == {"execute_tool": "timeout"}


@pytest.mark.parametrize("decider", [_Stubborn(), _Streaming()])
def test_a_cancelled_run_ends_its_spans(recorded: Any, decider: Any) -> None:
    """The request that was cut short, and the agent."""
    runner = Runner(decider)
    recorded.instrument(runner)
    _cancel_in(recorded, runner, "chat")

    assert recorded.still_open == []
    assert _errors(recorded) == dict.fromkeys(("chat", "invoke_agent"), "CancelledError")


def test_cancellation_in_a_tool_ends_all_three(recorded: Any) -> None:
    """The call is left with an unknown outcome, and its span says so."""
    runner = Runner(ScriptedDecider(_CALL), ScriptedExecutor({"t": _never}))
    recorded.instrument(runner)
    _cancel_in(recorded, runner, "execute_tool t")

    assert recorded.still_open == []
    assert _errors(recorded) == {"execute_tool": "interrupted", "invoke_agent": "CancelledError"}


def test_cancellation_in_a_summary_ends_it(recorded: Any) -> None:
    """The compaction's own span, too."""
    runner = Runner(ScriptedDecider(), budget=Manager(CharCounter(), _Stubborn(), Policy(1_000)))
    recorded.instrument(runner)
    _cancel_in(recorded, runner, "compact_context", Request("hi", history=_LONG))

    assert recorded.still_open == []
    kinds = ("compact_context", "invoke_agent")
    assert _errors(recorded) == dict.fromkeys(kinds, "CancelledError")


def test_dropped_run_ends_its_spans(recorded: Any) -> None:
    """A coroutine that its owner closes, as when a loop is torn down: in no task of its own."""
    runner = Runner(_Stubborn())
    recorded.instrument(runner)

    async def main() -> None:
        running = runner.run("hi")
        while "chat" not in recorded.still_open:
            running.send(None)
            await asyncio.sleep(0.001)
        running.close()

    asyncio.run(main())

    assert recorded.still_open == []
    assert _errors(recorded) == dict.fromkeys(("chat", "invoke_agent"), "GeneratorExit")


def test_run_closed_elsewhere_ends_its_spans(
    recorded: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """In another context, where nothing is attached: no error is logged."""
    runner = Runner(_Stubborn())
    recorded.instrument(runner)

    async def main() -> Any:
        running = runner.run("hi")
        await asyncio.create_task(_step(running))
        return running

    async def _step(running: Any) -> None:
        running.send(None)

    asyncio.run(main()).close()

    assert recorded.still_open == []
    assert caplog.records == []


def test_failed_summary_leaves_the_run_going(recorded: Any) -> None:
    """A compaction changes everything or nothing."""

    class Broken:
        async def compact(self, messages: list[Message], /) -> str:
            raise ConnectionError("no route to the model")

    budget = Manager(CharCounter(), Broken(), Policy(1_000))
    runner = Runner(ScriptedDecider("Done."), budget=budget)
    recorded.instrument(runner)
    runner.run_sync(Request("hi", history=_LONG))

    assert recorded.still_open == []
    assert _errors(recorded) == {"compact_context": "ConnectionError"}


def test_a_declined_summary_is_no_error(recorded: Any) -> None:
    """Why nothing was changed is an attribute."""

    class Verbose:
        async def compact(self, messages: list[Message], /) -> str:
            return "word " * 5_000

    budget = Manager(CharCounter(), Verbose(), Policy(1_000))
    runner = Runner(ScriptedDecider("Done."), budget=budget)
    recorded.instrument(runner)
    runner.run_sync(Request("hi", history=_LONG))

    (span,) = recorded.named("compact_context")
    assert span.status.status_code is StatusCode.UNSET
    assert "larger than what it replaces" in span.attributes["agentic.compaction.declined"]


def test_broken_stream_ends_its_span(recorded: Any) -> None:
    """A reply without its end is none."""

    class Broken(_Stubborn):
        async def stream(self, request: Input, /) -> AsyncIterator[str | Decision]:
            yield "It is"

    runner = Runner(Broken())
    recorded.instrument(runner)
    with pytest.raises(IncompleteReply):
        runner.run_sync("hi")

    assert recorded.still_open == []
    assert _errors(recorded) == dict.fromkeys(("chat", "invoke_agent"), "IncompleteReply")


def test_the_turn_limit_is_no_error(recorded: Any) -> None:
    """It is told; the call that was not run has no span."""
    runner = Runner(ScriptedDecider(_CALL), ScriptedExecutor({"t": ""}), max_turns=1)
    recorded.instrument(runner)
    runner.run_sync("hi")

    (agent,) = recorded.named("invoke_agent")
    assert recorded.still_open == []
    assert _errors(recorded) == {}
    assert "limit of turns" in agent.attributes["agentic.run.incomplete"]
    assert recorded.named("execute_tool") == []


def test_limit_of_seconds_ends_all_spans(recorded: Any) -> None:
    """The request was cancelled; the run was not, and names its limit."""
    runner = Runner(_Stubborn(), limits=RunLimits(seconds=0.5))
    recorded.instrument(runner)
    runner.run_sync("hi")

    (agent,) = recorded.named("invoke_agent")
    assert recorded.still_open == []
    assert _errors(recorded) == {"chat": "CancelledError"}
    assert agent.attributes["agentic.run.limit"] == "seconds"


def test_resumed_run_has_its_own_span(recorded: Any) -> None:
    """After the one that failed, in the same conversation."""
    decider = ScriptedDecider(ConnectionResetError("gone"), "Done.")
    runner = Runner(decider, store=MemoryStore(), conversation_id="s1")
    recorded.instrument(runner, capture_content=True)

    async def both() -> None:
        with contextlib.suppress(ConnectionResetError):
            await runner.run("hi")
        await runner.resume()

    asyncio.run(both())

    failed, resumed = recorded.named("invoke_agent")
    assert failed.status.status_code is StatusCode.ERROR
    assert resumed.status.status_code is StatusCode.UNSET
    assert {span.attributes["gen_ai.conversation.id"] for span in recorded.spans} == {"s1"}
    assert recorded.still_open == []


def test_an_overflow_twice_ends_every_span(recorded: Any) -> None:
    """Both requests are errors, and so is the run."""
    overflow = ContextOverflow("m", 9_000, 8_000)
    runner = Runner(ScriptedDecider(overflow, overflow), budget=Manager(CharCounter()))
    recorded.instrument(runner)

    with pytest.raises(ContextOverflow):
        runner.run_sync(Request("hi", history=_LONG))

    assert recorded.still_open == []
    assert [span.attributes["error.type"] for span in recorded.named("chat")] == [
        "ContextOverflow"
    ] * 2


def test_failing_store_ends_the_tools(recorded: Any) -> None:
    """No event tells how the call ended; the end of the run ends its span."""

    class Full(MemoryStore):
        async def append(self, message: Message, /) -> None:
            if message.role == "tool":
                raise OSError("no space left")
            await super().append(message)

    executor = ScriptedExecutor({"t": _never})
    decider = ScriptedDecider(_CALL)
    runner = Runner(decider, executor, Full(), tool_timeout_seconds=0.02)
    recorded.instrument(runner)

    with pytest.raises(OSError, match="no space left"):
        runner.run_sync("hi")

    assert recorded.still_open == []
    assert _errors(recorded) == dict.fromkeys(("execute_tool", "invoke_agent"), "OSError")


def test_a_second_cancellation_leaves_nothing_open(recorded: Any) -> None:
    """Another receiver waits when the run ends, and is cancelled: ours is called all the same."""
    runner = Runner(_Stubborn())

    async def wait(_: object, **_event: Any) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        running = asyncio.create_task(runner.run("hi"))
        for _ in range(3):
            await asyncio.sleep(0.005)
            running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running

    recorded.instrument(runner)
    with (
        events.agent_end.connected_to(wait, runner),
        events.model_request_end.connected_to(wait, runner),
    ):
        asyncio.run(main())

    assert recorded.still_open == []


_STEPS = st.one_of(
    st.builds(
        lambda ids, reason: Decision("", [ToolCall(each, "t") for each in ids], None, reason),
        st.lists(st.sampled_from(["c1", "c2", "c1", ""]), max_size=3),
        st.sampled_from([*StopReason]),
    ),
    st.sampled_from(
        [
            ContextOverflow("m", 9_000, 8_000),
            RuntimeError("broken"),
            asyncio.CancelledError(),
            "Done.",
        ]
    ),
)
_ANSWERS = st.sampled_from(["fine", OSError("no"), SystemExit(2), lambda _: 7, _never, ValueError])


@given(
    steps=st.lists(_STEPS, max_size=5),
    answer=_ANSWERS,
    turns=st.integers(1, 4),
    cancel=st.none() | st.integers(0, 12),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_all_spans_end_below_the_agent(
    recorded: Any, steps: list[Any], answer: Any, turns: int, cancel: int | None
) -> None:
    """Errors, refusals, cancellations at any step, damaged ids, broken tools; nothing leaks."""
    before = len(recorded.spans)
    runner = Runner(
        ScriptedDecider(*steps, "Done."),
        ScriptedExecutor({"t": answer}),
        budget=Manager(CharCounter()),
        max_turns=turns,
        tool_timeout_seconds=0.005,
    )

    async def main() -> trace.Span:
        running = asyncio.ensure_future(runner.run(Request("hi", history=_LONG)))
        if cancel is not None:
            for _ in range(cancel):
                await asyncio.sleep(0)
            running.cancel()
        with contextlib.suppress(BaseException):
            await running
        return trace.get_current_span()

    with recorded.instrument(runner):
        left = asyncio.run(main())

    spans = recorded.spans[before:]
    agents = [span for span in spans if span.parent is None]
    assert recorded.still_open == []
    assert left is trace.INVALID_SPAN
    assert len(agents) == (1 if spans else 0)
    assert all(
        span.parent.span_id == agents[0].context.span_id for span in spans if span not in agents
    )
