"""Each rule of the validator, by a request that breaks no other."""

from typing import Any

import pytest

from agentic.providers import anthropic

ASK = {"role": "user", "content": "Why?"}
YES = {"role": "assistant", "content": "Yes."}
SYSTEM = {"role": "system", "content": "Be brief."}
DIRECTIVE = {"role": "system", "content": [], "output_config": {"effort": "low"}}
THINKING = {"type": "thinking", "thinking": "So.", "signature": "EqQB"}
TEXT = {"type": "text", "text": "Go on."}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
BUDGET = {"type": "enabled", "budget_tokens": 2000}
MARK = {"type": "ephemeral"}
MARKED = {**TEXT, "cache_control": MARK}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}


def _call(call_id: Any = "a", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "read", "input": {}, **fields}


def _result(call_id: str = "a") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id}


def _said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def _told(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def _tool(name: str = "read", **schema: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object", **schema}}


@pytest.mark.parametrize(
    ("rule", "position", "messages"),
    [
        ("first_message", None, []),
        ("first_message", None, [DIRECTIVE]),
        ("role", 1, [ASK, {"role": "tool", "content": "x"}]),
        ("role", 0, [_told(THINKING, TEXT)]),
        ("empty_content", 0, [{"role": "user", "content": None}, ASK]),
        ("empty_content", 0, [_told()]),
        ("empty_content", 0, [{"role": "user", "content": " "}]),
        ("empty_content", 1, [ASK, _said(), ASK]),
        ("empty_content", 0, [_told({"type": "text", "text": "\n"}, TEXT)]),
        ("empty_content", 1, [ASK, _said({"type": "text", "text": ""}, TEXT), ASK]),
        ("unanswered_call", 1, [ASK, _said(_call()), ASK]),
        ("unanswered_call", 1, [ASK, _said(_call(), _call("b")), _told(_result())]),
        ("unanswered_call", 1, [ASK, _said(_call())]),
        ("orphaned_result", 0, [_told(_result())]),
        ("orphaned_result", 1, [ASK, _said(FOUND, TEXT), ASK]),
        ("duplicate_id", 2, [ASK, _said(_call()), _told(_result(), _result())]),
        ("order", 2, [ASK, _said(_call()), _told(TEXT, _result())]),
        ("order", 0, [SYSTEM, ASK]),
        ("order", 2, [ASK, YES, SYSTEM, YES, ASK]),
        ("order", 1, [ASK, SYSTEM, ASK]),
        ("id", 1, [ASK, _said(_call("fs.read:0")), _told(_result("fs.read:0"))]),
        ("arguments", 1, [ASK, _said(_call(input="{}")), _told(_result())]),
        ("name", 1, [ASK, _said(_call(name="")), _told(_result())]),
        ("part", 0, [_told("text")]),
        ("media", 0, [_told({"type": "image"})]),
        ("media", 0, [_told({"type": "document", "source": {}}, TEXT)]),
        ("media", 2, [ASK, _said(_call()), _told({**_result(), "content": [{"type": "image"}]})]),
        ("thinking", 1, [ASK, _said({"type": "thinking", "thinking": "So."}, TEXT), ASK]),
        ("thinking", 1, [ASK, _said(TEXT, THINKING)]),
        ("prefill", 1, [ASK, {"role": "assistant", "content": "The answer is "}]),
    ],
)
def test_each_rule_is_told(rule: str, position: int | None, messages: list[Any]) -> None:
    """With its place and the address where the rule stands."""
    (found,) = anthropic.validate({"messages": messages})

    assert (found.rule, found.position) == (rule, position)
    assert found.source.startswith("https://")
    assert found.problem


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("max_tokens", {"stream": True}),
        ("max_tokens", {"max_tokens": "100"}),
        ("max_tokens", {"max_tokens": -1}),
        ("empty_content", {"system": [{"type": "text", "text": " "}]}),
        ("tools", {"tools": [_tool(), _tool()]}),
        ("name", {"tools": [_tool("fs.read")]}),
        ("name", {"tools": [_tool("r" * 129)]}),
        ("tools", {"tools": [_tool(anyOf=[])]}),
        ("tools", {"tools": [_tool()], "tool_choice": {"type": "tool", "name": "write"}}),
        ("thinking", {"thinking": BUDGET, "max_tokens": 2000}),
        ("thinking", {"thinking": {**BUDGET, "budget_tokens": 1023}}),
        ("thinking", {"thinking": {"type": "enabled"}}),
        ("thinking", {"thinking": BUDGET, "tools": [_tool()], "tool_choice": {"type": "any"}}),
        ("cache", {"system": [MARKED] * 3, "messages": [_told(MARKED, MARKED)]}),
        (
            "cache",
            {"messages": [ASK, _said(_call()), _told({**_result(), "content": [MARKED] * 5})]},
        ),
    ],
)
def test_whole_request_rules_are_told(rule: str, fields: dict[str, Any]) -> None:
    """They have no place in the list of messages."""
    (found,) = anthropic.validate({"messages": [ASK], **fields})

    assert (found.rule, found.position) == (rule, None)


