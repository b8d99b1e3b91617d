"""What Bedrock takes of a tool call: its id and its name.

The arguments are to be an object: https://github.com/vercel/ai/pull/19023. A name that a model made
up would end the session if it went back as it is: https://github.com/vercel/ai/pull/17769.
"""

import re
from collections import defaultdict, deque

import attrs

from agentic.providers._names import NameRule

__all__ = ["CALL_IDS", "TOOL_NAMES", "CallIds"]

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
CALL_IDS = NameRule(re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), 64)
"""Both: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
(2026-11). Not every model takes an id with . or :, so that a call that is written anew has none."""


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
        if not CALL_IDS.accept(call_id):
            return self.give(call_id)
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
        """Forget the calls of the last turn: only the next one may answer them."""
        self._waiting.clear()
