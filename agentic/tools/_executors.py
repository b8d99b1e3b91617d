"""Executors made from others: with fewer tools, several as one, or asking before each call.

A tool that a policy refuses is neither shown to the model nor run: if a model is shown a tool that
it may not call, it wastes turns on finding this out.
"""

import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

import attrs

from agentic import events
from agentic._base._validate import all_are, must_be, must_be_async, must_execute
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError, ToolResult, _tool_errors
from agentic.protocols import Executor, ToolDefinition

_logger = logging.getLogger(__name__)


@runtime_checkable
class ToolPolicy(Protocol):
    """Decides which tools may be used. Consulted at every listing and before every call."""

    def allows(self, name: str, /) -> bool:
        """Return whether the tool of this name may be shown and run."""


AnyPolicy: TypeAlias = ToolPolicy | Callable[[ToolDefinition], bool]
"""A policy by name, or a function that decides by the whole definition, such as its annotations."""


def _names(names: Iterable[str], argument: str = "names") -> tuple[str, ...]:
    # A str is iterable, too: each of its letters would be a name.
    if isinstance(names, str):
        raise ConfigError(argument, names, "several names", f"write [{names!r}]")
    return all_are(str, names, argument)


@attrs.frozen
class AllowlistPolicy:
    """Allows the named tools and no others. Without any names, it allows nothing.

    >>> policy = AllowlistPolicy(["read", "find"])
    >>> policy.allows("read"), policy.allows("run")
    (True, False)
    """

    names: tuple[str, ...] = attrs.field(converter=_names)

    def allows(self, name: str, /) -> bool:
        """Return whether the name is on the list."""
        return name in self.names


def as_policy(allow: AnyPolicy | Iterable[str]) -> AnyPolicy:
    """Return a policy, given a policy, a function of a definition, or the allowed names."""
    if isinstance(allow, ToolPolicy) or callable(allow):
        return allow
    return AllowlistPolicy(allow)


def permits(policy: AnyPolicy, definition: ToolDefinition) -> bool:
    """Return whether a tool may be shown and run.

    >>> look = ToolDefinition("look", annotations={"readOnlyHint": True})
    >>> permits(lambda found: bool(found.annotations.get("readOnlyHint")), look)
    True
    """
    if isinstance(policy, ToolPolicy):
        return policy.allows(definition.name)
    return policy(definition)


@attrs.frozen
class FilteredExecutor:
    """An executor that shows and runs only some of another executor's tools, in its order.

    >>> def is_read_only(found: ToolDefinition) -> bool:
    ...     return found.annotations.get("readOnlyHint") is True
    >>> read_only = FilteredExecutor(CompositeExecutor(), is_read_only)
    """

    executor: Executor = attrs.field()
    allow: AnyPolicy = attrs.field(converter=as_policy)
    """A policy, the names of the allowed tools, or a function that is given a ToolDefinition."""

    @executor.validator
    def _check_executor(self, _: object, value: object) -> None:
        must_execute("executor", value)

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the executor's tools that are allowed."""
        return [tool for tool in await self.executor.list_tools() if permits(self.allow, tool)]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Pass the call on if it is allowed; otherwise return a refusal."""
        by_name = isinstance(self.allow, ToolPolicy)
        # By name there is no need to list the tools, for which some executors ask a server.
        if isinstance(self.allow, ToolPolicy) and self.allow.allows(call.name):
            return await self.executor.execute(call)
        names = [tool.name for tool in await self.list_tools()]
        if not by_name and call.name in names:
            return await self.executor.execute(call)
        return ToolResult(call.id, call.name, error=_tool_errors.not_allowed(call.name, names))


@attrs.define(init=False, eq=False)
class CompositeExecutor:
    """Several executors as one: the tools of the first, then those of the second, and so on.

    If two executors list the same name, the first one's tool is used and the other is hidden. To
    replace a tool, put your executor first. Every listing asks each executor for its tools; a call
    goes to the executor in which the latest listing found the name.
    """

    executors: tuple[Executor, ...]
    _owners: dict[str, Executor]

    def __init__(self, *executors: Executor) -> None:
        for executor in executors:
            must_execute("executor", executor)
        self.executors = executors
        self._owners = {}

    async def list_tools(self) -> list[ToolDefinition]:
        """Return every executor's tools, each name once."""
        owners: dict[str, Executor] = {}
        definitions: list[ToolDefinition] = []
        for executor in self.executors:
            for tool in await executor.list_tools():
                if tool.name not in owners:
                    owners[tool.name] = executor
                    definitions.append(tool)
        # Replaced at once: a call that runs meanwhile finds the owners of one whole listing.
        self._owners = owners
        return definitions

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Pass the call to the executor that has the tool; if none has, return a refusal."""
        # Not listed yet, or new since the latest listing.
        if call.name not in self._owners:
            await self.list_tools()
        owner = self._owners.get(call.name)
        if owner is None:
            return ToolResult(
                call.id, call.name, error=_tool_errors.not_found(call.name, self._owners)
            )
        return await owner.execute(call)


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
    names = _names(needs, "needs")
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
        ConfigError: a part lacks a method that is needed, or `needs` is a text.
    """

    executor: Executor = attrs.field()
    approver: Approver = attrs.field()
    needs: Callable[[ToolDefinition], bool] = attrs.field(default=_may_act, converter=_as_needs)
    _tools: dict[str, ToolDefinition] = attrs.field(factory=dict, init=False, repr=False)
    """The tools of the latest listing."""

    @executor.validator
    def _check_executor(self, _: object, value: object) -> None:
        must_execute("executor", value)

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
        refusal: ToolError | None = None
        # An executor may run what it does not list, and nobody could say what that is.
        if tool is None:
            refusal = _tool_errors.not_found(call.name, self._tools)
        elif self.needs(tool):
            refusal = await self.ask(call, tool)
        if refusal is not None:
            return ToolResult(call.id, call.name, error=refusal)
        return await self.executor.execute(call)

    async def ask(self, call: ToolCall, tool: ToolDefinition, /) -> ToolError | None:
        """Ask about a call, whether it needs it or not. Return why it may not run, or None."""
        running = events.current_call()
        # Not started: if the run ends meanwhile, the model reads that the call was not run.
        pause = contextlib.nullcontext() if running is None else running.pause(started=False)
        try:
            with pause:
                approval: object = await self.approver.approve(call, tool)
        # If asking fails, the call must not run. SystemExit, too: whoever caught it later would say
        # that the tool has run.
        except (Exception, SystemExit) as error:
            _logger.exception("no approval of a call of %s, call %s", call.name, call.id)
            return _tool_errors.not_asked(call.name, error)
        if not isinstance(approval, Approval):
            problem = f"the approver returned a {type(approval).__name__} instead of an Approval"
            return _tool_errors.not_asked(call.name, TypeError(problem))
        return None if approval.allowed else _tool_errors.refused(call.name, approval.reason)
