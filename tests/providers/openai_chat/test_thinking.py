"""What came with thinking goes back with it, also where the rest was written anew."""

from typing import Any

import attrs
import pytest

from agentic.messages import Message, ProviderPayload, ToolCall, ToolResult
from agentic.providers import openai_chat

CALL = {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
THINKING: dict[str, dict[str, Any]] = {
    "Kimi, DeepSeek": {"reasoning_content": "Look first."},
    "vLLM": {"reasoning": "Look first."},
    "OpenRouter": {
        "reasoning": "Look first.",
        "reasoning_details": [{"type": "reasoning.text", "text": "Look first.", "signature": "s"}],
    },
    "LiteLLM": {
        "reasoning_content": "Look first.",
        "thinking_blocks": [{"type": "thinking", "thinking": "Look first.", "signature": "s"}],
    },
    "none this time": {"reasoning_content": ""},
}


def _decided(arguments: str = "{}", **fields: Any) -> Message:
    call = {**CALL, "function": {"name": "read", "arguments": arguments}}
    said = {"role": "assistant", "content": "", "tool_calls": [call], **fields}
    decision = openai_chat.decode_response({"choices": [{"message": said}]})
    return Message(
        "assistant",
        decision.reply,
        reasoning=decision.reasoning,
        tool_calls=decision.tool_calls,
        native=decision.native,
    )


@pytest.mark.parametrize("server", THINKING)
def test_an_edited_message_keeps_its_thinking(server: str) -> None:
    """Text and calls are the typed fields'."""
    message = _decided(**THINKING[server], annotations=[])
    edited = attrs.evolve(message, content="Shorter.", tool_calls=[ToolCall("c2", "read", "{}")])

    assert openai_chat.encode([edited]) == [
        {
            "role": "assistant",
            "content": "Shorter.",
            **THINKING[server],
            "tool_calls": [{**CALL, "id": "c2"}],
        }
    ]


@pytest.mark.parametrize("server", THINKING)
def test_a_malformed_argument_does_not_cost_the_thinking(server: str) -> None:
    """The call keeps what the model wrote; only the arguments are sent as an object."""
    message = _decided("{oops", **THINKING[server], x=1)

    sent = openai_chat.encode([message])[0]

    mended = {"name": "read", "arguments": '{"unparsed_arguments": "{oops"}'}
    assert message.tool_calls == (ToolCall("call_1", "read", "{oops"),)
    assert {key: sent[key] for key in THINKING[server]} == THINKING[server]
    assert (sent["tool_calls"], sent["x"]) == ([{**CALL, "function": mended}], 1)


def test_a_malformed_legacy_call_is_mended_too() -> None:
    """It stays in its form."""
    legacy = {"name": "read", "arguments": "{oops"}

    message = _decided(tool_calls=None, function_call=legacy, reasoning_content="Hm.")

    sent = openai_chat.encode([message])[0]
    assert sent["function_call"]["arguments"] == '{"unparsed_arguments": "{oops"}'
    assert sent["reasoning_content"] == "Hm."


def test_what_a_client_sent_malformed_is_not_mended() -> None:
    """A recorded conversation is the same after a round trip."""
    call = {**CALL, "function": {"name": "read", "arguments": "{oops"}}
    wire = [{"role": "assistant", "content": "", "tool_calls": [call]}]

    assert openai_chat.encode(openai_chat.decode(wire)) == wire


@pytest.mark.parametrize(
    ("reasoning", "kept"), [("[masked]", {"reasoning_content": "[masked]"}), ("", {})]
)
def test_edited_thinking_goes_out_edited(reasoning: str, kept: dict[str, str]) -> None:
    """What was masked or cleared is not sent after all."""
    message = _decided(reasoning_content="The key is 42.")

    sent = openai_chat.encode([attrs.evolve(message, reasoning=reasoning)])[0]

    assert {key: sent[key] for key in sent if "reasoning" in key} == kept


@pytest.mark.parametrize(
    "native", [None, ProviderPayload("elsewhere", {"reasoning_content": "Hm."})]
)
def test_thinking_without_a_payload_of_ours_stays_here(native: ProviderPayload | None) -> None:
    """Whether the payload is another provider's or was dropped by `replace`."""
    message = _decided(reasoning_content="Hm.").replace(native=native)

    sent = openai_chat.encode_request([message, Message("tool", tool_results=[_answer()])])

    assert "Hm." not in str(sent)


def _answer() -> ToolResult:
    return ToolResult("call_1", "read", "text")
