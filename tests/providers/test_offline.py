"""The agent that takes a model's place follows orders by their first word."""

import asyncio

import pytest

from agentic import loop
from agentic.messages import ToolError, ToolResult
from agentic.protocols import ToolDefinition
from agentic.providers._offline import OfflineDecider

TOOLS = tuple(
    ToolDefinition(name, "", {"type": "object"})
    for name in ("list_files", "read_file", "write_file")
)


def _decide(
    text: str, tools: tuple[ToolDefinition, ...] = TOOLS, *results: ToolResult
) -> loop.Decision:
    request = loop.Input(user_message=text, history=(), tools=tools, tool_results=results)
    return asyncio.run(OfflineDecider().decide(request))


@pytest.mark.parametrize(
    ("order", "tool", "arguments"),
    [
        ("list", "list_files", '{"folder": "."}'),
        ("LIST docs", "list_files", '{"folder": "docs"}'),
        ("read a b.txt", "read_file", '{"path": "a b.txt"}'),
        ("write a.txt Buy milk.", "write_file", '{"path": "a.txt", "text": "Buy milk."}'),
    ],
)
def test_an_order_becomes_a_call(order: str, tool: str, arguments: str) -> None:
    """The rest of the line has the arguments."""
    (call,) = _decide(order).tool_calls

    assert (call.name, call.arguments) == (tool, arguments)


def test_a_missing_tool_is_named() -> None:
    """Nothing is called that the agent does not have."""
    reply = _decide("read a.txt", ()).reply

    assert reply == "This agent has no tool `read_file`, which the order needs."


@pytest.mark.parametrize(
    ("order", "beginning"),
    [("say so", "so"), ("sey so", "Did you mean `say`?"), ("hello", "I am the offline agent")],
)
def test_another_order_is_answered(order: str, beginning: str) -> None:
    """A misspelt order names the nearest one, and any other text is told which orders there are."""
    assert _decide(order).reply.startswith(beginning)


def test_a_result_is_shown_and_an_error_quoted() -> None:
    """The reply to a result is what the tool returned."""
    result = ToolResult("c", "read_file", "Buy milk.")
    failure = ToolResult("c", "read_file", error=ToolError("no such file"))

    assert _decide("read a", TOOLS, result).reply == "```text\nBuy milk.\n```"
    assert "no such file" in _decide("read a", TOOLS, failure).reply


def test_a_reply_is_streamed_by_line() -> None:
    """The lines together are the reply, and the decision comes last."""

    async def stream() -> list[str | loop.Decision]:
        request = loop.Input(user_message="help", history=())
        return [each async for each in OfflineDecider().stream(request)]

    *lines, decision = asyncio.run(stream())

    assert isinstance(decision, loop.Decision)
    assert "".join(map(str, lines)) == decision.reply
