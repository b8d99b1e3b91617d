"""Whoever names a model or a window and nothing else gets one policy, whichever door he takes."""

from collections.abc import Callable
from typing import Any

import pytest

from agentic.app import config
from agentic.bridges.dicts import Conversation
from agentic.bridges.kit import ListView
from agentic.context.budget import Policy
from agentic.errors import ConfigError
from agentic.history import MemoryStore
from agentic.loop import Runner
from agentic.providers import openai_chat
from agentic.session import Session
from agentic.testing import ScriptedDecider
from agentic.tokens import CharCounter


def _file(window: Any) -> Policy:
    is_model = isinstance(window, str) and window[0].isalpha()
    text = f"model: openai_chat:{window}" if is_model else f"context_window: {window}"
    return config.loads(text).policy()


def _session_of_file(window: Any) -> Policy:
    is_model = isinstance(window, str) and window[0].isalpha()
    text = f"model: openai_chat:{window}" if is_model else f"context_window: {window}"
    return config.loads(f"{text}\nstore: {{kind: memory}}").session().policy


def _session(window: Any) -> Policy:
    return Session("s", MemoryStore(), counter=CharCounter(), policy=window).policy


def _runner(window: Any) -> Policy:
    policy = Runner(ScriptedDecider("Done."), budget=window).budget
    assert isinstance(policy, Policy)
    return policy


def _dicts(window: Any) -> Policy:
    return Conversation(openai_chat, window)._list.view.policy


def _list_view(window: Any) -> Policy:
    return ListView(object(), window).view.policy


def _langchain(window: Any) -> Policy:
    middleware: Any = pytest.importorskip("agentic.bridges.langchain")
    return middleware.ContextMiddleware(window).policy  # type: ignore[no-any-return]


def _pydantic_ai(window: Any) -> Policy:
    bridge: Any = pytest.importorskip("agentic.bridges.pydantic_ai")
    return bridge.ContextBudget(window)._parts.policy  # type: ignore[no-any-return]


def _openai_agents(window: Any) -> Policy:
    pytest.importorskip("agents")
    from agentic.bridges.openai_agents import InputFilter  # noqa: PLC0415  the framework is slow

    return InputFilter(window)._new_conversation(None)._list.view.policy


def _proxy(window: Any) -> Policy:
    app: Any = pytest.importorskip("agentic.app.proxy")
    proxy = app.Proxy("http://127.0.0.1:9", window)
    return proxy._new_conversation(openai_chat.ADAPTER, None)._list.view.policy  # type: ignore[no-any-return]


_FAST = [_file, _session_of_file, _session, _runner, _dicts, _list_view]
_SLOW = [_langchain, _pydantic_ai, _openai_agents, _proxy]


@pytest.mark.parametrize("window", ["gpt-4o", "128k", 200_000, 16_000])
@pytest.mark.parametrize(
    "door", [*_FAST, *(pytest.param(each, marks=pytest.mark.slow) for each in _SLOW)]
)
def test_bare_window_means_one_policy(door: Callable[[Any], Policy], window: Any) -> None:
    """It is that of `Policy.for_window`."""
    sizes = {"gpt-4o": 128_000, "128k": 128_000}

    assert door(window) == Policy.for_window(sizes.get(window, window))


@pytest.mark.parametrize("door", [_session, _runner, _dicts, _list_view])
def test_unknown_model_has_no_policy(door: Callable[[Any], Policy]) -> None:
    """No door guesses how large a window is; that of a file warns, and takes a small one."""
    with pytest.raises(ConfigError, match="a model whose context window is known"):
        door("my-own-model")


def test_reply_of_the_requests_has_room() -> None:
    """A file says how long replies may be; of a list of messages nobody knows it."""
    policy = config.loads("model: anthropic:claude-opus-4-5").policy()

    assert policy == Policy.for_window(200_000, reply_tokens=32_000)
    assert policy.trigger_tokens == Policy.for_window(200_000).trigger_tokens


def test_numbers_by_hand_are_those_of_supyagent() -> None:
    """One that is written brings the three others with it."""
    policy = config.loads("context_window: 200000\ncontext: {min_recent_messages: 6}").policy()

    numbers = policy.max_messages, policy.max_tokens, policy.reserve_tokens, policy.compact_at
    assert numbers == (30, 128_000, 4_096, None)
