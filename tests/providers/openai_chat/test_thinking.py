"""What came with thinking goes back with it, also where the rest was written anew."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from agentic.loop import Decision
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


@pytest.fixture
def decided(as_message: Callable[[Decision], Message]) -> Callable[..., Message]:
    """Return what makes the loop's message of a reply with these fields."""

    def make(arguments: str = "{}", **fields: Any) -> Message:
        call = {**CALL, "function": {"name": "read", "arguments": arguments}}
        said = {"role": "assistant", "content": "", "tool_calls": [call], **fields}
        return as_message(openai_chat.decode_response({"choices": [{"message": said}]}))

    return make


@pytest.mark.parametrize("server", THINKING)
def test_an_edited_message_keeps_its_thinking(server: str, decided: Callable[..., Message]) -> None:
    """Text and calls are the typed fields'."""
    message = decided(**THINKING[server], annotations=[])
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
def test_malformed_argument_spares_the_thinking(
    server: str, decided: Callable[..., Message]
) -> None:
    """The call keeps what the model wrote; only the arguments are sent as an object."""
    message = decided("{oops", **THINKING[server], x=1)

    sent = openai_chat.encode([message])[0]

    mended = {"name": "read", "arguments": '{"unparsed_arguments": "{oops"}'}
    assert message.tool_calls == (ToolCall("call_1", "read", "{oops"),)
    assert {key: sent[key] for key in THINKING[server]} == THINKING[server]
    assert (sent["tool_calls"], sent["x"]) == ([{**CALL, "function": mended}], 1)


def test_malformed_legacy_call_is_mended_too(decided: Callable[..., Message]) -> None:
    """It stays in its form."""
    legacy = {"name": "read", "arguments": "{oops"}

    message = decided(tool_calls=None, function_call=legacy, reasoning_content="Hm.")

    sent = openai_chat.encode([message])[0]
    assert sent["function_call"]["arguments"] == '{"unparsed_arguments": "{oops"}'
    assert sent["reasoning_content"] == "Hm."


def test_clients_malformed_call_is_not_mended() -> None:
    """A recorded conversation is the same after a round trip."""
    call = {**CALL, "function": {"name": "read", "arguments": "{oops"}}
    wire = [{"role": "assistant", "content": "", "tool_calls": [call]}]

    assert openai_chat.encode(openai_chat.decode(wire)) == wire


@pytest.mark.parametrize(
    ("reasoning", "kept"), [("[masked]", {"reasoning_content": "[masked]"}), ("", {})]
)
def test_edited_thinking_goes_out_edited(
    reasoning: str, kept: dict[str, str], decided: Callable[..., Message]
) -> None:
    """What was masked or cleared is not sent after all."""
    message = decided(reasoning_content="The key is 42.")

    sent = openai_chat.encode([attrs.evolve(message, reasoning=reasoning)])[0]

    assert {key: sent[key] for key in sent if "reasoning" in key} == kept


@pytest.mark.parametrize(
    "native", [None, ProviderPayload("elsewhere", {"reasoning_content": "Hm."})]
)
def test_thinking_without_our_payload_stays_here(
    native: ProviderPayload | None, decided: Callable[..., Message]
) -> None:
    """Whether the payload is another provider's or was dropped by `replace`."""
    message = decided(reasoning_content="Hm.").replace(native=native)

    sent = openai_chat.encode_request([message, Message("tool", tool_results=[_answer()])])

    assert "Hm." not in str(sent)


def _answer() -> ToolResult:
    return ToolResult("call_1", "read", "text")
