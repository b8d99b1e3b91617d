"""The JSON form of a message, which every store uses.

A message is an object with `v`, the version of the form, and every field that does not have its
default value. In version 2, which only `to_json` writes, a payload refers to texts of the message.
Bytes are base64, times are ISO 8601. Fields that this version does not know are kept: `to_plain`
writes them back where they were. If a message lists an unknown field under `must_understand`, it is
refused, because that field changes what the message means.
"""

import base64
import operator
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import attrs

from agentic.errors import ConfigError
from agentic.messages._message import ContextSummary, Message
from agentic.messages._parts import Media, ProviderPayload, ToolCall, ToolError, ToolResult
from agentic.messages._shared_texts import dump, leave_out, put_back, texts_of
from agentic.messages._usual import SHARED, WHOLE, UnusualError, read_usual, write_usual
from agentic.usage import Usage

_RECORDS: dict[str, type[attrs.AttrsInstance]] = {
    "error": ToolError,
    "last_request": Usage,
    "edited_native": ProviderPayload,
    "native": ProviderPayload,
    "summary": ContextSummary,
    "usage": Usage,
}
_LISTS: dict[str, type[attrs.AttrsInstance]] = {
    "media": Media,
    "tool_calls": ToolCall,
    "tool_results": ToolResult,
}
_TIMES = {"created_at", "timestamp"}
_OPEN = {Media, Message, ToolCall, ToolResult}
"""These keep unknown fields in their own `extra`; other records leave them to the enclosing one."""
_ALL: list[type[attrs.AttrsInstance]] = [Message, *_RECORDS.values(), *_LISTS.values()]
_NAMES: dict[type[attrs.AttrsInstance], frozenset[str]] = {
    cls: frozenset(field.name for field in attrs.fields(cls)) - {"extra"} for cls in _ALL
}

_NOTHING: Mapping[str, Any] = {}
_FIELDS: dict[type[attrs.AttrsInstance], list[tuple[str, Any, Callable[[Any], Any]]]] = {
    cls: [
        (field.name, field.default, operator.attrgetter(field.name))
        for field in attrs.fields(cls)
        if field.name != "extra"
    ]
    for cls in _ALL
}
"""Of each record: the names of its fields, their defaults, and what reads them."""
_UNDERSTOOD = _NAMES[Message] | {"v", "must_understand"}


def to_plain(message: Message) -> dict[str, Any]:
    """Return the JSON form of a message.

    >>> to_plain(Message("user", "hello"))
    {'v': 1, 'role': 'user', 'content': 'hello'}
    """
    return {"v": WHOLE, **_plain_record(message)}


def to_json(message: Message) -> str:
    """Return the JSON form of a message as a text without spaces, which `from_plain` can read.

    Lone surrogates stay as they are.

    >>> to_json(Message("user", "hello"))
    '{"v":1,"role":"user","content":"hello"}'

    Raises:
        ConfigError: an unknown field or a note makes it unreadable.
        TypeError, ValueError, RecursionError: a payload or an unknown field is not JSON data.
    """
    try:
        return write_usual(message)
    except UnusualError:
        plain = to_plain(message)
        # Records check their own fields, but not those that this version does not know.
        from_plain(plain)
        return dump(_share(plain, message))


def _share(plain: dict[str, Any], message: Message) -> dict[str, Any]:
    """Leave out of the payload of a JSON form what the message says itself."""
    names = [name for name in ("native", "edited_native") if name in plain]
    if len(names) != 1:
        return plain
    record = plain[names[0]]
    payload = leave_out(record["payload"], texts_of(message))
    if payload is record["payload"]:
        return plain
    return {**plain, "v": SHARED, names[0]: {**record, "payload": payload}}


def _unshare(message: Message) -> Message:
    """Put the texts of a message back into its payloads."""
    natives = {
        name: attrs.evolve(payload, payload=put_back(payload.payload, texts_of(message)))
        for name in ("native", "edited_native")
        if (payload := getattr(message, name)) is not None
    }
    return attrs.evolve(message, **natives)


