"""Context management and the lean utilities, under the names of open-agent-sdk.

>>> talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
>>> truncate_messages(talk, keep=0)
[{'role': 'system', 'content': 'Be brief.'}]
"""

from agentic.context.config import (
    CompactContext,
    CompactDecision,
    ContextConfig,
    ContextManager,
    ImportanceStrategy,
    PreCompactHook,
    SummarizationStrategy,
    TruncationStrategy,
)
from agentic.context.strategies import truncate_messages
from agentic.tokens import TokenCounter, estimate_tokens

__all__ = [
    "CompactContext",
    "CompactDecision",
    "ContextConfig",
    "ContextManager",
    "ImportanceStrategy",
    "PreCompactHook",
    "SummarizationStrategy",
    "TokenCounter",
    "TruncationStrategy",
    "estimate_tokens",
    "truncate_messages",
]
