"""The seven wires, conversations in their forms, and what each of their validators says."""

import copy
from collections.abc import Sequence
from types import ModuleType
from typing import Any, ClassVar

import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.messages import Message
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from agentic.tokens import CharCounter

WIRES = [openai_chat, openai_responses, anthropic, gemini, bedrock, cohere, ollama]
KEYS = {"openai_responses": "input", "gemini": "contents"}


@pytest.fixture(params=WIRES, ids=lambda wire: wire.ADAPTER.name)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    """Return each of the seven wires."""
    found: ModuleType = request.param
    return found


class Forms:
    """What the tests of all wires need."""

    Naming: ClassVar[Any]
    exchange: ClassVar[Any]
    wires = WIRES

    @staticmethod
    def to_items(wire: ModuleType, messages: Sequence[Message]) -> list[Any]:
        """Write a conversation as its owner would keep it: JSON data without a system prompt."""
        request = wire.encode_request(messages)
        items = copy.deepcopy(request[KEYS.get(wire.ADAPTER.name, "messages")])
        items = items if isinstance(items, list) else [{"role": "user", "content": items}]
        if messages[-1:] and messages[-1].role == "assistant" and items[-1].get("role") == "user":
            del items[-1]  # a word of the user's, which the adapter adds after a last reply
        return items

    @staticmethod
    def problems(wire: ModuleType, items: Sequence[Any]) -> set[str]:
        """Name the rules that a list of items breaks by the wire's own validator."""
        request: dict[str, Any] = {KEYS.get(wire.ADAPTER.name, "messages"): list(items)}
        if wire is anthropic:
            request |= {"max_tokens": 100, "model": "claude-3-5-haiku-latest"}
        if wire is bedrock:
            tool = {"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}
            request["toolConfig"] = {"tools": [tool]}
        return {found.rule for found in wire.validate(request)}

    @staticmethod
    def make(wire: ModuleType, window: int = 700, **options: Any) -> Conversation:
        """Build a conversation with a small window, and a compactor that counts."""
        options.setdefault("compactor", Forms.Naming())
        options.setdefault("counter", CharCounter())
        return Conversation(wire, Policy(window, min_recent_messages=3), **options)


@pytest.fixture(scope="session")
def forms(naming: Any, exchange: Any) -> type[Forms]:
    """Return what the tests of all wires need."""
    Forms.Naming, Forms.exchange = naming, staticmethod(exchange)
    return Forms