def from_plain(plain: Mapping[str, Any]) -> Message:
    """Build a message from its JSON form, keeping the fields that this version does not know.

    >>> from_plain({"v": 1, "role": "user", "content": "hello", "mood": "curious"}).extra
    {'mood': 'curious'}

    Raises:
        ConfigError: `plain` is not an object, is of a newer version, or has a field that cannot be
            read or that must be understood but is unknown.
    """
    try:
        return read_usual(plain)
    except UnusualError:
        pass  # what it is, or what is wrong with it, is found below
    if not isinstance(plain, Mapping):
        raise ConfigError("plain", plain, "a JSON object", "pass what to_plain() returned")
    version = plain.get("v", WHOLE)
    # `True` is an int to Python, and not a version.
    if type(version) is not int or not WHOLE <= version <= SHARED:
        raise ConfigError(
            "v",
            version,
            f"a version from {WHOLE} to {SHARED}",
            "upgrade agentic-weave if a newer version wrote this message",
        )
    if "must_understand" in plain:
        _check_understood(plain["must_understand"])
    fields = {key: value for key, value in plain.items() if key != "v"}
    try:
        message: Message = _read_record(Message, fields)[0]
        if version == SHARED:
            message = _unshare(message)
    # A ConfigError is a ValueError, and already says what is wrong.
    except ConfigError:
        raise
    except (TypeError, AttributeError, ValueError) as problem:
        raise ConfigError(
            "plain", dict(plain), "the JSON form of a message", str(problem)
        ) from problem
    return message


def _check_understood(needs: Any) -> None:
    # By their texts: the list may hold any JSON, and a set cannot look up a list.
    if not isinstance(needs, list) or not all(name in _UNDERSTOOD for name in map(str, needs)):
        raise ConfigError(
            "must_understand",
            needs,
            "a list of fields that this version knows",
            "upgrade agentic-weave: a newer version wrote this message",
        )


def _plain_record(record: attrs.AttrsInstance) -> dict[str, Any]:
    unknown: Mapping[str, Any] = getattr(record, "extra", _NOTHING)
    plain: dict[str, Any] = {}
    for name, default, read in _FIELDS[type(record)]:
        value = read(record)
        if value is default or value == default:
            continue
        plain[name] = value if type(value) is str else _plain_value(name, value)
        # These records have no `extra`: the record around them keeps what they do not know.
        if unknown and name in _RECORDS:
            plain[name] |= unknown.get(name, {})
    if not unknown:
        return plain
    # Never in the place of a field of ours, whatever a caller has put into `extra`.
    names = _NAMES[type(record)]
    return plain | {key: value for key, value in unknown.items() if key not in names}


def _plain_value(name: str, value: Any) -> Any:
    if name in _RECORDS:
        return _plain_record(value)
    if name in _LISTS:
        return [_plain_record(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value


def _read_record(cls: type[Any], plain: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return a record, and the fields that it cannot hold."""
    if not isinstance(plain, Mapping):
        raise TypeError(f"{plain!r:.80} is not a JSON object, as a {cls.__name__} is")
    names = _NAMES[cls]
    unknown = {key: value for key, value in plain.items() if key not in names}
    fields: dict[str, Any] = {}
    for key in names & plain.keys():
        if plain[key] is None and key != "payload":  # a payload may be any JSON value, so also null
            continue
        fields[key], rest = _read_value(key, plain[key])
        if rest:
            unknown[key] = rest
    if cls in _OPEN:
        return cls(**fields, extra=unknown), {}
    return cls(**fields), unknown


def _read_value(name: str, value: Any) -> tuple[Any, dict[str, Any]]:
    if name in _RECORDS:
        return _read_record(_RECORDS[name], value)
    if name in _LISTS:
        return tuple(_read_record(_LISTS[name], item)[0] for item in value), {}
    if name in _TIMES:
        return datetime.fromisoformat(value), {}
    if name == "data":
        # Strictly: without `validate`, characters that do not belong are skipped, and other bytes
        # come out.
        return base64.b64decode(value, validate=True), {}
    return value, {}
