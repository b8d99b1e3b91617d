"""How many tokens a text, a message and a conversation are, and what a provider will count."""

from agentic.tokens._counter import (
    CharCounter,
    Counter,
    HeuristicTokenCounter,
    approx_token_counter,
)
from agentic.tokens._doors import (
    TokenCounter,
    count_messages_tokens,
    count_text,
    estimate_tokens,
)
from agentic.tokens._encodings import MODEL_ENCODINGS, get_encoding
from agentic.tokens._estimate import EstimateCounter
from agentic.tokens._exact import QuicktokCounter, TiktokenCounter, TokenizersCounter
from agentic.tokens._gauge import Gauge
from agentic.tokens._largest import largest_part
from agentic.tokens._messages import count_message_tokens, count_tokens
from agentic.tokens._models import ModelCounter, for_model
from agentic.tokens._tally import Tallies, Tally

__all__ = [
    "MODEL_ENCODINGS",
    "CharCounter",
    "Counter",
    "EstimateCounter",
    "Gauge",
    "HeuristicTokenCounter",
    "ModelCounter",
    "QuicktokCounter",
    "Tallies",
    "Tally",
    "TiktokenCounter",
    "TokenCounter",
    "TokenizersCounter",
    "approx_token_counter",
    "count_message_tokens",
    "count_messages_tokens",
    "count_text",
    "count_tokens",
    "estimate_tokens",
    "for_model",
    "get_encoding",
    "largest_part",
]
