"""The repr of records that may hold a whole conversation: short enough for a terminal and a log.

A text longer than 200 characters loses its middle, and a collection of more than 12 items its end.
What was left out is counted.
"""

from collections.abc import Sequence
from reprlib import recursive_repr
from typing import Any, TypeVar

import attrs

_T = TypeVar("_T")
_MOST_CHARS = 200
_MOST_ITEMS = 12
_MOST_OF_AN_ITEM = 400
_MOST_OF_A_RECORD = 2_000


def short(value: object) -> str:
    """Return the repr of a value of any size, without that of its whole.

    >>> short("Hi."), short(list(range(3)))
    ("'Hi.'", '[0, 1, 2]')
    >>> short("x" * 1_000_000)[-42:]
    "xxxxxxxxxx... 999,800 characters left out'"
    >>> short(range(5)), short(tuple("abc")), short({"a": [1]})
    ('range(0, 5)', "('a', 'b', 'c')", "{'a': [1]}")
    """
    if isinstance(value, str | bytes) and len(value) > _MOST_CHARS:
        number, start = len(value) - _MOST_CHARS, repr(value[:_MOST_CHARS])
        return f"{start[:-1]}... {number:,} characters left out{start[-1]}"
    # Not their subclasses, which may have a repr of their own.
    if type(value) is list:
        return _items(value, "[]")
    if type(value) is tuple and len(value) > 1:
        return _items(value, "()")
    if type(value) is dict:
        pairs = [f"{key!r}: {short(each)}" for key, each in list(value.items())[:_MOST_ITEMS]]
        return f"{{{', '.join(map(_clip, pairs))}{_rest(len(value))}}}"
    return repr(value)


def short_repr(cls: type[_T]) -> type[_T]:
    """Give a class of attrs the repr that attrs would make, of short parts.

    >>> @short_repr
    ... @attrs.frozen
    ... class Note:
    ...     text: str
    >>> Note("Hi."), len(repr(Note("x" * 1_000_000))) < 300
    (Note(text='Hi.'), True)
    """
    fields = [each for each in attrs.fields(cls) if each.repr]  # type: ignore[arg-type]

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807  it becomes the method
        parts = (
            f"{each.name}={(each.repr if callable(each.repr) else short)(getattr(self, each.name))}"
            for each in fields
        )
        text = f"{type(self).__name__}({', '.join(parts)})"
        return _clip(text, _MOST_OF_A_RECORD)

    cls.__repr__ = __repr__  # type: ignore[method-assign]
    return cls


def _items(values: Sequence[Any], marks: str) -> str:
    shown = ", ".join(_clip(short(each)) for each in values[:_MOST_ITEMS])
    return f"{marks[0]}{shown}{_rest(len(values))}{marks[1]}"


def _rest(number: int) -> str:
    return f", ... {number - _MOST_ITEMS:,} more" if number > _MOST_ITEMS else ""


def _clip(text: str, most: int = _MOST_OF_AN_ITEM) -> str:
    return text if len(text) <= most else f"{text[: most - 40]}...{text[-37:]}"
