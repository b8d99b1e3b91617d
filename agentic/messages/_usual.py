"""The JSON form of a usual message, read without validators, and written without a dict.

Nearly every message of a store is one; it takes a quarter of the time. Types are checked in a
straight line, and fields are set in their slots. Whatever is unusual is left to `_plain`, which
reads it or says what is wrong with it: unknown fields, media, summaries, numbers in texts.
"""

from datetime import datetime
from json.encoder import encode_basestring
from typing import Any, cast, get_args

import attrs

from agentic.messages._decoding import (
    decoded_call,
    decoded_native,
    decoded_result,
    stored_message,
    stored_usage,
)
from agentic.messages._message import Message, Role
from agentic.messages._parts import ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._shared_texts import dump, leave_out, list_texts, put_back, texts_of
from agentic.usage import Usage

WHOLE, SHARED = 1, 2
"""The versions of the form: in the latter, the payload refers to texts of the message."""
_ROLES = frozenset(get_args(Role))
_MESSAGE = {"v", "role", "content", "reasoning", "tool_calls", "tool_results", "native"}
_MESSAGE |= {"pinned", "id", "timestamp", "usage", "last_request"}
_CALL = {"id", "name", "arguments", "is_async"}
_RESULT = {"call_id", "name", "output", "error", "notice", "ref"}
_ERROR = {"message", "kind"}
_NATIVE = {"provider", "payload", "joins_previous", "without_reasoning"}
_COUNTS = tuple(field.name for field in attrs.fields(Usage) if field.name != "summed")
_USAGE = {*_COUNTS, "summed"}


class UnusualError(Exception):
    """A JSON form is not as `to_plain` writes most messages."""


def read_usual(plain: Any) -> Message:
    """Return the message.

    >>> read_usual({"v": 1, "role": "user", "content": "hello"}).content
    'hello'

    Raises:
        UnusualError: there is more in it, or something else, than in nearly every message.
    """
    get = _getter(plain, _MESSAGE)
    version, role, content = get("v"), get("role"), get("content", "")
    reasoning, pinned, message_id = get("reasoning", ""), get("pinned", False), get("id")
    # A field that is null has its default, like one that is not there.
    calls, results, native = get("tool_calls"), get("tool_results"), get("native")
    usage, last_request, time = get("usage"), get("last_request"), get("timestamp")
    if not (type(version) is int and 0 < version <= SHARED and type(pinned) is bool):
        raise UnusualError
    if not (type(role) is type(content) is type(reasoning) is str and role in _ROLES):
        raise UnusualError
    if (calls and role != "assistant") or (results and role != "tool"):
        raise UnusualError
    if message_id is not None and type(message_id) is not str:
        raise UnusualError
    tool_calls = () if calls is None else _read_calls(calls)
    tool_results = () if results is None else _read_results(results)
    texts = None
    if version == SHARED:
        texts = list_texts(content, reasoning, tool_calls, tool_results)
    return stored_message(
        cast("Role", role),
        content,
        None if native is None else _read_native(native, texts),
        reasoning=reasoning,
        tool_calls=tool_calls,
        tool_results=tool_results,
        message_id=message_id,
        timestamp=None if time is None else _read_time(time),
        usage=None if usage is None else _read_usage(usage),
        last_request=None if last_request is None else _read_usage(last_request),
        pinned=pinned,
    )


def write_usual(message: Message) -> str:
    """Return the JSON text of a message, without spaces; its payload may be without its texts.

    >>> write_usual(Message("user", "hello"))
    '{"v":1,"role":"user","content":"hello"}'

    Raises:
        UnusualError: there is more in it than in nearly every message.
    """
    if message.media or message.summary or message.edited_native or message.extra:
        raise UnusualError
    native, version = "", WHOLE
    if message.native is not None:
        payload = leave_out(message.native.payload, texts_of(message))
        version = WHOLE if payload is message.native.payload else SHARED
        native = f',"native":{_write_native(message.native, payload)}'
    # Fields in the order in which the record declares them, without those that have their default.
    text = f'{{"v":{version},"role":"{message.role}"'
    if message.content:
        text += f',"content":{encode_basestring(message.content)}'
    if message.reasoning:
        text += f',"reasoning":{encode_basestring(message.reasoning)}'
    if message.tool_calls:
        text += f',"tool_calls":[{",".join(map(_write_call, message.tool_calls))}]'
    if message.tool_results:
        text += f',"tool_results":[{",".join(map(_write_result, message.tool_results))}]'
    text += ',"pinned":true' if message.pinned else ""
    return f"{text}{_write_origin(message)}{native}}}"


