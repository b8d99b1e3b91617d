"""A call that needs approval runs only after somebody has allowed it."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from agentic.errors import ConfigError
from agentic.messages import ToolCall, ToolError, ToolResult
from agentic.testing import ScriptedExecutor
from agentic.tools import Approval, Registry, RequireApproval, ToolDefinition, tool

if TYPE_CHECKING:
    from agentic.tools._function import FunctionTool


@attrs.define
class Clerk:
    """Answers in turn, and notes what it was asked."""

    answers: list[Any]
    asked: list[tuple[str, ToolDefinition]] = attrs.field(factory=list)

    async def approve(self, call: ToolCall, tool: ToolDefinition, /) -> Approval:
        """Give the next answer, or raise it."""
        self.asked.append((call.name, tool))
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]


@tool
def push() -> str:
    """Push."""
    return "pushed"


@tool(annotations={"readOnlyHint": True})
def look() -> str:
    """Look."""
    return "seen"


def _execute(executor: Any, name: str) -> ToolResult:
    result = asyncio.run(executor.execute(ToolCall("c1", name)))
    assert isinstance(result, ToolResult)
    return result


def test_approved_call_runs() -> None:
    """The approver sees the call, and how the tool is described."""
    clerk = Clerk([Approval(allowed=True)])

    assert _execute(RequireApproval(Registry(push), clerk), "push").output == "pushed"
    assert clerk.asked == [("push", push.definition)]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("not on a Friday", "push was not run, because approval was refused: not on a Friday"),
        ("  ", "approval was refused; do not call it again in the same way"),
    ],
)
def test_refused_call_never_runs(reason: str, told: str) -> None:
    """The model reads why."""
    ran: list[str] = []
    executor = ScriptedExecutor({"push": lambda call: ran.append(call.id)})

    result = _execute(
        RequireApproval(executor, Clerk([Approval(allowed=False, reason=reason)])), "push"
    )

    assert result.error is not None
    assert result.error.message.endswith(told)
    assert (result.error.kind, result.call_id, ran) == ("not_allowed", "c1", [])


def test_read_only_tool_does_not_ask() -> None:
    """Its author says that it changes nothing."""
    assert _execute(RequireApproval(Registry(look), Clerk([])), "look").output == "seen"


@pytest.mark.parametrize("hint", [False, None, "yes", 1])
def test_other_annotation_asks(hint: object) -> None:
    """Only `readOnlyHint: true` is a claim that nothing changes."""
    tool = ToolDefinition("push", annotations={"readOnlyHint": hint})
    clerk = Clerk([Approval(allowed=False)])

    class Tools:
        async def list_tools(self) -> list[ToolDefinition]:
            return [tool]

        async def execute(self, call: ToolCall, /) -> ToolResult:
            raise NotImplementedError

    assert _execute(RequireApproval(Tools(), clerk), "push").error is not None
    assert clerk.asked == [("push", tool)]


@pytest.mark.parametrize("needs", [["look"], lambda tool: tool.name == "look"])
def test_needs_may_be_chosen(needs: Any) -> None:
    """By name, or by the definition."""
    clerk = Clerk([Approval(allowed=True)])
    executor = RequireApproval(Registry(push, look), clerk, needs)

    assert [_execute(executor, name).output for name in ("push", "look")] == ["pushed", "seen"]
    assert [name for name, _ in clerk.asked] == ["look"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (OSError("no terminal"), "OSError: no terminal"),
        (SystemExit(2), "SystemExit: 2"),
        (True, "returned a bool instead"),
    ],
)
def test_failing_approver_allows_nothing(answer: object, told: str) -> None:
    """The model reads that asking failed."""
    result = _execute(RequireApproval(Registry(push), Clerk([answer])), "push")

    assert result.error is not None
    assert told in result.error.message
    assert result.error.kind == "not_run"


def test_unlisted_tool_is_refused() -> None:
    """Nobody could say what would be approved."""
    clerk = Clerk([])

    result = _execute(RequireApproval(Registry(look), clerk), "hidden")

    assert isinstance(result.error, ToolError)
    assert result.error.kind == "not_found"
    assert clerk.asked == []


@pytest.mark.parametrize(
    ("approver", "needs"), [(object(), ["push"]), (Clerk, ["push"]), (Clerk([]), "push")]
)
def test_wrong_part_is_refused(approver: Any, needs: Iterable[str]) -> None:
    """When the executor is made, not when a model calls."""
    tools: list[FunctionTool[..., Any]] = [push]

    with pytest.raises(ConfigError):
        RequireApproval(Registry(tools), approver, needs)
