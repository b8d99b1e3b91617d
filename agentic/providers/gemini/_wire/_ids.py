"""Ids for calls that came without one, and how results find their calls.

The Gemini API names some calls and Vertex AI none; results then belong to calls by name and order
(https://ai.google.dev/api/caching#FunctionCall: "id", optional). Messages need ids, so that one is
made, `gemini-<16 hex digits>-<number>`: from the reply's own data, the same each time. It is never
sent: what came without an id goes back without one.
"""

import hashlib
import json
import re
from typing import Any

import attrs

from agentic.providers.gemini._wire._fields import field, parts_of, text_of

__all__ = ["CallNames", "is_made_up", "made_ids"]

_MADE_UP = re.compile(r"gemini-[0-9a-f]{16}-\d+")


def is_made_up(call_id: str) -> bool:
    """Tell whether an id was made here.

    >>> is_made_up("gemini-0123456789abcdef-0"), is_made_up("call_1")
    (True, False)
    """
    return _MADE_UP.fullmatch(call_id) is not None


def made_ids(content: Any, salt: str) -> list[str]:
    """Give an id for each call of a reply: the provider's, or one made from the reply's data."""
    seed = _seed(content, salt)
    calls = [field(part, "functionCall") for part in parts_of(content)]
    return [
        text_of(call, "id") or f"gemini-{seed}-{number}"
        for number, call in enumerate(call for call in calls if call is not None)
    ]


def _seed(content: Any, salt: str) -> str:
    text = json.dumps([salt, content], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def _calls_and_answers(parts: list[Any]) -> list[tuple[bool, str, str]]:
    """Return whether each is a call, the id that it came with, and its name."""
    found = []
    for part in parts:
        call = field(part, "functionCall")
        asked = field(part, "functionResponse") if call is None else call
        if asked is not None:
            found.append((call is not None, text_of(asked, "id"), text_of(asked, "name")))
    return found


@attrs.define
class CallNames:
    """Ids for the calls and results of a whole conversation, content by content."""

    _waiting: list[tuple[str, str]] = attrs.field(factory=list)
    """The id and the name of each call of the latest model turn that has no result yet."""
    _seen: dict[str, int] = attrs.field(factory=dict)
    _former: list[tuple[str, list[tuple[str, str]]]] = attrs.field(factory=list)
    """For each content, what it was counted as if it needed ids, and the calls that waited before
    it."""

    def rewind(self, contents: int) -> None:
        """Forget all but the first so many contents."""
        while len(self._former) > contents:
            base, self._waiting = self._former.pop()
            if base:
                self._seen[base] -= 1

    def ids(self, content: Any, parts: list[Any]) -> list[str]:
        """Give the ids of a content's calls and results, in the order of its parts."""
        found = _calls_and_answers(parts)
        base = "" if all(came_with for _, came_with, _ in found) else _seed(content, "")
        self._former.append((base, self._waiting.copy()))
        seed = self._next_seed(content, base) if base else ""
        given: list[str] = []
        asked: list[tuple[str, str]] = []
        for is_call, came_with, name in found:
            call_id = came_with or f"gemini-{seed}-{len(given)}"
            if is_call:
                asked.append((call_id, name))
            given.append(call_id if is_call else self._answered(came_with, name) or call_id)
        if asked or text_of(content, "role") == "model":
            self._waiting = asked
        return given

    def _next_seed(self, content: Any, base: str) -> str:
        """Return what to make ids of, and note that the content is seen once more."""
        self._seen[base] = times = self._seen.get(base, 0) + 1
        return base if times == 1 else _seed(content, str(times))

    def _answered(self, told: str, name: str) -> str | None:
        """Give the id of the call that a result is for: by its id, or by name and order."""
        fitting = [call for call in self._waiting if call[0] == told]
        if not fitting:
            fitting = [call for call in self._waiting if call[1] == name]
        if not fitting:
            return None
        self._waiting.remove(fitting[0])
        return fitting[0][0]
