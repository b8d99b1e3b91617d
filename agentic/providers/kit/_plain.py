"""Reading a provider's data, whether it came as JSON or as the objects of an SDK.

Everything public in an adapter first makes its argument plain, so that the rest of it knows dicts,
lists, texts and numbers only. Whatever is missing, null or of another type reads as absent, and
what is nested more than 200 levels deep as its JSON text: what a provider sends is never a reason
to raise.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat
from typing import Any

__all__ = ["at", "items_at", "plain", "text_at"]

_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})

_DEEPEST = 200
"""Levels of data that are read. Python allows 1,000 calls within each other, and what walks through
the data takes up to three of them for a level. The JSON of protocol buffers, which Google speaks,
stops at 100 (`google.protobuf.json_format.Parse`, 2026-11)."""


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
