"""Outputs of tools, truncated before they are stored."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.types import Command

from agentic import truncate
from agentic.bridges.langchain import TruncateToolOutputs
from agentic.errors import ConfigError

_IMAGE = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
_LONG = "\n".join(f"line {number}" for number in range(5_000))


@tool
def run(n: int) -> str:
    """Return n lines."""
    return "\n".join(f"line {number}" for number in range(n))


@tool(response_format="content_and_artifact")
def look(n: int) -> tuple[list[Any], str]:
    """Return texts, an image and an artifact."""
    return [{"type": "text", "text": f"head {n}"}, _IMAGE, {"type": "text", "text": _LONG}], "whole"


@tool
def hand_over(n: int) -> Command[Any]:
    """Return a Command with a message of its own."""
    return Command(update={"messages": [ToolMessage(_LONG, tool_call_id=f"c{n}_0")]})


def _call(parts: Any, function: Any, number: int, options: truncate.Options | None = None) -> Any:
    """Return what the model gets of a call."""
    asked = parts.call(number)
    asked.tool_calls[0]["name"] = function.name
    model = parts.model([asked])
    agent = create_agent(model, [function], middleware=[TruncateToolOutputs(options)])
    agent.invoke({"messages": [HumanMessage("Go.")]})
    return model.requests[1][-1]


def test_a_long_output_is_truncated(parts: Any) -> None:
    """With the notice that says what is missing."""
    output = _call(parts, run, 5_000, truncate.Options(max_lines=10))

    expected = truncate.tail(run.invoke({"n": 5_000}), max_lines=10)
    assert output.content == expected.text
    assert output.tool_call_id == "c5000_0"


def test_the_defaults_are_those_of_truncate(parts: Any) -> None:
    """2,000 lines and 51,200 bytes."""
    assert _call(parts, run, 5_000).content == truncate.tail(run.invoke({"n": 5_000})).text
    assert _call(parts, run, 20).content == run.invoke({"n": 20})


def test_images_and_artifacts_stay(parts: Any) -> None:
    """Only text is truncated: that of all blocks together."""
    output = _call(parts, look, 1, truncate.Options(max_lines=3))

    text = truncate.tail("head 1\n" + _LONG, max_lines=3).text
    assert output.content == [{"type": "text", "text": text}, _IMAGE]
    assert output.artifact == "whole"


def test_short_output_is_the_same_object() -> None:
    """Nothing is copied where nothing is cut."""
    message = ToolMessage([_IMAGE, "text"], tool_call_id="c1")

    assert TruncateToolOutputs().wrap_tool_call(None, lambda _: message) is message


def test_a_command_passes(parts: Any) -> None:
    """Its tool wrote the message itself."""
    assert _call(parts, hand_over, 1).content == _LONG


def test_an_async_agent_does_the_same() -> None:
    """With `awrap_tool_call`."""

    async def handler(_: Any) -> ToolMessage:
        await asyncio.sleep(0)
        return ToolMessage(_LONG, tool_call_id="c1")

    output = asyncio.run(TruncateToolOutputs().awrap_tool_call(None, handler))

    assert output.content == truncate.tail(_LONG).text


def test_a_failed_tool_stays_failed() -> None:
    """The text of an error is truncated as well."""
    message = ToolMessage(_LONG, tool_call_id="c1", status="error")

    output = TruncateToolOutputs().wrap_tool_call(None, lambda _: message)

    assert output.status == "error"
    assert output.content == truncate.tail(_LONG).text


def test_other_options_are_refused() -> None:
    """At construction."""
    with pytest.raises(ConfigError, match=r"options must be a truncate\.Options, or None"):
        TruncateToolOutputs({"max_lines": 10})
