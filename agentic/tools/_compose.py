"""Which tools may be used, and executors made from others: with fewer tools, or several as one.

A tool that a policy refuses is neither shown to the model nor run: if a model is shown a tool that
it may not call, it wastes turns on finding this out.
"""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import attrs

from agentic._protocols import Executor
from agentic._tool_definition import ToolDefinition
from agentic._validate import all_are
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolResult
from agentic.tools import _refusal

__all__ = ["AllowlistPolicy", "CompositeExecutor", "FilteredExecutor", "ToolPolicy", "as_policy"]


@runtime_checkable
class ToolPolicy(Protocol):
    """Decides which tools may be used. Consulted at every listing and before every call."""

    def allows(self, name: str, /) -> bool:
        """Return whether the tool of this name may be shown and run."""


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ConfigError("names", names, "several names", f"write [{names!r}]")
    return all_are(str, names, "names")


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


def as_policy(allow: ToolPolicy | Iterable[str]) -> ToolPolicy:
    """Return a policy, given a policy or the names of the allowed tools."""
    return allow if isinstance(allow, ToolPolicy) else AllowlistPolicy(allow)


@attrs.frozen
class FilteredExecutor:
    """An executor that shows and runs only some of another executor's tools, in its order."""

    executor: Executor
    allow: ToolPolicy = attrs.field(converter=as_policy)
    """A policy, or the names of the allowed tools."""

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the executor's tools that are allowed."""
        return [
            found for found in await self.executor.list_tools() if self.allow.allows(found.name)
        ]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Pass the call on if it is allowed; otherwise return a refusal."""
        if self.allow.allows(call.name):
            return await self.executor.execute(call)
        names = [found.name for found in await self.list_tools()]
        return ToolResult(call.id, call.name, error=_refusal.not_allowed(call.name, names))


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
        self.executors = executors
        self._owners = {}

    async def list_tools(self) -> list[ToolDefinition]:
        """Return every executor's tools, each name once."""
        owners: dict[str, Executor] = {}
        definitions: list[ToolDefinition] = []
        for executor in self.executors:
            for found in await executor.list_tools():
                if found.name not in owners:
                    owners[found.name] = executor
                    definitions.append(found)
        self._owners = owners
        return definitions

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Pass the call to the executor that has the tool; if none has, return a refusal."""
        if call.name not in self._owners:
            await self.list_tools()
        owner = self._owners.get(call.name)
        if owner is None:
            return ToolResult(call.id, call.name, error=_refusal.not_found(call.name, self._owners))
        return await owner.execute(call)
