"""The capability that cuts what tools return before it enters the history."""

import dataclasses
import logging
from typing import Any, TypeVar

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart, ToolReturn, ToolReturnPart
from pydantic_ai.tools import ToolDefinition as FrameworkTool

from agentic import events, truncate
from agentic.errors import ConfigError
from agentic.events._sending import send
from agentic.history import OutputStore
from agentic.messages import ToolCall

_log = logging.getLogger(__name__)
_Deps = TypeVar("_Deps")


@dataclasses.dataclass(eq=False)
class TruncateToolReturns(AbstractCapability[_Deps]):
    r"""Cuts the text that a tool returns to its limits, and says so at its end.

    Files in a return are kept. Data is cut as the JSON text that the model would read. What fits is
    returned as the same object. `ToolReturn.content`, which is sent as the user's words, and the
    framework's own tools are left alone.

    >>> import asyncio
    >>> from pydantic_ai import Agent
    >>> from pydantic_ai.models.test import TestModel
    >>> limits = TruncateToolReturns(truncate.Options(max_lines=1))
    >>> agent = Agent(TestModel(), capabilities=[limits])
    >>> @agent.tool_plain
    ... def read() -> str:
    ...     return "one\ntwo"
    >>> asyncio.run(agent.run("Read it.")).all_messages()[2].parts[0].content[:24]
    'two\n1 of 2 lines is miss'
    """

    options: truncate.Options = dataclasses.field(default_factory=truncate.Options)
    _: dataclasses.KW_ONLY
    store: OutputStore | None = None
    """Where the whole of a text that was cut is kept; its reference is in the notice."""

    def __post_init__(self) -> None:
        """Check the arguments."""
        if not isinstance(self.options, truncate.Options):
            raise ConfigError("options", self.options, "a truncate.Options")
        if not isinstance(self.store, OutputStore | None):
            raise ConfigError("store", self.store, "a store of agentic.history, or None")

    async def after_tool_execute(
        self,
        ctx: RunContext[_Deps],
        *,
        call: ToolCallPart,
        tool_def: FrameworkTool,
        args: dict[str, Any],
        result: Any,
    ) -> Any:
        """Return the result, shortened if it is over the limits."""
        # One of the framework's own tools, whose results it reads itself.
        if tool_def.tool_kind is not None:
            return result
        value = result.return_value if isinstance(result, ToolReturn) else result
        # The framework's own part, so that the text is what the model would read.
        part = ToolReturnPart(call.tool_name, value)
        cut = self.options.apply(part.model_response_str())
        if not cut.truncated:
            return result
        text = f"{cut.content}\n{cut.notice(await self._keep(part))}"
        await send(
            events.tool_output_truncated,
            sender=self,
            record=events.ToolOutputTruncated,
            run_id=ctx.run_id or "",
            call=ToolCall(call.tool_call_id, call.tool_name, call.args_as_json_str()),
            truncation=cut,
        )
        shorter = [text, *part.files] if part.files else text
        if isinstance(result, ToolReturn):
            return dataclasses.replace(result, return_value=shorter)
        return shorter

    async def _keep(self, part: ToolReturnPart) -> str | None:
        """Store the whole text and return its reference; a store that fails ends no run."""
        try:
            return None if self.store is None else await self.store.put(part.model_response_str())
        except Exception:  # noqa: BLE001  a store may raise anything
            _log.exception(
                "an output of %s could not be stored, so its notice does not say where it is",
                part.tool_name,
            )
            return None
