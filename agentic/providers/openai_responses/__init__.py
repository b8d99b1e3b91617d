"""OpenAI's Responses API, and the servers that speak it.

The conversation lives with the caller: a `Decider` asks for nothing to be stored, and for the
model's reasoning in a form that can be sent back. What becomes what is told in `_wire._encode`.
"""

from agentic.providers.openai_responses._decider import Decider
from agentic.providers.openai_responses._wire import (
    NAME,
    STOP_WORDS,
    IncrementalDecoder,
    StreamedResponse,
    decode,
    decode_request,
    decode_response,
    encode,
    encode_request,
    encode_tools,
    stop_reason,
    usage,
    validate,
)
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
