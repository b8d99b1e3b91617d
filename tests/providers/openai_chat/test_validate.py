from typing import Any

import pytest

from agentic.errors import ConfigError
from agentic.providers import openai_chat

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
USER = {"role": "user", "content": "Read a.py."}
ASKING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "call_1", "content": "print()"}


def _asking(**changes: Any) -> dict[str, Any]:
    return {**ASKING, "tool_calls": [{**CALL, **changes}]}


def _function(**changes: Any) -> dict[str, Any]:
    return {**CALL["function"], **changes}  # type: ignore[dict-item]


BROKEN: dict[str, tuple[str, list[Any]]] = {
    "no message": ("first_message", []),
    "an unknown role": ("role", [{"role": "model", "content": "Hi."}]),
    "no content": ("empty_content", [{"role": "user"}]),
    "null from a tool": ("empty_content", [USER, ASKING, {**ANSWER, "content": None}]),
    "an empty list": ("empty_content", [{"role": "user", "content": []}]),
    "an assistant who says nothing": ("empty_content", [{"role": "assistant", "content": None}]),
    "no calls": ("empty_content", [{"role": "assistant", "content": "Hi.", "tool_calls": []}]),
    "an open call": ("unanswered_call", [USER, ASKING]),
    "a user between": ("unanswered_call", [USER, ASKING, USER]),
    "an orphan": ("orphaned_result", [USER, ANSWER]),
    "two answers": ("duplicate_id", [USER, ASKING, ANSWER, ANSWER]),
    "an id of two calls": (
        "duplicate_id",
        [USER, {**ASKING, "tool_calls": [CALL, CALL]}, ANSWER],
    ),
    "no id": ("id", [_asking(id=""), {**ANSWER, "tool_call_id": ""}]),
    "a long id": ("id", [_asking(id="x" * 41), {**ANSWER, "tool_call_id": "x" * 41}]),
    "a name with a dot": ("name", [_asking(function=_function(name="a.b")), ANSWER]),
    "arguments that are not text": (
        "arguments",
        [_asking(function=_function(arguments={})), ANSWER],
    ),
    "an assistant's image": (
        "media",
        [{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_only_the_broken_rule_is_named(name: str) -> None:
    """With the place and the source."""
    rule, messages = BROKEN[name]

    found = openai_chat.validate({"model": "gpt-4o", "messages": messages})

    assert [violation.rule for violation in found] == [rule]
    assert found[0].source.startswith("https://")
    assert found[0].position is None or 0 <= found[0].position < len(messages)


@pytest.mark.parametrize(
    ("tools", "rule"),
    [
        ([], "tools"),
        ([{"type": "function", "function": {"name": f"t{n}"}} for n in range(129)], "tools"),
        ([{"type": "function", "function": {"name": "x" * 65}}], "name"),
    ],
)
def test_tools_are_looked_at_too(tools: list[Any], rule: str) -> None:
    """Their number and their names."""
    found = openai_chat.validate({"messages": [USER], "tools": tools})

    assert [violation.rule for violation in found] == [rule]


@pytest.mark.parametrize(
    "messages",
    [
        [USER, ASKING, ANSWER, {"role": "assistant", "content": ""}],
        [{"role": "developer", "content": "x"}, USER, USER],
        [USER, ASKING, ANSWER, ASKING, ANSWER],
        [USER, {"role": "assistant", "content": None, "refusal": "No."}],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f"}},
            {"role": "function", "name": "f", "content": "1"},
        ],
        [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
                ],
            },
            {**ANSWER, "tool_call_id": "c"},
        ],
    ],
)
def test_what_openai_takes_breaks_no_rule(messages: list[Any]) -> None:
    """Roles need not alternate, and a reply need not say anything."""
    assert openai_chat.validate({"messages": messages}) == []


def test_openais_own_rules_bind_only_openai() -> None:
    """Others take empty lists; what all refuse is still refused."""
    messages = [{"role": "assistant", "content": "Hi.", "tool_calls": []}, ANSWER]
    request = {"model": "grok-4", "messages": messages, "tools": []}

    lax, strict = openai_chat.validate(request), openai_chat.validate(request, server="openai")

    assert [violation.rule for violation in lax] == ["orphaned_result"]
    assert len(strict) == 3


@pytest.mark.parametrize(
    ("rule", "messages"),
    [
        ("id", [USER, ASKING, ANSWER]),
        ("order", [USER, _asking(id="abcdefghi"), {**ANSWER, "tool_call_id": "abcdefghi"}, USER]),
        ("prefill", [USER, {"role": "assistant", "content": "Hi."}]),
    ],
)
def test_mistral_is_stricter(rule: str, messages: list[Any]) -> None:
    """Ids of nine letters and digits, no user after a tool, no assistant in the end."""
    request = {"messages": messages}

    assert openai_chat.validate(request) == []
    by_name = openai_chat.validate({**request, "model": "mistral-small-latest"})
    assert [violation.rule for violation in by_name] == [rule]
    assert openai_chat.validate(request, server="mistral") == by_name


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("ministral-8b-latest", 1),
        ("codestral-2508", 1),
        ("magistral-small-latest", 1),
        ("pixtral-large-latest", 1),
        ("devstral-medium-2507", 1),
        ("open-mixtral-8x22b", 1),
        ("mistral/mistral-tiny", 1),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 0),
        ("mistral-small:24b", 0),
        ("mistral", 0),
    ],
)
def test_mistral_models_are_known_by_name(model: str, count: int) -> None:
    """Where others serve them, Mistral's server is not the one that refuses."""
    messages = [USER, {"role": "assistant", "content": "Hi."}]

    assert len(openai_chat.validate({"model": model, "messages": messages})) == count


@pytest.mark.parametrize(
    ("request_", "rules"),
    [
        ({"model": "kimi-k2.5", "thinking": {"type": "enabled"}}, ["thinking"]),
        ({"model": "kimi-k2.5", "thinking": {"type": "disabled"}}, []),
        ({"model": "kimi-k2.5"}, []),
        ({"model": "gpt-4o", "thinking": {"type": "enabled"}}, []),
    ],
)
def test_kimi_wants_its_thinking_back(request_: dict[str, Any], rules: list[str]) -> None:
    """With every message that makes calls, where it was asked to think."""
    found = openai_chat.validate({**request_, "messages": [USER, ASKING, ANSWER]})
    thought = {**ASKING, "reasoning_content": "Hm."}

    assert [violation.rule for violation in found] == rules
    assert openai_chat.validate({**request_, "messages": [USER, thought, ANSWER]}) == []


@pytest.mark.parametrize("junk", [None, {}, {"messages": 3}, {"messages": [3, None], "tools": 3}])
def test_junk_is_refused_without_an_error(junk: Any) -> None:
    """It has no messages, or messages without a role."""
    assert openai_chat.validate(junk)


def test_unknown_server_is_refused() -> None:
    """A misspelled one would leave its rules out."""
    with pytest.raises(ConfigError, match=r"server must be one of openai, .*, got 'mistrel'"):
        openai_chat.validate({}, server="mistrel")
