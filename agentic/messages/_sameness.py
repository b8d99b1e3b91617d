"""When two messages are the same, at three levels; the only place that says so.

What "the same" means depends on who asks. A cache asks for the same object. A provider reads the
same request if all that a model can tell apart is the same. A store asks for the same message, with
what only the owner sees.
"""

from typing import Any, Literal, TypeAlias

from agentic.messages._message import Message

Level: TypeAlias = Literal["object", "meaning", "wire"]
"""`object`: the very same object. `meaning`: the same to a model: role, text, reasoning, calls,
results with their notices, media. `wire`: all typed fields and the provider's payload are equal."""


def same(one: Message, other: Message, level: Level) -> bool:
    """Return whether two messages are the same at a level.

    >>> same(Message("user", "Why?"), Message("user", "Why?", id="m1"), "meaning")
    True
    >>> same(Message("user", "Why?"), Message("user", "Why?", id="m1"), "wire")
    False
    """
    if one is other or level == "object":
        return one is other
    if level == "wire":
        return one == other
    return meaning_of(one) == meaning_of(other)


def meaning_of(message: Message) -> tuple[Any, ...]:
    """Return all that a model can tell of a message, as a value that can be compared and hashed."""
    origin = message.origin
    return (
        *request_meaning_of(message),
        message.reasoning,
        origin is not None and origin.without_reasoning,
    )


def request_meaning_of(message: Message) -> tuple[Any, ...]:
    """Return what a message contributes to the beginning that reasoning is bound to.

    Reasoning itself is not part of it: that of earlier replies may be left out
    (https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks,
    2026-11-27).

    >>> reply = Message("assistant", "So.", reasoning="Let me see.")
    >>> request_meaning_of(reply) == request_meaning_of(Message("assistant", "So."))
    True
    """
    return (
        message.role,
        message.content,
        tuple((call.id, call.name, call.arguments) for call in message.tool_calls),
        tuple(
            (result.call_id, result.text, result.error is None, _media(result.media))
            for result in message.tool_results
        ),
        _media(message.media),
    )


def _media(media: Any) -> tuple[Any, ...]:
    return tuple((part.media_type, part.url, part.data) for part in media)
