"""Data with one thing wrong or added, for what must never raise and never be lost."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["paths", "replaced", "strings", "with_one_thing_unknown", "with_one_thing_wrong"]

_Path: TypeAlias = tuple[str | int, ...]

_MOST = 100
"""So many places of one example, evenly spread: a recorded request may have thousands."""
_WRONG: tuple[Any, ...] = (None, [], {}, "junk", -1.5)
_FIELD = "x_unheard_of"
_ITEM = {"type": "x_unheard_of", "kept": [1, None]}


def with_one_thing_wrong(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies with one value null, of another type, or gone; each with the name of its place.

    >>> [copy for _, copy in with_one_thing_wrong({"input": 3})][0]
    {'input': None}
    """
    for path in _some(paths(data)):
        for wrong in _WRONG:
            yield _name(path), replaced(data, path, wrong)
        yield _name(path), _without(data, path)


def with_one_thing_unknown(data: Any) -> Iterator[tuple[str, Any]]:
    """Yield copies with a field that nobody knows in an object, or such an item in a list."""
    for path in [(), *_some(paths(data))]:
        value = _at(data, path)
        if isinstance(value, Mapping):
            yield _name(path), replaced(data, path, {**value, _FIELD: {"kept": [1, None]}})
        elif isinstance(value, list) and value and all(isinstance(v, Mapping) for v in value):
            yield _name(path), replaced(data, path, [*value, _ITEM])


def replaced(data: Any, path: _Path, value: Any) -> Any:
    """Return a copy with another value in one place.

    >>> replaced({"parts": [{"text": "a"}]}, ("parts", 0, "text"), "b")
    {'parts': [{'text': 'b'}]}
    """
    if not path:
        return value
    copy = data.copy()
    copy[path[0]] = replaced(data[path[0]], path[1:], value)
    return copy


def paths(data: Any) -> Iterator[_Path]:
    """Yield every place in the data, the outer ones first.

    >>> list(paths({"parts": [{"text": "a"}]}))
    [('parts',), ('parts', 0), ('parts', 0, 'text')]
    """
    entries: list[tuple[str | int, Any]] = []
    if isinstance(data, Mapping):
        entries = list(data.items())
    elif isinstance(data, list):
        entries = list(enumerate(data))
    yield from ((key,) for key, _ in entries)
    for key, value in entries:
        yield from ((key, *path) for path in paths(value))


def strings(data: Any) -> dict[_Path, str]:
    """Return every text in the data, by its place.

    >>> strings({"parts": [{"text": "a", "size": 1}]})
    {('parts', 0, 'text'): 'a'}
    """
    found = ((path, _at(data, path)) for path in paths(data))
    return {path: value for path, value in found if isinstance(value, str)}


def _some(found: Iterator[_Path]) -> list[_Path]:
    places = list(found)
    return places[:: len(places) // _MOST + 1]


def _without(data: Any, path: _Path) -> Any:
    around = _at(data, path[:-1]).copy()
    del around[path[-1]]
    return replaced(data, path[:-1], around)


def _at(data: Any, path: _Path) -> Any:
    for step in path:
        data = data[step]
    return data


def _name(path: _Path) -> str:
    return ".".join(map(str, path)) or "all of it"
