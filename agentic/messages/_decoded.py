"""Messages as an adapter's `decode` makes them, and the mark that they are untouched since.

The mark is a weak reference from a message's payload to that very message, outside of the fields of
both. Every edit and every copy makes another Message object, to which the reference does not point,
so that no code has to remember to drop the mark.
"""

from collections.abc import Iterable
from weakref import ref

from agentic.messages._message import Message, Role
from agentic.messages._parts import Marked, Media, Native, ToolCall, ToolResult

__all__ = ["decoded_message", "is_untouched"]

_set_role, _set_content, _set_reasoning, _set_calls, _set_results, _set_media = (
    Message.__dict__[name].__set__
    for name in ("role", "content", "reasoning", "tool_calls", "tool_results", "media")
)
_set_pinned, _set_summary, _set_usage, _set_timestamp, _set_id, _set_native, _set_extra = (
    Message.__dict__[name].__set__
    for name in ("pinned", "summary", "usage", "timestamp", "id", "native", "extra")
)
_mark = Marked.__dict__["_decoded_as"].__set__


def decoded_message(
    role: Role,
    content: str,
    native: Native | None,
    *,
    reasoning: str = "",
    tool_calls: Iterable[ToolCall] = (),
    tool_results: Iterable[ToolResult] = (),
    media: Iterable[Media] = (),
) -> Message:
    """Return the message that says what a payload says, marked as untouched.

    Nothing is validated, which takes most of the time of `Message(...)`: an adapter has just made
    every part itself, of the right type and for the right role.
    """
    message = object.__new__(Message)
    _set_role(message, role)
    _set_content(message, content)
    _set_reasoning(message, reasoning)
    _set_calls(message, tuple(tool_calls))
    _set_results(message, tuple(tool_results))
    _set_media(message, tuple(media))
    _set_pinned(message, False)  # noqa: FBT003  a slot takes its value by position
    _set_summary(message, None)
    _set_usage(message, None)
    _set_timestamp(message, None)
    _set_id(message, None)
    _set_native(message, native)
    _set_extra(message, {})
    if native is not None:
        _mark(native, ref(message))
    return message


def is_untouched(message: Message, provider: str) -> bool:
    """Return whether this is the very message that an adapter decoded its payload as."""
    native = message.native
    if native is None or native.provider != provider:
        return False
    decoded_as = getattr(native, "_decoded_as", None)
    return decoded_as is not None and decoded_as() is message
