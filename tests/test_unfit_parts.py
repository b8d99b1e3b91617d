"""Parts that cannot serve: each is refused where it is given, and not in the middle of a run."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Any
from unittest import mock

import pytest

from agentic import loop, session, tokens
from agentic.compat import open_agent_sdk as config
from agentic.context import budget, compactors, strategies
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.messages import Message
from agentic.testing import ScriptedDecider
from agentic.tokens._count import TokenCache
from agentic.tokens._models import ModelCounter

TEXT = Message("user", "hello")
WIRE: Any = {"role": "user", "content": "hello"}
POLICY = budget.Policy(8_000)

COUNTS: dict[str, Callable[[Any], object]] = {
    "Manager": lambda given: budget.Manager(given, compactors.Digest(), POLICY),
    "ContextMeter": tokens.ContextMeter,
    "TokenCache": TokenCache,
    "count_tokens": lambda given: tokens.count_tokens([], given),
    "count_message_tokens": lambda given: tokens.count_message_tokens(TEXT, given),
    "ModelCounter": lambda given: ModelCounter("x", given, is_exact=True, description=""),
    "ContextConfig": lambda given: config.ContextConfig(token_counter=given),
    "Session": lambda given: session.Session(
        "a", MemoryStore(), counter=given, policy=POLICY, compactor=compactors.Digest()
    ),
    "FitContextWindow": lambda given: strategies.FitContextWindow(100, given),
    "ClearToolOutputs": lambda given: strategies.ClearToolOutputs(100, given),
    "Importance": lambda given: strategies.Importance().compact_to([TEXT], 100, given),
    "Digest": lambda given: compactors.Digest(counter=given),
    "Digest.write": lambda given: compactors.Digest().write([TEXT], counter=given),
    "Model": lambda given: compactors.Model(_ask, counter=given),
}


async def _ask(prompt: str) -> str:
    return prompt


class _AsyncCounter:
    async def count(self, text: str, /) -> int:
        return len(text)


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("given", ["gpt-4o", ["gpt-4o"], b"gpt-4o", len, _AsyncCounter()])
def test_what_cannot_count_is_refused(name: str, given: object) -> None:
    """A text has a method `count`, too; the error says how a model's counter is made."""
    with pytest.raises(ConfigError, match=r'tokens\.for_model\("gpt-4o"\)'):
        COUNTS[name](given)


def test_given_models_counter_is_named() -> None:
    """What was meant can be copied from the error."""
    with pytest.raises(ConfigError, match=r'tokens\.for_model\("claude-opus-4-1"\)'):
        budget.Manager("claude-opus-4-1")  # type: ignore[arg-type]


class _Sync:
    """Every method that has to be async, and is not."""

    def compact(self, messages: list[Message], /) -> str:
        return "S"

    def decide(self, request: loop.Input, /):  # type: ignore[no-untyped-def]  # noqa: ANN202
        return loop.Decision("Done.")

    def execute(self, call: object, /) -> None:
        pass

    def list_tools(self) -> "list[object]":
        return []

    def load(self) -> list[Message]:
        return []

    append = full = restore = replace = diff = execute


def _session(**parts: Any) -> session.Session:
    parts = {"store": MemoryStore(), "compactor": compactors.Digest()} | parts
    return session.Session(
        "a", parts.pop("store"), counter=tokens.CharCounter(), policy=POLICY, **parts
    )


SYNC: dict[str, Callable[[Any], object]] = {
    "Manager": lambda given: budget.Manager(tokens.CharCounter(), given),
    "first_of": compactors.first_of,
    "with_digest": lambda given: compactors.with_digest(given, compactors.Digest()),
    "Session": lambda given: _session(compactor=given),
    "Runner": loop.Runner,
    "Runner.executor": lambda given: loop.Runner(ScriptedDecider(), given),
    "Runner.store": lambda given: loop.Runner(ScriptedDecider(), store=given),
    "Session.store": lambda given: _session(store=given),
    "Session.executor": lambda given: _session(executor=given),
    "RecallTool": session.RecallTool,
}


