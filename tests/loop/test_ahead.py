"""A summary that is near is made while tools run, so that no request waits for it."""

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic import events
from agentic.context.budget import Manager, Policy
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Result, RunLimits, Runner
from agentic.messages import Message, ToolCall
from agentic.protocols import CompactionContext
from agentic.testing import EventRecorder
from agentic.tokens import CharCounter
from agentic.tools import Registry, tool
from agentic.usage import Usage, report

_TURNS = 30
_POLICY = Policy(6_000, 1_000, keep_recent_tokens=800, min_recent_messages=1)


@attrs.define(eq=False)
class _Agent:
    """A model that calls a tool in each turn, its tool, and its summarizer, in one event loop."""

    model: str = "claude-opus-4-8"
    turns: int = _TURNS
    waited: list[str] = attrs.field(factory=list)
    """Every step of a summary for which a request waited."""
    steps: int = 3
    """How many steps of the event loop a summary takes."""
    tool_steps: int = 12
    summaries: int = 0
    cancelled: int = 0
    in_tool: bool = False
    contexts: list[CompactionContext] = attrs.field(factory=list)
    requests: list[Input] = attrs.field(factory=list)

    @property
    def name(self) -> str:
        return f"anthropic:{self.model}" if self.model else ""

    async def decide(self, request: Input, /) -> Decision:
        self.requests.append(request)
        if request.turn > self.turns:
            return Decision("Done.")
        return Decision("I read on. " * 120, [ToolCall(f"c{request.turn}", "read")])

    async def compact_in(self, _: list[Message], context: CompactionContext, /) -> str:
        self.contexts.append(context)
        for _step in range(self.steps):
            if not self.in_tool:
                self.waited.append(f"summary {self.summaries}")
            try:
                await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        self.summaries += 1
        report(Usage(input=100, output=10), model=self.model)
        return f"Summary {self.summaries}."

    async def compact(self, messages: list[Message], /) -> str:
        return await self.compact_in(messages, CompactionContext())

    def registry(self) -> Registry:
        @tool
        async def read() -> str:
            """Read a file."""
            self.in_tool = True
            for _ in range(self.tool_steps):
                await asyncio.sleep(0)
            self.in_tool = False
            return "x = 1\n" * 120

        return Registry([read])

    def run(self, store: Any = None, **options: Any) -> Result:
        manager = Manager(CharCounter(), self, _POLICY)
        runner = Runner(self, self.registry(), store, manager, **options)
        return asyncio.run(runner.run("Mend the parser."))


@pytest.mark.parametrize("store", [MemoryStore, lambda: None])
@pytest.mark.parametrize("model", ["claude-opus-4-8", "claude-fable-5-2"])
def test_no_request_waits_for_a_summary(store: Callable[[], Any], model: str) -> None:
    """Each summary is made while a tool runs, and is in the next request."""
    agent = _Agent(model)

    result = agent.run(store())

    assert agent.waited == []
    assert agent.summaries >= 2
    texts = [request.history[0].content for request in agent.requests]
    assert all(any(f"Summary {n}." in text for text in texts) for n in (1, 2))
    assert [each.role for each in result.history if each.role == "user"] == ["user"]
    assert result.history[-1].content == "Done."


def test_every_call_keeps_its_own_result() -> None:
    """The history is replaced only when all calls are answered, and the archive has all of it."""
    agent, store = _Agent(), MemoryStore()

    agent.run(store)

    full = asyncio.run(store.full())
    results = [result.call_id for each in full for result in each.tool_results]
    assert results == [f"c{turn}" for turn in range(1, _TURNS + 1)]
    for request in agent.requests:
        calls = [call.id for each in request.history for call in each.tool_calls]
        answered = [found.call_id for each in request.history for found in each.tool_results]
        assert calls == answered
        assert not any(found.error for each in request.history for found in each.tool_results)


def test_slow_summary_goes_on_until_it_is_needed() -> None:
    """It may take several turns; the request that needs it waits."""
    agent = _Agent(steps=40, tool_steps=4)

    agent.run(MemoryStore())

    assert agent.summaries >= 1
    assert agent.cancelled <= 1
    assert len(agent.requests) == _TURNS + 1


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        (_Agent(), {"summarize_ahead": False}),
        (_Agent(model=""), {}),
        (_Agent(model="my-model"), {}),
    ],
)
def test_nothing_is_made_ahead_where_it_might_not_pay(
    agent: _Agent, options: dict[str, Any]
) -> None:
    """Where it is off, or nothing is known of the cache."""
    agent.run(MemoryStore(), **options)

    assert agent.summaries
    assert len(agent.waited) == agent.summaries * agent.steps


def test_usage_counts_in_the_limits_of_the_run() -> None:
    """As that of any other summary."""
    agent = _Agent()

    result = agent.run(MemoryStore(), limits=RunLimits(tokens=110))

    assert agent.summaries == 1
    assert result.usage.total == 110
    assert result.exhausted


def test_it_is_cancelled_with_the_run() -> None:
    """A run that ends before it is ready leaves nothing behind."""
    agent, store = _Agent(steps=10_000, turns=9), MemoryStore()

    with EventRecorder(events.context_compaction_end) as recorder:
        result = agent.run(store)

    assert agent.cancelled == 1
    assert result.reply == "Done."
    assert isinstance(recorder.of(events.ContextCompactionEnd)[0].error, asyncio.CancelledError)
    assert not any(each.summary for each in asyncio.run(store.load()))


def test_failure_of_the_model_ends_it_too() -> None:
    """The error is the run's own."""

    @attrs.define(eq=False)
    class Failing(_Agent):
        async def decide(self, request: Input, /) -> Decision:
            if request.turn > self.turns:
                raise OSError("it is gone")
            return await super().decide(request)

    agent = Failing(steps=10_000, turns=9)

    with pytest.raises(OSError, match="it is gone"):
        agent.run(MemoryStore())

    assert agent.cancelled == 1
