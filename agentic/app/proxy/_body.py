"""A request's body as JSON text, of which only what has changed is written anew."""

import json
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from sys import intern
from typing import Any

import attrs

from agentic.bridges.kit._lists import are_same

_SPACE = re.compile(r"[ \t\n\r]*")
_AFTER_ITEM = re.compile(r"[ \t\n\r]*([,\]])[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode
_Span = tuple[int, int]


@attrs.frozen
class ListText:
    """A list of an earlier request, which the text of a later one may begin with."""

    text: str
    """From its opening bracket to the end of its last item, which is an object."""
    items: Sequence[Any]
    bounds: "array[int]"
    """Where each item begins and where it ends, from the opening bracket on."""


@attrs.frozen
class RequestBody:
    """A JSON object, and where each of its values is in the text.

    >>> body = RequestBody.read(b'{"top": 1.0, "messages": [{"n": 1e2}, 7]}')
    >>> body.write({**body.data, "messages": body.data["messages"][:1]})
    b'{"top": 1.0, "messages": [{"n": 1e2}]}'
    """

    text: str
    data: dict[str, Any]
    _spans: Mapping[str, _Span]
    _item_bounds: Mapping[str, "array[int]"]
    """Of the values that are lists: where each item begins and ends, from the opening bracket on.
    An array, which takes an eighth of the memory of pairs."""
    _end: int
    """Where the closing brace is."""
    size: int
    """The number of bytes of the text."""

    @classmethod
    def read(cls, raw: bytes, cache: Sequence[ListText] = ()) -> "RequestBody":
        """Read a body; of a list that begins as a known one, only the rest is parsed.

        Raises:
            ValueError: it is no JSON object in UTF-8, is nested too deeply, or has a key twice.
        """
        text = raw.decode()
        data: dict[str, Any] = {}
        spans: dict[str, _Span] = {}
        item_bounds: dict[str, array[int]] = {}
        at = _open(text, _skip(text, 0), "{")
        try:
            while text[at : at + 1] != "}":
                key, colon = _decode(text, at)
                start = _open(text, _skip(text, colon), ":")
                # Which of two values a provider takes is unknown.
                if not isinstance(key, str) or key in data:
                    raise ValueError("a key is not text, or occurs twice")
                if text[start : start + 1] == "[":
                    data[key], item_bounds[key], end = _decode_list(text, start, cache)
                else:
                    data[key], end = _decode(text, start)
                spans[key] = start, end
                at = _next(text, end, "}")
        except RecursionError as problem:
            raise ValueError("nested too deeply") from problem
        if _skip(text, at + 1) != len(text):
            raise ValueError("something follows the object")
        return cls(text, data, spans, item_bounds, at, len(raw))

    def list_text(self, key: str) -> ListText | None:
        """Return a list for the next request, None if it has no end that is certain."""
        bounds = self._item_bounds.get(key)
        # A number could go on: 1, 12.
        if not bounds or not isinstance(self.data[key][-1], dict):
            return None
        start = self._spans[key][0]
        return ListText(self.text[start : start + bounds[-1]], self.data[key], bounds)

    def write(self, changes: Mapping[str, Any]) -> bytes:
        """Return the body with other values, byte for byte where a value or an item is the same.

        What is the same is the same object in `changes` as in `data`.
        """
        if not self.data.keys() <= changes.keys():
            return _dump(changes).encode()
        pieces, at = [], 0
        for key, (start, end) in self._spans.items():
            pieces += [self.text[at:start], self._value(changes[key], key)]
            at = end
        for key in changes.keys() - self.data.keys():
            comma = "," if self.data else ""
            pieces.append(f"{self.text[at : self._end]}{comma}{_dump(key)}:{_dump(changes[key])}")
            at = self._end
        return "".join([*pieces, self.text[at:]]).encode()

    def is_same(self, changes: Mapping[str, Any]) -> bool:
        """Return whether nothing has changed."""
        data = self.data
        return data.keys() == changes.keys() and all(
            _is_same(changes[key], value) for key, value in data.items()
        )

    def _value(self, value: Any, key: str) -> str:
        before, (start, end) = self.data[key], self._spans[key]
        if _is_same(value, before):
            return self.text[start:end]
        if not (isinstance(value, list) and isinstance(before, list)):
            return _dump(value)
        bounds = self._item_bounds[key]
        spans = dict(zip(map(id, before), zip(bounds[::2], bounds[1::2], strict=True), strict=True))
        return f"[{', '.join(self._item(item, start, spans) for item in value)}]"

    def _item(self, item: Any, start: int, spans: Mapping[int, _Span]) -> str:
        # Only a dict is certain to be one place in the text: two equal numbers may be one object.
        if not isinstance(item, dict) or id(item) not in spans:
            return _dump(item)
        begin, end = spans[id(item)]
        return self.text[start + begin : start + end]


def _is_same(value: Any, before: Any) -> bool:
    """Return whether a value is the same object, or a list of the same objects."""
    if not (isinstance(value, list) and isinstance(before, list)):
        return value is before
    return are_same(value, before)


def _decode_list(
    text: str, start: int, cache: Iterable[ListText]
) -> tuple[list[Any], "array[int]", int]:
    """Return a list, where each of its items begins and ends from its start on, and its end."""
    items: list[Any] = []
    bounds = array("q")
    at = _open(text, start, "[")
    if text[at : at + 1] == "]":
        return items, bounds, at + 1
    former = next((each for each in cache if text.startswith(each.text, start)), None)
    if former is not None:
        items += former.items
        bounds += former.bounds
        at = start + len(former.text)
    while True:
        if former is None:
            item, end = _decode(text, at)
            # The decoder shares keys only within what it decodes at once.
            is_dict = type(item) is dict
            items.append({intern(key): item[key] for key in item} if is_dict else item)
            bounds.extend((at - start, end - start))
            at = end
        former, match = None, _AFTER_ITEM.match(text, at)
        if match is None:
            raise ValueError(f"no , or ] at {at}")
        if match[1] == "]":
            return items, bounds, match.end(1)
        at = match.end()


def _open(text: str, at: int, sign: str) -> int:
    """Return where what follows a sign begins."""
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign} at {at}")
    return _skip(text, at + 1)


def _next(text: str, at: int, close: str) -> int:
    """Return where the next member begins, or where the closing sign is."""
    at = _skip(text, at)
    return at if text[at : at + 1] == close else _open(text, at, ",")


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _dump(value: Any) -> str:
    # Escapes also keep a lone surrogate, which has no form in UTF-8.
    return json.dumps(value, separators=(",", ":"))
