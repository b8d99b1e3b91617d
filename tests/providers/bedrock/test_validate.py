"""Each rule, broken alone."""

from typing import Any

import pytest

from agentic.providers import bedrock

ASKED = {"role": "user", "content": [{"text": "Hi"}]}
SAID = {"role": "assistant", "content": [{"text": "Hello."}]}
TOOLS = {"toolConfig": {"tools": [{"toolSpec": {"name": "x", "inputSchema": {"json": {}}}}]}}


def call(call_id: str = "t1", **changes: Any) -> dict[str, Any]:
    """Make an assistant's message with a call."""
    use = {"toolUseId": call_id, "name": "x", "input": {}, **changes}
    return {"role": "assistant", "content": [{"toolUse": use}]}


def results(*ids: str, **part: Any) -> dict[str, Any]:
    """Make a user's message with results."""
    content = [part or {"text": "1"}]
    return {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": each, "content": content}} for each in ids],
    }


def document(*names: str, text: str = "See.") -> dict[str, Any]:
    """Make a user's message with documents."""
    source = {"bytes": "YQ=="}
    blocks = [{"document": {"format": "txt", "name": name, "source": source}} for name in names]
    return {"role": "user", "content": [*([{"text": text}] if text else []), *blocks]}


def request(*messages: Any, **fields: Any) -> dict[str, Any]:
    """Make a request that offers a tool."""
    return {"messages": list(messages), **TOOLS, **fields}


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        ("first_message", request(SAID, ASKED)),
        ("first_message", request()),
        ("alternation", request(ASKED, SAID, SAID)),
        ("role", request(ASKED, {**SAID, "role": "tool"})),
        ("role", request({**call(), "role": "user"})),
        ("empty_content", request(ASKED, {"role": "assistant", "content": []})),
        ("empty_content", request({"role": "user", "content": [{"text": "a"}, {"text": ""}]})),
        ("empty_content", request(ASKED, system=[{"text": ""}])),
        ("empty_content", request(ASKED, {"role": "assistant", "content": [{"text": " \n"}]})),
        ("empty_content", request({"role": "user", "content": [{"text": " "}]})),
        ("unanswered_call", request(ASKED, call())),
        ("unanswered_call", request(ASKED, call(), ASKED)),
        ("orphaned_result", request(ASKED, SAID, results("t1"))),
        ("duplicate_id", request(ASKED, call(), results("t1", "t1"))),
        ("id", request(ASKED, call("a b"), results("a b"))),
        ("name", request(ASKED, call(name="a.b"), results("t1"))),
        ("name", request(ASKED, toolConfig={"tools": [{"toolSpec": {"name": ""}}]})),
        ("arguments", request(ASKED, call(input="{}"), results("t1"))),
        ("arguments", request(ASKED, call(), results("t1", json=[1]))),
        ("tools", {"messages": [ASKED, call(), results("t1")]}),
        ("tools", request(ASKED, toolConfig={"tools": []})),
        ("media", request(document("a", text=""))),
        ("media", request(document("a.txt"))),
        ("media", request(document("a", "a"))),
        ("media", request(ASKED, {"role": "assistant", "content": [{"image": {"format": "png"}}]})),
        ("thinking", request({"role": "user", "content": [{"reasoningContent": {}}]})),
    ],
)
def test_a_broken_rule_is_told(rule: str, broken: dict[str, Any]) -> None:
    """That rule and no other, with where it is stated."""
    found = bedrock.validate(broken)

    assert {violation.rule for violation in found} == {rule}
    assert all(violation.source.startswith("https://") for violation in found)


def test_a_sound_request_breaks_none() -> None:
    """Parallel calls, ids with colons, what the provider ran itself, documents in results."""
    ran = {"toolUseId": "s1", "name": "x", "input": {}, "type": "server_tool_use"}
    sound = request(
        {"role": "user", "content": [*document("A (1)", "B_2")["content"], {"text": "\n"}]},
        {
            "role": "assistant",
            "content": [
                {"toolUse": ran},
                *call("functions.x:0")["content"],
                *call("t2")["content"],
            ],
        },
        results("t2", "functions.x:0"),
        {"role": "system", "content": [{"toolRemoval": {}}]},
        SAID,
    )

    assert bedrock.validate(sound) == []


LLAMA = {"modelId": "us.meta.llama4-maverick-17b-instruct-v1:0"}
CLAUDE = {"modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}
BESIDE = {"role": "user", "content": [*results("t1")["content"], {"text": "And?"}]}
BEFORE = {"role": "user", "content": [{"text": "Here:"}, *results("t1")["content"]]}
TALKING = {"role": "assistant", "content": [{"text": "I look."}, *call()["content"]]}


@pytest.mark.parametrize(
    ("messages", "model", "rules"),
    [
        ([ASKED, call(), BESIDE], LLAMA, ["part"]),
        ([ASKED, call(), BESIDE], {"modelId": "arn:aws:bedrock::meta.llama3-3-70b"}, ["part"]),
        ([ASKED, TALKING, results("t1")], {"modelId": "mistral.mistral-large-2402-v1:0"}, ["part"]),
        ([ASKED, TALKING, BESIDE], LLAMA, ["part", "part"]),
        ([ASKED, TALKING, BESIDE], CLAUDE, []),
        ([ASKED, TALKING, BESIDE], {}, []),
        ([ASKED, call(), BEFORE], CLAUDE, ["order"]),
        ([ASKED, call(), BEFORE], {}, []),
        ([ASKED, call(), results("t1")], {"modelId": ["x"]}, []),
    ],
)
def test_some_models_have_own_rules(
    messages: list[Any], model: dict[str, Any], rules: list[str]
) -> None:
    """They are judged where the request names the model."""
    found = bedrock.validate(request(*messages, **model))

    assert [violation.rule for violation in found] == rules
    assert all(violation.source.startswith("https://") for violation in found)


@pytest.mark.parametrize(
    "junk",
    [
        [{"role": ["x"], "content": {}}],
        [{"role": {"x": 1}, "content": [1, None, "x"]}],
        [{"role": "user", "content": [{"document": {"name": []}}, 3, "text"]}],
        [
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": [], "name": {}, "type": []}}],
            }
        ],
        [
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": {}, "content": [3, {"json": 1}]}}],
            }
        ],
        [[], {}, None, "x", {"role": None, "content": "x"}],
    ],
)
def test_odd_types_never_make_it_raise(junk: list[Any]) -> None:
    """They are wrong, and said to be."""
    assert bedrock.validate({"messages": junk})
    assert bedrock.encode_request(bedrock.decode_request({"messages": junk, "system": junk}))


@pytest.mark.parametrize("junk", [{}, {"messages": 3}, {"messages": None, "system": [1]}])
def test_junk_never_makes_it_raise(junk: dict[str, Any]) -> None:
    """What is not there breaks no rule; a prompt of the service's own needs no messages."""
    assert bedrock.validate(junk) == []
    assert bedrock.validate({"messages": [None, 3, {"role": "user", "content": [None, 1]}]})
