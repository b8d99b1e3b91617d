"""An agent with a real loop, a model that records its requests, and a small window.

conftest.py loads it where the framework is installed.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, ClassVar

import attrs
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from agentic.bridges.pydantic_ai import ContextBudget
from agentic.context.budget import Policy
from agentic.tokens import CharCounter


@attrs.define
class RecordingModel:
    """A model that calls the tool `read` some times for each request, then replies."""

    calls: int = 1
    parallel: int = 1
    requests: list[list[ModelMessage]] = attrs.field(factory=list)
    errors: list[Exception] = attrs.field(factory=list)
    """Raised by the next requests, one each."""
    number: int = 0

    @property
    def model(self) -> FunctionModel:
        """The framework's own test model, with or without a stream."""
        return FunctionModel(self._reply, stream_function=self._stream)

    def _reply(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.requests.append(list(messages))
        if self.errors:
            raise self.errors.pop(0)
        self.number += 1
        if info.function_tools and _calls_since_request(messages) < self.calls:
            names = [f"c{self.number}_{n}" for n in range(self.parallel)]
            asked = {"path": f"file{self.number}.py"}
            return ModelResponse([ToolCallPart("read", asked, name) for name in names])
        return ModelResponse([TextPart(f"a{self.number}" + " done" * 12)])

    async def _stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        for n, part in enumerate(self._reply(messages, info).parts):
            if isinstance(part, ToolCallPart):
                arguments = part.args_as_json_str()
                yield {n: DeltaToolCall(part.tool_name, arguments, tool_call_id=part.tool_call_id)}
            elif isinstance(part, TextPart):
                for word in part.content.split(" "):
                    yield f"{word} "


def _calls_since_request(messages: list[ModelMessage]) -> int:
    """Return how many rounds of calls follow the latest words of the user's."""
    for number, message in enumerate(reversed(messages)):
        if any(isinstance(part, UserPromptPart) for part in message.parts):
            return number // 2
    return 0


class Framework:
    """What the tests of this bridge need."""

    Naming: ClassVar[Any]
    exchange: ClassVar[Any]
    RecordingModel = RecordingModel

    @staticmethod
    def budget(window: int = 700, **options: Any) -> ContextBudget[None]:
        """Build a budget with a small window, and a compactor that counts."""
        options.setdefault("compactor", Framework.Naming())
        options.setdefault("counter", CharCounter())
        return ContextBudget(Policy(window, min_recent_messages=3), **options)

    @staticmethod
    def agent(model: RecordingModel, *capabilities: Any, **options: Any) -> Agent[None, str]:
        """Build an agent with the tool `read`, whose output has 24 words."""
        agent = Agent(model.model, capabilities=list(capabilities), **options)

        @agent.tool_plain
        def read(path: str) -> str:
            return f"{path} " + "line " * 24

        return agent

    @staticmethod
    def fit(
        budget: ContextBudget[None], history: list[ModelMessage], name: str = "c"
    ) -> list[ModelMessage]:
        """Return what the capability puts into the request of a run with this history."""
        model = TestModel()
        context = RunContext(
            deps=None, model=model, usage=RunUsage(), messages=history, conversation_id=name
        )
        request = ModelRequestContext(
            model=model,
            messages=history[:],
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        return asyncio.run(budget.before_model_request(context, request)).messages

    @staticmethod
    def summaries(messages: Sequence[ModelMessage]) -> list[CompactionPart]:
        """Return the compaction parts of messages."""
        return [p for m in messages for p in m.parts if isinstance(p, CompactionPart)]

    @staticmethod
    def through_json(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Return what comes back from the framework's own serializer."""
        return ModelMessagesTypeAdapter.validate_json(
            ModelMessagesTypeAdapter.dump_json(list(messages))
        )

    @staticmethod
    def unpaired(messages: Sequence[ModelMessage]) -> list[str]:
        """Return the ids of calls that are not answered in the next request, and of orphans."""
        found: list[str] = []
        waiting: list[str] = []
        for message in messages:
            if isinstance(message, ModelResponse):
                found += waiting
                waiting = [p.tool_call_id for p in message.parts if isinstance(p, ToolCallPart)]
            for part in message.parts if isinstance(message, ModelRequest) else ():
                if isinstance(part, ToolReturnPart):
                    known = part.tool_call_id in waiting
                    (waiting.remove if known else found.append)(part.tool_call_id)
        return found + waiting
