"""Messages fitted to a wire, and when a provider's own items may be sent back in place of one.

These items hold what the typed fields cannot: signatures of thinking, the provider's ids, fields
that nobody here knows. They say the truth only as long as the message still says what they say.
Where they may not, those in a row are joined, and what a wire has no field for goes as text:
nothing leaves a request silently.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import attrs

from agentic.messages import Media, Message, ToolResult, split_rounds
from agentic.messages._decoding import (
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
_Item = TypeVar("_Item")
__all__ = [
    "join_runs",
    "media_note",
    "merge_consecutive",
    "merge_replies",
    "results_with_content",
    "text_with_media",
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


def merge_consecutive(
    items: Iterable[_Item], merge: Callable[[_Item, _Item], _Item | None]
) -> list[_Item]:
    """Return items, each merged with the one before it where `merge` makes one of the two.

    Wires that want all results of a turn in one message refuse tool messages in a row, which is how
    other providers write them.

    >>> def merge(first: Message, second: Message) -> Message | None:
    ...     if not (first.role == second.role == "tool"):
    ...         return None
    ...     return Message("tool", tool_results=[*first.tool_results, *second.tool_results])
    >>> results = [Message("tool", tool_results=[ToolResult(name)]) for name in ("c1", "c2")]
    >>> [message.role for message in merge_consecutive([*results, Message("user", "Go.")], merge)]
    ['tool', 'user']
    """
    merged: list[_Item] = []
    for item in items:
        together = merge(merged[-1], item) if merged else None
        if together is None:
            merged.append(item)
        else:
            merged[-1] = together
    return merged


def media_note(media: Media) -> str:
    """Name media that cannot be sent.

    >>> media_note(Media("image/png", url="https://example.com/a.png"))
    '[image/png: https://example.com/a.png]'
    """
    return f"[{media.media_type}{': ' + media.url if media.url else ''}]"


def text_with_media(message: Message) -> str:
    """Return a message's text, followed by the names of its media.

    >>> text_with_media(Message("assistant", media=[Media("image/png")]))
    '[image/png]'
    """
    return "\n".join([message.content] * bool(message.content) + [*map(media_note, message.media)])


def results_with_content(message: Message) -> tuple[ToolResult, ...]:
    r"""Return the results of a tool message, the last with what the message says besides.

    >>> spoken = Message("tool", "Mind the gap.", tool_results=[ToolResult("c1", output="train")])
    >>> results_with_content(spoken)[0].text
    'train\nMind the gap.'
    """
    results = message.tool_results
    if not (results and message.content):
        return results
    notice = "\n".join(filter(None, (results[-1].notice, message.content)))
    return (*results[:-1], attrs.evolve(results[-1], notice=notice))


def join_runs(
    messages: list[Message], join: Callable[[list[Message]], Sequence[Message]]
) -> list[Message]:
    """Return a closed conversation in which `join` took the assistant messages of each round.

    It is asked only about rounds with several. Without any, the same list comes back.
    """
    if not any(map(_follows_a_caller, messages, messages[1:])):
        return messages
    joined: list[Message] = []
    for found in split_rounds(messages):
        replies = [message for message in found.messages if message.role == "assistant"]
        joined += join(replies) if len(replies) > 1 else replies
        joined += found.messages[len(replies) :]
    return joined


def _follows_a_caller(caller: Message, message: Message) -> bool:
    return bool(caller.tool_calls) and message.role == "assistant"


def merge_replies(replies: Sequence[Message]) -> Message:
    r"""Return one message that says and calls what several do. Thinking is left out.

    >>> merge_replies([Message("assistant", "I look."), Message("assistant", "Here.")]).content
    'I look.\n\nHere.'
    """
    return Message(
        "assistant",
        "\n\n".join(reply.content for reply in replies if reply.content),
        tool_calls=[call for reply in replies for call in reply.tool_calls],
        media=[part for reply in replies for part in reply.media],
    )
