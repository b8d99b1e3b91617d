"""How many tokens a text, a message and a conversation are, and what a provider will count."""

from agentic.tokens._counter import (
    CharCounter,
    Counter,
    HeuristicTokenCounter,
    approx_token_counter,
)
from agentic.tokens._gauge import Gauge
from agentic.tokens._messages import count_message_tokens, count_tokens
from agentic.tokens._tally import Tallies, Tally

__all__ = [
    "CharCounter",
    "Counter",
    "Gauge",
    "HeuristicTokenCounter",
    "Tallies",
    "Tally",
    "approx_token_counter",
    "count_message_tokens",
    "count_tokens",
]
