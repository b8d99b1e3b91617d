"""What Bedrock takes of a tool call: its id, its name, its arguments.

Whatever does not fit is rewritten the same way every time, so that a call and its result, and a
tool and its calls, still belong together.
"""

import hashlib
import json
import re
from collections import defaultdict, deque
from typing import Any

import attrs

__all__ = ["CallIds", "clean", "parse_object", "wire_input", "wire_name"]

# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html (2026-11).
# Ids with . and : are taken by the service, but not by every model behind it, so that none is made.
_TAKEN = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_OTHER = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST = 64
_INPUT_KEY = "arguments"


def wire_name(name: str) -> str:
    """Give a tool's name as Bedrock takes it.

    A model that made a name up would else end the session
    (https://github.com/vercel/ai/pull/17769).

    >>> wire_name("read_file"), wire_name("fs.read")
    ('read_file', 'fs_read_4074bc02')
    """
    return name if _PLAIN.fullmatch(name) else _rewritten(name)


def _rewritten(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_OTHER.sub('_', text)[: _LONGEST - 9]}_{digest}"


def wire_input(arguments: str) -> dict[str, Any]:
    """Give the arguments as an object, which the service insists on.

    https://github.com/vercel/ai/pull/19023

    >>> wire_input('{"path": "a.py"}'), wire_input(""), wire_input("{oops")
    ({'path': 'a.py'}, {}, {'arguments': '{oops'})
    """
    found = parse_object(arguments)
    return {_INPUT_KEY: clean(arguments)} if found is None else clean(found)


def parse_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object, of no text an empty one; None for anything else, NaN included."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(constant: str) -> float:
    message = f"{constant} is no JSON"
    raise ValueError(message)


def _finite(text: str) -> float:
    number = float(text)
    return number if abs(number) != float("inf") else _refuse(text)


def clean(data: Any) -> Any:
    r"""Replace what cannot be encoded as UTF-8, and put surrogates that are a pair together.

    >>> clean("cut in two: \ud83d")
    'cut in two: \ufffd'
    """
    if isinstance(data, str):
        if data.isascii():
            return data
        return data.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(data, dict):
        return {clean(key): clean(value) for key, value in data.items()}
    if isinstance(data, list):
        return [clean(value) for value in data]
    return data


@attrs.define
class CallIds:
    """The ids of one request: unique, and the same for a call and its result."""

    _used: set[str]
    """Those of calls that are sent as they are, and those given since."""
    _times: defaultdict[str, int] = attrs.field(init=False, factory=lambda: defaultdict(int))
    _waiting: defaultdict[str, deque[str]] = attrs.field(
        init=False, factory=lambda: defaultdict(deque)
    )
    """Of the calls that may still be answered: their id to what it became."""

    def keep(self, call_id: str) -> str:
        """Give the id of a call that is sent as it is: another only if it would be refused.

        Some models give ids that are too long to go back
        (https://github.com/BerriAI/litellm/issues/34239).
        """
        if not _TAKEN.fullmatch(call_id):
            return self.give(call_id)
        self._waiting[call_id].append(call_id)
        return call_id

    def give(self, call_id: str) -> str:
        """Give the id of a call that is written anew."""
        base = call_id if _PLAIN.fullmatch(call_id) else _rewritten(call_id)
        fresh = base
        while fresh in self._used:
            self._times[base] += 1
            fresh = f"{base[:54]}_{self._times[base] + 1}"
        self._used.add(fresh)
        self._waiting[call_id].append(fresh)
        return fresh

    def answer(self, call_id: str) -> str:
        """Give the id of a result: that of the first call it may answer."""
        waiting = self._waiting[call_id]
        if waiting:
            return waiting.popleft()
        return call_id if _TAKEN.fullmatch(call_id) else _rewritten(call_id)

    def close(self) -> None:
        """Forget the calls of the last turn: only the next one may answer them."""
        self._waiting.clear()
