"""OpenAI's Responses API, and the servers that speak it.

Start with `Decider`, `decode` and `encode`.

Azure, DeepSeek, Bedrock's mantle, xAI, OpenRouter, LM Studio, vLLM and llama.cpp among them:
differences are noted where they matter. The conversation lives with the caller: a `Decider` asks
for nothing to be stored, and for the model's reasoning in a form that can be sent back. What
becomes what is described in `_encoding`.
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
