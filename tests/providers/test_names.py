"""Names of tools that a provider refuses, and the same ones on the way back, in every adapter."""

import json
import re
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.loop import Decision
from agentic.messages import Message, ToolCall, ToolResult
from agentic.providers import anthropic, bedrock, cohere, gemini, kit, openai_chat, openai_responses
from agentic.tools import ToolDefinition

ACCEPTED: dict[Any, str] = {
    anthropic: r"[a-zA-Z0-9_-]{1,128}",
    bedrock: r"[a-zA-Z0-9_-]{1,64}",
    cohere: r"[a-zA-Z_][a-zA-Z0-9_]{0,63}",
    gemini: r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}",
    openai_chat: r"[a-zA-Z0-9_-]{1,64}",
    openai_responses: r"[a-zA-Z0-9_-]{1,64}",
}
ADAPTERS = list(ACCEPTED)
REFUSED = "2.files"
"""By all: for its dot, and for its digit in the first place."""


def _names(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        yield from (data["name"] for _ in range("name" in data))
    for value in (
        data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    ):
        yield from _names(value)


def _round(name: str) -> list[Message]:
    return [
        Message("user", "Read."),
        Message("assistant", tool_calls=[ToolCall("c1", name, "{}")]),
        Message("tool", tool_results=[ToolResult("c1", name, "text")]),
    ]


@pytest.mark.parametrize("adapter", ADAPTERS)
@given(name=st.text(max_size=200))
def test_every_name_becomes_an_accepted_one(adapter: Any, name: str) -> None:
    """The empty one, a long one and one of lone surrogates too; an accepted one stays."""
    request = adapter.encode_request(_round(name))

    (sent,) = set(_names(request))
    assert re.fullmatch(ACCEPTED[adapter], sent)
    assert set(_names(adapter.encode_request(_round(sent)))) == {sent}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_names_that_look_alike_stay_apart(adapter: Any) -> None:
    """Else one tool would be called in place of the other."""
    tools = [ToolDefinition(name) for name in ("2.a", "2_a", "2-a", "2" * 128, "2" * 127 + "3")]

    assert len(set(_names(adapter.encode_tools(tools)))) == len(tools)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_tool_has_one_name(adapter: Any) -> None:
    """The model is shown calls of the tools that it has."""
    request = adapter.encode_request(_round(REFUSED), tools=[ToolDefinition(REFUSED)])

    (name,) = set(_names(request))
    assert name.lstrip("_").startswith("2_files_")
    assert adapter.validate({**request, "max_tokens": 9}) == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_renamed_call_goes_back_unchanged(adapter: Any) -> None:
    """Though the message has the tool's own name, which the Decider gives it."""
    wire = [{**item, "seal": "x"} for item in adapter.encode(_round(REFUSED))]
    calls = [ToolCall("c1", REFUSED, "{}")]
    came = [attrs.evolve(m, tool_calls=m.tool_calls and calls) for m in adapter.decode(wire)]

    assert json.dumps(adapter.encode(came)) == json.dumps(wire)


def test_a_decision_has_the_tools_names() -> None:
    """One that the model made up stays."""
    rule = kit.NameRule(re.compile(r"[a-z_]\w*"), 64)
    calls = [ToolCall("c1", rule.wire(REFUSED)), ToolCall("c2", "write")]

    decision = rule.restore(Decision("", calls), [ToolDefinition(REFUSED)])

    assert [call.name for call in decision.tool_calls] == [REFUSED, "write"]
