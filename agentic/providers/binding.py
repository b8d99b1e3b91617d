"""Detect that a request was refused because its kept reasoning belongs to another one.

Start with `is_bound_reasoning`. Which models refuse so: `limits.binds_reasoning`.
"""

import re
from typing import Any

from agentic.errors import BoundReasoning
from agentic.providers.overflow._error_text import read_error_text

__all__ = ["is_bound_reasoning"]

# Both sentences, as `read_error_text` spells them. A signature that was tampered with gives the
# first one only, and is another error:
# https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/fix-bound-to-a-different-conversation
# (2026-11-27); how it reads: https://github.com/anomalyco/opencode/issues/48637 (2026-09-12).
_SENTENCES = re.compile(
    r"invalid signature in (?:redacted_)?thinking block\b.{0,200}?"
    r"\bblock is bound to a different conversation"
)


def is_bound_reasoning(error: Any) -> bool:
    """Return whether an error says that reasoning is bound to another conversation. Never raises.

    The error may be an SDK exception, a response body as plain data or JSON, an event of a stream,
    or a text from a log; of Anthropic, or of a server that hands its errors on.

    >>> text = "messages.1.content.0: Invalid `signature` in `thinking` block."
    >>> is_bound_reasoning(f"{text} The block is bound to a different conversation.")
    True
    >>> is_bound_reasoning(text)
    False
    """
    if isinstance(error, BoundReasoning):
        return True
    return any(_SENTENCES.search(text) for text in read_error_text(error).texts)
