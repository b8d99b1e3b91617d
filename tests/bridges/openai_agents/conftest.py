"""The framework's own test model, or one like it for the versions that came before it."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from agents import ModelResponse, Usage, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import Response, ResponseCompletedEvent


class OldScriptedModel(Model):  # type: ignore[misc]
    """Replies in turn, whole or streamed; keeps what it was sent."""

    def __init__(self, steps: list[Any]) -> None:
        self.steps, self.sent = list(steps), []

    async def get_response(  # by position or by name, as the version has it
        self,
        system_instructions: str | None,
        input: list[Any],  # noqa: A002  the framework's name
        *_: Any,
        **__: Any,
    ) -> ModelResponse:
        """Return the next reply."""
        self.sent.append((system_instructions, input))
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return ModelResponse(output=step, usage=Usage(), response_id="resp_1")

    async def stream_response(self, *given: Any, **more: Any) -> AsyncIterator[Any]:
        """Yield the end of a response; the framework reads nothing else."""
        answer = await self.get_response(*given, **more)
        response = Response(
            id="resp_1",
            created_at=0,
            model="scripted",
            object="response",
            output=answer.output,
            tool_choice="none",
            tools=[],
            parallel_tool_calls=False,
        )
        yield ResponseCompletedEvent(
            type="response.completed", response=response, sequence_number=0
        )


class Scripted:
    """A model, and the instructions and items of every request that it got."""

    def __init__(self, steps: list[Any]) -> None:
        try:
            from agents.testing import ScriptedModel  # noqa: PLC0415  not in older versions
        except ImportError:
            self.model: Any = OldScriptedModel(steps)
        else:
            self.model = ScriptedModel(steps)

    @property
    def sent(self) -> list[tuple[str | None, list[Any]]]:
        """The instructions and the input of each request."""
        if isinstance(self.model, OldScriptedModel):
            return self.model.sent
        return [(call.system_instructions, call.input) for call in self.model.calls]


@pytest.fixture
def script() -> Callable[..., Scripted]:
    """Make a model that replies with these lists of output items, or raises these errors."""
    return lambda *steps: Scripted(list(steps))


@pytest.fixture(autouse=True)
def _no_traces() -> None:
    """Send no trace anywhere."""
    set_tracing_disabled(disabled=True)
