"""Context management and the lean utilities, under the names of open-agent-sdk.

>>> talk = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
>>> truncate_messages(talk, keep=0)
[{'role': 'system', 'content': 'Be brief.'}]
"""

from agentic.context.config import CompactContext as CompactContext
from agentic.context.config import CompactDecision as CompactDecision
from agentic.context.config import ContextConfig as ContextConfig
from agentic.context.config import ContextManager as ContextManager
from agentic.context.config import ImportanceStrategy as ImportanceStrategy
from agentic.context.config import PreCompactHook as PreCompactHook
from agentic.context.config import SummarizationStrategy as SummarizationStrategy
from agentic.context.config import TruncationStrategy as TruncationStrategy
from agentic.context.strategies import truncate_messages as truncate_messages
from agentic.tokens import TokenCounter
from agentic.tokens import estimate_tokens as estimate_tokens

__all__ = ["TokenCounter"]
