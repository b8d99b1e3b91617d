"""Which tools may be used, and executors made from others: with fewer tools, or several as one.

A tool that a policy refuses is neither shown to the model nor run: if a model is shown a tool that
it may not call, it wastes turns on finding this out.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeAlias, runtime_checkable

import attrs

from agentic import _tool_errors
from agentic._protocols import Executor
from agentic._tool_definition import ToolDefinition
from agentic._validate import all_are
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolResult

__all__ = [
    "AllowlistPolicy",
    "AnyPolicy",
    "CompositeExecutor",
    "FilteredExecutor",
    "ToolPolicy",
    "as_policy",
    "permits",
]


@runtime_checkable
class ToolPolicy(Protocol):
    """Decides which tools may be used. Consulted at every listing and before every call."""

    def allows(self, name: str, /) -> bool:
        """Return whether the tool of this name may be shown and run."""


AnyPolicy: TypeAlias = ToolPolicy | Callable[[ToolDefinition], bool]
"""A policy by name, or a function that decides by the whole definition, such as its annotations."""


def _names(names: Iterable[str]) -> tuple[str, ...]:
    # A str is iterable, too: each of its letters would be a name.
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

    executor: Executor
    allow: AnyPolicy = attrs.field(converter=as_policy)
    """A policy, the names of the allowed tools, or a function that is given a ToolDefinition."""

    async def list_tools(self) -> list[ToolDefinition]:
        """Return the executor's tools that are allowed."""
        return [found for found in await self.executor.list_tools() if permits(self.allow, found)]

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Pass the call on if it is allowed; otherwise return a refusal."""
        by_name = isinstance(self.allow, ToolPolicy)
        # By name there is no need to list the tools, for which some executors ask a server.
        if isinstance(self.allow, ToolPolicy) and self.allow.allows(call.name):
            return await self.executor.execute(call)
        names = [found.name for found in await self.list_tools()]
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
