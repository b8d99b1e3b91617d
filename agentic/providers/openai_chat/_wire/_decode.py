"""From the wire's messages to ours, one for one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentic.messages import Message, Native, Role, ToolCall
from agentic.providers._incremental import Decoded
from agentic.providers._native import decoded_call, decoded_message, decoded_native, decoded_result
from agentic.providers._plain import at, items_at, plain, text_at
from agentic.providers.openai_chat._wire._calls import custom_of, legacy_of
from agentic.providers.openai_chat._wire._name import NAME
from agentic.providers.openai_chat._wire._parts import media_of, text_of, thinking_of

__all__ = ["IncrementalDecoder", "decode", "decode_message", "decode_request"]

_THINKING = {"reasoning_content", "reasoning", "reasoning_details"}


def decode(messages: Any, /) -> list[Message]:
    """Read a request's `messages`; each of ours keeps the wire's own as its payload.

    >>> [message.role for message in decode([{"role": "developer", "content": "Be brief."}])]
    ['system']
    """
    data = plain(messages)
    return [decode_message(each) for each in data] if isinstance(data, list) else []


class IncrementalDecoder:
    """Reads a growing list of messages, giving what `decode` gives for the whole."""

    def decode(self, messages: Sequence[Any], start: int = 0, /) -> list[Decoded]:
        """Read what stands from `start` on; what stands before was read by earlier calls."""
        return [Decoded(1, (decode_message(plain(each)),)) for each in messages[start:]]


def decode_request(request: Mapping[str, Any], /) -> list[Message]:
    """Read the conversation of a whole request, its system prompt first."""
    return decode(items_at(plain(request), "messages"))


def decode_message(wire: Any) -> Message:
    """Read one message. Whatever it is, something is made of it that encodes to the same."""
    role, content, native = text_at(wire, "role"), at(wire, "content"), decoded_native(NAME, wire)
    if role == "assistant":
        return _assistant(wire, content, native)
    text = content if isinstance(content, str) else text_of(content)
    media = media_of(content) if isinstance(content, list) else ()
    if role in {"tool", "function"}:
        result = decoded_result(text_at(wire, "tool_call_id"), text_at(wire, "name"), text)
        return decoded_message("tool", "", native, tool_results=[result], media=media)
    ours: Role = "system" if role in {"system", "developer"} else "user"
    return decoded_message(ours, text, native, media=media)


def _assistant(wire: Mapping[str, Any], content: Any, native: Native) -> Message:
    in_parts = isinstance(content, list)
    text = text_of(content, "") if in_parts else content
    if not (text and isinstance(text, str)):
        # A refusal and the transcript of spoken words stand beside the content, which is null then.
        text = text_at(wire, "refusal") or text_at(wire, "audio", "transcript")
    return decoded_message(
        "assistant",
        text,
        native,
        reasoning=(in_parts and thinking_of(content)) or _reasoning(wire),
        tool_calls=_calls(wire),
        media=media_of(content) if in_parts else (),
    )


def _reasoning(wire: Mapping[str, Any]) -> str:
    """Find visible thinking where each server has it.

    `reasoning_content`: https://api-docs.deepseek.com/guides/thinking_mode, Qwen, z.ai, Moonshot;
    `reasoning`: Groq, Cerebras, vLLM, Ollama; with `reasoning_details`:
    https://openrouter.ai/docs/use-cases/reasoning-tokens. Some send the same under two names.
    """
    if _THINKING.isdisjoint(wire):
        return ""
    stated = text_at(wire, "reasoning_content") or text_at(wire, "reasoning")
    details = items_at(wire, "reasoning_details")
    return stated or "".join(text_at(one, "text") or text_at(one, "summary") for one in details)


def _calls(wire: Mapping[str, Any]) -> list[ToolCall]:
    if "function_call" in wire and (legacy := legacy_of(wire)):
        return [ToolCall("", text_at(legacy, "name"), _arguments(legacy.get("arguments")))]
    return [_call(call) for call in items_at(wire, "tool_calls") if isinstance(call, dict)]


def _call(call: Mapping[str, Any]) -> ToolCall:
    custom = custom_of(call)
    if custom is not None:
        arguments = json.dumps({"input": text_at(custom, "input")}, ensure_ascii=False)
        return ToolCall(text_at(call, "id"), text_at(custom, "name"), arguments)
    function = at(call, "function")
    arguments = _arguments(at(function, "arguments"))
    return decoded_call(text_at(call, "id"), text_at(function, "name"), arguments)


def _arguments(given: Any) -> str:
    """Read arguments: a text on OpenAI's wire, an object on that of some servers."""
    if isinstance(given, str) or given is None:
        return given or ""
    return json.dumps(given, ensure_ascii=False)
