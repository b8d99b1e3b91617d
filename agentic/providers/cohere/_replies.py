"""Decode a complete reply: its message, its token usage and its stop word.

`usage.tokens` counts everything that the model read and wrote, including the prompt that Cohere
adds around tools; `billed_units` is what is paid for, and less. `cached_tokens` is part of the
input: https://docs.cohere.com/reference/chat (2026-11). Reasoning is not counted separately.
"""

from typing import Any

from agentic.loop import Decision
from agentic.messages import Message, ProviderPayload
from agentic.providers.cohere._decoding import NAME, decode_message
from agentic.providers.kit import at, items_at, plain, text_at
from agentic.providers.kit._json import call_with_object, has_object
from agentic.usage import StopReason, StopWords, Usage, normalize

__all__ = ["STOP_WORDS", "decode_response", "stop_reason", "usage"]

STOP_WORDS = StopWords(
    NAME,
    {
        "COMPLETE": StopReason.STOP,
        "STOP_SEQUENCE": StopReason.STOP,
        "TOOL_CALL": StopReason.TOOL,
        "MAX_TOKENS": StopReason.MAX_TOKENS,
        "ERROR": StopReason.ERROR,
        "TIMEOUT": StopReason.ERROR,
    },
)
"""https://docs.cohere.com/reference/chat (2026-11)."""


def decode_response(response: Any, /) -> Decision:
    """Read a reply.

    >>> message = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    >>> decode_response({"message": message, "finish_reason": "COMPLETE"}).reply
    'Done.'
    """
    body = plain(response)
    message = _message(body)
    return Decision(
        message.content,
        message.tool_calls,
        usage(body) if isinstance(at(body, "usage"), dict) else None,
        _reason(body, message),
        message.native,
        stop_word=text_at(body, "finish_reason"),
        reasoning=message.reasoning,
        provider=NAME,
        response_id=text_at(body, "id"),
    )


def stop_reason(response: Any, /) -> StopReason:
    """Return why a reply ended.

    >>> stop_reason({"finish_reason": "MAX_TOKENS"})
    <StopReason.MAX_TOKENS: 'max_tokens'>
    """
    body = plain(response)
    return _reason(body, _message(body))


def usage(response: Any, /) -> Usage:
    """Return a reply's token usage; counts that the server does not report are 0.

    >>> tokens = {"input_tokens": 1442, "output_tokens": 29}
    >>> usage({"usage": {"tokens": tokens, "cached_tokens": 1040}})
    Usage(input=1442, output=29, total=1471, cache_read=1040, cache_write=0, reasoning=0)
    """
    found = at(plain(response), "usage")
    counted = at(found, "tokens") or at(found, "billed_units")
    # A Usage takes the SDK's floats, and reads what is no count as 0.
    read, written = at(counted, "input_tokens"), at(counted, "output_tokens")
    return normalize(Usage(read, written, cache_read=at(found, "cached_tokens")))


def _message(body: Any) -> Message:
    """Return the message of a reply, with the payload to send back."""
    wire = at(body, "message")
    if not isinstance(wire, dict) or not wire:
        return Message("assistant")
    sent = wire if wire.get("role") == "assistant" else {**wire, "role": "assistant"}
    message = decode_message(sent)
    if all(map(has_object, message.tool_calls)):
        return message
    # Arguments that no server accepts are fixed in the payload; the call keeps the model's own.
    calls = list(map(call_with_object, items_at(sent, "tool_calls")))
    return message.replace(native=ProviderPayload(NAME, {**sent, "tool_calls": calls}))


def _reason(body: Any, message: Message) -> StopReason:
    word = text_at(body, "finish_reason").upper() or None
    return STOP_WORDS.reason(word, has_tool_calls=bool(message.tool_calls))
