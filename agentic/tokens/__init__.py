"""How many tokens a text, a message or a conversation has, and what a provider will count.

Start with `for_model`, `EstimateCounter`, `count_tokens` and `ContextMeter`.

The entry points of other systems can be imported from here as well; `agentic.compat` lists them.
"""

import typing

from agentic._base import _lazy
from agentic.protocols import Counter
from agentic.tokens._context_meter import ContextMeter
from agentic.tokens._count import CharCounter, count_message_tokens, count_tokens
from agentic.tokens._count import HeuristicTokenCounter as HeuristicTokenCounter
from agentic.tokens._count import approx_token_counter as approx_token_counter

if typing.TYPE_CHECKING:
    from agentic.tokens._estimate import EstimateCounter
    from agentic.tokens._exact import QuicktokCounter, TiktokenCounter, TokenizersCounter
    from agentic.tokens._models import MODEL_ENCODINGS as MODEL_ENCODINGS
    from agentic.tokens._models import TokenCounter as TokenCounter
    from agentic.tokens._models import count_messages_tokens as count_messages_tokens
    from agentic.tokens._models import count_text, estimate_tokens, for_model
    from agentic.tokens._models import get_encoding as get_encoding

__all__ = [
    "CharCounter",
    "ContextMeter",
    "Counter",
    "EstimateCounter",
    "QuicktokCounter",
    "TiktokenCounter",
    "TokenizersCounter",
    "count_message_tokens",
    "count_text",
    "count_tokens",
    "estimate_tokens",
    "for_model",
]

__getattr__, __dir__ = _lazy.load_lazily(
    __name__,
    {
        "TokenCounter": "._models",
        "count_messages_tokens": "._models",
        "count_text": "._models",
        "estimate_tokens": "._models",
        "MODEL_ENCODINGS": "._models",
        "get_encoding": "._models",
        "EstimateCounter": "._estimate",
        "QuicktokCounter": "._exact",
        "TiktokenCounter": "._exact",
        "TokenizersCounter": "._exact",
        "for_model": "._models",
    },
)
