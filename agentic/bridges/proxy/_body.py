"""A request's body as JSON text, of which only what has changed is written anew."""

import json
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

__all__ = ["RequestBody"]

_SPACE = re.compile(r"[ \t\n\r]*")
_AFTER_ITEM = re.compile(r"[ \t\n\r]*([,\]])[ \t\n\r]*")
_decode = json.JSONDecoder().raw_decode
_Span = tuple[int, int]


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
    _item_spans: Mapping[str, Sequence[_Span]]
    """Of the values that are lists: found while they are read, so that no text is parsed twice."""
    _end: int
    """Where the closing brace is."""

    @classmethod
    def read(cls, raw: bytes) -> "RequestBody":
        """Read a body.

        Raises:
            ValueError: it is no JSON object in UTF-8, is nested too deeply, or has a key twice.
        """
        text = raw.decode()
        data: dict[str, Any] = {}
        spans: dict[str, _Span] = {}
        item_spans: dict[str, Sequence[_Span]] = {}
        at = _open(text, _skip(text, 0), "{")
        try:
            while text[at : at + 1] != "}":
                key, colon = _decode(text, at)
                start = _open(text, _skip(text, colon), ":")
                if not isinstance(key, str) or key in data:
                    raise ValueError("a key is no text, or occurs twice")
                if text[start : start + 1] == "[":
                    data[key], item_spans[key], end = _decode_list(text, start)
                else:
                    data[key], end = _decode(text, start)
                spans[key] = start, end
                at = _next(text, end, "}")
        except RecursionError as problem:
            raise ValueError("nested too deeply") from problem
        if _skip(text, at + 1) != len(text):
            raise ValueError("something follows the object")
        return cls(text, data, spans, item_spans, at)

    def write(self, changed: Mapping[str, Any]) -> bytes:
        """Return the body with other values, byte for byte where a value or an item is the same.

        What is the same is the same object in `changed` as in `data`.
        """
        if not self.data.keys() <= changed.keys():
            return _dump(changed).encode()
        pieces, at = [], 0
        for key, (start, end) in self._spans.items():
            pieces += [self.text[at:start], self._value(changed[key], key)]
            at = end
        for key in changed.keys() - self.data.keys():
            comma = "," if self.data else ""
            pieces.append(f"{self.text[at : self._end]}{comma}{_dump(key)}:{_dump(changed[key])}")
            at = self._end
        return "".join([*pieces, self.text[at:]]).encode()

    def is_same(self, changed: Mapping[str, Any]) -> bool:
        """Return whether nothing has changed."""
        data = self.data
        return data.keys() == changed.keys() and all(
            _is_same(changed[key], value) for key, value in data.items()
        )

    def _value(self, value: Any, key: str) -> str:
        before, (start, end) = self.data[key], self._spans[key]
        if _is_same(value, before):
            return self.text[start:end]
        if not (isinstance(value, list) and isinstance(before, list)):
            return _dump(value)
        texts = dict(zip(map(id, before), self._item_spans[key], strict=True))
        return f"[{', '.join(self._item(item, texts) for item in value)}]"

    def _item(self, item: Any, spans: Mapping[int, _Span]) -> str:
        # Only a dict is certain to be one place in the text: two equal numbers may be one object.
        if not isinstance(item, dict) or id(item) not in spans:
            return _dump(item)
        start, end = spans[id(item)]
        return self.text[start:end]


def _is_same(value: Any, before: Any) -> bool:
    """Return whether a value is the same object, or a list of the same objects."""
    if not (isinstance(value, list) and isinstance(before, list)):
        return value is before
    return len(value) == len(before) and all(map(operator.is_, value, before))


def _decode_list(text: str, start: int) -> tuple[list[Any], list[_Span], int]:
    """Return a list, where each of its items is, and where it ends."""
    items: list[Any] = []
    spans: list[_Span] = []
    at = _open(text, start, "[")
    if text[at : at + 1] == "]":
        return items, spans, at + 1
    while True:
        item, end = _decode(text, at)
        items.append(item)
        spans.append((at, end))
        found = _AFTER_ITEM.match(text, end)
        if found is None:
            raise ValueError(f"no , or ] at {end}")
        if found[1] == "]":
            return items, spans, found.end(1)
        at = found.end()


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
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _dump(value: Any) -> str:
    # Escapes also keep a lone surrogate, which has no form in UTF-8.
    return json.dumps(value, separators=(",", ":"))
