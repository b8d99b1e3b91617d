"""Token counts and context limits, under the names of supyagent.

>>> count_tokens("Why is the build red?") > 0, count_messages_tokens([])
(True, 3)
"""

from agentic.limits import CONTEXT_LIMITS, get_context_limit
from agentic.messages import ContextSummary as ContextSummary
from agentic.tokens import MODEL_ENCODINGS, count_messages_tokens, get_encoding

# Not `tokens.count_tokens`, which counts messages: supyagent's function counts a text.
from agentic.tokens import count_text as count_tokens

__all__ = [
    "CONTEXT_LIMITS",
    "MODEL_ENCODINGS",
    "count_messages_tokens",
    "count_tokens",
    "get_context_limit",
    "get_encoding",
]
