"""Anthropic's Messages API, wherever it is served: messages, usage, stop reasons, streams."""

from agentic.providers.anthropic._decider import Decider, reply_tokens
from agentic.providers.anthropic._wire import (
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
    "reply_tokens",
    "stop_reason",
    "usage",
    "validate",
]
