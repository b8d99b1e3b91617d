"""What can be instrumented, for how long, and what an instrumentation leaves behind."""

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace

from agentic import events
from agentic.bridges import otel
from agentic.context.budget import Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Runner
from agentic.messages import Message, ToolCall
from agentic.session import Session
from agentic.testing import ScriptedDecider, ScriptedExecutor
from agentic.tokens import CharCounter

if TYPE_CHECKING:
    from agentic.bridges.otel._instrument import Instrumentation

_LONG = [Message("assistant", "word " * 200) for _ in range(10)]


def _view() -> View:
    return View(Policy(1_000), counter=CharCounter(), compactor=Digest())


def _session() -> Session:
    return Session(
        "s7", MemoryStore(), counter=CharCounter(), policy=Policy(1_000), compactor=Digest()
    )


def _receivers() -> int:
    gc.collect()
    return sum(len(signal.receivers) for signal in events.signals.values())


def test_a_view_alone_shows_its_compactions(recorded: Any) -> None:
    """Inside whatever span its caller has open."""
    view = _view()
    recorded.instrument(view, conversation_id="mine")
    tracer = recorded.tracer_provider.get_tracer("test")

    with tracer.start_as_current_span("my agent"):
        view.prepare_sync(_LONG)

    assert recorded.tree() == ["my agent", "  compact_context"]
    (span,) = recorded.named("compact_context")
    assert span.attributes["gen_ai.conversation.id"] == "mine"


def test_view_in_a_loop_keeps_the_trace(recorded: Any) -> None:
    """Its summary is made in another thread then."""
    view = _view()
    recorded.instrument(view)
    tracer = recorded.tracer_provider.get_tracer("test")

    async def inside() -> None:
        with tracer.start_as_current_span("my agent"):
            view.prepare_sync(_LONG)

    asyncio.run(inside())

    assert recorded.tree() == ["my agent", "  compact_context"]
    assert recorded.still_open == []


def test_conversations_sharing_manager_do_not_mix(recorded: Any) -> None:
    """Two summaries at a time, by one Manager, are two spans with their own sizes."""

    class Slow:
        async def compact(self, messages: list[Message], /) -> str:
            await asyncio.sleep(0.001 * len(messages))
            return f"{len(messages)} messages"

    manager = Manager(CharCounter(), Slow(), Policy(0, max_tokens=500))
    recorded.instrument(manager)

    async def both() -> None:
        await asyncio.gather(
            *[manager.compact_if_needed((_LONG * 2)[:size]) for size in (20, 15, 10)]
        )

    asyncio.run(both())

    sizes = [span.attributes["agentic.compaction.tokens_before"] for span in recorded.spans]
    lasted = [span.end_time - span.start_time for span in recorded.spans]
    assert len(set(sizes)) == 3
    assert [size for _, size in sorted(zip(lasted, sizes, strict=True))] == sorted(sizes)
    assert recorded.still_open == []


def test_a_session_names_its_conversation(recorded: Any) -> None:
    """In the summaries that it makes, and in the runs of its Runners."""
    session = _session()
    runner = session.runner(ScriptedDecider("Done."))
    recorded.instrument(session)
    recorded.instrument(runner)

    async def work() -> None:
        for message in _LONG:
            await session.append(message)
        await session.summarize()
        await runner.run("hi")

    asyncio.run(work())

    assert recorded.tree() == ["compact_context", "invoke_agent", "  chat"]
    ids = {span.attributes["gen_ai.conversation.id"] for span in recorded.spans}
    assert ids == {"s7"}


def test_nameless_conversation_stays_nameless(recorded: Any) -> None:
    """The conventions forbid an id that is made up."""
    runner = Runner(ScriptedDecider("Done."))
    recorded.instrument(runner)
    runner.run_sync("hi")

    assert all("gen_ai.conversation.id" not in span.attributes for span in recorded.spans)


def test_an_executor_keeps_its_other_abilities(recorded: Any) -> None:
    """What takes its place passes everything on, and goes when it is no longer needed."""
    executor = ScriptedExecutor({"t": "fine"})
    runner = Runner(ScriptedDecider(Decision("", [ToolCall("c1", "t")]), "Done."), executor)

    instrumentation = recorded.instrument(runner)
    runner.run_sync("hi")

    assert runner.executor is not executor
    assert runner.executor.calls == [ToolCall("c1", "t")]  # type: ignore[union-attr]
    with pytest.raises(AttributeError, match="nothing_of_it"):
        _ = runner.executor.nothing_of_it  # type: ignore[union-attr]
    instrumentation.uninstrument()
    assert runner.executor is executor


