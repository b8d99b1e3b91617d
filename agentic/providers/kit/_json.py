"""What is sent in place of a text that no provider takes, the same way every time.

A lone surrogate has no UTF-8, so that a body with one cannot be sent. Arguments that are no JSON
object are refused by most: they go out as an object that holds their text.
"""

import json
from typing import Any

__all__ = [
    "UNPARSED",
    "arguments_as_object",
    "arguments_as_text",
    "parse_object",
    "replace_surrogates",
]

UNPARSED = "unparsed_arguments"
"""The key of a text that is not a JSON object, in the object that is sent in its place."""


def replace_surrogates(data: Any) -> Any:
    r"""Return JSON data that UTF-8 can encode: U+FFFD for a lone surrogate, a pair's one character.

    Whatever needs no change is given back as it is; a tuple becomes a list.

    >>> replace_surrogates({"text": "cut in two: \ud83d"})
    {'text': 'cut in two: \ufffd'}
    >>> replace_surrogates("\ud83d\ude00") == "\U0001f600"
    True
    """
    if isinstance(data, str):
        return data if data.isascii() else _encodable(data)
    if isinstance(data, dict):
        old = [*data, *data.values()]
        new = list(map(replace_surrogates, old))
        return data if new == old else dict(zip(new[: len(data)], new[len(data) :], strict=True))
    if isinstance(data, list | tuple):
        parts = list(map(replace_surrogates, data))
        return data if parts == data else parts
    return data


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def arguments_as_object(arguments: str, key: str = UNPARSED) -> dict[str, Any]:
    """Read a call's arguments as the object that is sent; a text that is none stands under `key`.

    >>> arguments_as_object('{"path": "a.py"}'), arguments_as_object("")
    ({'path': 'a.py'}, {})
    >>> arguments_as_object("{oops")
    {'unparsed_arguments': '{oops'}
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