def _write_origin(message: Message) -> str:
    usage, last_request = message.usage, message.last_request
    text = "" if usage is None else f',"usage":{_write_usage(usage)}'
    if last_request is not None:
        text += f',"last_request":{_write_usage(last_request)}'
    if message.timestamp is not None:
        text += f',"timestamp":"{message.timestamp.isoformat()}"'
    return text if message.id is None else f'{text},"id":{encode_basestring(message.id)}'


def _write_call(call: ToolCall) -> str:
    if call.extra:
        raise UnusualError
    text = f'{{"id":{encode_basestring(call.id)},"name":{encode_basestring(call.name)}'
    if call.arguments != "{}":
        text += f',"arguments":{encode_basestring(call.arguments)}'
    return text + (',"is_async":true}' if call.is_async else "}")


def _write_result(result: ToolResult) -> str:
    if result.extra or result.media:
        raise UnusualError
    fields = []
    if result.call_id:
        fields.append(f'"call_id":{encode_basestring(result.call_id)}')
    if result.name:
        fields.append(f'"name":{encode_basestring(result.name)}')
    if result.output:
        fields.append(f'"output":{encode_basestring(result.output)}')
    if result.error is not None:
        fields.append(f'"error":{_write_error(result.error)}')
    if result.notice:
        fields.append(f'"notice":{encode_basestring(result.notice)}')
    if result.ref is not None:
        fields.append(f'"ref":{encode_basestring(result.ref)}')
    return f"{{{','.join(fields)}}}"


def _write_error(error: ToolError) -> str:
    kind = "" if error.kind == "raised" else f',"kind":{encode_basestring(error.kind)}'
    return f'{{"message":{encode_basestring(error.message)}{kind}}}'


def _write_usage(usage: Usage) -> str:
    fields = [f'"{name}":{count}' for name in _COUNTS if (count := getattr(usage, name))]
    if usage.summed:
        fields.append('"summed":true')
    return f"{{{','.join(fields)}}}"


def _write_native(native: ProviderPayload, payload: Any) -> str:
    text = f'{{"provider":{encode_basestring(native.provider)},"payload":{dump(payload)}'
    text += ',"joins_previous":true' if native.joins_previous else ""
    return text + (',"without_reasoning":true}' if native.without_reasoning else "}")


def _getter(item: Any, names: set[str]) -> Any:
    if type(item) is not dict or not item.keys() <= names:
        raise UnusualError
    return item.get


def _read_calls(items: Any) -> tuple[ToolCall, ...]:
    if type(items) is not list:
        raise UnusualError
    calls: list[ToolCall] = []
    for item in items:
        get = _getter(item, _CALL)
        call_id, name, arguments = get("id"), get("name"), get("arguments", "{}")
        is_async = get("is_async", False)
        if not (type(call_id) is type(name) is type(arguments) is str and type(is_async) is bool):
            raise UnusualError
        calls.append(decoded_call(call_id, name, arguments, is_async=is_async))
    return tuple(calls)


def _read_results(items: Any) -> tuple[ToolResult, ...]:
    if type(items) is not list:
        raise UnusualError
    results: list[ToolResult] = []
    for item in items:
        get = _getter(item, _RESULT)
        call_id, name, output = get("call_id", ""), get("name", ""), get("output", "")
        notice, ref, error = get("notice", ""), get("ref"), get("error")
        if not (type(call_id) is type(name) is type(output) is type(notice) is str):
            raise UnusualError
        if ref is not None and type(ref) is not str:
            raise UnusualError
        failure = None if error is None else _read_error(error)
        results.append(decoded_result(call_id, name, output, failure, notice=notice, ref=ref))
    return tuple(results)


def _read_error(item: Any) -> ToolError:
    get = _getter(item, _ERROR)
    text, kind = get("message"), get("kind", "raised")
    if not type(text) is type(kind) is str:
        raise UnusualError
    return ToolError(text, kind)


def _read_native(item: Any, texts: list[str] | None) -> ProviderPayload:
    get = _getter(item, _NATIVE)
    provider, joins, without = (
        get("provider"),
        get("joins_previous", False),
        get("without_reasoning", False),
    )
    # The payload may be any JSON value, so also null.
    if not (type(provider) is str and type(joins) is type(without) is bool and "payload" in item):
        raise UnusualError
    payload = item["payload"]
    if texts is not None:
        try:
            payload = put_back(payload, texts)
        except ValueError:
            raise UnusualError from None
    return decoded_native(provider, payload, joins_previous=joins, without_reasoning=without)


def _read_usage(item: Any) -> Usage:
    get = _getter(item, _USAGE)
    counts = [get(name, 0) for name in _COUNTS]
    summed = get("summed", False)
    if type(summed) is not bool:
        raise UnusualError
    for count in counts:
        # Anything else is a provider's number, which `Usage` converts.
        if type(count) is not int or count < 0:
            raise UnusualError
    return stored_usage(counts, summed=summed)


def _read_time(text: Any) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise UnusualError from None
