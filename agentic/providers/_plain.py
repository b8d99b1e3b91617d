"""Reading a provider's data, whether it came as JSON or as the objects of an SDK.

Everything public in an adapter first makes its argument plain, so that the rest of it knows dicts,
lists, texts and numbers only. Whatever is missing, null or of another type reads as absent: what a
provider sends is never a reason to raise.
"""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["at", "items_at", "plain", "text_at"]


def plain(item: Any) -> Any:
    """Give the JSON data of an SDK's object, fields that the SDK does not know included.

    Only what the provider sent is in it: an SDK fills in defaults that would otherwise be sent
    back. Names are spelled as on the wire. What is plain already is given back as it is.
    """
    if isinstance(item, str | int | float | bytes | None):
        return item
    dump = getattr(item, "model_dump", None)  # pydantic: the SDKs of OpenAI, Anthropic and Google
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    if isinstance(item, Mapping):
        values = list(map(plain, item.values()))
        same = all(new is old for new, old in zip(values, item.values(), strict=True))
        return item if same and type(item) is dict else dict(zip(item, values, strict=True))
    if isinstance(item, Iterable):
        parts = list(item)
        values = list(map(plain, parts))
        same = all(new is old for new, old in zip(values, parts, strict=True))
        return item if same and type(item) is list else values
    return item


def at(data: Any, *path: str | int) -> Any:
    """Follow keys and indices into plain data; None where the way ends.

    >>> at({"choices": [{"index": 0}]}, "choices", 0, "index")
    0
    >>> at({"choices": None}, "choices", 0, "index") is None
    True
    """
    for step in path:
        if isinstance(data, Mapping) and isinstance(step, str):
            data = data.get(step)
        elif isinstance(data, list) and isinstance(step, int) and -len(data) <= step < len(data):
            data = data[step]
        else:
            return None
    return data


def items_at(data: Any, *path: str | int) -> list[Any]:
    """Give the list that stands there; anything else is an empty one.

    >>> items_at({"content": "text"}, "content")
    []
    """
    found = at(data, *path)
    return found if isinstance(found, list) else []


def text_at(data: Any, *path: str | int) -> str:
    """Give the text that stands there; anything else is an empty one.

    >>> text_at({"content": None}, "content")
    ''
    """
    found = at(data, *path)
    return found if isinstance(found, str) else ""