@pytest.mark.parametrize("name", SYNC)
def test_a_synchronous_part_is_refused(name: str) -> None:
    """At construction, by the method that has to be async."""
    with pytest.raises(ConfigError, match=r"must be an object with async \w+\(.*write async def"):
        SYNC[name](_Sync())


class _Delegating:
    def compact(self, messages: list[Message], /) -> Awaitable[str]:
        return compactors.Digest().compact(messages)


class _Annotated:
    def compact(self, messages: list[Message], /) -> "asyncio.Future[str]":
        return asyncio.ensure_future(compactors.Digest().compact(messages))


class _Partial:
    compact = staticmethod(functools.partial(compactors.Digest().compact))


class _Wrapped:
    @functools.wraps(compactors.Digest.compact)
    def compact(self, messages, /):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return compactors.Digest().compact(messages)


@pytest.mark.parametrize(
    "part", [_Delegating(), _Annotated(), _Partial(), _Wrapped(), mock.Mock(), mock.AsyncMock()]
)
def test_possible_awaitables_are_accepted(part: Any) -> None:
    """Only what certainly cannot be awaited is refused."""
    assert budget.Manager(tokens.CharCounter(), part).compactor is part


async def _async_strategy(messages: list[Message]) -> list[Message]:
    return messages


@pytest.mark.parametrize(
    "given", [config.ContextManager(config.ContextConfig()), _async_strategy, compactors.Digest()]
)
@pytest.mark.parametrize(
    "take",
    [
        lambda given: loop.Runner(ScriptedDecider(), strategies=[given]),
        lambda given: strategies.Chain([given]),
        lambda given: _session(strategies=[given]),
    ],
)
def test_an_async_strategy_is_refused(take: Callable[[Any], object], given: object) -> None:
    """Such as a ContextManager, which rewrites histories and makes no views."""
    with pytest.raises(ConfigError, match=r"strategies must be .* not a coroutine, got "):
        take(given)


def _run(messages: Any, compactor: Any, **options: Any) -> object:
    manager = budget.Manager(tokens.CharCounter(), compactor, POLICY)
    return asyncio.run(manager.compact_if_needed(messages, **options))


def _compact(messages: Any, **options: Any) -> object:
    return asyncio.run(config.ContextManager(config.ContextConfig(**options)).compact(messages))


TAKES: dict[str, Callable[[Any], object]] = {
    "Manager": lambda given: _run(given, compactors.Digest()),
    "Manager, measured": lambda given: _run(given, compactors.Digest(), size=10),
    "Manager that changes nothing": lambda given: asyncio.run(
        budget.Manager().compact_if_needed(given)
    ),
    "Manager.due": lambda given: budget.Manager(
        tokens.CharCounter(), compactors.Digest(), POLICY
    ).due(given, size=10),
    "FitContextWindow": strategies.FitContextWindow(100).fit,
    "KeepLast": strategies.KeepLast(1).compact,
    "TrimRounds": strategies.TrimRounds(1).compact,
    "TruncateToolOutputs": strategies.TruncateToolOutputs(1).compact,
    "ClearToolOutputs": strategies.ClearToolOutputs(1).compact,
    "Importance": strategies.Importance().compact,
    "Chain": strategies.Chain([strategies.KeepLast(1)]).compact,
    "truncation": lambda given: _compact(given, strategy="truncation"),
    "importance": lambda given: _compact(given, strategy="importance"),
    "summarization": lambda given: _compact(given, strategy="summarization"),
    "ContextMeter": tokens.ContextMeter(tokens.CharCounter()).measure,
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize("messages", [[WIRE], [TEXT, WIRE]])
def test_a_dict_is_no_message(name: str, messages: list[Any]) -> None:
    """At the call; the error names what makes Messages of a provider's dicts."""
    with pytest.raises(ConfigError, match=r"messages must be .*, got \{.*the adapter's decode"):
        TAKES[name](messages)


def test_dict_in_growing_conversation_is_found() -> None:
    """Each message is looked at once, when it is new."""
    strategy, talk = strategies.KeepLast(5), [TEXT]
    strategy.compact(talk)

    with pytest.raises(ConfigError, match="the adapter's decode"):
        strategy.compact([*talk, WIRE])
