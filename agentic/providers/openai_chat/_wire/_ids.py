"""Ids for the calls of one request: unique, not too long, the same for the same conversation."""

from collections import Counter
from collections.abc import Container

import attrs

from agentic.providers._sendable import sendable

__all__ = ["MAX_ID_CHARS", "CallIds"]

MAX_ID_CHARS = 40
"""https://github.com/camel-ai/camel/issues/2215 quotes the refusal of a longer one."""


@attrs.define
class CallIds:
    """Which ids a request has used. Naming n calls takes some 2 n looks, whatever they are called.

    >>> ids = CallIds({"call_1"})
    >>> ids.free("call_1"), ids.free("call_1"), ids.free("")
    ('call_1', 'call_1_1', 'call_2')
    """

    _reserved: Container[str]
    """Every id of the conversation: none of them is made up."""
    _used: set[str] = attrs.field(init=False, factory=set)
    _made: Counter[str] = attrs.field(init=False, factory=Counter)
    """How often an id was derived from a stem: where the next one starts to count."""

    def take(self, call_id: str) -> None:
        """Note an id that is sent as it is, whatever it is."""
        self._used.add(call_id)

    def free(self, wanted: str) -> str:
        """Keep an id that may be sent and was not used yet; else derive one from it."""
        clean: str = sendable(wanted)
        fits = 0 < len(clean) <= MAX_ID_CHARS and clean == wanted
        fresh = clean if fits and clean not in self._used else self._derived(clean)
        self._used.add(fresh)
        return fresh

    def _derived(self, clean: str) -> str:
        stem = clean[:30] or "call"
        while True:
            self._made[stem] += 1
            fresh = f"{stem}_{self._made[stem]}"
            if fresh not in self._used and fresh not in self._reserved:
                return fresh
