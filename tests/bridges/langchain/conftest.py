"""Agents with a model that records what it is sent, and conversations in LangChain's form."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from pydantic import Field

from agentic.bridges.langchain import ContextMiddleware
from agentic.context.budget import Policy
from agentic.tokens import CharCounter


class RecordingModel(GenericFakeChatModel):
    """LangChain's fake model, which also takes tools and keeps every request."""

    messages: Iterator[AIMessage | str]
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    refusals: list[Exception] = Field(default_factory=list)

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "RecordingModel":
        """Take any tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.requests.append(list(messages))
        if self.refusals:
            raise self.refusals.pop(0)
        return super()._generate(messages, *args, **kwargs)


@tool
def run(n: int) -> str:
    """Run number n."""
    return f"r{n} " + "line " * 20


class Parts:
    """What the tests of this bridge need."""

    Model = RecordingModel
    Naming: ClassVar[Any]
    run: BaseTool = run

    @staticmethod
    def model(replies: Sequence[AIMessage | str] = ()) -> RecordingModel:
        """Return a model that gives these replies, and then numbered ones."""
        # No generator: several threads may ask at once.
        numbered = map("reply {}{}".format, itertools.count(), itertools.repeat(" done" * 12))
        return RecordingModel(messages=itertools.chain(replies, numbered))

    @staticmethod
    def middleware(window: int = 700, **options: Any) -> ContextMiddleware:
        """Return a middleware with a small window, and a compactor that counts."""
        options.setdefault("compactor", Parts.Naming())
        options.setdefault("counter", CharCounter())
        return ContextMiddleware(Policy(window, min_recent_messages=3), **options)

    @staticmethod
    def call(number: int, calls: int = 1) -> AIMessage:
        """Return a reply with calls of `run`."""
        return AIMessage(
            "",
            tool_calls=[
                {"name": "run", "args": {"n": number}, "id": f"c{number}_{at}"}
                for at in range(calls)
            ],
        )

    @staticmethod
    def exchange(number: int, calls: int = 0) -> list[BaseMessage]:
        """Return a request, the calls that it leads to, and a reply; every text has its number."""
        asked = Parts.call(number, calls)
        outputs = [
            ToolMessage(f"r{number} " + "line " * 20, tool_call_id=call["id"], name="run")
            for call in asked.tool_calls
        ]
        return [
            HumanMessage(f"u{number} " + "please " * 12),
            *([asked, *outputs] if calls else []),
            AIMessage(f"a{number}" + " done" * 12),
        ]


@pytest.fixture(scope="session")
def parts(naming: Any) -> type[Parts]:
    """Return what the tests of this bridge need."""
    Parts.Naming = naming
    return Parts


@pytest.fixture
def overflow() -> Callable[[], Exception]:
    """Return what makes an error as a provider's SDK words it."""
    return lambda: ValueError("prompt is too long: 208310 tokens > 200000 maximum")
