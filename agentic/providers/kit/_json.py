"""Convert a provider's data to plain JSON data, and replace what cannot be sent to it.

Every public function of an adapter first makes its argument plain, so that the rest of the adapter
handles only dicts, lists, strings and numbers, whether the data came as JSON or as SDK objects. A
value that is missing, null or of the wrong type reads as absent. Data nested more than 200 levels
deep reads as its JSON text. Nothing that a provider sends makes an adapter raise.

A lone surrogate cannot be encoded in UTF-8, so a body that contains one cannot be sent. Most
providers reject arguments that are not a JSON object; such arguments are sent as an object that
holds their text.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from operator import is_
from typing import Any

from agentic.messages import ToolCall
from agentic.usage import Usage

SCALARS: frozenset[type] = frozenset({str, int, float, bool, bytes, type(None)})
"""The types of values that need no conversion."""

# The number of nested levels that are read. Python allows 1,000 nested calls, and a recursive
# function here takes up to three of them for a level. Protocol buffers in JSON, which Google uses,
# stop at 100 levels (`google.protobuf.json_format.Parse`, 2026-11).
_DEEPEST = 200
DEEPEST_ARGUMENTS = 100
"""The number of nested levels in arguments that are sent as an object: this package and an SDK walk
through them within the same 1,000 calls."""
# Made once: `json.dumps` with these arguments makes an encoder at each call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
UNPARSED = "unparsed_arguments"
"""The key of the model's own text in an object that is sent instead of invalid arguments."""


def plain(item: Any) -> Any:
    """Return the JSON data of an SDK object, including fields that the SDK does not know.

    It contains only what the provider sent: defaults that the SDK fills in would otherwise be sent
    back. Names are spelled as on the wire. Data that is already plain is returned unchanged.
    """
    return _converted(item, 0)


def is_plain(item: Any, levels: int, scalars: frozenset[type] = SCALARS) -> bool:
    """Return whether nothing has to be converted: a fast path, since most data is JSON.

    >>> is_plain({"a": [1]}, 2), is_plain({"a": [1]}, 1)
    (True, False)
    """
    kind = type(item)
    if kind in scalars:
        return True
    if not levels or not (kind is dict or kind is list):
        return False
    for value in item.values() if kind is dict else item:
        # Most values are scalars: the first test saves a call for each of them.
        if type(value) not in scalars and not is_plain(value, levels - 1, scalars):
            return False
    return True


def _converted(item: Any, depth: int) -> Any:
    # The fast path runs at two levels: on a whole request, and on each message of a list in
    # which others are SDK objects.
    is_same = depth <= 1 and is_plain(item, _DEEPEST - depth)
    if is_same or isinstance(item, str | int | float | bytes | bytearray | None):
        return item
    if depth > _DEEPEST:
        return _text(item)
    dump = getattr(item, "model_dump", None)  # pydantic: the SDKs of OpenAI, Anthropic and Google
    if callable(dump):
        return _dumped(dump)
    below = repeat(depth + 1)
    if isinstance(item, Mapping):
        values = list(map(_converted, item.values(), below))
        same = type(item) is dict and all(map(is_, values, item.values()))
        return item if same else dict(zip(item, values, strict=True))
    if isinstance(item, Iterable):
        parts = list(item)
        values = list(map(_converted, parts, below))
        same = type(item) is list and all(map(is_, values, parts))
        return item if same else values
    return item


def _text(item: Any) -> str | None:
    try:
        return json.dumps(item, default=str)
    except (ValueError, RecursionError):
        return None


def _dumped(dump: Callable[..., Any]) -> Any:
    try:
        # No warnings: SDKs build replies without validation, so types may not be the declared ones.
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except ValueError:  # nested more than 255 levels deep, which pydantic takes for a cycle
        return None


def at(data: Any, *path: str | int) -> Any:
    """Follow keys and indices into plain data; return None if one is missing.

    >>> at({"choices": [{"index": 0}]}, "choices", 0, "index")
    0
    >>> at({"choices": None}, "choices", 0, "index") is None
    True
    """
    for step in path:
        # Nearly always a dict, and checking for that is ten times as fast as for a Mapping.
        if type(data) is dict or (isinstance(data, Mapping) and isinstance(step, str)):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and -len(data) <= step < len(data):
            data = data[step]
        else:
            return None
    return data


