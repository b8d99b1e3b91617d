"""Executors made of executors."""

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic import tools
from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.tools import Approval, ToolDefinition


def _registry(*names: str, says: str = "") -> tools.Registry:
    return tools.Registry(tools.tool(lambda: says or "done", name=name) for name in names)


def _listed(executor: Any) -> list[str]:
    return [found.name for found in asyncio.run(executor.list_tools())]


def _execute(executor: Any, name: str) -> ToolResult:
    result = asyncio.run(executor.execute(ToolCall("c1", name)))
    assert isinstance(result, ToolResult)
    return result


def test_filtered_executor_shows_and_runs_allowed() -> None:
    """In the order of the executor, not of the list."""
    filtered = tools.FilteredExecutor(_registry("read", "run", "find"), ["find", "read"])

    assert _listed(filtered) == ["read", "find"]
    assert _execute(filtered, "read").output == "done"


def test_a_filtered_executor_refuses_the_rest() -> None:
    """The model is told what it may call instead."""
    filtered = tools.FilteredExecutor(_registry("read", "run"), tools.AllowlistPolicy(["read"]))

    assert _execute(filtered, "run") == ToolResult(
        "c1",
        "run",
        error=ToolError(
            "'run' may not be called here; calling it again will not help. "
            "The tools you may call: read.",
            "not_allowed",
        ),
    )


def test_composite_lists_executors_in_order() -> None:
    """The order is that of the executors, and theirs within."""
    composite = tools.CompositeExecutor(_registry("run", "read"), _registry("find"))

    assert _listed(composite) == ["run", "read", "find"]


@pytest.mark.parametrize("listed_before", [True, False])
def test_composite_finds_the_calls_executor(*, listed_before: bool) -> None:
    """It need not have been listed before."""
    composite = tools.CompositeExecutor(_registry("a", says="one"), _registry("b", says="two"))
    if listed_before:
        _listed(composite)

    assert [_execute(composite, name).output for name in "ab"] == ["one", "two"]


def test_the_first_executor_wins_a_name() -> None:
    """Whoever wants to replace a tool puts theirs in front; it is listed once."""
    composite = tools.CompositeExecutor(_registry("a", says="mine"), _registry("b", "a"))

    assert _listed(composite) == ["a", "b"]
    assert _execute(composite, "a").output == "mine"


def test_composite_answers_unknown_tool_with_names() -> None:
    """A call that belongs to nobody is no error of the program."""
    composite = tools.CompositeExecutor(_registry("read"), _registry("find"))

    assert _execute(composite, "raed").error == ToolError(
        "there is no tool 'raed'. Did you mean read? The tools you may call: read, find.",
        "not_found",
    )


@attrs.define
class Counting:
    """An executor that is slow to list, and counts how often it must."""

    inner: tools.Registry
    listings: int = 0

    async def list_tools(self) -> list[tools.ToolDefinition]:
        """List, and count."""
        self.listings += 1
        return await self.inner.list_tools()

    async def execute(self, call: ToolCall, /) -> ToolResult:
        """Pass the call on."""
        return await self.inner.execute(call)


def test_composite_lists_each_executor_once() -> None:
    """A remote executor would pay for each."""
    counting = Counting(_registry("read"))
    composite = tools.CompositeExecutor(counting)
    _listed(composite)

    for _ in range(3):
        assert _execute(composite, "read").output == "done"
    assert counting.listings == 1


def test_later_tool_is_found() -> None:
    """A name that the latest listing lacks is looked for once more."""
    registry = _registry("read")
    composite = tools.CompositeExecutor(registry)
    _listed(composite)

    registry.register(tools.tool(lambda: "late", name="find"))

    assert _execute(composite, "find").output == "late"


def test_composed_executors_compose() -> None:
    """A filter of a composite of filters is an executor as any other."""
    inner = tools.FilteredExecutor(_registry("a", "b"), ["a"])
    outer = tools.FilteredExecutor(tools.CompositeExecutor(inner, _registry("c", "d")), ["a", "c"])

    assert _listed(outer) == ["a", "c"]
    assert [_execute(outer, name).error is None for name in "abcd"] == [True, False, True, False]


def test_empty_composite_has_no_tools() -> None:
    """It lists none and answers every call."""
    assert _listed(tools.CompositeExecutor()) == []
    assert _execute(tools.CompositeExecutor(), "read").error is not None


def _is_read_only(found: tools.ToolDefinition) -> bool:
    return found.annotations.get("readOnlyHint") is True


@attrs.frozen
class _Annotated:
    definition: tools.ToolDefinition

    async def run(self, arguments: dict[str, Any], /) -> object:
        return "done"


LOOK = _Annotated(tools.ToolDefinition("look", annotations={"readOnlyHint": True}))
WIPE = _Annotated(tools.ToolDefinition("wipe", annotations={"destructiveHint": True}))


@pytest.mark.parametrize(
    "executor",
    [
        tools.FilteredExecutor(tools.Registry(LOOK, WIPE), _is_read_only),
        tools.Registry(LOOK, WIPE, policy=_is_read_only),
    ],
)
def test_a_policy_may_read_the_definition(executor: Any) -> None:
    """With the author's annotations, which are not sent to a model."""
    assert _listed(executor) == ["look"]
    assert _execute(executor, "look").output == "done"
    assert _execute(executor, "wipe").error == ToolError(
        "'wipe' may not be called here; calling it again will not help. "
        "The tools you may call: look.",
        "not_allowed",
    )


class _OnlyRuns:
    async def execute(self, call: ToolCall, /) -> ToolResult:
        return ToolResult()


@pytest.mark.parametrize("given", [None, [tools.Registry()], tools.Registry, _OnlyRuns()])
@pytest.mark.parametrize(
    "make",
    [
        tools.CompositeExecutor,
        lambda given: tools.FilteredExecutor(given, ["read"]),
        lambda given: tools.RequireApproval(given, _Nobody()),
    ],
)
def test_what_is_no_executor_is_refused(make: Callable[[Any], Any], given: Any) -> None:
    """Where it is passed, and not when the model asks for the tools."""
    with pytest.raises(ConfigError, match=r"executor must be an object with async \w+\("):
        make(given)


class _Nobody:
    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        raise AssertionError(call, tool)
