"""Messages made by an adapter's `decode`, and the mark that they have not been changed since.

The functions here skip validation, which takes most of the time of `Message(...)`. An adapter has
just made each value itself, with the right type and for the right role; what reads a stored message
has checked each one.

The mark is a weak reference from a message's payload to that very message object. It is not a field
of either. Every edit and every copy creates another Message object, to which the reference does not
point, so no code has to remember to remove the mark.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar
from weakref import ref

import attrs

from agentic.messages._message import Message, Role
from agentic.messages._parts import Marked, Media, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.usage import Usage


def _setters(record: type[attrs.AttrsInstance]) -> list[Callable[[Any, Any], None]]:
    # Those of the slots themselves: `object.__setattr__` would look each one up by its name.
    return [record.__dict__[field.name].__set__ for field in attrs.fields(record)]


# In the order in which the records declare their fields.
_set_role, _set_content, _set_reasoning, _set_calls, _set_results, _set_media, *_rest = _setters(
    Message
)
_set_pinned, _set_summary, _set_usage, _set_last_request, _set_timestamp, *_rest = _rest
_set_id, _set_native, _set_edited_native, _set_extra = _rest
_set_provider, _set_payload, _set_joins_previous, _set_without_reasoning = _setters(ProviderPayload)
_set_call_id, _set_call_name, _set_arguments, _set_is_async, _set_call_extra = _setters(ToolCall)
_set_result_id, _set_result_name, _set_output, _set_error, *_rest = _setters(ToolResult)
_set_notice, _set_ref, _set_result_media, _set_result_extra = _rest
_usage_setters = _setters(Usage)
_mark = Marked.__dict__["_decoded_as"].__set__
_remember = Marked.__dict__["_facts"].__set__
_note_reasoning = Marked.__dict__["_holds_reasoning"].__set__
# Not None, which `read` may return.
_NOT_ASKED: Any = object()
_T = TypeVar("_T")


def decoded_message(
    role: Role,
    content: str,
    native: ProviderPayload | None,
    *,
    reasoning: str = "",
    tool_calls: Iterable[ToolCall] = (),
    tool_results: Iterable[ToolResult] = (),
    media: Iterable[Media] = (),
) -> Message:
    """Return the message that a payload was decoded as, marked as unchanged."""
    message = stored_message(
        role,
        content,
        native,
        reasoning=reasoning,
        tool_calls=tuple(tool_calls),
        tool_results=tuple(tool_results),
        media=tuple(media),
    )
    if native is not None:
        # Weak: the message refers to its payload, and the two would be a cycle.
        _mark(native, ref(message))
    return message


def stored_message(
    role: Role,
    content: str,
    native: ProviderPayload | None,
    *,
    reasoning: str,
    tool_calls: tuple[ToolCall, ...],
    tool_results: tuple[ToolResult, ...],
    media: tuple[Media, ...] = (),
    message_id: str | None = None,
    timestamp: datetime | None = None,
    usage: Usage | None = None,
    last_request: Usage | None = None,
    pinned: bool = False,
) -> Message:
    """Return a message without a mark: its payload need not be what it says."""
    message = object.__new__(Message)
    _set_role(message, role)
    _set_content(message, content)
    _set_reasoning(message, reasoning)
    _set_calls(message, tool_calls)
    _set_results(message, tool_results)
    _set_media(message, media)
    _set_pinned(message, pinned)
    _set_summary(message, None)
    _set_usage(message, usage)
    _set_last_request(message, last_request)
    _set_timestamp(message, timestamp)
    _set_id(message, message_id)
    _set_native(message, native)
    _set_edited_native(message, None)
    _set_extra(message, {})
    return message


def stored_usage(counts: Iterable[int], *, summed: bool) -> Usage:
    """Return a usage with whole numbers >= 0, in the order in which `Usage` declares them."""
    usage = object.__new__(Usage)
    for setter, value in zip(_usage_setters, (*counts, summed), strict=True):
        setter(usage, value)
    return usage


def decoded_native(
    provider: str,
    payload: Any,
    *,
    joins_previous: bool = False,
    holds_reasoning: bool | None = None,
    without_reasoning: bool = False,
) -> ProviderPayload:
    """Return the ProviderPayload for a payload, not yet marked.

    `holds_reasoning` says whether the payload has reasoning, also where none of it is visible.
    """
    native = object.__new__(ProviderPayload)
    _set_provider(native, provider)
    _set_payload(native, payload)
    _set_joins_previous(native, joins_previous)
    if holds_reasoning is not None:
        _note_reasoning(native, holds_reasoning)
    _set_without_reasoning(native, without_reasoning)
    return native


def decoded_call(call_id: str, name: str, arguments: str, *, is_async: bool = False) -> ToolCall:
    """Return a call decoded from a payload."""
    call = object.__new__(ToolCall)
    _set_call_id(call, call_id)
    _set_call_name(call, name)
    _set_arguments(call, arguments)
    _set_is_async(call, is_async)
    _set_call_extra(call, {})
    return call


def decoded_result(
    call_id: str,
    name: str,
    output: str,
    error: ToolError | None = None,
    media: Iterable[Media] = (),
    *,
    notice: str = "",
    ref: str | None = None,
) -> ToolResult:
    """Return a result decoded from a payload."""
    result = object.__new__(ToolResult)
    _set_result_id(result, call_id)
    _set_result_name(result, name)
    _set_output(result, output)
    _set_error(result, error)
    _set_notice(result, notice)
    _set_ref(result, ref)
    _set_result_media(result, tuple(media))
    _set_result_extra(result, {})
    return result


def is_untouched(message: Message, provider: str) -> bool:
    """Return whether this is the very object that an adapter decoded its payload as."""
    native = message.native
    if native is None or native.provider != provider:
        return False
    # The slot is unset if no adapter decoded this payload.
    decoded_as = getattr(native, "_decoded_as", None)
    return decoded_as is not None and decoded_as() is message


def payload_facts(message: Message, provider: str, read: Callable[[Any], _T]) -> _T | None:
    """Return `read(payload)` for an unchanged message, and None for any other message.

    `read` is called once for each payload and its value is kept, so the payload must not be edited
    in place, and an adapter must always pass the same function.
    """
    if not is_untouched(message, provider):
        return None
    facts: _T = getattr(message.native, "_facts", _NOT_ASKED)
    if facts is _NOT_ASKED and message.native is not None:
        facts = read(message.native.payload)
        _remember(message.native, facts)
    return facts
