"""A ContextConfig as the budget of a Runner: `AgentOptions.context` of open-agent-sdk (row C5)."""

import asyncio
from typing import Any

import pytest

from agentic import events, loop
from agentic.compat.open_agent_sdk import (
    CompactDecision,
    ContextConfig,
    SummarizationStrategy,
    TruncationStrategy,
)
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop._runner import ViewMaker
from agentic.messages import Message
from agentic.messages._landmarks import find_summary
from agentic.testing import EventRecorder, ScriptedDecider
from agentic.tokens import CharCounter, count_tokens

_COUNTER = CharCounter()
_SHORT = SummarizationStrategy(max_summary_tokens=150)
"""Within the share of a summary: it is sent whole."""
_STRATEGIES = ["truncation", "importance", "summarization"]


def _store(messages: int = 40) -> MemoryStore:
    store = MemoryStore()
    for number in range(messages):
        role: Any = "assistant" if number % 2 else "user"
        asyncio.run(store.append(Message(role, f"remark {number}: " + "so it goes. " * 12)))
    return store


def _config(strategy: Any, **options: Any) -> ContextConfig:
    options = {"token_counter": _COUNTER, "summarization_options": _SHORT} | options
    return ContextConfig(1_000, 700, strategy, **options)


@pytest.mark.parametrize("strategy", _STRATEGIES)
def test_run_compacts_by_each_strategy(strategy: str) -> None:
    """What is over the target is compacted before the request, stored, and told by the Runner."""
    store, decider = _store(), ScriptedDecider("done")
    runner = loop.Runner(decider, store=store, budget=_config(strategy))

    with EventRecorder("context_compaction_start", "context_compaction_end") as recorder:
        runner.run_sync("Go on.")

    (start,) = recorder.of(events.ContextCompactionStart)
    (end,) = recorder.of(events.ContextCompactionEnd)
    stored = asyncio.run(store.load())
    (request,) = decider.requests
    assert start.run_id == end.run_id != ""
    assert recorder.senders == [runner, runner]
    assert end.error is None
    assert end.tokens_after < end.tokens_before
    assert len(stored) < 40
    assert [each.content for each in stored][-2:] == ["Go on.", "done"]
    assert list(request.history) == stored[:-1]
    assert count_tokens(list(request.history), counter=_COUNTER) <= 700
    assert (find_summary(stored) is not None) == (strategy == "summarization")


@pytest.mark.parametrize("strategy", _STRATEGIES)
def test_run_below_target_keeps_history(strategy: str) -> None:
    """Nothing is compacted that is not over `target_tokens`."""
    store = _store(4)

    with EventRecorder("context_compaction_end") as recorder:
        loop.Runner(ScriptedDecider("done"), store=store, budget=_config(strategy)).run_sync("Go.")

    assert recorder.names == []
    assert len(asyncio.run(store.load())) == 6


def test_hook_cancels_compaction_of_run() -> None:
    """A hook that says no leaves the history, and the request still fits the window."""
    store, decider = _store(), ScriptedDecider("done")
    config = _config("truncation", on_pre_compact=lambda _: CompactDecision(cancel=True))

    loop.Runner(decider, store=store, budget=config).run_sync("Go on.")

    assert len(asyncio.run(store.load())) == 42
    assert count_tokens(list(decider.requests[0].history), counter=_COUNTER) <= 1_000


def test_later_runs_compact_again() -> None:
    """One Runner serves many requests: the history stays near the target, whatever comes."""
    store = MemoryStore()
    replies = ["so it goes. " * 12] * 30
    config = _config("truncation", truncation_options=TruncationStrategy(3))
    runner = loop.Runner(ScriptedDecider(*replies), store=store, budget=config)

    with EventRecorder("context_compaction_end") as recorder:
        for number in range(30):
            runner.run_sync(f"request {number}: " + "go on. " * 12)

    stored = asyncio.run(store.load())
    assert len(recorder.names) > 2
    assert count_tokens(stored, counter=_COUNTER) <= 1_000
    assert len(asyncio.run(store.full())) == 60


def test_budget_without_view_is_refused() -> None:
    """What is neither a Manager nor has `make_view()` is found when the Runner is made."""
    with pytest.raises(ConfigError, match="budget"):
        loop.Runner(ScriptedDecider("done"), budget=object())  # type: ignore[arg-type]


def test_any_view_maker_is_a_budget() -> None:
    """`loop.ViewMaker` is a protocol: nobody inherits from it."""

    class Own:
        def make_view(self, *, strategies: Any = ()) -> View:
            return _config("truncation").make_view(strategies=strategies)

    store = _store()
    assert isinstance(Own(), ViewMaker)
    loop.Runner(ScriptedDecider("done"), store=store, budget=Own()).run_sync("Go on.")

    assert len(asyncio.run(store.load())) < 40
