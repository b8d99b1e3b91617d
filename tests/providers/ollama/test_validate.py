"""Why a server would refuse a request, or read it wrongly."""

from typing import Any

import pytest

from agentic.providers import ollama

USER = {"role": "user", "content": "Hi."}
CALL = {"id": "c1", "function": {"name": "read", "arguments": {}}}
CALLER = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_name": "read", "tool_call_id": "c1", "content": ""}


def _caller(**function: Any) -> dict[str, Any]:
    call = {"function": {"name": "read", "arguments": {}, **function}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


NAMELESS = {"role": "tool", "tool_name": "read", "content": "text"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [USER, CALLER, RESULT],
        [USER, _caller(), NAMELESS],
        [USER, CALLER, RESULT, CALLER, RESULT],
        [USER, CALLER, {"role": "tool", "tool_name": "read", "content": "by its name"}],
        [{"role": "assistant", "content": "", "thinking": "Hm."}, USER],
        [{"role": "user", "content": "", "images": ["iVBORw0KGgo="]}],
    ],
)
def test_what_servers_take_is_no_violation(messages: list[Any]) -> None:
    """With ids or without, and whatever begins."""
    assert ollama.validate({"messages": messages}) == []


@pytest.mark.parametrize(
    ("messages", "rules"),
    [
        ([], ["first_message"]),
        ([{"role": "developer", "content": "Hi."}], ["role"]),
        ([{"role": "user", "content": [{"type": "text"}]}], ["part"]),
        ([{"role": "user", "content": ""}], ["empty_content"]),
        ([{"role": "user", "content": "", "images": ["https://e.com/a"]}], ["media"]),
        ([USER, _caller(arguments="{}"), NAMELESS], ["arguments"]),
        ([USER, _caller(name=""), {**NAMELESS, "tool_name": ""}], ["name"]),
        ([USER, CALLER], ["unanswered_call"]),
        ([USER, RESULT], ["orphaned_result"]),
        ([USER, _caller(), NAMELESS, NAMELESS], ["orphaned_result"]),
        ([USER, CALLER, RESULT, RESULT], ["duplicate_id"]),
    ],
)
def test_what_a_server_refuses_is_named(messages: list[Any], rules: list[str]) -> None:
    """Each rule with its source."""
    found = ollama.validate({"messages": messages})

    assert [each.rule for each in found] == rules
    assert all(each.source.startswith("https://") for each in found)


@pytest.mark.parametrize(
    ("tool", "rule"),
    [({"function": {}}, "name"), ({"function": {"name": "t", "parameters": []}}, "tools")],
)
def test_unreadable_tool_is_named(tool: Any, rule: str) -> None:
    """Its name, and the type of its parameters."""
    (found,) = ollama.validate({"messages": [USER], "tools": [tool]})

    assert found.rule == rule
