"""The payload of a stored message, without the texts that the message itself has.

A provider's item repeats what the message says: the content, the arguments, the output. A store
writes each of them once. In the payload, `{"$":n}` stands for the n-th text of the message, and
`{"$json":n}` for the JSON value that this text spells. No decoder is needed to put them back, so a
session can be read without the adapter that wrote it, and by any of its later versions.
"""

import json
from collections.abc import Iterable
from operator import is_not
from typing import Any

import attrs

from agentic.messages._message import Message
from agentic.messages._parts import ToolCall, ToolResult

_TEXT, _JSON = "$", "$json"
_LEAST = 16
"""A shorter text is hardly longer than what would stand for it."""
# Made once: `json.dumps` would make an encoder for each message.
dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def list_texts(
    content: str, reasoning: str, calls: Iterable[ToolCall], results: Iterable[ToolResult]
) -> list[str]:
    """Return the texts of a message in the order in which a payload numbers them."""
    texts = [content, reasoning]
    for call in calls:
        texts += (call.id, call.name, call.arguments)
    for result in results:
        texts += (result.call_id, result.name, result.output)
    return texts


def texts_of(message: Message) -> list[str]:
    """Return the texts of a message in that order."""
    return list_texts(message.content, message.reasoning, message.tool_calls, message.tool_results)


def leave_out(payload: Any, texts: list[str]) -> Any:
    """Return a payload without these texts; the payload itself if it has none of them.

    >>> leave_out({"role": "user", "text": "Why is the build red?"}, ["Why is the build red?"])
    {'role': 'user', 'text': {'$': 0}}
    """
    numbers = {text: number for number, text in enumerate(texts) if len(text) >= _LEAST}
    try:
        return _Texts(numbers).leave_out(payload) if numbers else payload
    # A payload that has such fields itself is stored whole, and so is one that is no JSON data,
    # which the store then refuses.
    except (_AmbiguousError, TypeError, ValueError, RecursionError):
        return payload


def put_back(payload: Any, texts: list[str]) -> Any:
    """Return the payload that `leave_out` was given.

    >>> put_back({"role": "user", "text": {"$": 0}}, ["Why is the build red?"])
    {'role': 'user', 'text': 'Why is the build red?'}

    Raises:
        ValueError: it refers to a text that the message does not have.
    """
    kind = type(payload)
    if kind is list:
        return [put_back(value, texts) for value in payload]
    if kind is not dict:
        return payload
    if len(payload) == 1:
        for name, number in payload.items():
            if name == _TEXT:
                return _find(texts, number)
            if name == _JSON:
                text = _find(texts, number)
                # A redaction may have left a text that is no JSON: then the message is another one
                # than the provider's item, and an adapter sends it by its fields.
                return text if (value := _parse(text)) is None else value
    copy = payload.copy()
    for key, value in payload.items():
        if type(value) is dict or type(value) is list:
            copy[key] = put_back(value, texts)
    return copy


class _AmbiguousError(Exception):
    """A payload has a field of the name that stands for a text."""


@attrs.define
class _Texts:
    """The texts of a message that are long enough, with their numbers."""

    numbers: dict[str, int]
    _spelled: list[tuple[Any, int]] | None = attrs.field(default=None, init=False)
    """The objects that some of them spell, with their numbers; None until somebody asks."""

    def leave_out(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            number = self.numbers.get(value)
            return value if number is None else {_TEXT: number}
        if kind is list:
            items = [self.leave_out(item) for item in value]
            return items if any(map(is_not, items, value)) else value
        if kind is not dict:
            return value
        if _TEXT in value or _JSON in value:
            raise _AmbiguousError
        fields = value
        for key, item in value.items():
            if (other := self.leave_out(item)) is not item:
                if fields is value:
                    fields = value.copy()
                fields[key] = other
        # Arguments, which some providers send as an object.
        return self._spell(value) if fields is value else fields

    def _spell(self, value: dict[str, Any]) -> dict[str, Any]:
        if self._spelled is None:
            spelled = [(_parse(text), n) for text, n in self.numbers.items() if text[0] == "{"]
            self._spelled = [(parsed, n) for parsed, n in spelled if parsed]
        for parsed, number in self._spelled:
            # `==` is true of other orders of the fields, and of 1 and True.
            if parsed == value and dump(parsed) == dump(value):
                return {_JSON: number}
        return value


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _find(texts: list[str], number: Any) -> str:
    if type(number) is not int or not 0 <= number < len(texts):
        raise ValueError(f"a payload refers to the text {number!r} of {len(texts)}")
    return texts[number]
