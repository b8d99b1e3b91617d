"""F1: whatever is cut or compacted, every provider accepts the next request for its shape."""

import asyncio
import itertools
from collections.abc import Callable
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.context import budget, compactors
from agentic.context.strategies import (
    Chain,
    ClearToolOutputs,
    ContextStrategy,
    FitContextWindow,
    Importance,
    KeepLast,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.messages import Message
from agentic.providers import anthropic, bedrock, gemini, openai_chat, openai_responses
from agentic.testing import conversations
from agentic.tokens import CharCounter
from agentic.tools import ToolDefinition

ADAPTERS = [anthropic, bedrock, gemini, openai_chat, openai_responses]
EVERY = pytest.mark.parametrize(
    "adapter", ADAPTERS, ids=lambda adapter: adapter.__name__.rpartition(".")[2]
)
STRATEGIES: dict[str, Callable[[int], ContextStrategy]] = {
    "keep_last": lambda tokens: KeepLast(max(1, tokens // 200)),
    "trim_rounds": lambda tokens: TrimRounds(max(1, tokens // 500)),
    "truncate": lambda tokens: TruncateToolOutputs(max(1, tokens // 4)),
    "clear": ClearToolOutputs,
    "clear_all": lambda tokens: ClearToolOutputs(
        tokens, keep_rounds=1, min_tokens=0, clear_arguments=True, clear_media=True
    ),
    "fit": FitContextWindow,
    "fit_all": lambda tokens: FitContextWindow(tokens, low_watermark=1.0),
    "fit_and_say": lambda tokens: FitContextWindow(
        tokens, low_watermark=0.5, digest=compactors.Digest(max_tokens=tokens // 4)
    ),
    "importance": lambda tokens: Importance(tokens % 7),
    "chain": lambda tokens: Chain([ClearToolOutputs(tokens), FitContextWindow(tokens)]),
}
READ = ToolDefinition("read", "Read a file.", {"type": "object", "properties": {}})


def refusals(adapter: ModuleType, view: list[Message], **options: object) -> list[str]:
    """Return why the provider would refuse a view."""
    request = adapter.encode_request(view, system_prompt="Be brief.", **options)
    return [f"{found.rule}: {found.problem}" for found in adapter.validate(request)]


def refusals_anywhere(view: list[Message]) -> list[str]:
    """Return which providers would refuse a view, and why."""
    return [f"{each.__name__}: {why}" for each in ADAPTERS for why in refusals(each, view)]


def compacted(messages: list[Message], tokens: int) -> list[Message]:
    """Compact a conversation by a digest."""
    counter = CharCounter()
    digest = compactors.Digest(max_tokens=max(50, tokens // 4), counter=counter)
    manager = budget.Manager(counter, digest, budget.Policy(tokens))
    return asyncio.run(manager.compact_if_needed(messages, force=True)).messages


@EVERY
@given(
    messages=conversations(max_rounds=10),
    name=st.sampled_from(sorted(STRATEGIES)),
    tokens=st.integers(40, 2_000),
    first=st.booleans(),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_cut_makes_an_accepted_request(
    adapter: ModuleType, messages: list[Message], name: str, tokens: int, first: bool
) -> None:
    """Damaged conversations too, compacted before the cut or not, with a tool and without."""
    history = compacted(messages, tokens) if first else messages

    view = STRATEGIES[name](tokens).compact(history)

    assert not refusals(adapter, view)
    assert not refusals(adapter, view, tools=[READ])


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("name", STRATEGIES)
def test_many_real_turns_are_accepted(name: str, sessions: dict[str, list[Message]]) -> None:
    """Every third transcript, another third for the next strategy, cut to one of two budgets."""
    some = [*sessions.values()][sorted(STRATEGIES).index(name) % 3 :: 3]
    for messages, tokens in zip(some, itertools.cycle((2_000, 8_000)), strict=False):
        strategy = STRATEGIES[name](tokens)
        for length in range(2, len(messages) + 1, max(1, len(messages) // 4)):
            assert not refusals_anywhere(strategy.compact(messages[:length]))


@pytest.mark.corpus
@pytest.mark.long
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_budgets_real_sessions_are_accepted(
    name: str, sessions: dict[str, list[Message]]
) -> None:
    """All transcripts, all strategies, four budgets, at eight points of each."""
    for messages in sessions.values():
        for tokens in (2_000, 4_000, 8_000, 20_000):
            strategy = STRATEGIES[name](tokens)
            for length in range(1, len(messages) + 1, 1 + len(messages) // 8):
                assert not refusals_anywhere(strategy.compact(messages[:length]))
