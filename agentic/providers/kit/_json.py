"""The JSON of a provider: what it sent read as plain data, and what it takes in place of the rest.

Everything public in an adapter first makes its argument plain, so that the rest of it knows dicts,
lists, texts and numbers only, whether it came as JSON or as the objects of an SDK. Whatever is
missing, null or of another type reads as absent, and what is nested more than 200 levels deep as
its JSON text: what a provider sends is never a reason to raise.

A lone surrogate has no UTF-8, so that a body with one cannot be sent. Arguments that are no JSON
object are refused by most: they go out as an object that holds their text.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any

__all__ = [
    "UNPARSED",
    "arguments_as_object",
    "arguments_as_text",
    "at",
    "items_at",
    "parse_object",
    "plain",
    "replace_surrogates",
    "text_at",
]

_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})

_DEEPEST = 200
"""Levels of data that are read. Python allows 1,000 calls within each other, and what walks through
the data takes up to three of them for a level. The JSON of protocol buffers, which Google speaks,
stops at 100 (`google.protobuf.json_format.Parse`, 2026-11)."""
UNPARSED = "unparsed_arguments"
"""The key of a text that is not a JSON object, in the object that is sent in its place."""


def plain(item: Any) -> Any:
    """Return the JSON data of an SDK's object, fields that the SDK does not know included.

    Only what the provider sent is in it: an SDK fills in defaults that would otherwise be sent
    back. Names are spelled as on the wire. What is plain already is given back as it is.
    """
    return _converted(item, 0)


def _is_plain(item: Any, depth: int) -> bool:
    """Return whether nothing has to be converted: most data is JSON, and this is the quick way."""
    kind = type(item)
    if kind in _SCALARS:
        return True
    if depth > _DEEPEST or not (kind is dict or kind is list):
        return False
    for value in item.values() if kind is dict else item:
        if type(value) not in _SCALARS and not _is_plain(value, depth + 1):
            return False
    return True


def _converted(item: Any, depth: int) -> Any:
    # Looked at as a whole: a request, and each message of a list that has an SDK's objects, too.
    is_plain = depth <= 1 and _is_plain(item, depth)
    if is_plain or isinstance(item, str | int | float | bytes | None):
        return item
    if depth > _DEEPEST:
        return _text(item)
    dump = getattr(item, "model_dump", None)  # pydantic: the SDKs of OpenAI, Anthropic and Google
    if callable(dump):
        return _dumped(dump)
    below = repeat(depth + 1)
    if isinstance(item, Mapping):
        values = list(map(_converted, item.values(), below))
        same = all(new is old for new, old in zip(values, item.values(), strict=True))
        return item if same and type(item) is dict else dict(zip(item, values, strict=True))
    if isinstance(item, Iterable):
        parts = list(item)
        values = list(map(_converted, parts, below))
        same = all(new is old for new, old in zip(values, parts, strict=True))
        return item if same and type(item) is list else values
    return item


def _text(item: Any) -> str | None:
    try:
        return json.dumps(item, default=str)
    except (ValueError, RecursionError):
        return None


def _dumped(dump: Callable[..., Any]) -> Any:
    try:
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    except ValueError:  # nested more than 255 levels deep, which pydantic takes for a circle
        return None


def at(data: Any, *path: str | int) -> Any:
    """Follow keys and indices into plain data; None where the way ends.

    >>> at({"choices": [{"index": 0}]}, "choices", 0, "index")
    0
    >>> at({"choices": None}, "choices", 0, "index") is None
    True
    """
    for step in path:
        # Nearly always a dict, and asking for that is ten times as fast as asking for a Mapping.
        if type(data) is dict or (isinstance(data, Mapping) and isinstance(step, str)):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and -len(data) <= step < len(data):
            data = data[step]
        else:
            return None
    return data


def items_at(data: Any, *path: str | int) -> list[Any]:
    """Return the list that stands there; anything else is an empty one.

    >>> items_at({"content": "text"}, "content")
    []
    """
    one_step = len(path) == 1 and type(data) is dict
    found = data.get(path[0]) if one_step else at(data, *path)
    return found if isinstance(found, list) else []


def text_at(data: Any, key: str | int, *deeper: str | int) -> str:
    """Return the text that stands there; anything else is an empty one.

    >>> text_at({"content": None}, "content")
    ''
    """
    one_step = type(data) is dict and not deeper
    found = data.get(key) if one_step else at(data, key, *deeper)
    return found if isinstance(found, str) else ""


def replace_surrogates(data: Any) -> Any:
    r"""Return JSON data that UTF-8 can encode: U+FFFD for a lone surrogate, a pair's one character.

    Whatever needs no change is given back as it is; a tuple becomes a list.

    >>> replace_surrogates({"text": "cut in two: \ud83d"})
    {'text': 'cut in two: \ufffd'}
    >>> replace_surrogates("\ud83d\ude00") == "\U0001f600"
    True
    """
    if isinstance(data, str):
        return data if data.isascii() else _encode_surrogates(data)
    if isinstance(data, dict):
        old = [*data, *data.values()]
        new = list(map(replace_surrogates, old))
        return data if new == old else dict(zip(new[: len(data)], new[len(data) :], strict=True))
    if isinstance(data, list | tuple):
        parts = list(map(replace_surrogates, data))
        return data if parts == data else parts
    return data


def _encode_surrogates(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def arguments_as_object(arguments: str, key: str = UNPARSED) -> dict[str, Any]:
    """Read a call's arguments as the object that is sent; a text that is none stands under `key`.

    >>> [arguments_as_object(text) for text in ('{"path": "a.py"}', "", "{oops")]
    [{'path': 'a.py'}, {}, {'unparsed_arguments': '{oops'}]
    """
    try:
        found = replace_surrogates(parse_object(arguments, strict=False))
    except RecursionError:  # the parser goes deeper than Python does
        found = None
    return {key: replace_surrogates(arguments)} if found is None else found


def arguments_as_text(arguments: str) -> str:
    r"""Return a call's arguments as the JSON text of an object: their own text where it is one.

    >>> arguments_as_text('{"a":1}'), arguments_as_text(" "), arguments_as_text('{"a": "\n"}')
    ('{"a":1}', '{}', '{"a": "\\n"}')
    """
    if parse_object(arguments) is None:
        return json.dumps(arguments_as_object(arguments), ensure_ascii=False)
    text: str = replace_surrogates(arguments)
    return text if text.strip() else "{}"


def parse_object(text: str, *, strict: bool = True) -> dict[str, Any] | None:
    r"""Read a JSON object, of no text an empty one; None for anything else, NaN included.

    Without `strict`, raw newlines and tabs may stand within strings, as small models write them.

    >>> parse_object('{"a": 1}'), parse_object(" "), parse_object("[1]"), parse_object('{"a": NaN}')
    ({'a': 1}, {}, None, None)
    >>> parse_object('{"a": "\n"}'), parse_object('{"a": "\n"}', strict=False)
    (None, {'a': '\n'})
    """
    if not text.strip():
        return {}
    try:
        found = json.loads(text, strict=strict, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _refuse(text)


def _refuse(number: str) -> float:
    message = f"{number} is not JSON"
    raise ValueError(message)