def items_at(data: Any, *path: str | int) -> list[Any]:
    """Return the list at a path; an empty one if there is anything else.

    >>> items_at({"content": "text"}, "content")
    []
    """
    # Most reads are of one key in a dict: they skip the loop in `at`.
    one_step = len(path) == 1 and type(data) is dict
    value = data.get(path[0]) if one_step else at(data, *path)
    return value if isinstance(value, list) else []


def text_at(data: Any, key: str | int, *deeper: str | int) -> str:
    """Return the string at a path; an empty one if there is anything else.

    >>> text_at({"content": None}, "content")
    ''
    """
    one_step = type(data) is dict and not deeper
    value = data.get(key) if one_step else at(data, key, *deeper)
    return value if isinstance(value, str) else ""


def count_at(data: Any, *path: str | int) -> int:
    """Return the token count at a path; 0 if there is anything else, as `Usage` reads it.

    >>> count_at({"usage": {"input": 7}}, "usage", "input"), count_at({"usage": None}, "usage")
    (7, 0)
    """
    return Usage(input=at(data, *path)).input


def replace_surrogates(data: Any) -> Any:
    r"""Return JSON data that UTF-8 can encode.

    A lone surrogate becomes U+FFFD, and a surrogate pair becomes the character it encodes. Data
    that needs no change is returned as it is. A tuple becomes a list.

    >>> replace_surrogates({"text": "cut in two: \ud83d"})
    {'text': 'cut in two: \ufffd'}
    >>> replace_surrogates("\ud83d\ude00") == "\U0001f600"
    True
    """
    if isinstance(data, str):
        # `isascii` reads a flag of the string, where encoding would copy the text.
        return data if data.isascii() else _encode_surrogates(data)
    if isinstance(data, dict):
        # Keys as well: in a call's arguments, the model writes them too.
        old = [*data, *data.values()]
        # Nearly all are ASCII: asking here saves most calls.
        new = [e if type(e) is str and e.isascii() else replace_surrogates(e) for e in old]
        return data if new == old else dict(zip(new[: len(data)], new[len(data) :], strict=True))
    if isinstance(data, list | tuple):
        parts = list(map(replace_surrogates, data))
        return data if parts == data else parts
    return data


def _encode_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins the two halves of a pair, which UTF-8 would replace one by one.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def arguments_as_object(arguments: str, key: str = UNPARSED) -> dict[str, Any]:
    """Return a call's arguments as an object; text that is not one is stored under `key`.

    >>> [arguments_as_object(text) for text in ('{"path": "a.py"}', "", "{oops")]
    [{'path': 'a.py'}, {}, {'unparsed_arguments': '{oops'}]
    """
    value = parse_object(arguments, strict=False)
    # The parser accepts deeper nesting than Python can recurse into.
    fields = {key: arguments} if value is None or is_deep(value) else value
    whole: dict[str, Any] = replace_surrogates(fields)
    return whole


def arguments_as_text(arguments: str) -> str:
    r"""Return a call's arguments as the JSON text of an object; unchanged if they are one already.

    >>> arguments_as_text('{"a":1}'), arguments_as_text(" "), arguments_as_text('{"a": "\n"}')
    ('{"a":1}', '{}', '{"a": "\\n"}')
    """
    # Strict, unlike `arguments_as_object`: servers parse this text again.
    if parse_object(arguments) is None:
        return json.dumps(arguments_as_object(arguments), ensure_ascii=False)
    text: str = replace_surrogates(arguments)
    return text if text.strip() else "{}"


