"""When a provider's own items may be sent back in place of a message, and how they were read.

They hold what the typed fields cannot: signatures of thinking, the provider's ids, fields that
nobody here knows. They say the truth only as long as the message still says what they say.
"""

from collections.abc import Callable
from typing import Any

import attrs

from agentic.messages import Message
from agentic.messages._decoded import (
    decoded_call,
    decoded_message,
    decoded_native,
    decoded_result,
    is_untouched,
    payload_facts,
)

__all__ = [
    "Decoded",
    "decoded_call",
    "decoded_message",
    "decoded_native",
    "decoded_result",
    "is_untouched",
    "native_payload",
    "payload_facts",
]


def native_payload(
    message: Message,
    provider: str,
    decode: Callable[[Any], Message | None],
    wire_name: Callable[[str], str] = str,
) -> Any | None:
    """Return the payload to send for a message; None if it must be written anew.

    `decode` reads one payload as the adapter reads a reply; `wire_name` gives the name that a tool
    is sent under, which is the one in the payload. A payload of another provider, one that cannot
    be read, and one that no longer says what the message says, are not sent. The payload of a
    message that is still as this library's adapter decoded it is not read again.
    """
    if message.native is None or message.native.provider != provider:
        return None
    if is_untouched(message, provider):
        return message.native.payload
    decoded = decode(message.native.payload)
    if decoded is None or not _says_the_same(message, decoded, wire_name):
        return None
    return message.native.payload


def _says_the_same(message: Message, decoded: Message, wire_name: Callable[[str], str]) -> bool:
    """Compare what a provider is sent of two messages: not their usage, time, id or pin."""
    return _sent_fields(message, wire_name) == _sent_fields(decoded, wire_name)


def _sent_fields(message: Message, wire_name: Callable[[str], str]) -> tuple[object, ...]:
    return (
        message.role,
        message.content,
        message.reasoning,
        [(call.id, wire_name(call.name), call.arguments) for call in message.tool_calls],
        [(result.call_id, result.text, result.error is None) for result in message.tool_results],
        [(part.media_type, part.data, part.url) for part in message.media],
    )


@attrs.frozen
class Decoded:
    """Items of a wire that are read together, and the messages that they are read as."""

    items: int
    """How many there are."""
    messages: tuple[Message, ...]
    is_open: bool = False
    """Whether an item that follows may change how they are read."""
