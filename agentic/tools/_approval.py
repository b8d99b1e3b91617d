"""Calls that run only after somebody has approved them: a person, or a program in their place."""

import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Protocol

import attrs

from agentic import _tool_errors, events
from agentic._protocols import Executor
from agentic._tool_definition import ToolDefinition
from agentic._validate import all_are, must_be, must_be_async
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError, ToolResult

__all__ = ["Approval", "Approver", "RequireApproval"]

_logger = logging.getLogger(__name__)


@attrs.frozen
class Approval:
    """The answer to the question whether a call may run."""

    allowed: bool = attrs.field(validator=must_be(bool))
    reason: str = attrs.field(default="", validator=must_be(str))
    """Why a call is refused, for the model: what to do instead, for example."""


class Approver(Protocol):
    """Whoever decides on calls: a chat that asks its user, a service that notifies one."""

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Return whether the call may run. This may take days.

        The calls of one turn are asked about at the same time: whoever can answer one question only
        needs a lock. If this raises, the call is not run.
        """
        ...


def _may_act(tool: ToolDefinition) -> bool:
    # Anything but True is no claim: in doubt, somebody is asked.
    return tool.annotations.get("readOnlyHint") is not True


def _as_needs(
    needs: Callable[[ToolDefinition], bool] | Iterable[str],
) -> Callable[[ToolDefinition], bool]:
    if callable(needs):
        return needs
    # A str is iterable, too: each of its letters would be a name.
    if isinstance(needs, str):
        raise ConfigError("needs", needs, "several names", f"write [{needs!r}]")
    names = all_are(str, needs, "needs")
    return lambda tool: tool.name in names


@attrs.define(eq=False)
class RequireApproval:
    """An executor that asks before it runs a call of another executor.

    A refused call never reaches that executor: the model reads that it was refused, and why. In a
    Runner, the time of waiting counts neither towards `tool_timeout_seconds` nor towards
    `RunLimits.seconds`, and the other calls of the turn go on meanwhile.

    >>> import asyncio
    >>> from agentic.tools import Registry, tool
    >>> class Cautious:
    ...     async def approve(self, call, tool, /):
    ...         return Approval("--force" not in call.arguments, "do not force it")
    >>> @tool
    ... def push(options: str) -> str:
    ...     return "pushed"
    >>> executor = RequireApproval(Registry(push), Cautious())
    >>> asyncio.run(executor.execute(ToolCall("c1", "push", '{"options": "--force"}'))).text
    'Error: push was not run, because approval was refused: do not force it'

    Args:
        executor: Has the tools.
        approver: Is asked.
        needs: Which tools need approval: a function of the definition, or the tools' names. By
            default all that are not annotated as read-only; an annotation is its author's claim.

    Raises:
        ConfigError: `approver` has no async `approve`, or `needs` is a text.
    """

    executor: Executor
    approver: Approver = attrs.field()
    needs: Callable[[ToolDefinition], bool] = attrs.field(default=_may_act, converter=_as_needs)
    _tools: dict[str, ToolDefinition] = attrs.field(factory=dict, init=False, repr=False)
    """The tools of the latest listing."""

    @approver.validator
    def _check_approver(self, _: object, value: object) -> None:
        signature = "async approve(call, tool) -> Approval"
        must_be_async("approver", value, "approve", signature, f"pass an object with {signature}")

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the executor's tools."""
        tools = list(await self.executor.list_tools())
        self._tools = {tool.name: tool for tool in tools}
        return tools

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Run a call if it needs no approval, or has been approved; otherwise return a refusal."""
        if call.name not in self._tools:
            await self.list_tools()
        tool = self._tools.get(call.name)
        # An executor may run what it does not list, and nobody could say what that is.
        if tool is None:
            refusal = _tool_errors.not_found(call.name, self._tools)
        elif not self.needs(tool):
            return await self.executor.execute(call)
        else:
            found = await self.ask(call, tool)
            if found is None:
                return await self.executor.execute(call)
            refusal = found
        return ToolResult(call.id, call.name, error=refusal)

    async def ask(self, call: ToolCall, tool: ToolDefinition, /) -> ToolError | None:
        """Ask about a call, whether it needs it or not. Return why it may not run, or None."""
        running = events.current_call()
        # Not started: if the run ends meanwhile, the model reads that the call was not run.
        pause = contextlib.nullcontext() if running is None else running.pause(started=False)
        try:
            with pause:
                approval: object = await self.approver.approve(call, tool)
        # If asking fails, the call must not run.
        except Exception as error:
            _logger.exception("no approval of a call of %s, call %s", call.name, call.id)
            return _tool_errors.not_asked(call.name, error)
        if not isinstance(approval, Approval):
            problem = f"the approver gave a {type(approval).__name__} instead of an Approval"
            return _tool_errors.not_asked(call.name, TypeError(problem))
        return None if approval.allowed else _tool_errors.refused(call.name, approval.reason)
