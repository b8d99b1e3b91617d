"""Strategies and token counts, under the names of agentix.

>>> FitContextWindow(1_000).max_tokens, approx_token_counter("four")
(1000, 1)
"""

from agentic.context.strategies import (
    ContextStrategy,
    FitContextWindow,
    TrimRounds,
    TruncateToolOutputs,
)
from agentic.tokens import (
    HeuristicTokenCounter,
    approx_token_counter,
    count_message_tokens,
    count_tokens,
)

__all__ = [
    "ContextStrategy",
    "FitContextWindow",
    "HeuristicTokenCounter",
    "TrimRounds",
    "TruncateToolOutputs",
    "approx_token_counter",
    "count_message_tokens",
    "count_tokens",
]
