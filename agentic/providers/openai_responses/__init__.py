"""OpenAI's Responses API, and the servers that support it.

Start with `Decider`, `decode_response` and `encode_request`; `ADAPTER` has all of it.

They include Azure, DeepSeek, Bedrock's mantle, xAI, OpenRouter, LM Studio, vLLM and llama.cpp;
their differences are noted where they matter. The caller keeps the conversation: a `Decider` asks
the provider not to store anything, and requests the model's reasoning in a form that can be sent
back. `_encoding` describes how each part of a conversation is encoded.
"""

import typing

from agentic._base import _lazy
from agentic.providers.openai_responses._decider import (
    ADAPTER,
    Decider,
    StreamedResponse,
    decode_response,
    stop_reason,
)
from agentic.providers.openai_responses._decider import usage as usage
from agentic.providers.openai_responses._decoding import IncrementalDecoder, decode, decode_request
from agentic.providers.openai_responses._encoding import encode, encode_request, encode_tools
from agentic.providers.overflow import is_context_overflow as is_context_overflow

if typing.TYPE_CHECKING:
    from agentic.providers.openai_responses._validation import validate

__all__ = [
    "ADAPTER",
    "Decider",
    "IncrementalDecoder",
    "StreamedResponse",
    "decode",
    "decode_request",
    "decode_response",
    "encode",
    "encode_request",
    "encode_tools",
    "stop_reason",
    "validate",
]

# No Decider needs it.
__getattr__, __dir__ = _lazy.load_lazily(__name__, {"validate": "._validation"})
