"""How many tokens a text, a message or a conversation has, and what a provider will count.

Start with `for_model`, `EstimateCounter`, `count_tokens` and `ContextMeter`.
"""

import typing

from agentic import _lazy
from agentic.tokens._context_meter import ContextMeter
from agentic.tokens._count import (
    CharCounter,
    Counter,
    HeuristicTokenCounter,
    approx_token_counter,
    count_message_tokens,
    count_tokens,
    describe_largest,
)
from agentic.tokens._token_cache import MessageSizes, TokenCache

if typing.TYPE_CHECKING:
    from agentic.tokens._entry_points import (
        TokenCounter,
        count_messages_tokens,
        count_text,
        estimate_tokens,
    )
    from agentic.tokens._estimate import EstimateCounter
    from agentic.tokens._exact import QuicktokCounter, TiktokenCounter, TokenizersCounter
    from agentic.tokens._models import MODEL_ENCODINGS, ModelCounter, for_model, get_encoding

__all__ = [
    "MODEL_ENCODINGS",
    "CharCounter",
    "ContextMeter",
    "Counter",
    "EstimateCounter",
    "HeuristicTokenCounter",
    "MessageSizes",
    "ModelCounter",
    "QuicktokCounter",
    "TiktokenCounter",
    "TokenCache",
    "TokenCounter",
    "TokenizersCounter",
    "approx_token_counter",
    "count_message_tokens",
    "count_messages_tokens",
    "count_text",
    "count_tokens",
    "describe_largest",
    "estimate_tokens",
    "for_model",
    "get_encoding",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "TokenCounter": "._entry_points",
        "count_messages_tokens": "._entry_points",
        "count_text": "._entry_points",
        "estimate_tokens": "._entry_points",
        "MODEL_ENCODINGS": "._models",
        "get_encoding": "._models",
        "EstimateCounter": "._estimate",
        "QuicktokCounter": "._exact",
        "TiktokenCounter": "._exact",
        "TokenizersCounter": "._exact",
        "ModelCounter": "._models",
        "for_model": "._models",
    },
)
