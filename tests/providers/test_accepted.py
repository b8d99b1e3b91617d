"""What `encode_request` makes of any history, no validator refuses, whoever serves the model."""

import asyncio
import types
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentic.loop import Input
from agentic.messages import Media, Message, ToolCall, ToolResult, from_plain, to_plain
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from agentic.providers.openai_chat._decider import SERVERS, server_of
from agentic.testing import conversations
from agentic.tools import ToolDefinition

READ = ToolDefinition("read")
_CLAUDE = ["claude-3-7-sonnet", "claude-opus-4-5", "claude-opus-4-6", "claude-sonnet-5"]
_GEMINI = ["gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3.6-flash", "gemini-4-pro"]
_BEDROCK = [
    "anthropic.claude-opus-4-5-v1:0",
    "us.anthropic.claude-opus-4-6-v1:0",
    "amazon.nova-pro-v1:0",
    "meta.llama3-3-70b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
]
# Each with what is given to `encode_request`, and what the request is validated with.
WIRES: dict[str, tuple[ModuleType, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    **{f"chat, {name}": (openai_chat, {"server": name}, {}, {"server": name}) for name in SERVERS},
    **{
        f"chat, {name} thinking": (
            openai_chat,
            {"model": name},
            {"model": name, "thinking": {"type": "enabled"}},
            {},
        )
        for name in ("kimi-k2.6", "deepseek-v4-pro")
    },
    **{name: (anthropic, {"model": name}, {"model": name}, {}) for name in _CLAUDE},
    **{name: (gemini, {"model": name}, {"model": name}, {}) for name in _GEMINI},
    **{name: (bedrock, {"model": name}, {"modelId": name}, {}) for name in _BEDROCK},
    "cohere": (cohere, {}, {}, {}),
    "ollama": (ollama, {}, {}, {}),
    "responses": (openai_responses, {}, {}, {}),
}
EVERY = pytest.mark.parametrize("name", WIRES)
_ITEMS = {"gemini": "contents", "openai_responses": "input"}


def _encode(name: str, messages: list[Message]) -> dict[str, Any]:
    adapter, options, body, _ = WIRES[name]
    return {**body, **adapter.encode_request(messages, tools=[READ], **options)}


def _items(name: str, messages: list[Message]) -> list[Any]:
    """Return the items as the provider reads them: blocks of a role may be in several messages."""
    found = _encode(name, messages)[_ITEMS.get(WIRES[name][0].ADAPTER.name, "messages")]
    if isinstance(found, str):
        return [{"role": "user", "content": found}]
    if WIRES[name][0] not in (anthropic, bedrock, gemini):
        return list(found)
    return [
        (item["role"], block)
        for item in found
        for block in (item.get("parts") or _blocks(item["content"]))
    ]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _refused(name: str, messages: list[Message]) -> list[Any]:
    adapter, _, _, options = WIRES[name]
    return list(adapter.validate(_encode(name, messages), **options))


def _own(name: str, messages: list[Message]) -> list[Message]:
    """Return the history with replies of this server itself, as a store has kept them."""
    adapter = WIRES[name][0]
    own: list[Message] = []
    for message in messages:
        is_reply = message.role == "assistant"
        # Behind a message of the user's, since nothing says that it was accepted elsewhere.
        wire = adapter.encode([Message("user", "Look."), message]) if is_reply else ()
        own += [from_plain(to_plain(each)) for each in adapter.decode(wire)[1:]] or [message]
    return own


@EVERY
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(messages=conversations(), own=st.booleans(), end=st.integers(0, 40))
def test_no_request_is_refused(name: str, messages: list[Message], own: bool, end: int) -> None:
    """Neither of messages from elsewhere nor of the provider's own, wherever the history ends."""
    history = messages[: end or None]

    assert _refused(name, _own(name, history) if own else history) == []


@EVERY
@pytest.mark.parametrize("own", [False, True])
def test_nothing_parts_a_call_from_its_result(name: str, *, own: bool) -> None:
    """Which may stand behind a run of replies, the last of them with calls of its own."""
    calls = [ToolCall(f"call_{number}", "read", '{"path": "a.py"}') for number in range(3)]
    history = [
        Message("user", "Look."),
        Message("assistant", "I look.", tool_calls=calls[:2]),
        Message("assistant", "It takes a while."),
        Message("assistant", "I look again.", tool_calls=calls[2:]),
        *(Message("tool", tool_results=[ToolResult(call.id, "read", "red")]) for call in calls),
        Message("user", "So?"),
    ]

    assert _refused(name, _own(name, history) if own else history) == []


@EVERY
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(kinds=st.lists(st.sampled_from("uact"), max_size=7), own=st.booleans())
def test_requests_only_grow(name: str, kinds: list[str], own: bool) -> None:
    """What was sent for a reply is what the next request begins with."""
    history: list[Message] = [Message("user", "Look.")]
    before: list[Any] = []
    for number, kind in enumerate(kinds):
        asked = _items(name, history)
        if kind == "u":
            history.append(Message("user", f"And {number}?"))
            continue
        step = _step(kind, number)
        history += _own(name, step) if own else step
        if before:
            assert asked[: len(before)] == before
        if own:
            assert _items(name, history)[: len(asked)] == asked
            before = asked
        assert _refused(name, history) == []


def _step(kind: str, number: int) -> list[Message]:
    if kind == "a":
        return [Message("assistant", f"It is {number}.")]
    call = ToolCall(f"call-{number}", "read", "{}")
    result = ToolResult(call.id, "read", f"text {number}")
    steps = [Message("assistant", tool_calls=[call]), Message("tool", tool_results=[result])]
    return [*steps, Message("assistant", "Read.")] if kind == "t" else steps


def test_mistral_gets_a_reply_between_a_tool_and_a_user() -> None:
    """Media of a tool are the user's there, and come after it as well."""
    call = ToolCall("call_1", "look")
    image = Media("image/png", b"\x89PNG")
    history = [
        Message("user", "Look."),
        Message("assistant", tool_calls=[call]),
        Message("tool", tool_results=[ToolResult("call_1", "look", "A cat.", media=[image])]),
    ]

    request = openai_chat.encode_request(history, model="mistral-large-latest")

    roles = [each["role"] for each in request["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    named = request["messages"][1]["tool_calls"][0]["id"]
    assert len(named) == 9
    assert request["messages"][2]["tool_call_id"] == named
    assert openai_chat.encode_request(history)["messages"][1]["tool_calls"][0]["id"] == "call_1"


def test_qwen_gets_one_system_message() -> None:
    """The first; what came later is the user's, in tags."""
    history = [
        Message("system", "Be brief."),
        Message("user", "Hello."),
        Message("system", "Now in German."),
    ]

    request = openai_chat.encode_request(history, system_prompt="Code.", server="qwen")

    assert request["messages"] == [
        {"role": "system", "content": "Code.\n\nBe brief."},
        {"role": "user", "content": "Hello."},
        {"role": "user", "content": "<system>\nNow in German.\n</system>"},
    ]


@pytest.mark.parametrize(
    ("model", "base_url", "server"),
    [
        ("gpt-5", "https://api.openai.com/v1/", "openai"),
        ("mistral-large-latest", "", "mistral"),
        ("mistral:7b", "http://localhost:11434/v1", "lax"),
        ("mistralai/mistral-medium-3", "https://openrouter.ai/api/v1", "mistral"),
        ("anthropic/claude-sonnet-5", "https://openrouter.ai/api/v1", "openrouter"),
        ("Qwen/Qwen3.6-27B-FP8", "http://localhost:8000/v1", "qwen"),
        ("qwen3:8b", "http://localhost:8000/v1", "lax"),
        ("glm-5.1", "https://api.z.ai/api/paas/v4/", "zai"),
        ("grok-5", "https://api.x.ai/v1", "xai"),
        ("kimi-k2.6", "", "moonshot"),
    ],
)
def test_server_is_told_by_address_and_name(model: str, base_url: str, server: str) -> None:
    """The address counts more, except at a router."""
    assert server_of(model, base_url) == server


def test_every_server_names_its_source() -> None:
    """Whoever has rules says where they come from."""
    plain = SERVERS["lax"]
    with_rules = [rules for rules in SERVERS.values() if rules != plain]
    assert all(rules.sources for rules in with_rules)


@pytest.mark.parametrize(
    ("model", "roles"),
    [
        ("mistral-large-latest", ["user", "assistant", "user"]),
        ("gpt-5", ["user", "assistant"]),
    ],
)
def test_decider_names_its_server(model: str, roles: list[str]) -> None:
    """By the model, as here, where the address is nobody's."""
    bodies: list[dict[str, Any]] = []

    class Completions:
        async def create(self, **body: Any) -> Any:
            bodies.append(body)
            reply = {"role": "assistant", "content": "Done."}
            return {"choices": [{"message": reply, "finish_reason": "stop"}]}

    client: Any = types.SimpleNamespace(
        chat=types.SimpleNamespace(completions=Completions()), base_url="http://127.0.0.1:1/v1"
    )
    history = (Message("user", "Hello."), Message("assistant", "Hi."))

    asyncio.run(openai_chat.Decider(client, model).decide(Input(user_message="", history=history)))

    assert [each["role"] for each in bodies[0]["messages"]] == roles
