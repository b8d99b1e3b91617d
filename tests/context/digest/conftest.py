"""Calls as a section takes them in: made up, and those of the recorded sessions."""

import json
from collections.abc import Callable, Iterator

import pytest

from agentic.context.digest._tools import ToolTable
from agentic.context.digest._turns import Called, read_call
from agentic.messages import Message, ToolCall, ToolError, ToolResult


def _called(call: ToolCall, result: ToolResult | None) -> Called:
    return read_call(call, result, ToolTable())


@pytest.fixture(scope="session")
def called() -> Callable[..., Called]:
    """Make a call of a tool with its output, or with an error."""

    def make(tool: str, output: str | None = "", *, error: str = "", **arguments: object) -> Called:
        call = ToolCall("c1", tool, json.dumps(arguments))
        failure = ToolError(error) if error else None
        return _called(call, None if output is None else ToolResult("c1", tool, output, failure))

    return make


@pytest.fixture(scope="session")
def recorded(sessions: dict[str, list[Message]]) -> Callable[[str], list[Called]]:
    """Read the calls of a recorded session, by its name."""

    def calls(messages: list[Message]) -> Iterator[Called]:
        results = {result.call_id: result for each in messages for result in each.tool_results}
        for message in messages:
            for call in message.tool_calls:
                yield _called(call, results.get(call.id))

    return lambda name: list(calls(sessions[name]))
