"""What is known of the wire of OpenAI's Responses API: pure functions, no SDK.

Also spoken, with differences that are noted where they matter, by Azure, DeepSeek, Bedrock's
mantle, xAI, OpenRouter, LM Studio, vLLM and llama.cpp.
"""

from agentic.providers.openai_responses._wire._decode import (
    IncrementalDecoder,
    decode,
    decode_request,
)
from agentic.providers.openai_responses._wire._encode import encode, encode_request, encode_tools
from agentic.providers.openai_responses._wire._name import NAME
from agentic.providers.openai_responses._wire._reply import (
    STOP_WORDS,
    decode_response,
    stop_reason,
    usage,
)
from agentic.providers.openai_responses._wire._stream import StreamedResponse, raise_failure
from agentic.providers.openai_responses._wire._validate import validate

__all__ = [
    "NAME",
    "STOP_WORDS",
    "IncrementalDecoder",
    "StreamedResponse",
    "decode",
    "decode_request",
    "decode_response",
    "encode",
    "encode_request",
    "encode_tools",
    "raise_failure",
    "stop_reason",
    "usage",
    "validate",
]
