"""A whole reply, and why it ended, in the words of every server that speaks this wire.

Sources, all of 2026-11: OpenAI https://platform.openai.com/docs/api-reference/chat/object;
Mistral https://docs.mistral.ai/api/; z.ai https://docs.z.ai/api-reference/llm/chat-completion;
DeepSeek https://api-docs.deepseek.com/api/create-chat-completion;
Together https://docs.together.ai/reference/chat-completions-1;
Text Generation Inference https://huggingface.co/docs/text-generation-inference;
vLLM's abort and error https://github.com/vllm-project/vllm/issues/57082, and its repetition
https://github.com/BerriAI/litellm/pull/27101. Gateways let pass the words of Anthropic and, in
another case, of Gemini (https://github.com/HKUDS/Vibe-Trading/pull/308).
"""

from collections.abc import Mapping
from typing import Any

from agentic.loop import Decision
from agentic.messages import Message
from agentic.providers._plain import at, plain, text_at
from agentic.providers.openai_chat._wire._calls import has_object
from agentic.providers.openai_chat._wire._decode import decode_message
from agentic.providers.openai_chat._wire._name import NAME
from agentic.providers.openai_chat._wire._usage import find_usage, usage
from agentic.usage import StopReason, StopWords

__all__ = ["STOP_WORDS", "decode_response", "stop_reason"]

_WORDS: dict[StopReason, str] = {
    StopReason.STOP: "stop eos eos_token stop_sequence end_turn complete completed load unload",
    StopReason.TOOL: "tool_calls tool_call tool_use function_call",
    StopReason.MAX_TOKENS: (
        "length max_tokens model_length max_length max_output_tokens model_context_window_exceeded"
    ),
    StopReason.CONTENT_FILTER: (
        "content_filter content_filtered sensitive refusal guardrail_intervened safety recitation "
        "blocklist prohibited_content spii language image_safety image_prohibited_content "
        "image_recitation"
    ),
    StopReason.ABORT: "abort aborted cancelled canceled",
    StopReason.ERROR: (
        "error failed insufficient_system_resource network_error repetition function_call_filter "
        "malformed_function_call unexpected_tool_call malformed_response too_many_tool_calls"
    ),
    StopReason.OTHER: "other unknown finish_reason_unspecified pause_turn",
}

STOP_WORDS = StopWords(
    NAME, {word: reason for reason, words in _WORDS.items() for word in words.split()}
)
"""In small letters; a word in others is looked up in these."""


def decode_response(response: Any, /) -> Decision:
    """Read a reply: the first choice, if there are several.

    >>> message = {"role": "assistant", "content": "Done."}
    >>> decode_response({"choices": [{"message": message, "finish_reason": "stop"}]}).reply
    'Done.'
    """
    body = plain(response)
    choice = at(body, "choices", 0)
    message = _message(choice)
    return Decision(
        message.content,
        message.tool_calls,
        usage(body) if find_usage(body) else None,
        _reason(body, choice, message),
        message.native,
        stop_word=text_at(choice, "finish_reason"),
        reasoning=message.reasoning,
    )


def stop_reason(response: Any, /) -> StopReason:
    """Tell why a reply ended.

    >>> stop_reason({"choices": [{"finish_reason": "length"}]})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    body = plain(response)
    choice = at(body, "choices", 0)
    return _reason(body, choice, _message(choice))


def _message(choice: Any) -> Message:
    """Read a choice's message, with the payload to send back."""
    wire = at(choice, "message")
    if not isinstance(wire, dict) or not wire:
        return Message("assistant", text_at(choice, "text"))  # of the older /completions
    # An empty list of calls is a reply's (vLLM), and refused in a request:
    # https://github.com/openai/openai-python/issues/2061
    sent = {key: value for key, value in wire.items() if key != "tool_calls" or value != []}
    sent = sent if sent.get("role") == "assistant" else {**sent, "role": "assistant"}
    message = decode_message(sent)
    return message if all(map(has_object, message.tool_calls)) else message.replace()


def _reason(body: Any, choice: Any, message: Message) -> StopReason:
    if choice is None and at(body, "error"):
        return StopReason.ERROR
    reason = STOP_WORDS.reason(
        _spelled(text_at(choice, "finish_reason")), has_tool_calls=bool(message.tool_calls)
    )
    if reason is StopReason.STOP and _refused(choice):
        return StopReason.CONTENT_FILTER
    return reason


def _spelled(word: str) -> str | None:
    """Find the spelling that the table has; no word at all where the server sent an empty one.

    Gemini's /openai says "content_filter: RECITATION" and
    "function_call_filter: MALFORMED_FUNCTION_CALL".
    """
    small = word.lower()
    spellings = (small, small.partition(":")[0].strip(), small.replace("-", "_"))
    return next((each for each in spellings if each in STOP_WORDS.reasons), word or None)


def _refused(choice: Mapping[str, Any] | None) -> bool:
    return bool(text_at(choice, "message", "refusal")) and not at(choice, "message", "content")
