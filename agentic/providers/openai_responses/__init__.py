"""OpenAI's Responses API, and the servers that support it.

Start with `Decider`, `decode` and `encode`.

They include Azure, DeepSeek, Bedrock's mantle, xAI, OpenRouter, LM Studio, vLLM and llama.cpp;
their differences are noted where they matter. The caller keeps the conversation: a `Decider` asks
the provider not to store anything, and requests the model's reasoning in a form that can be sent
back. `_encoding` describes how each part of a conversation is encoded.
"""

from agentic.providers.openai_responses._decider import Decider
from agentic.providers.openai_responses._decoding import (
    NAME,
    IncrementalDecoder,
    decode,
    decode_request,
)
from agentic.providers.openai_responses._encoding import (
    encode,
    encode_request,
    encode_tools,
    validate,
)
from agentic.providers.openai_responses._replies import (
    STOP_WORDS,
    decode_response,
    stop_reason,
    usage,
)
from agentic.providers.openai_responses._streaming import StreamedResponse
from agentic.providers.overflow import is_context_overflow

__all__ = [
    "NAME",
    "STOP_WORDS",
    "Decider",
    "IncrementalDecoder",
    "StreamedResponse",
    "decode",
    "decode_request",
    "decode_response",
    "encode",
    "encode_request",
    "encode_tools",
    "is_context_overflow",
    "stop_reason",
    "usage",
    "validate",
]
