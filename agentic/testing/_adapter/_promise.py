"""How a promise is asked for, and how a broken one is told."""

import json
import reprlib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from agentic.messages import Message
from agentic.testing._adapter._protocol import Adapter

__all__ = ["MARK", "as_text", "ask", "broken", "call", "difference", "is_accepted", "shows"]

_T = TypeVar("_T")

MARK = "put in by check_adapter"
"""A text that stands in no example."""


def broken(where: str, promise: str) -> AssertionError:
    """Return which promise is broken, and on what."""
    return AssertionError(f"A promise of Adapter is broken on {where}: {promise}.")


def ask(where: str, function: Callable[..., _T], *given: Any, **named: Any) -> _T:
    """Call a function of an adapter: it does not raise, and leaves what it is given as it was."""
    before = deepcopy((given, named))
    answer = call(where, function, *given, **named)
    if (given, named) != before:
        promise = f"{_name(function)}() leaves what it is given as it was, but changed it"
        raise broken(where, promise)
    return answer


def call(where: str, function: Callable[..., _T], *given: Any, **named: Any) -> _T:
    """Call a function of an adapter: it does not raise."""
    try:
        return function(*given, **named)
    except Exception as problem:
        promise = f"{_name(function)}() never raises, but raised {problem!r:.300}"
        raise broken(where, promise) from problem


def is_accepted(adapter: Adapter, where: str, messages: Sequence[Message], **named: Any) -> str:
    """Encode a view: validate() accepts it, and it can be sent. Give the request as text."""
    request = ask(where, adapter.encode_request, list(messages), **named)
    if found := ask(where, adapter.validate, request):
        said = reprlib.repr(getattr(found[0], "problem", found[0]))
        raise broken(
            where, f"what encode_request() gives is accepted by validate(), which says {said}"
        )
    text = as_text(request)
    if as_text(adapter.encode_request(list(messages), **named)) != text:
        raise broken(where, "encode_request() gives the same for the same, but gave two requests")
    try:
        text.encode()
    except UnicodeEncodeError as problem:
        raise broken(where, f"what goes out can be sent as UTF-8, but {problem}") from problem
    return text


def as_text(data: Any) -> str:
    """Write data as JSON, so that the order of keys counts and NaN equals NaN."""
    return json.dumps(data, ensure_ascii=False, default=_bytes_or_number)


def shows(text: str, part: str) -> int:
    """Count how often a request, as text, holds a text, also inside JSON inside JSON."""
    once = as_text(part)[1:-1]
    twice = as_text(once)[1:-1]
    return text.count(once) + (text.count(twice) if twice != once else 0)


def difference(expected: Any, got: Any, at: str = "") -> str:
    """Return where two pieces of JSON data differ first; nothing where they do not.

    >>> difference({"parts": [{"seal": "x"}]}, {"parts": [{}]}, "item")
    "item.parts[0].seal was 'x', and is missing"
    """
    if as_text(expected) == as_text(got):
        return ""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        return _of_keys(expected, got, at)
    if isinstance(expected, list) and isinstance(got, list):
        pairs = enumerate(zip(expected, got, strict=False))
        inside = (difference(old, new, f"{at}[{index}]") for index, (old, new) in pairs)
        uneven = f"{at} had {len(expected)} entries, and has {len(got)}"
        return next(filter(None, inside), uneven)
    return f"{at} was {reprlib.repr(expected)}, and is {reprlib.repr(got)}"


def _of_keys(expected: Mapping[str, Any], got: Mapping[str, Any], at: str) -> str:
    for key in expected:
        if key not in got:
            return f"{at}.{key} was {reprlib.repr(expected[key])}, and is missing"
        if found := difference(expected[key], got[key], f"{at}.{key}"):
            return found
    added = [key for key in got if key not in expected]
    return f"{at}.{added[0]} was not there" if added else f"the keys of {at} changed their order"


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", repr(function))


def _bytes_or_number(value: object) -> str:
    """Write what SDKs take beside JSON: bytes, times, Decimal."""
    return repr(value)
