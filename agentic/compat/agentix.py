"""Strategies and token counts, under the names of agentix.

>>> FitContextWindow(1_000).max_tokens, approx_token_counter("four")
(1000, 1)
"""

from agentic.context.strategies import ContextStrategy as ContextStrategy
from agentic.context.strategies import FitContextWindow as FitContextWindow
from agentic.context.strategies import TrimRounds as TrimRounds
from agentic.context.strategies import TruncateToolOutputs as TruncateToolOutputs
from agentic.tokens import HeuristicTokenCounter, approx_token_counter
from agentic.tokens import count_message_tokens as count_message_tokens
from agentic.tokens import count_tokens as count_tokens

# The other names are listed by their own rooms: each has one list (design/0013).
__all__ = ["HeuristicTokenCounter", "approx_token_counter"]
