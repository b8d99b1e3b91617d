"""An edit of a call's arguments or id goes into a copy of the reply, which keeps its reasoning."""

import json
from types import ModuleType
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic.context.strategies import ClearToolOutputs
from agentic.messages import Message, ToolCall, ToolResult, from_plain, to_plain
from agentic.providers import (
    anthropic,
    bedrock,
    cohere,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)

LONG = "print('here')\n" * 40
ARGUMENTS = {"path": "a.py", "text": LONG}
_FUNCTION = {"name": "write", "arguments": json.dumps(ARGUMENTS)}
_CALL = {"id": "call_1", "type": "function", "function": _FUNCTION}
# Each with its reply, and the texts of its reasoning that have to go back.
REPLIES: dict[str, tuple[ModuleType, dict[str, Any], list[str]]] = {
    "kimi": (
        openai_chat,
        {"role": "assistant", "reasoning_content": "Hm, a.", "tool_calls": [_CALL]},
        ["Hm, a."],
    ),
    "gemini through chat completions": (
        openai_chat,
        {
            "role": "assistant",
            "content": "I write.",
            "tool_calls": [{**_CALL, "extra_content": {"google": {"thought_signature": "c2ln"}}}],
        },
        ["c2ln", "I write."],
    ),
    "mistral": (
        openai_chat,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm, a."}]},
                {"type": "text", "text": "I write."},
            ],
            "tool_calls": [_CALL],
        },
        ["Hm, a.", "I write."],
    ),
    "openrouter": (
        openai_chat,
        {
            "role": "assistant",
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "c2VhbA=="}],
            "tool_calls": [_CALL],
        },
        ["c2VhbA=="],
    ),
    "gemini": (
        gemini,
        {
            "role": "model",
            "parts": [
                {"text": "Hm, a.", "thought": True},
                {
                    "functionCall": {"id": "call_1", "name": "write", "args": ARGUMENTS},
                    "thoughtSignature": "c2ln",
                },
            ],
        },
        ["Hm, a.", "c2ln"],
    ),
    "gemini without ids": (
        gemini,
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "write", "args": ARGUMENTS},
                    "thoughtSignature": "c2ln",
                }
            ],
        },
        ["c2ln"],
    ),
    "responses": (
        openai_responses,
        {
            "items": [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbA=="},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", **_FUNCTION},
            ]
        },
        ["rs_1", "c2VhbA==", "fc_1"],
    ),
    "responses, a custom tool": (
        openai_responses,
        {
            "items": [
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbA=="},
                {"type": "custom_tool_call", "call_id": "call_1", "name": "write", "input": LONG},
            ]
        },
        ["rs_1", "c2VhbA=="],
    ),
    "anthropic": (
        anthropic,
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm, a.", "signature": "c2ln"},
                {"type": "text", "text": "I write."},
                {"type": "tool_use", "id": "call_1", "name": "write", "input": ARGUMENTS},
            ],
        },
        ["Hm, a.", "c2ln", "I write."],
    ),
    "bedrock": (
        bedrock,
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm, a.", "signature": "c2ln"}}},
                {"toolUse": {"toolUseId": "call_1", "name": "write", "input": ARGUMENTS}},
            ],
        },
        ["Hm, a.", "c2ln"],
    ),
    "ollama": (
        ollama,
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm, a.",
            "tool_calls": [{"id": "call_1", "function": {"name": "write", "arguments": ARGUMENTS}}],
        },
        ["Hm, a."],
    ),
    "ollama without ids": (
        ollama,
        {
            "role": "assistant",
            "content": "",
            "thinking": "Hm, a.",
            "tool_calls": [{"function": {"name": "write", "arguments": ARGUMENTS}}],
        },
        ["Hm, a."],
    ),
    "cohere": (
        cohere,
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm, a."}],
            "tool_plan": "I write.",
            "tool_calls": [_CALL],
        },
        ["Hm, a.", "I write."],
    ),
}
EVERY = pytest.mark.parametrize("name", REPLIES)


def _reply(name: str) -> Message:
    """Return the reply as it is in a history that was stored."""
    adapter, wire, _ = REPLIES[name]
    message = adapter.decode(wire.get("items") or [wire])[0]
    return from_plain(to_plain(message))


def _answered(reply: Message) -> list[Message]:
    results = [ToolResult(call.id, call.name, "done") for call in reply.tool_calls]
    return [Message("user", "Write it."), reply, Message("tool", tool_results=results)]


def _sent(name: str, messages: list[Message]) -> str:
    adapter = REPLIES[name][0]
    request = adapter.encode_request([*messages, Message("user", "And now?")])
    assert adapter.validate(request) == []
    return json.dumps(request, ensure_ascii=False)


@EVERY
def test_cleared_arguments_leave_the_reasoning(name: str) -> None:
    """What was cleared is gone, and what the model has to get back is there."""
    conversation = _answered(_reply(name))
    strategy = ClearToolOutputs(200, keep_rounds=1, min_tokens=1, clear_arguments=True)
    later = Message("assistant", tool_calls=[ToolCall("call_9", "read", '{"n": 1}')])
    done = Message("tool", tool_results=[ToolResult("call_9", "read", "x" * 400)])

    view = strategy.compact([*conversation, later, done])
    sent = _sent(name, view)

    assert "[Cleared: " in sent
    assert "print('here')" not in sent
    for text in REPLIES[name][2]:
        assert text in sent


@EVERY
@given(text=st.sampled_from(["moved", "\u65e5\u672c"]))
def test_edited_arguments_go_out_edited(name: str, text: str) -> None:
    """A payload never undoes an edit, and the edit never changes the payload."""
    reply = _reply(name)
    before = json.dumps(to_plain(reply))
    call = reply.tool_calls[0]
    key = "input" if set(call.parse()) == {"input"} else "path"
    edited = attrs.evolve(call, arguments=json.dumps({key: text}, ensure_ascii=False))

    sent = _sent(name, _answered(reply.edit(tool_calls=[edited])))

    assert text in sent
    assert "print('here')" not in sent
    for reasoning in REPLIES[name][2]:
        assert reasoning in sent
    assert json.dumps(to_plain(reply)) == before


@EVERY
def test_renamed_call_keeps_the_reasoning(name: str) -> None:
    """A loop renames a call whose id it has used, and its result with it."""
    reply = _reply(name)
    calls = [attrs.evolve(reply.tool_calls[0], id="call_0_2")]

    sent = _sent(name, _answered(reply.edit(tool_calls=calls)))

    assert "print('here')" in sent
    for text in REPLIES[name][2]:
        assert text in sent


@EVERY
def test_edit_that_drops_the_payload_goes_out_without_it(name: str) -> None:
    """As `Message.replace` promises: for a secret, for example, that may be anywhere in it."""
    reply = _reply(name)
    call = attrs.evolve(reply.tool_calls[0], arguments="{}")

    sent = _sent(name, _answered(reply.replace(tool_calls=[call])))

    assert not any(text in sent for text in REPLIES[name][2] if text != "I write.")


@EVERY
def test_call_that_was_dropped_stays_dropped(name: str) -> None:
    """A payload with another number of calls is not sent."""
    reply = _reply(name)

    sent = _sent(name, [reply.edit(content="Done.", tool_calls=())])

    assert "print('here')" not in sent
    assert "Done." in sent
