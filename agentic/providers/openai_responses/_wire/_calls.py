"""What the wire takes of a tool call: its id and its name.

A call of OpenAI's may hold any text as arguments, but vLLM and llama.cpp refuse the whole history
for one that is no JSON: https://github.com/local-inference-lab/vllm/issues/684,
https://github.com/am17an/llama.cpp/issues/43.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

import attrs

from agentic.providers._names import NameRule

__all__ = ["MAX_ID_CHARS", "TOOL_NAMES", "Ids", "is_id"]

MAX_ID_CHARS = 64
"""https://github.com/AnswerDotAI/fastllm/issues/45 quotes the refusal of a longer one. The
characters are free, and there is at least one: https://github.com/orchidfiles/ungate/pull/41,
https://github.com/earendil-works/pi/issues/2917."""

TOOL_NAMES = NameRule(re.compile(r"[a-zA-Z0-9_-]{1,64}"), 64)
"""https://github.com/langchain-ai/deepagents/pull/5953 quotes what OpenAI documents."""


def is_id(call_id: str) -> bool:
    """Tell whether the wire takes the id of a call.

    >>> is_id("call_1"), is_id(""), is_id("x" * 65)
    (True, False, False)
    """
    return 0 < len(call_id) <= MAX_ID_CHARS


@attrs.define
class Ids:
    """The ids that a request uses already, those of items and of calls alike."""

    used: set[str] = attrs.field(factory=set)
    _rewritten: Counter[str] = attrs.field(factory=Counter, init=False)
    """How often each id that cannot be had was asked for: so many tries need not be repeated."""

    def free(self, ids: Iterable[str]) -> bool:
        """Tell whether all these are unused and different; if so, they are used from now on."""
        asked = list(ids)
        if len(set(asked)) < len(asked) or self.used & set(asked):
            return False
        self.used.update(asked)
        return True

    def take(self, wanted: str) -> str:
        """Give an id that the wire accepts: the wanted one, or one that is made from it.

        >>> ids = Ids()
        >>> ids.take("c1"), ids.take("c1") == "c1"
        ('c1', False)
        """
        fresh = wanted
        while not is_id(fresh) or fresh in self.used:
            self._rewritten[wanted] += 1
            seed = f"{wanted}#{self._rewritten[wanted]}".encode("utf-8", "surrogatepass")
            fresh = f"call_{hashlib.sha256(seed).hexdigest()[:24]}"
        self.used.add(fresh)
        return fresh
