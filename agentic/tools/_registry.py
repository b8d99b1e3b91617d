"""The tools of an agent, and how a call that a model wrote is run.

Tools are listed in the order of their registration, so that the start of the request stays the same
and the provider's prompt cache remains valid.
"""

import json
import logging
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import attrs

from agentic._base._validate import suggest
from agentic.errors import ConfigError
from agentic.messages import Media, ToolCall, ToolError, ToolResult, _tool_errors
from agentic.protocols import ToolDefinition
from agentic.tools._executors import AnyPolicy, as_policy, permits

_logger = logging.getLogger(__name__)


@runtime_checkable
class Tool(Protocol):
    """Something that a model can call. Both members may be used many times, also concurrently."""

    @property
    def definition(self) -> ToolDefinition:
        """What the model is told about the tool."""

    async def run(self, arguments: dict[str, Any], /) -> object:
        """Run one call. The arguments are a JSON object, not checked against the schema.

        Returns:
            A str is the output; None is an empty output. A Media is an output without text. A
            ToolResult may also have media, a notice and a reference; its call id and name are
            filled in. The model sees a ToolError, or an exception that is raised, as an error.
            Anything else is converted to JSON.
        """


@attrs.define(init=False, eq=False)
class Registry:
    """The reference executor: it holds tools, lists them and runs them.

    >>> import asyncio
    >>> class Now:
    ...     definition = ToolDefinition("now", "Tell the time.")
    ...     async def run(self, arguments, /):
    ...         return "noon"
    >>> registry = Registry(Now())
    >>> asyncio.run(registry.execute(ToolCall("c1", "now"))).text
    'noon'
    >>> asyncio.run(registry.execute(ToolCall("c2", "later"))).text
    "Error: there is no tool 'later'. The tools you may call: now."

    Raises:
        ConfigError: two tools have the same name, or an object is not a Tool.
    """

    _tools: dict[str, Tool] = attrs.field(repr=lambda tools: repr(list(tools)))
    policy: AnyPolicy | None
    """Which tools may be shown and run; None allows all of them."""

    def __init__(
        self, *tools: Tool | Iterable[Tool], policy: AnyPolicy | Iterable[str] | None = None
    ) -> None:
        """Register tools, passed one by one or as collections; a policy may be given as names."""
        self._tools = {}
        self.policy = None if policy is None else as_policy(policy)
        for entry in tools:
            for tool in entry if isinstance(entry, Iterable) else (entry,):
                self.register(tool)

    def __getitem__(self, name: str) -> Tool:
        """Return a tool by its name, whatever the policy says.

        Raises:
            ConfigError: there is no tool of that name.
        """
        if name not in self._tools:
            names = ", ".join(self._tools) or "none"
            hint = suggest(name, self._tools, f"registered tools: {names}")
            message = f"no tool named {reprlib.repr(name)}; {hint}"
            raise ConfigError("name", name, f"one of {names}", hint, message)
        return self._tools[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def register(self, tool: Tool) -> None:
        """Add a tool, which is listed after the existing ones.

        Raises:
            ConfigError: the name is taken, or `tool` is not a Tool.
        """
        # A class has both attributes as well, and would fail only when a model calls it.
        if isinstance(tool, type) or not isinstance(tool, Tool):
            raise ConfigError(
                "tool", tool, "a Tool", "decorate the function with @tools.tool before you add it"
            )
        name = tool.definition.name
        if name in self._tools:
            raise ConfigError(
                "the name of a tool",
                name,
                "a name that is not registered yet",
                "rename one of the two, by @tools.tool(name=...) if it is a function",
            )
        self._tools[name] = tool

    async def list_tools(
        self, *, caller: str | None = ToolDefinition.DIRECT
    ) -> list[ToolDefinition]:
        """Return what the caller may use, in the order of registration; None means every caller."""
        definitions = (tool.definition for tool in self._tools.values())
        return [found for found in definitions if self._allows(found, caller)]

    async def execute(
        self, call: ToolCall, *, caller: str = ToolDefinition.DIRECT, schema_hash: str | None = None
    ) -> ToolResult:
        """Run a call that a model wrote, or return what is wrong with it.

        Whatever the model wrote, this returns, even if the tool raises. Only a cancellation and a
        KeyboardInterrupt are raised.

        Args:
            call: What the model wrote.
            caller: Who calls; the tool's `allowed_callers` must include it.
            schema_hash: The `ToolDefinition.schema_hash` that the call was written for. None skips
                this check.
        """
        outcome = await self._prepare(call, caller, schema_hash)
        if isinstance(outcome, ToolError):
            return _answer(call, outcome)
        try:
            value = await self._tools[call.name].run(outcome)
        # SystemExit, too: a tool that calls a script's main() must not end the agent.
        except (Exception, SystemExit) as error:
            # The traceback is for the tool's author; the model reads what the error says.
            _logger.info("tool %s raised, call %s", call.name, call.id, exc_info=True)
            return _answer(call, _tool_errors.raised(error))
        return _answer(call, value)

    async def _prepare(
        self, call: ToolCall, caller: str, schema_hash: str | None
    ) -> dict[str, Any] | ToolError:
        tool = self._tools.get(call.name)
        # The names that this caller may use, so that the model does not try one that is refused
        # next.
        if tool is None:
            return _tool_errors.not_found(call.name, await self._names(caller))
        definition = tool.definition
        if not self._allows(definition, caller):
            return _tool_errors.not_allowed(call.name, await self._names(caller))
        # A call that was written for another schema may fit this one and mean something else.
        if schema_hash not in (None, definition.schema_hash):
            return _tool_errors.schema_changed(call.name, definition.parameters)
        return _tool_errors.parse_arguments(call)

    async def _names(self, caller: str) -> list[str]:
        return [tool.name for tool in await self.list_tools(caller=caller)]

    def _allows(self, definition: ToolDefinition, caller: str | None) -> bool:
        if self.policy is not None and not permits(self.policy, definition):
            return False
        return caller is None or caller in definition.allowed_callers


def _answer(call: ToolCall, value: object) -> ToolResult:
    match value:
        case ToolResult():
            # A tool need not know which call it answers.
            return attrs.evolve(value, call_id=call.id, name=call.name)
        case ToolError():
            return ToolResult(call.id, call.name, error=value)
        case None | Media():
            return ToolResult(call.id, call.name, media=() if value is None else [value])
        case str():
            # A subclass of str may show itself otherwise, or carry what no store can write.
            return ToolResult(call.id, call.name, str.__str__(value))
    try:
        return ToolResult(call.id, call.name, json.dumps(value, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        return ToolResult(call.id, call.name, error=_tool_errors.unreadable_result(error))
