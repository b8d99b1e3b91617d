"""The seven wires, conversations in their forms, and what each of their validators says."""

import copy
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import attrs
import pytest

from agentic.bridges.dicts import Conversation
from agentic.context.budget import Policy
from agentic.messages import Message, ToolCall, ToolResult
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


@pytest.fixture(params=WIRES, ids=lambda wire: wire.NAME)
def wire(request: pytest.FixtureRequest) -> ModuleType:
    """Return each of the seven wires."""
    found: ModuleType = request.param
    return found


@attrs.define
class Naming:
    """A compactor whose summary names what it stands for, and counts how often it is asked."""

    asked: int = 0
    given: int = 0

    async def compact(self, messages: list[Message], /) -> str:
        """Summarize."""
        self.asked += 1
        self.given += len(messages)
        return f"Summary {self.asked} of {len(messages)} messages."


class Forms:
    """What the tests of all wires need."""

    Naming = Naming
    wires = WIRES

    @staticmethod
    def to_items(wire: ModuleType, messages: Sequence[Message]) -> list[Any]:
        """Write a conversation as its owner would keep it: JSON data without a system prompt."""
        request = wire.encode_request(messages)
        items = copy.deepcopy(request[KEYS.get(wire.NAME, "messages")])
        items = items if isinstance(items, list) else [{"role": "user", "content": items}]
        if messages[-1:] and messages[-1].role == "assistant" and items[-1].get("role") == "user":
            del items[-1]  # a word of the user's, which the adapter adds after a last reply
        return items

    @staticmethod
    def problems(wire: ModuleType, items: Sequence[Any]) -> set[str]:
        """Name the rules that a list of items breaks by the wire's own validator."""
        request: dict[str, Any] = {KEYS.get(wire.NAME, "messages"): list(items)}
        if wire is anthropic:
            request |= {"max_tokens": 100, "model": "claude-3-5-haiku-latest"}
        if wire is bedrock:
            tool = {"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}
            request["toolConfig"] = {"tools": [tool]}
        return {found.rule for found in wire.validate(request)}

    @staticmethod
    def exchange(number: int, *, calls: int = 0, beside: str = "") -> list[Message]:
        """Build a request, the calls that it leads to, and a reply; every text has its number."""
        made = [Message("user", f"u{number} " + "please " * 12)]
        if calls:
            ids = [f"c{number}_{n}" for n in range(calls)]
            asked = [ToolCall(each, "run", f'{{"n": {number}}}') for each in ids]
            made.append(Message("assistant", f"t{number}", tool_calls=asked))
            output = f"r{number} " + "line " * 20
            made.append(Message("tool", tool_results=[ToolResult(i, "run", output) for i in ids]))
            if beside:
                made.append(Message("user", beside))
        made.append(Message("assistant", f"a{number}" + " done" * 12))
        return made

    @staticmethod
    def make(wire: ModuleType, window: int = 700, **options: Any) -> Conversation:
        """Build a conversation with a small window, and a compactor that counts."""
        options.setdefault("compactor", Naming())
        options.setdefault("counter", CharCounter())
        return Conversation(wire, Policy(window, min_recent_messages=3), **options)


@pytest.fixture(scope="session")
def forms() -> type[Forms]:
    """Return what the tests of all wires need."""
    return Forms