@pytest.mark.parametrize("model", ["claude-opus-4-6", "us.anthropic.claude-sonnet-5-5-v1"])
def test_newer_models_continue_no_reply(model: str) -> None:
    """But with one that the server paused."""
    request = {"model": model, "max_tokens": 9, "messages": [ASK, YES]}
    (found,) = anthropic.validate(request)

    assert found.rule == "prefill"
    assert anthropic.validate({**request, "model": "claude-sonnet-4-5-20250929"}) == []
    assert anthropic.validate({**request, "messages": [ASK, _said(SEARCH)]}) == []


def test_budgeted_thinking_opens_reply_with_calls() -> None:
    """Neither an older reply has to, nor the later ones of the same turn."""
    thinking = {"type": "enabled", "budget_tokens": 1024}
    round_a, round_b = [_said(_call()), _told(_result())], [_said(_call("b")), _told(_result("b"))]
    thought = [_said(THINKING, _call()), _told(_result())]

    (found,) = anthropic.validate({"messages": [ASK, *round_a], "thinking": thinking})

    assert (found.rule, found.position) == ("thinking", 1)
    assert anthropic.validate({"messages": [ASK, *thought, *round_b], "thinking": thinking}) == []
    assert anthropic.validate({"messages": [ASK, *round_a, YES, ASK], "thinking": thinking}) == []
    adaptive = {"messages": [ASK, *round_a], "thinking": {"type": "adaptive"}}
    assert anthropic.validate(adaptive) == []


@pytest.mark.parametrize(
    "messages",
    [
        [ASK, SYSTEM],
        [ASK, SYSTEM, SYSTEM, YES, ASK],
        [DIRECTIVE, ASK, DIRECTIVE, ASK],
        [ASK, _said(SEARCH, FOUND), SYSTEM],
        [ASK, ASK, YES, YES, ASK],
        [_told(), ASK],
        [ASK, _said()],
        [ASK, _said(SEARCH, FOUND, TEXT), ASK],
        [ASK, _said(_call()), _told(_result(), TEXT)],
        [ASK, _said(_call(), _call("b")), _told(_result("b")), _told(_result(), TEXT)],
        [ASK, _said({"type": "text", "text": "\n\n"}, _call()), _told(_result())],
        [
            ASK,
            _said({"type": "of_next_year"}),
            _told({"type": "image", "source": {"type": "next"}}),
        ],
    ],
)
def test_accepted_requests_are_not_found_wrong(messages: list[Any]) -> None:
    """Consecutive messages of one role are one turn to it, and unknown blocks are let pass."""
    assert anthropic.validate({"model": "claude-sonnet-4-5", "messages": messages}) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"thinking": BUDGET, "max_tokens": 2001},
        {"thinking": BUDGET, "max_tokens": 2000, "tools": [_tool()]},
        {"thinking": BUDGET},
        {"thinking": BUDGET, "tools": [_tool()], "tool_choice": {"type": "auto"}},
        {"thinking": {"type": "adaptive"}, "tools": [_tool()], "tool_choice": {"type": "any"}},
        {"system": [MARKED] * 4, "cache_control": MARK},
        {"system": [MARKED] * 4, "tools": [{**_tool(), "cache_control": None}]},
    ],
)
def test_accepted_settings_are_not_found_wrong(fields: dict[str, Any]) -> None:
    """With tools the budget is for all thinking of a turn; adaptive thinking may be forced."""
    assert anthropic.validate({"messages": [ASK], **fields}) == []