def parse_object(text: str, *, strict: bool = True) -> dict[str, Any] | None:
    r"""Parse a JSON object; return an empty one for blank text and None for anything else.

    NaN and infinite numbers are not JSON. If `strict` is false, strings may contain raw newlines
    and tabs, which small models write.

    >>> parse_object('{"a": 1}'), parse_object(" "), parse_object("[1]"), parse_object('{"a": NaN}')
    ({'a': 1}, {}, None, None)
    >>> parse_object('{"a": "\n"}'), parse_object('{"a": "\n"}', strict=False)
    (None, {'a': '\n'})
    """
    if not text.strip():
        return {}
    try:
        value = json.loads(text, strict=strict, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def has_object(call: ToolCall) -> bool:
    """Return whether a call's arguments are a JSON object, or blank, which means no arguments.

    >>> has_object(ToolCall("c1", "read", "{oops")), has_object(ToolCall("c1", "read", ""))
    (False, True)
    """
    return parse_object(call.arguments) is not None


def arguments_of(function: Any) -> str:
    """Return the arguments in a wire `function`: JSON text, or an object that some servers send.

    >>> arguments_of({"arguments": "{}"}), arguments_of({"arguments": {"path": "a.py"}})
    ('{}', '{"path": "a.py"}')
    """
    arguments = at(function, "arguments")
    return "" if arguments is None else json_text(arguments)


def json_text(data: Any) -> str:
    """Return JSON data as text: a text as it is, and null, which means no arguments, as `{}`.

    >>> json_text({"path": "a.py"}), json_text("{oops"), json_text(None)
    ('{"path": "a.py"}', '{oops', '{}')
    """
    if isinstance(data, str):
        return data
    try:
        return "{}" if data is None else _ENCODER.encode(data)
    # Bedrock's adapter writes what it cuts off as too deep, and that may have any depth.
    except (ValueError, RecursionError):
        return "(arguments that are nested too deeply to be written down)"


def is_blank_arguments(value: Any) -> bool:
    """Return whether the arguments in a wire call are missing, null or blank: there are none.

    Several servers refuse to get such a call back, for which an empty object is sent instead: vLLM
    parses the text (https://github.com/vllm-project/vllm/issues/43995), Anthropic and Bedrock
    require an object. `ToolCall.arguments` stays as the model wrote it.

    >>> [is_blank_arguments(value) for value in (None, "", " ", "{}", {})]
    [True, True, True, False, False]
    """
    return value is None or (isinstance(value, str) and not value.strip())


def with_arguments(function: Any, key: str = "arguments", empty: Any = "{}") -> Any:
    """Return the part of a wire call with the arguments, with `empty` in the place of blank ones.

    >>> with_arguments({"name": "now"}), with_arguments({"input": " "}, "input", {})
    ({'name': 'now', 'arguments': '{}'}, {'input': {}})
    """
    if not isinstance(function, dict) or not is_blank_arguments(function.get(key)):
        return function
    return {**function, key: empty}


def with_object_text(function: Any) -> Any:
    """Return a wire `function` whose arguments, if they are a text, are that of a JSON object.

    An object that came from a server in the place of the text goes back to it.

    >>> with_object_text({"name": "read", "arguments": "{oops"})
    {'name': 'read', 'arguments': '{"unparsed_arguments": "{oops"}'}
    """
    if not isinstance(function, dict) or isinstance(function.get("arguments"), dict | list):
        return function
    text = arguments_as_text(arguments_of(function))
    return function if text == function.get("arguments") else {**function, "arguments": text}


def is_deep(data: Any) -> bool:
    """Return whether data is nested too deeply to be walked through.

    >>> is_deep({"a": [1]}), is_deep(json.loads("[" * 200 + "]" * 200))
    (False, True)
    """
    # Level by level: a function that calls itself would need the depth that is in question.
    level = [data]
    for _ in range(DEEPEST_ARGUMENTS):
        level = [inside for item in level for inside in _inside(item)]
        if not level:
            return False
    return True


def _inside(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list | tuple):
        yield from item


def _finite(text: str) -> float:
    # 1e999 is valid JSON, but reads as infinity, which JSON cannot express.
    number = float(text)
    return number if abs(number) != float("inf") else _refuse(text)


def _refuse(number: str) -> float:
    message = f"{number} is not JSON"
    raise ValueError(message)
