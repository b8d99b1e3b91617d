"""What Bedrock takes of a tool call: its id and its name.

The arguments are to be an object: https://github.com/vercel/ai/pull/19023. A name that a model made
up would end the session if it went back as it is: https://github.com/vercel/ai/pull/17769.
"""

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any

import attrs

from agentic.providers._names import NameRule
from agentic.providers._sendable import UNPARSED, sendable, sendable_object

__all__ = ["CALL_IDS", "DEEPEST", "TOOL_NAMES", "CallIds", "input_text", "is_deep", "wire_input"]

DEEPEST = 100
"""Levels of arguments that are walked through, by us and by boto3: Python allows 1,000 calls within
each other, and a level takes up to three of them."""

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), 64)
"""Both: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
(2026-11). Not every model takes an id with . or :, so that a call that is written anew has none."""

_JSON = json.JSONEncoder(ensure_ascii=False)


def wire_input(given: Any) -> dict[str, Any]:
    """Give a call's arguments as the object that is sent; what is none, or too deep, as its text.

    >>> wire_input('{"path": "a.py"}'), wire_input(None), wire_input("{oops")
    ({'path': 'a.py'}, {}, {'unparsed_arguments': '{oops'})
    """
    if given is None:
        return {}
    found = sendable_object(given) if isinstance(given, str) else given
    if is_deep(found):
        return {UNPARSED: sendable(input_text(given))}
    return found if isinstance(found, dict) else {UNPARSED: found}


def input_text(given: Any) -> str:
    """Give a call's arguments as text."""
    if isinstance(given, str):
        return given
    try:
        return _JSON.encode(given)
    except RecursionError:
        return "(arguments that are nested too deeply to be written down)"


def is_deep(data: Any) -> bool:
    """Tell whether data is nested too deeply to be walked through.

    >>> is_deep({"a": [1]}), is_deep(json.loads("[" * 200 + "]" * 200))
    (False, True)
    """
    level = [data]
    for _ in range(DEEPEST):
        level = [inside for item in level for inside in _inside(item)]
        if not level:
            return False
    return True


def _inside(item: Any) -> Iterator[Any]:
    if isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list | tuple):
        yield from item


@attrs.define
class CallIds:
    """The ids of one request: unique, and the same for a call and its result."""

    _used: set[str]
    """Those of calls that are sent as they are, and those given since."""
    kept: set[str] = attrs.field(init=False, factory=set)
    """Those of the last run's calls that were sent as they are."""
    _times: defaultdict[str, int] = attrs.field(init=False, factory=lambda: defaultdict(int))
    _waiting: defaultdict[str, deque[str]] = attrs.field(
        init=False, factory=lambda: defaultdict(deque)
    )
    """Of the calls that may still be answered: their id to what it became."""

    def keep(self, call_id: str) -> str:
        """Give the id of a call that is sent as it is: another only if it would be refused.

        Some models give ids that are too long to go back
        (https://github.com/BerriAI/litellm/issues/34239), and a turn may hold an id once
        (https://github.com/BerriAI/litellm/issues/20048); a later turn may use it again.
        """
        if not CALL_IDS.accept(call_id) or call_id in self.kept:
            return self.give(call_id)
        self.kept.add(call_id)
        self._waiting[call_id].append(call_id)
        return call_id

    def give(self, call_id: str) -> str:
        """Give the id of a call that is written anew."""
        fresh = base = TOOL_NAMES.wire(call_id)
        while fresh in self._used:
            self._times[base] += 1
            fresh = f"{base[:54]}_{self._times[base] + 1}"
        self._used.add(fresh)
        self._waiting[call_id].append(fresh)
        return fresh

    def answer(self, call_id: str) -> str:
        """Give the id of a result: that of the first call it may answer."""
        waiting = self._waiting[call_id]
        return waiting.popleft() if waiting else CALL_IDS.wire(call_id)

    def close(self) -> None:
        """Forget the calls of the last run: no later message may answer them."""
        self._waiting.clear()
        self.kept.clear()
