"""A whole reply, and why it ended."""

from collections.abc import Mapping
from typing import Any

from agentic.loop import Decision
from agentic.messages import Message, Native
from agentic.providers._plain import at, plain, text_at
from agentic.providers.openai_chat._wire._calls import has_object, with_objects_on_the_wire
from agentic.providers.openai_chat._wire._decode import decode_message
from agentic.providers.openai_chat._wire._name import NAME
from agentic.providers.openai_chat._wire._usage import find_usage, usage
from agentic.providers.openai_chat._wire._words import STOP_WORDS, spelled
from agentic.usage import StopReason

__all__ = ["STOP_WORDS", "decode_response", "stop_reason"]


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
    if all(map(has_object, message.tool_calls)):
        return message
    # Arguments that no server takes back are mended in the payload; the call keeps the model's own.
    return message.replace(native=Native(NAME, with_objects_on_the_wire(sent)))


def _reason(body: Any, choice: Any, message: Message) -> StopReason:
    if choice is None and at(body, "error"):
        return StopReason.ERROR
    reason = STOP_WORDS.reason(
        spelled(text_at(choice, "finish_reason")), has_tool_calls=bool(message.tool_calls)
    )
    if reason is StopReason.STOP and _refused(choice):
        return StopReason.CONTENT_FILTER
    return reason


def _refused(choice: Mapping[str, Any] | None) -> bool:
    return bool(text_at(choice, "message", "refusal")) and not at(choice, "message", "content")