def test_executor_outside_run_has_no_span(recorded: Any) -> None:
    """Only a run knows whose call it is."""
    runner = Runner(ScriptedDecider(), ScriptedExecutor({"t": "fine"}))
    recorded.instrument(runner)
    assert runner.executor is not None

    result = asyncio.run(runner.executor.execute(ToolCall("c1", "t")))

    assert result.output == "fine"
    assert recorded.spans == []


def test_uninstrumented_nothing_is_recorded(recorded: Any) -> None:
    """And it can be instrumented again; leaving the block does the same."""
    before = _receivers()
    runner = Runner(ScriptedDecider("One.", "Two.", "Three."))

    with recorded.instrument(runner) as instrumentation:
        runner.run_sync("hi")
    instrumentation.uninstrument()
    runner.run_sync("hi")
    assert _receivers() == before
    with recorded.instrument(runner):
        runner.run_sync("hi")

    assert len(recorded.named("invoke_agent")) == 2


def test_open_run_is_recorded_to_its_end(recorded: Any) -> None:
    """Whoever stops observing in the middle leaves no span open, and no receiver behind."""
    before = _receivers()
    found: list[Instrumentation] = []

    def stop(_: ToolCall) -> str:
        found[0].uninstrument()
        return "fine"

    decider = ScriptedDecider(Decision("", [ToolCall("c1", "t")]), "Done.", "Again.")
    runner = Runner(decider, ScriptedExecutor({"t": stop}))
    found.append(recorded.instrument(runner))
    runner.run_sync("hi")
    runner.run_sync("hi")

    assert recorded.tree() == ["invoke_agent", "  chat", "  execute_tool t", "  chat"]
    assert recorded.still_open == []
    assert _receivers() == before


def test_run_begun_before_is_left_alone(recorded: Any) -> None:
    """Half a run would be a trace without its root."""

    def start(_: ToolCall) -> str:
        recorded.instrument(runner)
        return "fine"

    decider = ScriptedDecider(Decision("", [ToolCall("c1", "t")]), "Done.")
    runner = Runner(decider, ScriptedExecutor({"t": start}))
    runner.run_sync("hi")

    assert recorded.spans == []
    assert recorded.still_open == []


def test_gone_target_leaves_nothing_behind(recorded: Any) -> None:
    """A service that makes a Runner for each request does not grow."""
    before = _receivers()
    runner = Runner(ScriptedDecider("Done."), ScriptedExecutor({"t": "fine"}))
    gone = weakref.ref(runner)
    recorded.instrument(runner)
    runner.run_sync("hi")

    del runner

    assert _receivers() == before
    assert gone() is None


def test_an_instrumentation_need_not_be_kept(recorded: Any) -> None:
    """It lasts as long as its target."""
    view = _view()
    recorded.instrument(view)
    gc.collect()

    view.prepare_sync(_LONG)

    assert len(recorded.spans) == 1


def test_instrumenting_twice_is_refused(recorded: Any) -> None:
    """Every span would be there twice."""
    runner = Runner(ScriptedDecider())
    recorded.instrument(runner)

    with pytest.raises(ConfigError, match="uninstrument"):
        recorded.instrument(runner)


@pytest.mark.parametrize("target", [None, Runner, ScriptedDecider(), "runner"])
def test_what_cannot_be_instrumented_is_named(target: Any) -> None:
    """With what can."""
    with pytest.raises(ConfigError, match="a Runner, a View, a Session or a Manager"):
        otel.instrument(target)


def test_run_is_same_without_sdk() -> None:
    """The API alone records nothing, and leaves no span current."""
    decider = ScriptedDecider(Decision("", [ToolCall("c1", "t")]), "Done.")
    runner = Runner(decider, ScriptedExecutor({"t": "fine"}))

    with otel.instrument(runner, capture_content=True):
        result = runner.run_sync("hi")

    assert (result.reply, result.tool_results[0].output) == ("Done.", "fine")
    assert trace.get_current_span() is trace.INVALID_SPAN
