"""One View decides what is sent, whichever door the conversation comes through."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.app.replay._policies import ReplayPolicy
from agentic.compat.open_agent_sdk import (
    ContextConfig,
    ImportanceStrategy,
    SummarizationStrategy,
    TruncationStrategy,
)
from agentic.context.budget import Compactor, Manager, Policy
from agentic.context.compactors import Digest
from agentic.context.strategies import (
    ClearToolOutputs,
    ContextStrategy,
    Importance,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.context.view import View
from agentic.history import MemoryStore
from agentic.loop import Runner
from agentic.messages import Message, close_open_rounds
from agentic.session import Session
from agentic.testing import ScriptedDecider, ScriptedExecutor, conversations
from agentic.tokens import CharCounter

_COUNTER = CharCounter(1.0)
_PROMPT = "Be brief."
_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_TOOLS = ScriptedExecutor({"read": "text"})
_LISTED = asyncio.run(_TOOLS.list_tools())


class _Counting:
    """Says how much it stands for."""

    async def compact(self, messages: list[Message], /) -> str:
        return f"{len(messages)} messages of {sum(len(each.content) for each in messages)} letters"


class _Failing:
    async def compact(self, messages: list[Message], /) -> str:
        raise ConnectionError("no route to the model")


_COMPACTORS: list[Callable[[], Compactor]] = [
    _Counting,
    _Failing,
    lambda: Digest(max_tokens=200, counter=_COUNTER),
]
_STRATEGIES: list[Callable[[int], list[ContextStrategy]]] = [
    lambda _: [],
    lambda window: [ClearToolOutputs(window // 2, _COUNTER, keep_rounds=1)],
    lambda _: [TruncateToolOutputs(60), Importance(4)],
    lambda _: [TrimRounds(3)],
]


@attrs.frozen
class Setting:
    """The settings of one conversation, for whoever decides."""

    policy: Policy
    make_strategies: Callable[[int], list[ContextStrategy]]
    make_compactor: Callable[[], Compactor]

    def strategies(self) -> list[ContextStrategy]:
        """Make the strategies anew: they may remember a conversation."""
        return self.make_strategies(self.policy.context_window)

    def manager(self) -> Manager:
        """Make what compacts."""
        return Manager(_COUNTER, self.make_compactor(), self.policy)

    def session(self, store: MemoryStore) -> Session:
        """Make a Session of these settings."""
        return Session(
            "s",
            store,
            counter=_COUNTER,
            policy=self.policy,
            compactor=self.make_compactor(),
            strategies=self.strategies(),
            system_prompt=_PROMPT,
            executor=_TOOLS,
        )


@st.composite
def _settings(draw: st.DrawFn) -> Setting:
    window, least = draw(st.integers(200, 4_000)), draw(st.integers(1, 6))
    policy = Policy(
        window,
        window // 4,
        window // 4,
        max_messages=draw(st.none() | st.integers(least + 4, 20)),
        max_tokens=draw(st.none() | st.integers(window // 4 + 1, window)),
        min_recent_messages=least,
    )
    strategies, compactor = st.sampled_from(_STRATEGIES), st.sampled_from(_COMPACTORS)
    return Setting(policy, draw(strategies), draw(compactor))


_TALKS = conversations().map(
    lambda talk: [
        attrs.evolve(message, usage=None)  # it would be that of a request which nobody made
        for message in talk
        if message.summary is None  # a Session asks its archive about one that it did not make
    ]
)
_ASKED = st.lists(st.integers(1, 60).map("go on ".__mul__), min_size=1, max_size=6)

Requests = list[list[Message]]


async def _play(
    make: Callable[[MemoryStore, ScriptedDecider], Runner],
    talk: Sequence[Message],
    asked: Sequence[str],
) -> tuple[Requests, Requests]:
    """Go on with a conversation; return what was sent, and all that there was at each request."""
    store, grown = MemoryStore(), Requests()
    for message in talk:
        await store.append(message)

    async def answer(_: Any) -> str:
        grown.append(await store.full())
        return "done " * len(grown)

    decider = ScriptedDecider(*[answer] * len(asked))
    runner = make(store, decider)
    for text in asked:
        await runner.run(text)
    return [list(request.history) for request in decider.requests], grown


def _runner(setting: Setting) -> Callable[[MemoryStore, ScriptedDecider], Runner]:
    return lambda store, decider: Runner(
        decider,
        _TOOLS,
        store,
        setting.manager(),
        strategies=setting.strategies(),
        system_prompt=_PROMPT,
    )


async def _by_session(setting: Setting, grown: Requests) -> Requests:
    store, sent, known = MemoryStore(), Requests(), 0
    session = setting.session(store)
    for history in grown:
        for message in history[known:]:
            await session.append(message)
        known = len(history)
        prepared = await session.prepare()
        assert prepared.messages[0] == Message("system", _PROMPT)
        sent.append(prepared.messages[1:])
    return sent


async def _by_view(view: View, grown: Requests) -> Requests:
    beside: dict[str, Any] = {"system_prompt": _PROMPT, "tools": _LISTED}
    closed = map(close_open_rounds, grown)  # as a store loads them
    return [(await view.prepare(history, **beside)).messages for history in closed]


def _sync(view: View, grown: Requests) -> Requests:
    beside: dict[str, Any] = {"system_prompt": _PROMPT, "tools": _LISTED}
    closed = map(close_open_rounds, grown)
    return [view.prepare_sync(history, **beside).messages for history in closed]


def _view(setting: Setting) -> View:
    return View(
        setting.policy,
        counter=_COUNTER,
        compactor=setting.make_compactor(),
        strategies=setting.strategies(),
    )


def _replayed(setting: Setting) -> View:
    policy = ReplayPolicy("own", tuple(setting.strategies()), setting.manager())
    return policy.make_view()


DOORS: dict[str, Callable[[Setting, Requests], Requests]] = {
    "Session.prepare": lambda setting, grown: asyncio.run(_by_session(setting, grown)),
    "View.prepare": lambda setting, grown: asyncio.run(_by_view(_view(setting), grown)),
    "View.prepare_sync": lambda setting, grown: _sync(_view(setting), grown),
    "replay": lambda setting, grown: asyncio.run(_by_view(_replayed(setting), grown)),
}
"""What each makes of a conversation, given all that there was of it at each request."""


def _plain(requests: Requests) -> list[list[Message]]:
    """Return requests without the times, which are those of the test."""
    return [
        [
            attrs.evolve(
                message,
                timestamp=None,
                summary=message.summary and attrs.evolve(message.summary, created_at=_EPOCH),
            )
            for message in request
        ]
        for request in requests
    ]


@given(talk=_TALKS, asked=_ASKED, setting=_settings())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_door_sends_the_same(talk: list[Message], asked: list[str], setting: Setting) -> None:
    """Runner, Session, replay and View: the same settings and history make the same request."""
    sent, grown = asyncio.run(_play(_runner(setting), talk, asked))
    shared, _ = asyncio.run(
        _play(lambda store, decider: setting.session(store).runner(decider), talk, asked)
    )

    assert _plain(shared) == _plain(sent)
    for name, prepare in DOORS.items():
        assert _plain(prepare(setting, grown)) == _plain(sent), name


@pytest.mark.parametrize("strategy", ["truncation", "importance", "summarization"])
@given(talk=_TALKS, asked=_ASKED, window=st.integers(200, 4_000), keep=st.integers(1, 10))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_context_config_decides_once(
    strategy: Any, talk: list[Message], asked: list[str], window: int, keep: int
) -> None:
    """A Runner with a ContextConfig sends what the View of that ContextConfig prepares."""
    config = ContextConfig(
        window,
        window * 3 // 4,
        strategy,
        truncation_options=TruncationStrategy(keep),
        importance_options=ImportanceStrategy(keep),
        summarization_options=SummarizationStrategy(keep, max_summary_tokens=100),
        token_counter=_COUNTER,
    )

    sent, grown = asyncio.run(
        _play(
            lambda store, decider: Runner(decider, _TOOLS, store, config, system_prompt=_PROMPT),
            talk,
            asked,
        )
    )

    assert _plain(asyncio.run(_by_view(config.make_view(), grown))) == _plain(sent)
    assert _plain(_sync(config.make_view(), grown)) == _plain(sent)
