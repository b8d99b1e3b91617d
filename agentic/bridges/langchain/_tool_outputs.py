"""Middleware that truncates the outputs of tools before they are stored."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from agentic.bridges.langchain._blocks import read_content, with_text
from agentic.errors import ConfigError
from agentic.truncate import Options

_Output = ToolMessage | Command[Any]


class TruncateToolOutputs(AgentMiddleware[Any, Any, Any]):
    """Truncates the text of every tool's output; images and other media stay as they are.

    >>> from langchain.agents import create_agent
    >>> from langchain_core.language_models import FakeListChatModel
    >>> limits = Options(max_lines=200)
    >>> model = FakeListChatModel(responses=["Done."])
    >>> agent = create_agent(model, middleware=[TruncateToolOutputs(limits)])

    A tool that returns a Command has written its own message, which is left alone. So is the
    `artifact` of an output, which is never sent.

    Args:
        options: what to keep; by default the last 2,000 lines and 51,200 bytes.
    """

    def __init__(self, options: Options | None = None) -> None:
        super().__init__()
        self.options = Options() if options is None else options
        if not isinstance(self.options, Options):
            raise ConfigError("options", options, "a truncate.Options, or None")

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], _Output]
    ) -> _Output:
        """Run the tool, and truncate its output."""
        return self._truncated(handler(request))

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[_Output]]
    ) -> _Output:
        """Run the tool, and truncate its output."""
        return self._truncated(await handler(request))

    def _truncated(self, output: _Output) -> _Output:
        if not isinstance(output, ToolMessage):
            return output
        result = self.options.apply(read_content(output.content, "\n").text)
        if not result.truncated:
            return output
        return output.model_copy(update={"content": with_text(output.content, result.text)})
