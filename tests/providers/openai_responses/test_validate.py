"""Each rule, broken alone."""

from typing import Any

import pytest

from agentic.providers.openai_responses import validate

ASKED = {"role": "user", "content": "Why?"}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "text"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
PATCH = {"type": "apply_patch_call", "call_id": "c1", "operation": {}}

BROKEN: dict[str, tuple[str, int | None, list[Any]]] = {
    "no input": ("first_message", None, []),
    "a role of chat completions": ("role", 1, [ASKED, {"role": "tool", "content": "text"}]),
    "a user's part in a reply": (
        "role",
        0,
        [{"role": "assistant", "content": [{"type": "input_text", "text": "Hi."}]}],
    ),
    "a reply's part in a user's message": (
        "role",
        0,
        [{"role": "user", "content": [{"type": "output_text", "text": "Hi."}]}],
    ),
    "an unanswered call": ("unanswered_call", 1, [ASKED, CALL, ASKED]),
    "an unanswered patch": ("unanswered_call", 1, [ASKED, PATCH]),
    "an output for no call": ("orphaned_result", 1, [ASKED, OUTPUT]),
    "an output before its call": ("orphaned_result", 0, [OUTPUT, CALL]),
    "a call twice": ("duplicate_id", 1, [CALL, CALL, OUTPUT]),
    "an output twice": ("duplicate_id", 2, [CALL, OUTPUT, OUTPUT]),
    "an item twice": ("duplicate_id", 1, [{**SAID, "id": "msg_1"}, {**SAID, "id": "msg_1"}]),
    "an empty call id": ("id", 1, [ASKED, {**OUTPUT, "call_id": ""}]),
    "a call without an id": (
        "id",
        1,
        [ASKED, {key: CALL[key] for key in ("type", "name", "arguments")}],
    ),
    "a message without content": ("empty_content", 1, [ASKED, {"role": "user"}]),
    "a message of nothing": ("empty_content", 0, [{"role": "user", "content": None}]),
    "a part of chat completions": (
        "part",
        0,
        [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}],
    ),
    "an image of chat completions": (
        "part",
        0,
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
    ),
    "a long call id": (
        "id",
        0,
        [{**CALL, "call_id": "x" * 65}, {"type": "custom_tool_call_output", "call_id": "x" * 65}],
    ),
    "an id of another kind": ("id", 0, [{**CALL, "id": "item_1"}, OUTPUT]),
    "a long id": ("id", 0, [{**SAID, "id": "msg_" + "x" * 64}]),
    "arguments that are not text": ("arguments", 0, [{**CALL, "arguments": {}}, OUTPUT]),
    "a name with a dot": ("name", 0, [{**CALL, "name": "files.read"}, OUTPUT]),
    "an output without output": ("empty_content", 1, [CALL, {**OUTPUT, "output": None}]),
    "reasoning at the end": ("thinking", 1, [ASKED, REASONING]),
    "reasoning before a user's message": ("thinking", 0, [REASONING, ASKED]),
    "reasoning before an output": ("thinking", 1, [CALL, REASONING, OUTPUT]),
    "reasoning without a summary": ("thinking", 0, [{"type": "reasoning"}, SAID]),
}
SOUND: dict[str, Any] = {
    "a text": "Why?",
    "reasoning with its call": [ASKED, REASONING, CALL, OUTPUT, ASKED],
    "thinking of another server": [{"type": "reasoning", "id": "1e97", "summary": []}, ASKED],
    "a message between a call and its output": [CALL, ASKED, OUTPUT],
    "calls and outputs in turns": [
        CALL,
        OUTPUT,
        {**CALL, "call_id": "c2"},
        {**OUTPUT, "call_id": "c2"},
    ],
    "a call that the provider answers": [
        {"type": "tool_search_call", "execution": "server", "call_id": "s1"},
        {"type": "tool_search_output", "execution": "server", "call_id": "s1"},
    ],
    "a reference to the call": [{"type": "item_reference", "id": "fc_1"}, OUTPUT],
    "an output that answers nothing by name": [ASKED, {**OUTPUT, "call_id": None, "id": "fco_1"}],
    "no words": [{"role": "user", "content": []}],
    "a local shell's output by the id of its call": [
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "action": {}},
        {"type": "local_shell_call_output", "id": "lsh_1", "output": "a.py"},
    ],
    "a local shell's output by the call id": [
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c", "action": {}},
        {"type": "local_shell_call_output", "id": "c", "output": "a.py"},
    ],
    "an item unheard of": [{"type": "dream"}],
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_rule_is_found(name: str) -> None:
    """Once, where it is broken, with its source."""
    rule, position, items = BROKEN[name]

    found = [v for v in validate({"model": "gpt-5", "input": items}) if v.rule == rule]

    assert found[0].position == position
    assert found[0].source.startswith("https://")
    assert len({v.rule for v in validate({"model": "gpt-5", "input": items})}) <= 2


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_request_breaks_none(name: str) -> None:
    """Whatever it holds besides."""
    assert validate({"model": "gpt-5", "input": SOUND[name]}) == []


@pytest.mark.parametrize("key", ["previous_response_id", "conversation", "prompt"])
def test_half_held_pairs_are_not_judged(key: str) -> None:
    """Nor need there be an input."""
    assert validate({key: "x_1", "input": [OUTPUT]}) == []
    assert validate({key: "x_1"}) == []


@pytest.mark.parametrize(("model", "rules"), [("deepseek-v4-flash", ["order"]), ("gpt-5", [])])
def test_deepseek_wants_outputs_beside_their_calls(model: str, rules: list[str]) -> None:
    """OpenAI finds them wherever they stand."""
    found = validate({"model": model, "input": [CALL, ASKED, OUTPUT]})

    assert [violation.rule for violation in found] == rules


@pytest.mark.parametrize("model", ["deepseek-v4-flash", "gpt-oss-120b", "openai/gpt-5", ""])
def test_other_servers_name_items_freely(model: str) -> None:
    """The form of ids is OpenAI's own rule."""
    items = [{**CALL, "id": "5e97d346-aa16"}, OUTPUT]

    assert validate({"model": model, "input": items}) == []


def test_the_names_of_tools_are_checked() -> None:
    """Those of functions; a tool of the provider has none."""
    tools = [{"type": "web_search"}, {"type": "function", "name": "files.read"}]

    (found,) = validate({"model": "gpt-5", "input": "Hi.", "tools": tools})

    assert (found.rule, found.position) == ("name", None)


@pytest.mark.parametrize(
    ("model", "store", "sealed", "rules"),
    [
        ("gpt-5", False, None, ["thinking"]),
        ("gpt-5", False, "gAAAA", []),
        ("gpt-5", True, None, []),
        ("gpt-oss-120b", False, None, []),
    ],
)
def test_unkept_reasoning_must_be_in_request(
    model: str, sealed: str | None, rules: list[str], *, store: bool
) -> None:
    """OpenAI looks it up by its id where it is not sealed, and finds none that was not stored."""
    items = [{**REASONING, "encrypted_content": sealed}, SAID, ASKED]

    found = validate({"model": model, "store": store, "input": items})

    assert [violation.rule for violation in found] == rules
