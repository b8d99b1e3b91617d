"""The limits follow the model that a request is for."""

import asyncio
from typing import Any

import attrs
import pytest

from agentic.context.budget import Policy
from agentic.context.compactors import Digest
from agentic.context.view import View
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Decision, Input, Runner
from agentic.messages import Message
from agentic.session import Session
from agentic.tokens import CharCounter

_SMALL = Policy(2_000, 500, keep_recent_tokens=300, min_recent_messages=1)
_LARGE = Policy(20_000, 1_000)
_POLICIES = {"claude-*": _LARGE, "qwen*": _SMALL}


def _talk(number: int = 40) -> list[Message]:
    return [Message("user", f"Remark {n}. " + "so it goes. " * 20) for n in range(number)]


def _view(**options: Any) -> View:
    compactor = Digest(max_tokens=200)
    return View(_LARGE, counter=CharCounter(), compactor=compactor, policies=_POLICIES, **options)


def test_switch_of_the_model_changes_the_window() -> None:
    """A smaller model compacts at once; after the switch back the larger window holds again."""
    view, talk = _view(model="claude-opus-4-8"), _talk()

    large = view.prepare_sync(talk)
    view.model = "ollama/Qwen3"
    small = view.prepare_sync(talk)
    view.model = "claude-opus-4-8"
    again = view.prepare_sync([*talk, *_talk(20)])

    assert large.compaction is None
    assert small.compaction is not None
    assert small.tokens <= _SMALL.available_tokens < large.tokens
    assert again.compaction is None
    assert again.tokens > _SMALL.available_tokens


def test_model_without_a_policy_has_that_of_all() -> None:
    """The one that the View was made with."""
    view = _view(model="gpt-5")

    view.prepare_sync(_talk(2))

    assert view.policy == _LARGE
    view.model = "qwen3"
    view.prepare_sync(_talk(2))
    assert view.policy == _SMALL


def test_first_request_of_a_session_has_the_policy_of_its_model() -> None:
    """And so has its status."""
    session = Session(
        "s",
        MemoryStore(),
        counter=CharCounter(),
        policy=_LARGE,
        policies=_POLICIES,
        compactor=Digest(max_tokens=200),
        model="qwen3",
    )

    async def talk() -> int | None:
        for message in _talk():
            await session.append(message)
        await session.prepare()
        return (await session.status()).max_tokens

    assert asyncio.run(talk()) == _SMALL.available_tokens


@attrs.define
class _Model:
    name: str
    sizes: list[int] = attrs.field(factory=list)

    async def decide(self, request: Input, /) -> Decision:
        self.sizes.append(sum(len(each.content) for each in request.history))
        return Decision("So be it.")


def test_runner_takes_policies() -> None:
    """Another decider, another window, in the middle of a conversation."""
    store, large, small = MemoryStore(), _Model("x:claude-opus-4-8"), _Model("x:qwen3")
    runner = Runner(large, store=store, budget=_POLICIES)

    async def talk() -> None:
        for message in _talk():
            await store.append(message)
        await runner.run("Go on.")
        runner.decider = small
        await runner.run("And now?")

    asyncio.run(talk())

    assert large.sizes[0] > 8_000
    assert small.sizes[-1] < 8_000


@pytest.mark.parametrize("policies", [{"*": 8_000}, {1: _LARGE}, [_LARGE], "claude-*"])
def test_what_is_no_table_of_policies_is_refused(policies: Any) -> None:
    """With an example of one."""
    with pytest.raises(ConfigError, match="policies"):
        View(_LARGE, policies=policies)


def test_runner_refuses_a_model_without_a_policy() -> None:
    """Nothing says which window it would have."""
    with pytest.raises(ConfigError, match="every model"):
        Runner(_Model("x:gpt-5"), budget=_POLICIES)
